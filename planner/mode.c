/* Trees by the metrics that look at the net: tree/mode.h, on a request. */
#include "planner/request.h"
#include "planner/solve.h"

bool solve_mode(const struct plan_request *request, struct arena *arena, struct plan_tree *tree,
                struct err *err)
{
    bool member[PLAN_NODES_MAX];
    double pace_bps[PLAN_NODES_MAX];
    struct request_net from;
    struct shares shares;
    struct search search;
    size_t mark = arena->used;
    request_net(request, arena, &from);
    for (uint16_t host = 0; host < from.net.count; host++) {
        member[host] = host == from.net.source || from.net.hosts[host].receiver;
        pace_bps[host] = NET_NO_LIMIT;
    }
    struct task task = {&from.net, member, pace_bps};
    shares_init(&shares, &task, arena);
    search_init(&search, &task, &shares, arena);
    struct net_tree grown = net_tree_new(&from.net, arena);
    bool found = mode_tree(&search, (enum plan_metric)request->metric, &from.modes, &grown, err);
    if (found)
        request_tree(&from, &grown, tree);
    arena->used = mark;
    return found;
}
