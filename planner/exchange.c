/* Rows change by two or four edges at a time: the rate is that of the fullest among those
 * and the fullest of the others. */
#include "planner/exchange.h"

#include <string.h>

#define MOVES_MAX   4 /* edges that come or go */
#define TOUCHED_MAX (MOVES_MAX * NET_USES_MAX)
#define TIE         1e-6 /* of the rate */
#define CHANGE_MOST 1000.0

struct branch_into {
    uint16_t parent; /* NET_NONE: the host is not in the tree, or the source */
    double bps;
    bool slow; /* gets less than the others */
};

struct exchanging {
    struct taken *taken;
    const struct net *net;
    const struct plan *plan;
    bool capped;
    uint32_t *busy; /* [busy_count] rows that the plan takes of, the fullest first */
    uint32_t busy_count;
    double now; /* growth that the plan's rows leave; 1 but where rounding or a cap leaves more */
    struct branch_into into[PLAN_TREES_MAX][PLAN_NODES_MAX];
    uint16_t children[PLAN_TREES_MAX][PLAN_NODES_MAX];
    uint64_t delay_us[PLAN_TREES_MAX];
    struct {
        uint32_t row;
        double common, paced; /* before */
    } touched[TOUCHED_MAX];
    uint32_t touched_count;
};

size_t exchange_bytes(const struct net *net)
{
    return arena_need(net_rows(net) * sizeof(uint32_t));
}

/* ---- rows ---- */

/* The edge comes (sign 1) or goes (-1). */
static void touch(struct exchanging *it, uint16_t from, uint16_t to, const struct branch_into *like,
                  double sign)
{
    struct net_use uses[NET_USES_MAX];
    unsigned count = net_uses(it->net, from, to, uses);
    for (unsigned use = 0; use < count; use++) {
        uint32_t row = uses[use].row;
        it->touched[it->touched_count].row = row;
        it->touched[it->touched_count].common = it->taken->common[row];
        it->touched[it->touched_count++].paced = it->taken->paced[row];
        (like->slow ? it->taken->paced : it->taken->common)[row] += sign * uses[use].per_bit * like->bps;
    }
}

static void put_back(struct exchanging *it)
{
    while (it->touched_count > 0) {
        it->touched_count--;
        it->taken->common[it->touched[it->touched_count].row] = it->touched[it->touched_count].common;
        it->taken->paced[it->touched[it->touched_count].row] = it->touched[it->touched_count].paced;
    }
}

static bool is_touched(const struct exchanging *it, uint32_t row)
{
    uint32_t index = 0;
    while (index < it->touched_count && it->touched[index].row != row)
        index++;
    return index < it->touched_count;
}

static void take_smaller(const struct exchanging *it, uint32_t row, double *growth, uint32_t *tight)
{
    double its = taken_growth(it->taken, row);
    if (its < *growth) {
        *growth = its;
        *tight = row;
    }
}

/* By how much the common rate can grow, and which row ends it. */
static double growth(const struct exchanging *it, uint32_t *tight)
{
    double least = it->capped ? 1 : CHANGE_MOST;
    uint32_t fullest = 0;
    while (fullest < it->busy_count && is_touched(it, it->busy[fullest]))
        fullest++;
    if (fullest < it->busy_count)
        take_smaller(it, it->busy[fullest], &least, tight);
    for (uint32_t index = 0; index < it->touched_count; index++)
        take_smaller(it, it->touched[index].row, &least, tight);
    return least;
}

/* Among those that are sorted already; of equals the first row comes first. */
static void sort_in(struct exchanging *it, uint32_t row)
{
    uint32_t place = it->busy_count++;
    double its = taken_growth(it->taken, row);
    for (; place > 0 && its < taken_growth(it->taken, it->busy[place - 1]); place--)
        it->busy[place] = it->busy[place - 1];
    it->busy[place] = row;
}

/* What the edge carries if nothing else takes of its rows. */
static double alone_bps(const struct net *net, uint16_t from, uint16_t to, uint32_t *narrowest)
{
    struct net_use uses[NET_USES_MAX];
    double least = NET_NO_LIMIT;
    unsigned count = net_uses(net, from, to, uses);
    for (unsigned use = 0; use < count; use++) {
        double capacity = net_capacity(net, uses[use].row);
        double bps =
            capacity < NET_NO_LIMIT && uses[use].per_bit > 0 ? capacity / uses[use].per_bit : NET_NO_LIMIT;
        if (bps < least) {
            least = bps;
            *narrowest = uses[use].row;
        }
    }
    return least;
}

/* ---- trees ---- */

