/* One host after the other, tree after tree; when nobody has room for the next host, somebody's child
 * moves. */
#include "planner/tree/tokens.h"

#include <string.h>

#define TOLERANCE    1e-9   /* of sums that meet a limit in another order */
#define PLACE_NEARLY 1e-6   /* rounding of loads: counted as a place */
#define FAILURES_MAX 8      /* of making room, in a tree: then it is given up */
#define LOOKS_MAX    300000 /* at hosts that might take a child, in a tree: of 200 hosts nearly all */

size_t tokens_bytes(uint16_t count)
{
    return 3 * arena_need(count * sizeof(double)) + 2 * arena_need(count);
}

void tokens_init(struct tokens *tokens, struct booking *booking, struct arena *arena)
{
    uint16_t count = booking->shares->hosts;
    *tokens = (struct tokens){.booking = booking,
                              .room = arena_alloc(arena, count * sizeof(double)),
                              .supply = arena_alloc(arena, count * sizeof(double)),
                              .near_us = arena_alloc(arena, count * sizeof(double)),
                              .inside = arena_alloc(arena, count),
                              .stuck = arena_alloc(arena, count)};
}

/* How many more children of the tree the host can feed, by its uplink and its counts; slow ones count for
 * whole. */
static double count_room(const struct tokens *tokens, unsigned tree, uint16_t host)
{
    const struct booking *booking = tokens->booking;
    const struct net_host *limits = &booking->task->net->hosts[host];
    double more = limits->children_max - booking->children[tree * booking->shares->hosts + host];
    double left = tokens->limit - booking->load[host];
    if (host == booking->task->net->source)
        left -= tokens->later / limits->up_bps;
    double slots = left * limits->up_bps / booking->forest->weight[tree];
    return slots < more ? slots : more;
}

/* The row of the edge that would be fullest. */
static double fullest(const struct tokens *tokens, unsigned tree, uint16_t from, uint16_t to)
{
    const struct booking *booking = tokens->booking;
    const struct shares *shares = booking->shares;
    uint32_t edge = shares_edge(shares, from, to);
    double weight = booking->forest->weight[tree] * booking->scale[to], largest = 0;
    for (uint32_t use = shares->first[edge]; use < shares->first[edge + 1]; use++) {
        double load = booking->load[shares->row[use]] + weight * shares->share[use];
        largest = load > largest ? load : largest;
    }
    return largest;
}

/* What of the guide is left on the edge, in weights. */
static double guided(const struct tokens *tokens, uint16_t from, uint16_t to)
{
    const struct booking *booking = tokens->booking;
    uint32_t edge = shares_edge(booking->shares, from, to);
    double left = tokens->guide[edge] * tokens->limit;
    for (unsigned tree = 0; tree < booking->forest->tree_count; tree++)
        if (booking->carried_by[edge] >> tree & 1)
            left -= booking->forest->weight[tree];
    return left;
}

static bool fits(const struct tokens *tokens, unsigned tree, uint16_t from, uint16_t to)
{
    const struct booking *booking = tokens->booking;
    if (!booking_allows(booking, tree, from, to))
        return false;
    if (from == booking->task->net->source &&
        booking->load[from] + (booking->forest->weight[tree] * booking->scale[to] + tokens->later) /
                                  booking->task->net->hosts[from].up_bps >
            tokens->limit)
        return false;
    return booking_fits(booking, tree, from, to, tokens->limit);
}

/* How good the parent is, larger is better. */
static double worth(const struct tokens *tokens, unsigned tree, uint16_t from, uint16_t to)
{
    const struct net *net = tokens->booking->task->net;
    switch (tokens->order.parent) {
    case TOKENS_NEAREST:
        return -(double)net->rtt_us[net_edge(net, from, to)];
    case TOKENS_SPARE:
        return -fullest(tokens, tree, from, to);
    case TOKENS_GUIDED:
        return guided(tokens, from, to);
    case TOKENS_FREEST:
    case TOKENS_PARENT_COUNT:
        break;
    }
    return tokens->room[from];
}

