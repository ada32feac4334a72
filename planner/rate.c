/* The rate model stated in solve.h: which interface gives out first, and what is left of it as payload. */
#include "planner/solve.h"

#include "base/units.h"

#define WHOLE_PPM 1000000

static uint64_t payload_bps(uint64_t wire_bps)
{
    return muldiv64(wire_bps, SOLVE_SYMBOL_BYTES, SOLVE_SYMBOL_WIRE_BYTES);
}

static void add_limit(struct solve_info *info, enum solve_limit_kind kind, uint16_t node)
{
    info->limits[info->limit_count++] = (struct solve_limit){kind, node};
}

/* What each edge of the tree may take of this node's uplink; all of it where the node has no children. */
static uint64_t uplink_share_bps(const struct plan_request *request, const struct plan_tree *tree,
                                 uint16_t node)
{
    uint64_t children = 0;
    for (uint16_t edge = 0; edge < tree->edge_count; edge++)
        children += tree->edges[edge].from == node;
    return children == 0 ? UINT64_MAX : request->nodes[node].up_bps / children;
}

static uint64_t downlink_share_bps(const struct plan_request *request, const struct plan_tree *tree,
                                   uint16_t node)
{
    return plan_parent(tree, node) < 0 ? UINT64_MAX : request->nodes[node].down_bps;
}

static uint64_t interfaces_bps(const struct plan_request *request, const struct plan_tree *tree)
{
    uint64_t smallest_bps = UINT64_MAX;
    for (uint16_t node = 0; node < request->node_count; node++) {
        smallest_bps = MIN(smallest_bps, uplink_share_bps(request, tree, node));
        smallest_bps = MIN(smallest_bps, downlink_share_bps(request, tree, node));
    }
    return smallest_bps;
}

static void list_interfaces(const struct plan_request *request, const struct plan_tree *tree,
                            uint64_t tight_bps, struct solve_info *info)
{
    for (uint16_t node = 0; node < request->node_count; node++) {
        if (uplink_share_bps(request, tree, node) == tight_bps)
            add_limit(info, SOLVE_LIMIT_UPLINK, node);
        if (downlink_share_bps(request, tree, node) == tight_bps)
            add_limit(info, SOLVE_LIMIT_DOWNLINK, node);
    }
}

bool solve_rate(const struct plan_request *request, const struct plan_tree *tree, uint64_t *edge_rate_bps,
                uint64_t *rate_bps, struct solve_info *info, struct err *err)
{
    uint64_t tight_bps = interfaces_bps(request, tree);
    uint64_t wire_bps = muldiv64(tight_bps, WHOLE_PPM - SOLVE_HEADROOM_PPM, WHOLE_PPM);
    uint64_t cap_bps = request->rate_cap_bps;
    bool capped = cap_bps != 0 && cap_bps < payload_bps(wire_bps);
    *edge_rate_bps = capped ? muldiv64_up(cap_bps, SOLVE_SYMBOL_WIRE_BYTES, SOLVE_SYMBOL_BYTES) : wire_bps;
    *rate_bps = capped ? cap_bps : payload_bps(wire_bps);
    if (*rate_bps == 0)
        return err_set(err, "the slowest interface leaves no rate for this tree");
    if (info != NULL) {
        info->limit_count = 0;
        if (capped)
            add_limit(info, SOLVE_LIMIT_CAP, request->source);
        else
            list_interfaces(request, tree, tight_bps, info);
    }
    return true;
}

uint64_t solve_bound_bps(const struct plan_request *request)
{
    uint64_t receivers = 0, sum_bps = 0, down_bps = UINT64_MAX;
    for (uint16_t node = 0; node < request->node_count; node++) {
        if (__builtin_add_overflow(sum_bps, request->nodes[node].up_bps, &sum_bps))
            sum_bps = UINT64_MAX;
        if (node == request->source || !request->nodes[node].receiver)
            continue;
        receivers++;
        down_bps = MIN(down_bps, request->nodes[node].down_bps);
    }
    uint64_t up_bps = MIN(request->nodes[request->source].up_bps, sum_bps / receivers);
    uint64_t wire_bps = MIN(up_bps, down_bps);
    uint64_t bound_bps = payload_bps(wire_bps);
    return request->rate_cap_bps != 0 ? MIN(bound_bps, request->rate_cap_bps) : bound_bps;
}
