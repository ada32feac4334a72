/* The operator's own tree; the request's validation has already found it spanning. */
#include "planner/solve.h"

bool solve_given(const struct plan_request *request, struct plan_tree *tree, struct err *err)
{
    *tree = request->given;
    if (!plan_tree_order(tree, request->node_count, request->source))
        return err_set(err, "the given edges are no tree from %s", request->nodes[request->source].name);
    return true;
}
