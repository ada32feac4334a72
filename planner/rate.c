/* The rate model stated in solve.h: which interface gives out first, and what is left of it as payload. */
#include "planner/solve.h"

#include "base/units.h"
#include "planner/age.h"

uint64_t solve_payload_bps(uint64_t wire_bps)
{
    return muldiv64(wire_bps, SOLVE_SYMBOL_BYTES, SOLVE_SYMBOL_WIRE_BYTES);
}

uint64_t solve_usable_bps(uint64_t wire_bps)
{
    return muldiv64(wire_bps, PLAN_WHOLE_PPM - SOLVE_HEADROOM_PPM, PLAN_WHOLE_PPM);
}

/* What each edge of the tree may take of this node's uplink; all of it where the node has no children. */
static uint64_t uplink_share_bps(const struct plan_request *request, const struct plan_tree *tree,
                                 uint16_t node)
{
    uint64_t children = 0;
    for (uint16_t edge = 0; edge < tree->edge_count; edge++)
        children += tree->edges[edge].from == node;
    return children == 0 ? UINT64_MAX : age_up_bps(request, node) / children;
}

static uint64_t downlink_share_bps(const struct plan_request *request, const struct plan_tree *tree,
                                   uint16_t node)
{
    return plan_parent(tree, node) < 0 ? UINT64_MAX : request->nodes[node].down_bps;
}

/* What a plan counts on of a path; all that its ends could carry where nothing is known of it, or no upper end. */
static uint64_t path_bps(const struct plan_request *request, uint16_t from, uint16_t to)
{
    const struct plan_path *path = &request->paths[from][to];
    if (plan_path_limits(request->avb_of, path))
        return age_planned_kbps(path) * UINT64_C(1000);
    return plan_path_counts(request->avb_of, path) ? UINT64_MAX : plan_assumed_bps(request, from, to);
}

/* What each edge of the tree may take of the shared link. */
static uint64_t shared_share_bps(const struct plan_request *request, const struct plan_tree *tree,
                                 uint16_t shared)
{
    uint64_t crossings = 0;
    for (uint16_t edge = 0; edge < tree->edge_count; edge++)
        crossings += request->paths[tree->edges[edge].from][tree->edges[edge].to].shared >> shared & 1;
    return crossings == 0 ? UINT64_MAX : request->shared[shared].rate_bps / crossings;
}

static uint64_t interfaces_bps(const struct plan_request *request, const struct plan_tree *tree)
{
    uint64_t smallest_bps = UINT64_MAX;
    for (uint16_t node = 0; node < request->node_count; node++) {
        smallest_bps = MIN(smallest_bps, uplink_share_bps(request, tree, node));
        smallest_bps = MIN(smallest_bps, downlink_share_bps(request, tree, node));
    }
    for (uint16_t edge = 0; edge < tree->edge_count; edge++)
        smallest_bps = MIN(smallest_bps, path_bps(request, tree->edges[edge].from, tree->edges[edge].to));
    for (uint16_t shared = 0; shared < request->shared_count; shared++)
        smallest_bps = MIN(smallest_bps, shared_share_bps(request, tree, shared));
    return smallest_bps;
}

/* The request's cap as a wire rate; UINT64_MAX: there is none. */
static uint64_t cap_wire_bps(const struct plan_request *request)
{
    return request->rate_cap_bps == 0
               ? UINT64_MAX
               : muldiv64_up(request->rate_cap_bps, SOLVE_SYMBOL_WIRE_BYTES, SOLVE_SYMBOL_BYTES);
}

bool solve_rate(const struct plan_request *request, const struct plan_tree *tree, uint64_t *edge_rate_bps,
                uint64_t *rate_bps, struct err *err)
{
    uint64_t tight_bps = interfaces_bps(request, tree);
    uint64_t wire_bps = solve_usable_bps(tight_bps);
    uint64_t cap_bps = request->rate_cap_bps;
    bool capped = cap_bps != 0 && cap_bps < solve_payload_bps(wire_bps);
    *edge_rate_bps = capped ? cap_wire_bps(request) : wire_bps;
    *rate_bps = capped ? cap_bps : solve_payload_bps(wire_bps);
    if (*edge_rate_bps < SEND_RATE_MIN_BPS)
        return err_set(err, "the slowest interface leaves less than 1 kbit/s for an edge of this tree");
    return true;
}

