/* Loads and counts of a forest, kept as edges come and go. */
#include "planner/tree/booking.h"

#include <string.h>

size_t booking_bytes(uint16_t count, uint16_t shared_count)
{
    size_t edges = (size_t)count * count;
    return arena_need(net_rows_of(count, shared_count) * sizeof(double)) +
           arena_need(count * sizeof(double)) + arena_need(NET_TREES_MAX * count * sizeof(uint16_t)) +
           arena_need(count * sizeof(uint16_t)) + arena_need(edges);
}

void booking_init(struct booking *booking, const struct task *task, const struct shares *shares,
                  struct arena *arena)
{
    uint16_t count = task->net->count;
    *booking = (struct booking){.task = task,
                                .shares = shares,
                                .load = arena_alloc(arena, shares->count * sizeof(double)),
                                .scale = arena_alloc(arena, count * sizeof(double)),
                                .children = arena_alloc(arena, NET_TREES_MAX * count * sizeof(uint16_t)),
                                .distinct = arena_alloc(arena, count * sizeof(uint16_t)),
                                .carried_by = arena_alloc(arena, (size_t)count * count)};
}

static void book(struct booking *booking, unsigned tree, uint16_t from, uint16_t to, double sign)
{
    const struct shares *shares = booking->shares;
    uint32_t edge = shares_edge(shares, from, to);
    double weight = sign * booking->forest->weight[tree] * booking->scale[to];
    for (uint32_t use = shares->first[edge]; use < shares->first[edge + 1]; use++)
        booking->load[shares->row[use]] += weight * shares->share[use];
}

void booking_open(struct booking *booking, struct net_forest *forest, double rate_bps)
{
    const struct net *net = booking->task->net;
    booking->forest = forest;
    memset(booking->load, 0, booking->shares->count * sizeof(double));
    memset(booking->children, 0, (size_t)forest->tree_count * net->count * sizeof(uint16_t));
    memset(booking->distinct, 0, net->count * sizeof(uint16_t));
    memset(booking->carried_by, 0, (size_t)net->count * net->count);
    for (uint16_t host = 0; host < net->count; host++)
        booking->scale[host] = task_pace_bps(booking->task, host, rate_bps) / rate_bps;
    for (unsigned tree = 0; tree < forest->tree_count; tree++)
        for (uint16_t host = 0; host < net->count; host++) {
            uint16_t parent = forest->trees[tree].parent[host];
            if (parent != NET_NONE)
                booking_add(booking, tree, parent, host);
        }
}

void booking_add(struct booking *booking, unsigned tree, uint16_t from, uint16_t to)
{
    uint32_t edge = shares_edge(booking->shares, from, to);
    book(booking, tree, from, to, 1);
    booking->forest->trees[tree].parent[to] = from;
    booking->children[tree * booking->shares->hosts + from]++;
    booking->distinct[from] += booking->carried_by[edge] == 0;
    booking->carried_by[edge] |= (uint8_t)(1u << tree);
}

void booking_remove(struct booking *booking, unsigned tree, uint16_t to)
{
    uint16_t from = booking->forest->trees[tree].parent[to];
    uint32_t edge = shares_edge(booking->shares, from, to);
    book(booking, tree, from, to, -1);
    booking->forest->trees[tree].parent[to] = NET_NONE;
    booking->children[tree * booking->shares->hosts + from]--;
    booking->carried_by[edge] &= (uint8_t) ~(1u << tree);
    booking->distinct[from] -= booking->carried_by[edge] == 0;
}

bool booking_allows(const struct booking *booking, unsigned tree, uint16_t from, uint16_t to)
{
    const struct net_host *host = &booking->task->net->hosts[from];
    uint32_t edge = shares_edge(booking->shares, from, to);
    return booking->shares->usable[edge] &&
           booking->children[tree * booking->shares->hosts + from] < host->children_max &&
           (booking->carried_by[edge] != 0 || booking->distinct[from] < host->distinct_max);
}

bool booking_fits(const struct booking *booking, unsigned tree, uint16_t from, uint16_t to, double limit)
{
    const struct shares *shares = booking->shares;
    uint32_t edge = shares_edge(shares, from, to);
    double weight = booking->forest->weight[tree] * booking->scale[to];
    for (uint32_t use = shares->first[edge]; use < shares->first[edge + 1]; use++)
        if (booking->load[shares->row[use]] + weight * shares->share[use] > limit)
            return false;
    return true;
}

bool booking_below(const struct booking *booking, unsigned tree, uint16_t host, uint16_t top)
{
    const uint16_t *parent = booking->forest->trees[tree].parent;
    while (host != NET_NONE && host != top)
        host = parent[host];
    return host == top;
}

double booking_load_max(const struct booking *booking)
{
    double largest = 0;
    for (uint32_t row = 0; row < booking->shares->count; row++)
        largest = booking->load[row] > largest ? booking->load[row] : largest;
    return largest;
}
