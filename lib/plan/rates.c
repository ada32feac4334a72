/* What a plan gives: to edges and to receivers. */
#include "base/units.h"
#include "plan/plan.h"

#define SLOW_SHARE 1000 /* of the common rate: less than so small a part of it missing is rounding */

bool plan_path_told(const struct plan_path *path)
{
    bool no_interval = path->avb_low_kbps == 0 && path->avb_high_kbps == 0;
    bool no_width = path->avb_low_kbps == path->avb_kbps && path->avb_high_kbps == path->avb_kbps;
    return no_interval || no_width;
}

bool plan_path_counts(uint8_t avb_of, const struct plan_path *path)
{
    if (path->avb_kbps == 0 || avb_of == PLAN_AVB_NONE)
        return false;
    return avb_of == PLAN_AVB_ANY || plan_path_told(path) == (avb_of == PLAN_AVB_TOLD);
}

bool plan_path_starts(uint8_t avb_of, const struct plan_path *path)
{
    return plan_path_counts(avb_of, path) && (plan_path_told(path) || path->avb_age_s <= PLAN_START_AGE_S);
}

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
