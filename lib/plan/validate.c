/* What a request and a plan must fulfil before anyone acts on them. Both may come from another process, so
 * nothing is assumed but that they were decoded: every index is checked before it is used. */
#include "plan/plan.h"

#include <string.h>

#include "base/units.h"

_Static_assert(PLAN_NODES_MAX == 64, "sets of nodes are kept in 64-bit words");

uint16_t plan_children_max(const struct plan_request *request)
{
    return request->children_max == 0 ? PLAN_CHILDREN_MAX : request->children_max;
}

static bool check_nodes(const struct plan_request *request, struct err *err)
{
    bool any_receiver = false;
    for (uint16_t node = 0; node < request->node_count; node++) {
        const struct plan_node *this = &request->nodes[node];
        if (!name_valid(this->name))
            return err_set(err, "node %u has no valid name", node);
        for (uint16_t other = 0; other < node; other++)
            if (strcmp(this->name, request->nodes[other].name) == 0)
                return err_set(err, "two nodes have the name %s", this->name);
        if (this->up_bps == 0 || this->down_bps == 0)
            return err_set(err, "%s: uplink and downlink must be above 0", this->name);
        any_receiver |= this->receiver && node != request->source;
    }
    if (!any_receiver)
        return err_set(err, "no node but the source is a receiver");
    return !request->nodes[request->source].leaf ||
           err_set(err, "%s is the source and a leaf: nobody would be fed",
                   request->nodes[request->source].name);
}

struct plan_pins plan_pins(const struct plan_request *request)
{
    struct plan_pins pins;
    for (uint16_t to = 0; to < PLAN_NODES_MAX; to++)
        pins.from[to] = PLAN_NOT_PINNED;
    for (uint16_t from = 0; from < request->node_count; from++)
        for (uint16_t to = 0; to < request->node_count; to++)
            if (request->paths[from][to].rule == PLAN_RULE_PINNED)
                pins.from[to] = from;
    return pins;
}

bool plan_edge_allowed(const struct plan_request *request, const struct plan_pins *pins, uint16_t from,
                       uint16_t to)
{
    return !request->nodes[from].leaf && request->paths[from][to].rule != PLAN_RULE_FORBIDDEN &&
           (pins->from[to] == PLAN_NOT_PINNED || pins->from[to] == from);
}

/* Walks the edges in order: each must leave a node already reached and enter one that was not. */
static bool check_edges(const struct plan_tree *tree, const struct plan_request *request, uint64_t *reached,
                        uint16_t *child_counts, struct err *err)
{
    const struct plan_pins pins = plan_pins(request);
    *reached = UINT64_C(1) << request->source;
    for (uint16_t edge = 0; edge < tree->edge_count; edge++) {
        uint16_t from = tree->edges[edge].from, to = tree->edges[edge].to;
        if (from >= request->node_count || to >= request->node_count)
            return err_set(err, "edge %u names a node that does not exist", edge);
        const char *from_name = request->nodes[from].name, *to_name = request->nodes[to].name;
        if ((*reached >> from & 1) == 0)
            return err_set(err, "edge %s - %s starts at a node not reached before", from_name, to_name);
        if ((*reached >> to & 1) != 0)
            return err_set(err, "edge %s - %s enters a node a second time", from_name, to_name);
        if (request->nodes[from].leaf)
            return err_set(err, "%s is a leaf, but is to feed %s", from_name, to_name);
        if (request->paths[from][to].rule == PLAN_RULE_FORBIDDEN)
            return err_set(err, "edge %s - %s is forbidden", from_name, to_name);
        if (!plan_edge_allowed(request, &pins, from, to))
            return err_set(err, "edge %s - %s: only %s may feed %s, by a pin", from_name, to_name,
                           request->nodes[pins.from[to]].name, to_name);
        if (++child_counts[from] > plan_children_max(request))
            return err_set(err, "%s has more than %u children", from_name, plan_children_max(request));
        *reached |= UINT64_C(1) << to;
    }
    return true;
}

static bool check_tree(const struct plan_tree *tree, const struct plan_request *request,
                       uint16_t *child_counts, struct err *err)
{
    uint64_t reached;
    if (tree->edge_count > PLAN_NODES_MAX - 1)
        return err_set(err, "%u edges are too many", tree->edge_count);
    if (!check_edges(tree, request, &reached, child_counts, err))
        return false;
    for (uint16_t node = 0; node < request->node_count; node++) {
        bool in_tree = (reached >> node & 1) != 0;
        bool wanted = node == request->source || request->nodes[node].receiver;
        if (wanted && !in_tree)
            return err_set(err, "receiver %s is not reached", request->nodes[node].name);
        if (!wanted && in_tree && child_counts[node] == 0)
            return err_set(err, "relay %s leads nowhere", request->nodes[node].name);
    }
    return true;
}

void plan_request_init(struct plan_request *request)
{
    memset(request, 0, sizeof(*request));
    for (uint16_t from = 0; from < PLAN_NODES_MAX; from++)
        for (uint16_t to = 0; to < PLAN_NODES_MAX; to++)
            request->paths[from][to].rtt_us = PLAN_RTT_UNKNOWN;
    for (uint16_t to = 0; to < PLAN_NODES_MAX; to++)
        request->lines_in[to].rtt_us = PLAN_RTT_UNKNOWN;
}