/* Of the worth of the best one so far, the nearer of equals. */
static bool better(const struct net *net, uint16_t from, double worth, uint16_t best, double best_worth,
                   uint16_t host)
{
    return best == NET_NONE || worth > best_worth ||
           (!(worth < best_worth) &&
            net->rtt_us[net_edge(net, from, host)] < net->rtt_us[net_edge(net, best, host)]);
}

/* The best parent with room for the host. NET_NONE: there is none. */
static uint16_t parent_for(const struct tokens *tokens, unsigned tree, uint16_t host)
{
    const struct net *net = tokens->booking->task->net;
    uint16_t best = NET_NONE;
    double best_worth = 0;
    double need = tokens->booking->scale[host] * (1 - TOLERANCE);
    for (uint16_t from = 0; from < net->count; from++) {
        if (!tokens->inside[from] || tokens->room[from] < need)
            continue;
        double its_worth = worth(tokens, tree, from, host);
        if (!better(net, from, its_worth, best, best_worth, host) || !fits(tokens, tree, from, host))
            continue;
        best = from;
        best_worth = its_worth;
    }
    return best;
}

/* Hosts that can feed others come first, else the tree might end with room nobody can use; then by the
 * order's key. */
static bool comes_before(const struct tokens *tokens, uint16_t host, uint16_t other)
{
    double room_host = tokens->room[host], room_other = tokens->room[other];
    if ((room_host >= 1) != (room_other >= 1))
        return room_host >= 1;
    switch (tokens->order.child) {
    case TOKENS_SCARCE:
        if (tokens->supply[host] < tokens->supply[other] || tokens->supply[host] > tokens->supply[other])
            return tokens->supply[host] < tokens->supply[other];
        break;
    case TOKENS_NEAR:
        return tokens->near_us[host] < tokens->near_us[other];
    case TOKENS_ROOMY:
    case TOKENS_CHILD_COUNT:
        break;
    }
    if (room_host > room_other || room_host < room_other)
        return room_host > room_other;
    return tokens->near_us[host] < tokens->near_us[other];
}

static uint16_t next_host(const struct tokens *tokens)
{
    const struct task *task = tokens->booking->task;
    uint16_t best = NET_NONE;
    for (uint16_t host = 0; host < task->net->count; host++)
        if (task->member[host] && !tokens->inside[host] && !tokens->stuck[host] &&
            (best == NET_NONE || comes_before(tokens, host, best)))
            best = host;
    return best;
}

static void join(struct tokens *tokens, unsigned tree, uint16_t from, uint16_t host)
{
    const struct net *net = tokens->booking->task->net;
    booking_add(tokens->booking, tree, from, host);
    tokens->room[from] = count_room(tokens, tree, from);
    tokens->inside[host] = true;
    memset(tokens->stuck, 0, net->count);
    for (uint16_t other = 0; other < net->count; other++) {
        double rtt_us = net->rtt_us[net_edge(net, host, other)];
        if (rtt_us < tokens->near_us[other])
            tokens->near_us[other] = rtt_us;
    }
}

/* `parent` gives its child `child` to somebody else and takes `host` for it. */
static bool swap_for(struct tokens *tokens, unsigned tree, uint16_t parent, uint16_t child, uint16_t host)
{
    struct booking *booking = tokens->booking;
    booking_remove(booking, tree, child);
    if (fits(tokens, tree, parent, host)) {
        booking_add(booking, tree, parent, host);
        tokens->inside[host] = true;
        for (uint16_t other = 0; other < booking->shares->hosts; other++)
            if (other != parent && tokens->inside[other] && fits(tokens, tree, other, child) &&
                !booking_below(booking, tree, other, child)) {
                booking_remove(booking, tree, host);
                booking_add(booking, tree, other, child);
                tokens->room[other] = count_room(tokens, tree, other);
                join(tokens, tree, parent, host);
                return true;
            }
        tokens->inside[host] = false;
        booking_remove(booking, tree, host);
    }
    booking_add(booking, tree, parent, child);
    return false;
}

