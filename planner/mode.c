/* Trees by the metrics that look at the net: tree/mode.h, on a request. */
#include "planner/request.h"
#include "planner/solve.h"

bool solve_mode(const struct plan_request *request, struct arena *arena, struct plan_tree *tree,
                struct err *err)
{
    struct request_net from;
    struct request_search among;
    size_t mark = arena->used;
    request_net(request, arena, &from);
    request_search_init(&among, &from.net, arena);
    struct net_tree grown = net_tree_new(&from.net, arena);
    bool found = mode_tree(&among.search, (enum plan_metric)request->metric, &from.modes, &grown, err);
    if (found)
        request_tree(&from, &grown, tree);
    arena->used = mark;
    return found;
}