/* Shares `up_bps` among the children: whoever wants less than an even share gets what it wants, and leaves
 * the rest to the others. wanted_bps turns into what each one gets. */
static void share_out(uint64_t up_bps, uint64_t *wanted_bps, uint16_t count)
{
    uint32_t open = (1u << count) - 1;
    for (bool settled = true; settled && open != 0;) {
        uint64_t even_bps = up_bps / (uint64_t)__builtin_popcount(open);
        settled = false;
        for (uint32_t left = open; left != 0; left &= left - 1) {
            uint32_t child = (uint32_t)__builtin_ctz(left);
            if (wanted_bps[child] > even_bps)
                continue;
            up_bps -= wanted_bps[child];
            open &= ~(1u << child);
            settled = true;
        }
    }
    for (uint32_t left = open; left != 0; left &= left - 1)
        wanted_bps[__builtin_ctz(left)] = up_bps / (uint64_t)__builtin_popcount(open);
}

/* Who crosses a shared link gets what everybody gets: nobody knows who else may have the rest. */
static uint64_t edge_most_bps(const struct plan_request *request, uint16_t from, uint16_t to,
                              uint64_t tight_bps)
{
    uint64_t most_bps = MIN(request->nodes[to].down_bps, path_bps(request, from, to));
    return request->paths[from][to].shared != 0 ? MIN(most_bps, tight_bps) : most_bps;
}

void solve_edge_rates(const struct plan_request *request, struct plan *plan)
{
    const struct plan_tree *tree = &plan->trees[0];
    uint64_t in_bps[PLAN_NODES_MAX] = {0}, tight_bps = interfaces_bps(request, tree);
    uint64_t cap_bps = cap_wire_bps(request);
    in_bps[request->source] = UINT64_MAX;
    /* Once per node that has children: at the first edge that leaves it. */
    for (uint16_t edge = 0; edge < tree->edge_count; edge++) {
        uint16_t node = tree->edges[edge].from;
        uint16_t children[PLAN_CHILDREN_MAX];
        uint64_t rates_bps[PLAN_CHILDREN_MAX];
        uint16_t count = plan_children(tree, node, children);
        if (in_bps[children[0]] != 0)
            continue;
        for (uint16_t child = 0; child < count; child++)
            rates_bps[child] = MIN(edge_most_bps(request, node, children[child], tight_bps), in_bps[node]);
        share_out(age_up_bps(request, node), rates_bps, count);
        for (uint16_t child = 0; child < count; child++) {
            in_bps[children[child]] = rates_bps[child];
            plan->into_rate_bps[0][children[child]] = MIN(solve_usable_bps(rates_bps[child]), cap_bps);
        }
    }
}

uint64_t solve_bound_bps(const struct plan_request *request)
{
    uint64_t receivers = 0, sum_bps = 0, down_bps = UINT64_MAX;
    for (uint16_t node = 0; node < request->node_count; node++) {
        if (__builtin_add_overflow(sum_bps, age_up_bps(request, node), &sum_bps))
            sum_bps = UINT64_MAX;
        if (node == request->source || !request->nodes[node].receiver)
            continue;
        receivers++;
        down_bps = MIN(down_bps, request->nodes[node].down_bps);
    }
    uint64_t up_bps = MIN(age_up_bps(request, request->source), sum_bps / receivers);
    uint64_t wire_bps = MIN(up_bps, down_bps);
    uint64_t bound_bps = solve_payload_bps(wire_bps);
    return request->rate_cap_bps != 0 ? MIN(bound_bps, request->rate_cap_bps) : bound_bps;
}
