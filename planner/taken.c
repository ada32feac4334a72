/* Edge by edge, as the net says what an edge takes. */
#include "planner/taken.h"

#include <string.h>

size_t taken_bytes(const struct net *net)
{
    return 2 * arena_need(net_rows(net) * sizeof(double));
}

double taken_edge_bps(const struct taken *taken, uint16_t tree, struct plan_edge edge, bool *slow)
{
    const struct plan *plan = taken->plan;
    double kept = 1 - taken->from->request->paths[edge.from][edge.to].loss_ppm / 1e6;
    double common_bps = (double)plan->edge_rate_bps[tree];
    double sent_bps = (double)plan_edge_rate_bps(plan, tree, edge.to), own_bps = sent_bps * kept;
    *slow = sent_bps < common_bps * TAKEN_TIGHT;
    return own_bps < common_bps ? own_bps : common_bps;
}

void taken_init(struct taken *taken, const struct request_net *from, const struct plan *plan,
                struct arena *arena)
{
    const struct net *net = &from->net;
    struct net_use uses[NET_USES_MAX];
    *taken = (struct taken){.from = from,
                            .plan = plan,
                            .common = arena_alloc(arena, net_rows(net) * sizeof(double)),
                            .paced = arena_alloc(arena, net_rows(net) * sizeof(double))};
    for (uint16_t host = 0; host < net->count; host++)
        taken->host_of[from->node_of[host]] = host;
    memset(taken->common, 0, net_rows(net) * sizeof(double));
    memset(taken->paced, 0, net_rows(net) * sizeof(double));
    for (uint16_t tree = 0; tree < plan->tree_count; tree++)
        for (uint16_t index = 0; index < plan->trees[tree].edge_count; index++) {
            struct plan_edge edge = plan->trees[tree].edges[index];
            bool slow;
            double bps = taken_edge_bps(taken, tree, edge, &slow);
            unsigned count = net_uses(net, taken->host_of[edge.from], taken->host_of[edge.to], uses);
            for (unsigned use = 0; use < count; use++)
                (slow ? taken->paced : taken->common)[uses[use].row] += uses[use].per_bit * bps;
        }
}

double taken_growth(const struct taken *taken, uint32_t row)
{
    double capacity = net_capacity(&taken->from->net, row), left = capacity - taken->paced[row];
    bool fits = left >= -capacity * (1 - TAKEN_TIGHT);
    if (capacity >= NET_NO_LIMIT || (fits && !(taken->common[row] > 0)))
        return NET_NO_LIMIT;
    return left > 0 ? left / taken->common[row] : 0;
}

struct plan_limit taken_limit(const struct request_net *from, uint32_t row)
{
    static const uint8_t rows[] = {
        [NET_UPLINK] = PLAN_ROW_UPLINK, [NET_DOWNLINK] = PLAN_ROW_DOWNLINK, [NET_PACKETS] = PLAN_ROW_PACKETS,
        [NET_WINDOW] = PLAN_ROW_WINDOW, [NET_SHARED] = PLAN_ROW_SHARED,     [NET_PATH] = PLAN_ROW_PATH};
    struct net_row what = net_row_of(&from->net, row);
    bool shared = what.kind == NET_SHARED, path = what.kind == NET_PATH;
    return (struct plan_limit){.row = rows[what.kind],
                               .node = shared ? what.host : from->node_of[what.host],
                               .to = path ? from->node_of[what.to] : 0};
}
