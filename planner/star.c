/* The baseline: unicast to everybody at once. */
#include "planner/solve.h"

#include <string.h>

bool solve_star(const struct plan_request *request, struct plan_tree *tree, struct err *err)
{
    uint16_t children_max = plan_children_max(request);
    const struct plan_pins pins = plan_pins(request);
    *tree = (struct plan_tree){0};
    for (uint16_t node = 0; node < request->node_count; node++) {
        if (!request->nodes[node].receiver || node == request->source)
            continue;
        if (!plan_edge_allowed(request, &pins, request->source, node))
            return err_set(err, "a star needs the edge from %s to %s, which is not allowed",
                           request->nodes[request->source].name, request->nodes[node].name);
        uint16_t place = tree->edge_count++;
        for (; place > 0; place--) {
            const struct plan_edge *before = &tree->edges[place - 1];
            if (strcmp(request->nodes[before->to].name, request->nodes[node].name) < 0)
                break;
            tree->edges[place] = *before;
        }
        tree->edges[place] = (struct plan_edge){request->source, node};
    }
    if (tree->edge_count > children_max)
        return err_set(err, "a star gives %s %u children, at most %u are allowed",
                       request->nodes[request->source].name, tree->edge_count, children_max);
    return true;
}