static bool is_in_interval(const struct plan_path *path)
{
    return path->avb_low_kbps <= path->avb_kbps &&
           (path->avb_high_kbps == 0 || path->avb_high_kbps >= path->avb_kbps);
}

static bool check_path(const struct plan_request *request, uint16_t from, uint16_t to, struct err *err)
{
    const struct plan_path *path = &request->paths[from][to];
    const char *from_name = request->nodes[from].name, *to_name = request->nodes[to].name;
    if (path->loss_ppm >= PLAN_WHOLE_PPM)
        return err_set(err, "%s - %s: a loss of %u ppm, expected less than all", from_name, to_name,
                       path->loss_ppm);
    if (!is_in_interval(path))
        return err_set(err, "%s - %s: available bandwidth lies outside of its interval", from_name, to_name);
    if (path->rule >= PLAN_RULE_COUNT)
        return err_set(err, "%s - %s: no rule has number %u", from_name, to_name, path->rule);
    if (path->shared >> request->shared_count != 0)
        return err_set(err, "%s - %s crosses a shared link beyond the %u there are", from_name, to_name,
                       request->shared_count);
    return true;
}

/* A pin that can't be kept to would only show as a node that nobody reaches. */
static bool check_pin(const struct plan_request *request, uint16_t from, uint16_t to, struct err *err)
{
    const char *from_name = request->nodes[from].name, *to_name = request->nodes[to].name;
    if (to == request->source || from == to)
        return err_set(err, "pin %s - %s: no edge enters the source or leads from a node to itself",
                       from_name, to_name);
    if (request->nodes[from].leaf)
        return err_set(err, "pin %s - %s: %s is a leaf", from_name, to_name, from_name);
    for (uint16_t other = 0; other < from; other++)
        if (request->paths[other][to].rule == PLAN_RULE_PINNED)
            return err_set(err, "%s is pinned to %s and to %s", to_name, request->nodes[other].name,
                           from_name);
    return true;
}

static bool check_paths(const struct plan_request *request, struct err *err)
{
    for (uint16_t shared = 0; shared < request->shared_count; shared++) {
        if (!name_valid(request->shared[shared].name))
            return err_set(err, "shared link %u has no valid name", shared);
        if (request->shared[shared].rate_bps == 0)
            return err_set(err, "%s: its rate must be above 0", request->shared[shared].name);
    }
    for (uint16_t to = 0; to < request->node_count; to++)
        if (!is_in_interval(&request->lines_in[to]))
            return err_set(err, "%s: available bandwidth of its line in lies outside of its interval",
                           request->nodes[to].name);
    for (uint16_t from = 0; from < request->node_count; from++)
        for (uint16_t to = 0; to < request->node_count; to++)
            if (!check_path(request, from, to, err) ||
                (request->paths[from][to].rule == PLAN_RULE_PINNED && !check_pin(request, from, to, err)))
                return false;
    return true;
}

static bool check_dcmst(const struct plan_request *request, struct err *err)
{
    switch (request->dcmst_of) {
    case PLAN_METRIC_RTT:
    case PLAN_METRIC_AVB:
    case PLAN_METRIC_DISTANCE:
    case PLAN_METRIC_LEXICOGRAPHIC:
        break;
    default:
        return err_set(err, "dcmst is of rtt, avb, distance or lexicographic, not of metric %u",
                       request->dcmst_of);
    }
    return request->degree <= PLAN_CHILDREN_MAX ||
           err_set(err, "a degree of %u, at most %u", request->degree, PLAN_CHILDREN_MAX);
}

static bool check_given(const struct plan_request *request, struct err *err)
{
    struct plan_tree ordered = request->given;
    uint16_t child_counts[PLAN_NODES_MAX] = {0};
    if (!plan_tree_order(&ordered, request->node_count, request->source))
        return err_set(err, "the given edges are no tree from %s", request->nodes[request->source].name);
    return check_tree(&ordered, request, child_counts, err) || err_context(err, "given tree");
}

bool plan_request_validate(const struct plan_request *request, struct err *err)
{
    if (request->node_count < 2 || request->node_count > PLAN_NODES_MAX)
        return err_set(err, "%u nodes, expected 2 to %u", request->node_count, PLAN_NODES_MAX);
    if (request->source >= request->node_count)
        return err_set(err, "the source is none of the %u nodes", request->node_count);
    if (request->metric >= PLAN_METRIC_COUNT)
        return err_set(err, "no metric has number %u", request->metric);
    if (request->avb_of >= PLAN_AVB_COUNT)
        return err_set(err, "nobody with number %u has a word on available bandwidth", request->avb_of);
    if (request->trees_max > PLAN_TREES_MAX)
        return err_set(err, "%u trees, at most %u", request->trees_max, PLAN_TREES_MAX);
    if (request->children_max > PLAN_CHILDREN_MAX)
        return err_set(err, "%u children, at most %u", request->children_max, PLAN_CHILDREN_MAX);
    if (request->assumed_ppm > PLAN_WHOLE_PPM)
        return err_set(err, "paths are taken to carry more than interfaces do");
    if (request->shared_count > PLAN_SHARED_MAX)
        return err_set(err, "%u shared links, at most %u", request->shared_count, PLAN_SHARED_MAX);
    if (!check_dcmst(request, err) || !check_nodes(request, err) || !check_paths(request, err))
        return false;
    return request->metric != PLAN_METRIC_GIVEN || check_given(request, err);
}