/* Nobody has room: one child of somebody who could feed the host moves on. */
static bool make_room(struct tokens *tokens, unsigned tree, uint16_t host)
{
    const struct booking *booking = tokens->booking;
    const uint16_t *parents = booking->forest->trees[tree].parent;
    for (uint16_t child = 0; child < booking->shares->hosts; child++) {
        uint16_t parent = parents[child];
        if (parent == NET_NONE || !booking->shares->usable[shares_edge(booking->shares, parent, host)])
            continue;
        if (tokens->looks < booking->shares->hosts)
            return false;
        tokens->looks -= booking->shares->hosts;
        if (swap_for(tokens, tree, parent, child, host))
            return true;
    }
    return false;
}

/* What can still reach each host: the smaller of the edge's tokens and its sender's. */
static void count_supply(struct tokens *tokens, unsigned tree)
{
    const struct booking *booking = tokens->booking;
    const struct net *net = booking->task->net;
    for (uint16_t to = 0; to < net->count; to++) {
        tokens->supply[to] = 0;
        for (uint16_t from = 0; from < net->count; from++) {
            uint32_t edge = net_edge(net, from, to);
            if (!booking->shares->usable[edge])
                continue;
            double slots = tokens->room[from];
            for (uint32_t use = booking->shares->first[edge]; use < booking->shares->first[edge + 1]; use++) {
                double of_row = (tokens->limit - booking->load[booking->shares->row[use]]) /
                                (booking->forest->weight[tree] * booking->shares->share[use]);
                slots = of_row < slots ? of_row : slots;
            }
            tokens->supply[to] += slots > 0 ? slots : 0;
        }
    }
}

static void begin_tree(struct tokens *tokens, unsigned tree)
{
    tokens->looks = LOOKS_MAX;
    const struct net *net = tokens->booking->task->net;
    tokens->later = 0;
    for (unsigned after = tree + 1; after < tokens->booking->forest->tree_count; after++)
        tokens->later += tokens->booking->forest->weight[after];
    for (uint16_t host = 0; host < net->count; host++) {
        tokens->inside[host] = host == net->source;
        tokens->stuck[host] = false;
        tokens->room[host] = count_room(tokens, tree, host);
        tokens->near_us[host] = net->rtt_us[net_edge(net, net->source, host)];
    }
    if (tokens->order.child == TOKENS_SCARCE)
        count_supply(tokens, tree);
}

/* False: uplinks and counts of children have fewer places than hosts are missing, whoever goes where. A
 * slow host takes less than a place. */
static bool enough_room(const struct tokens *tokens, unsigned missing)
{
    const struct task *task = tokens->booking->task;
    double places = 0;
    for (uint16_t host = 0; host < task->net->count; host++) {
        if (tokens->booking->scale[host] < 1)
            return true;
        if (task->member[host] && tokens->room[host] > 0)
            places += (double)(uint64_t)(tokens->room[host] + PLACE_NEARLY);
    }
    return places >= missing;
}

static bool build_tree(struct tokens *tokens, unsigned tree)
{
    const struct task *task = tokens->booking->task;
    unsigned missing = 0, failures = 0;
    for (uint16_t host = 0; host < task->net->count; host++)
        missing += task->member[host] && host != task->net->source;
    begin_tree(tokens, tree);
    if (!enough_room(tokens, missing))
        return false;
    while (missing > 0) {
        uint16_t host = next_host(tokens);
        if (host == NET_NONE || failures == FAILURES_MAX)
            return false;
        uint16_t from = parent_for(tokens, tree, host);
        if (from == NET_NONE && !make_room(tokens, tree, host)) {
            tokens->stuck[host] = true;
            failures++;
            continue;
        }
        if (from != NET_NONE)
            join(tokens, tree, from, host);
        missing--;
    }
    return true;
}

bool tokens_build(struct tokens *tokens, struct net_forest *forest, struct tokens_order order,
                  double rate_bps)
{
    tokens->order = order;
    tokens->limit = forest->period / rate_bps * (1 + TOLERANCE);
    for (unsigned tree = 0; tree < forest->tree_count; tree++)
        memset(forest->trees[tree].parent, 0xff, tokens->booking->shares->hosts * sizeof(uint16_t));
    booking_open(tokens->booking, forest, rate_bps);
    for (unsigned tree = 0; tree < forest->tree_count; tree++)
        if (!build_tree(tokens, tree))
            return false;
    return true;
}