static bool inside(const struct exchanging *it, uint16_t tree, uint16_t host)
{
    return host == it->net->source || it->into[tree][host].parent != NET_NONE;
}

static bool is_below(const struct exchanging *it, uint16_t tree, uint16_t host, uint16_t top)
{
    while (host != NET_NONE && host != top)
        host = it->into[tree][host].parent;
    return host == top;
}

/* RTTs from the source down to the host; `known_us` has those that are known already. */
static uint64_t depth_us(const struct exchanging *it, uint16_t tree, uint16_t host, uint64_t *known_us)
{
    uint16_t parent = it->into[tree][host].parent;
    if (known_us[host] == UINT64_MAX)
        known_us[host] = parent == NET_NONE ? 0
                                            : depth_us(it, tree, parent, known_us) +
                                                  it->net->rtt_us[net_edge(it->net, parent, host)];
    return known_us[host];
}

static uint64_t tree_delay_us(const struct exchanging *it, uint16_t tree)
{
    uint64_t largest_us = 0, known_us[PLAN_NODES_MAX];
    memset(known_us, 0xff, sizeof(known_us));
    for (uint16_t host = 0; host < it->net->count; host++)
        if (depth_us(it, tree, host, known_us) > largest_us)
            largest_us = known_us[host];
    return largest_us / 2;
}

static double host_bps(const struct exchanging *it, uint16_t host)
{
    double sum_bps = 0;
    for (uint16_t tree = 0; tree < it->plan->tree_count; tree++)
        sum_bps += it->into[tree][host].bps;
    return sum_bps;
}

static bool has_room(const struct exchanging *it, uint16_t tree, uint16_t from, uint16_t to)
{
    uint16_t distinct = 0;
    for (uint16_t host = 0; host < it->net->count; host++) {
        bool fed = false;
        for (uint16_t other = 0; other < it->plan->tree_count; other++)
            fed |= it->into[other][host].parent == from;
        distinct = (uint16_t)(distinct + (fed || host == to));
    }
    return it->children[tree][from] < it->net->hosts[from].children_max &&
           distinct <= it->net->hosts[from].distinct_max;
}

/* ---- one edge in one tree ---- */

/* What speaks against it before rows are looked at; COSTS: nothing. */
static enum plan_edge_verdict obstacle(const struct exchanging *it, uint16_t tree, uint16_t from, uint16_t to,
                                       struct plan_why_edge *answer)
{
    const struct branch_into *into = &it->into[tree][to];
    uint32_t narrowest = 0;
    double most_bps = alone_bps(it->net, from, to, &narrowest);
    if (!inside(it, tree, from) || !inside(it, tree, to))
        return PLAN_EDGE_RELAY;
    if (most_bps < into->bps * TAKEN_TIGHT) {
        answer->kbps = (uint32_t)(most_bps / 1e3);
        answer->limit = taken_limit(it->taken->from, narrowest);
        return PLAN_EDGE_NARROW;
    }
    if (from != it->net->source && it->into[tree][from].bps < into->bps * TAKEN_TIGHT) {
        answer->kbps = (uint32_t)(host_bps(it, from) / 1e3);
        return PLAN_EDGE_SLOW;
    }
    if (!has_room(it, tree, from, to))
        return PLAN_EDGE_FULL;
    if (is_below(it, tree, from, to) && !net_usable(it->net, into->parent, from))
        return PLAN_EDGE_BELOW;
    return PLAN_EDGE_COSTS;
}

/* `to` hangs under `from`; what hung above it, and below, takes its place. */
static struct plan_why_edge exchanged(struct exchanging *it, uint16_t tree, uint16_t from, uint16_t to)
{
    struct branch_into *into = &it->into[tree][to], *above = &it->into[tree][from];
    const struct branch_into was = *into, above_was = *above;
    bool below = is_below(it, tree, from, to);
    uint32_t tight = 0;
    if (below) {
        touch(it, above->parent, from, above, -1);
        touch(it, into->parent, from, above, 1);
        above->parent = into->parent;
    }
    touch(it, was.parent, to, into, -1);
    touch(it, from, to, into, 1);
    into->parent = from;
    double change = growth(it, &tight) / it->now - 1;
    uint64_t largest_us = tree_delay_us(it, tree);
    for (uint16_t other = 0; other < it->plan->tree_count; other++)
        if (other != tree && it->delay_us[other] > largest_us)
            largest_us = it->delay_us[other];
    put_back(it);
    *into = was;
    *above = above_was;
    change = change < TIE && change > -TIE ? 0 : change;
    return (struct plan_why_edge){.verdict = PLAN_EDGE_COSTS,
                                  .limit = taken_limit(it->taken->from, tight),
                                  .change_ppm = (int32_t)(change * 1e6),
                                  .delay_us = (int32_t)((int64_t)largest_us - (int64_t)it->plan->delay_us)};
}