/* Takes `rate_bps` from what is left; false: there is less. No sum is made: rates come from outside. */
static bool book(uint64_t *left_bps, uint64_t rate_bps)
{
    if (rate_bps > *left_bps)
        return false;
    *left_bps -= rate_bps;
    return true;
}

static bool check_load(const struct plan *plan, const struct plan_request *request, struct err *err)
{
    uint64_t up_bps[PLAN_NODES_MAX], down_bps[PLAN_NODES_MAX];
    for (uint16_t node = 0; node < request->node_count; node++) {
        up_bps[node] = request->nodes[node].up_bps;
        down_bps[node] = request->nodes[node].down_bps;
    }
    for (uint16_t tree = 0; tree < plan->tree_count; tree++) {
        for (uint16_t edge = 0; edge < plan->trees[tree].edge_count; edge++) {
            uint16_t from = plan->trees[tree].edges[edge].from, to = plan->trees[tree].edges[edge].to;
            uint64_t rate_bps = plan_edge_rate_bps(plan, tree, to);
            if (rate_bps < SEND_RATE_MIN_BPS)
                return err_set(err, "the edge from %s to %s is given less than 1 kbit/s",
                               request->nodes[from].name, request->nodes[to].name);
            if (!book(&up_bps[from], rate_bps))
                return err_set(err, "the uplink of %s is overbooked", request->nodes[from].name);
            uint64_t kept_ppm = PLAN_WHOLE_PPM - request->paths[from][to].loss_ppm;
            if (!book(&down_bps[to], muldiv64(rate_bps, kept_ppm, PLAN_WHOLE_PPM)))
                return err_set(err, "the downlink of %s is overbooked", request->nodes[to].name);
        }
    }
    return true;
}

static bool check_against_request(const struct plan *plan, const struct plan_request *request,
                                  struct err *err)
{
    uint16_t trees_max = request->trees_max == 0 ? PLAN_TREES_MAX : request->trees_max;
    if (plan->job != request->job || plan->epoch != request->epoch)
        return err_set(err, "plan is for job %u epoch %u, expected %u epoch %u", plan->job, plan->epoch,
                       request->job, request->epoch);
    if (plan->node_count != request->node_count || plan->source != request->source)
        return err_set(err, "plan and request differ in nodes or source");
    if (plan->tree_count == 0 || plan->tree_count > trees_max)
        return err_set(err, "%u trees, expected 1 to %u", plan->tree_count, trees_max);
    if (plan->rate_bps == 0)
        return err_set(err, "rate is 0");
    return true;
}

/* Over all trees a node may feed so many others: it has a place for each. */
static bool check_distinct(const struct plan *plan, const struct plan_request *request, struct err *err)
{
    uint64_t fed[PLAN_NODES_MAX] = {0};
    for (uint16_t tree = 0; tree < plan->tree_count; tree++)
        for (uint16_t edge = 0; edge < plan->trees[tree].edge_count; edge++) {
            struct plan_edge this = plan->trees[tree].edges[edge];
            fed[this.from] |= UINT64_C(1) << this.to;
        }
    for (uint16_t node = 0; node < request->node_count; node++)
        if (__builtin_popcountll(fed[node]) > PLAN_CHILDREN_MAX)
            return err_set(err, "%s has more than %u children over all trees", request->nodes[node].name,
                           PLAN_CHILDREN_MAX);
    return true;
}

bool plan_validate(const struct plan *plan, const struct plan_request *request, struct err *err)
{
    if (!plan_request_validate(request, err))
        return err_context(err, "request");
    if (!check_against_request(plan, request, err))
        return false;
    uint16_t child_counts[PLAN_TREES_MAX][PLAN_NODES_MAX] = {{0}};
    uint64_t weight_ppm = 0;
    for (uint16_t tree = 0; tree < plan->tree_count; tree++) {
        if (!check_tree(&plan->trees[tree], request, child_counts[tree], err))
            return err_context(err, "tree %u", tree);
        if (plan->edge_rate_bps[tree] == 0 || plan->trees[tree].weight_ppm == 0)
            return err_set(err, "tree %u: rate and weight must be above 0", tree);
        weight_ppm += plan->trees[tree].weight_ppm;
    }
    if (weight_ppm != PLAN_WHOLE_PPM)
        return err_set(err, "weights add up to %llu ppm, expected %u", (unsigned long long)weight_ppm,
                       PLAN_WHOLE_PPM);
    return check_distinct(plan, request, err) && check_load(plan, request, err);
}
