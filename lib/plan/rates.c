/* What a plan gives: to edges and to receivers. */
#include "base/units.h"
#include "plan/plan.h"

#define SLOW_SHARE 1000 /* of the common rate: less than so small a part of it missing is rounding */

uint64_t plan_edge_rate_bps(const struct plan *plan, uint16_t tree, uint16_t node)
{
    uint64_t rate_bps = plan->into_rate_bps[tree][node];
    return rate_bps != 0 ? rate_bps : plan->edge_rate_bps[tree];
}

static uint64_t payload_bps(uint64_t wire_bps)
{
    return muldiv64(wire_bps, FULL_PACKET_SYMBOL_BYTES, FULL_PACKET_WIRE_BYTES);
}

uint64_t plan_common_bps(const struct plan *plan)
{
    uint64_t wire_bps = 0;
    for (uint16_t tree = 0; tree < plan->tree_count; tree++)
        wire_bps += plan->edge_rate_bps[tree];
    return MAX(payload_bps(wire_bps), plan->rate_bps);
}

uint64_t plan_receiver_bps(const struct plan *plan, const struct plan_request *request, uint16_t node)
{
    uint64_t wire_bps = 0;
    for (uint16_t tree = 0; tree < plan->tree_count; tree++) {
        int parent = plan_parent(&plan->trees[tree], node);
        if (parent < 0)
            continue;
        uint64_t kept_ppm = PLAN_WHOLE_PPM - request->paths[parent][node].loss_ppm;
        wire_bps += muldiv64(plan_edge_rate_bps(plan, tree, node), kept_ppm, PLAN_WHOLE_PPM);
    }
    return payload_bps(wire_bps);
}

/* By what is sent, not by what arrives: the rates of a tree by one metric have their repairs in them. */
bool plan_receiver_slow(const struct plan *plan, const struct plan_request *request, uint16_t node)
{
    uint64_t sent_bps = 0, common_bps = 0;
    if (!request->nodes[node].receiver || node == request->source)
        return false;
    for (uint16_t tree = 0; tree < plan->tree_count; tree++) {
        sent_bps += plan_edge_rate_bps(plan, tree, node);
        common_bps += plan->edge_rate_bps[tree];
    }
    return sent_bps < common_bps - common_bps / SLOW_SHARE;
}