/* Whatever is nearer to being taken: no obstacle, then the greater rate, then the less delay. */
static bool better(const struct plan_why_edge *one, const struct plan_why_edge *other)
{
    if (one->verdict != other->verdict)
        return one->verdict > other->verdict;
    if (one->change_ppm != other->change_ppm)
        return one->change_ppm > other->change_ppm;
    return one->delay_us < other->delay_us;
}

static struct plan_why_edge in_best_tree(struct exchanging *it, uint16_t from, uint16_t to)
{
    struct plan_why_edge best = {.verdict = PLAN_EDGE_RELAY};
    for (uint16_t tree = 0; tree < it->plan->tree_count; tree++) {
        struct plan_why_edge its = {0};
        its.verdict = (uint8_t)obstacle(it, tree, from, to, &its);
        if (its.verdict == PLAN_EDGE_COSTS)
            its = exchanged(it, tree, from, to);
        best = better(&its, &best) ? its : best;
    }
    return best;
}

/* ---- all of them ---- */

static bool is_used(const struct exchanging *it, uint16_t from, uint16_t to)
{
    bool used = false;
    for (uint16_t tree = 0; tree < it->plan->tree_count; tree++)
        used |= it->into[tree][to].parent == from;
    return used;
}

static struct plan_why_edge verdict_on(struct exchanging *it, const struct plan_pins *pins, uint16_t from,
                                       uint16_t to)
{
    const struct request_net *net = it->taken->from;
    const struct plan_request *request = net->request;
    uint16_t from_node = net->node_of[from], to_node = net->node_of[to];
    struct plan_why_edge plain = {.verdict = PLAN_EDGE_UNKNOWN};
    if (is_used(it, from, to))
        plain.verdict = PLAN_EDGE_USED;
    else if (to_node == request->source)
        plain.verdict = PLAN_EDGE_SOURCE;
    else if (request->nodes[from_node].leaf)
        plain.verdict = PLAN_EDGE_LEAF;
    else if (!plan_edge_allowed(request, pins, from_node, to_node))
        plain.verdict = PLAN_EDGE_FORBIDDEN;
    else if (it->net->rtt_us[net_edge(it->net, from, to)] == NET_RTT_UNKNOWN)
        plain.verdict = PLAN_EDGE_UNMEASURED;
    return plain.verdict != PLAN_EDGE_UNKNOWN ? plain : in_best_tree(it, from, to);
}

static void read_trees(struct exchanging *it)
{
    const uint16_t *host_of = it->taken->host_of;
    for (uint16_t tree = 0; tree < it->plan->tree_count; tree++) {
        for (uint16_t host = 0; host < it->net->count; host++)
            it->into[tree][host] = (struct branch_into){.parent = NET_NONE};
        for (uint16_t index = 0; index < it->plan->trees[tree].edge_count; index++) {
            struct plan_edge edge = it->plan->trees[tree].edges[index];
            struct branch_into *into = &it->into[tree][host_of[edge.to]];
            into->parent = host_of[edge.from];
            into->bps = taken_edge_bps(it->taken, tree, edge, &into->slow);
            it->children[tree][into->parent]++;
        }
        it->delay_us[tree] = tree_delay_us(it, tree);
    }
}

void exchange_fill(struct taken *taken, bool capped, struct arena *arena, struct plan *plan)
{
    const struct request_net *from = taken->from;
    const struct plan_pins pins = plan_pins(from->request);
    size_t mark = arena->used;
    uint32_t ignored = 0;
    struct exchanging it = {.taken = taken, .net = &from->net, .plan = plan, .capped = capped};
    it.busy = arena_alloc(arena, net_rows(it.net) * sizeof(uint32_t));
    for (uint32_t row = 0; row < net_rows(it.net); row++)
        if (taken->common[row] + taken->paced[row] > 0 && net_capacity(it.net, row) < NET_NO_LIMIT)
            sort_in(&it, row);
    read_trees(&it);
    it.now = growth(&it, &ignored);
    for (uint16_t host = 0; host < it.net->count; host++)
        for (uint16_t to = 0; to < it.net->count; to++)
            if (host != to)
                plan->why.edges[from->node_of[host]][from->node_of[to]] = verdict_on(&it, &pins, host, to);
    plan->why.edges_known = true;
    arena->used = mark;
}
