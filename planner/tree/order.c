/* Prim's algorithm with the best parent of each host kept: O(n^2) while no limit on children binds. */
#include "planner/tree/order.h"

#include <string.h>

/* FNV-1a, then mixed (splitmix64): neighbouring seeds and names give unrelated draws. */
static uint64_t draw(uint64_t seed, const char *lower, const char *upper)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325) ^ seed * UINT64_C(0x9e3779b97f4a7c15);
    for (const char *letter = lower; *letter != '\0'; letter++)
        hash = (hash ^ (uint8_t)*letter) * UINT64_C(0x100000001b3);
    hash = (hash ^ 0xff) * UINT64_C(0x100000001b3);
    for (const char *letter = upper; *letter != '\0'; letter++)
        hash = (hash ^ (uint8_t)*letter) * UINT64_C(0x100000001b3);
    hash = (hash ^ (hash >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    hash = (hash ^ (hash >> 27)) * UINT64_C(0x94d049bb133111eb);
    return hash ^ (hash >> 31);
}

static uint64_t draw_pair(const struct order *order, struct order_edge edge)
{
    const struct net_host *hosts = order->net->hosts;
    bool upwards = edge.from < edge.to;
    return draw(order->seed, hosts[upwards ? edge.from : edge.to].name,
                hosts[upwards ? edge.to : edge.from].name);
}

bool order_before(const struct order *order, struct order_edge one, struct order_edge other)
{
    uint32_t first = net_edge(order->net, one.from, one.to),
             then = net_edge(order->net, other.from, other.to);
    if (order->key[first] < order->key[then] || order->key[first] > order->key[then])
        return order->key[first] < order->key[then];
    if (order->second != NULL &&
        (order->second[first] < order->second[then] || order->second[first] > order->second[then]))
        return order->second[first] < order->second[then];
    if (order->random) {
        uint64_t drawn = draw_pair(order, one), other_drawn = draw_pair(order, other);
        if (drawn != other_drawn)
            return drawn < other_drawn;
    }
    return one.to != other.to ? one.to < other.to : one.from < other.from;
}

struct growth {
    const struct order *order;
    uint16_t *best; /* parent that would take the host; NET_NONE: nobody */
    uint16_t *open; /* hosts in the tree with room for a child */
    uint16_t open_count;
    uint16_t *children;
    bool *outside;
    uint16_t degree_max;
    uint32_t left;   /* hosts outside */
    uint32_t places; /* for children, in the tree */
};

size_t order_grow_bytes(uint16_t count)
{
    return 3 * arena_need(count * sizeof(uint16_t)) + arena_need(count);
}

static void offer(struct growth *growth, uint16_t from, uint16_t to)
{
    const struct order *order = growth->order;
    uint16_t best = growth->best[to];
    if (order->key[net_edge(order->net, from, to)] >= ORDER_NEVER)
        return;
    if (best == NET_NONE || order_before(order, (struct order_edge){from, to}, (struct order_edge){best, to}))
        growth->best[to] = from;
}

/* The host has all the children it may have: whoever counted on it looks for another. */
static void close_host(struct growth *growth, uint16_t host)
{
    uint16_t place = 0;
    while (growth->open[place] != host)
        place++;
    growth->open[place] = growth->open[--growth->open_count];
    for (uint16_t to = 0; to < growth->order->net->count; to++) {
        if (!growth->outside[to] || growth->best[to] != host)
            continue;
        growth->best[to] = NET_NONE;
        for (uint16_t index = 0; index < growth->open_count; index++)
            offer(growth, growth->open[index], to);
    }
}

static void open_host(struct growth *growth, uint16_t host)
{
    growth->open[growth->open_count++] = host;
    for (uint16_t to = 0; to < growth->order->net->count; to++)
        if (growth->outside[to])
            offer(growth, host, to);
}

static uint16_t children_max(const struct growth *growth, uint16_t host)
{
    uint16_t own = growth->order->net->hosts[host].children_max;
    return own < growth->degree_max ? own : growth->degree_max;
}

/* It would take the last place there is, has none for others, and is not the last one: a leaf ends a chain. */
static bool ends_growth(const struct growth *growth, uint16_t host)
{
    return growth->places == 1 && growth->left > 1 && children_max(growth, host) == 0;
}

static uint16_t next_host(const struct growth *growth)
{
    uint16_t next = NET_NONE;
    for (uint16_t host = 0; host < growth->order->net->count; host++) {
        if (!growth->outside[host] || growth->best[host] == NET_NONE || ends_growth(growth, host))
            continue;
        if (next == NET_NONE || order_before(growth->order, (struct order_edge){growth->best[host], host},
                                             (struct order_edge){growth->best[next], next}))
            next = host;
    }
    return next;
}

bool order_grow(const struct order *order, const struct task *task, uint16_t degree_max, struct arena *arena,
                struct net_tree *tree, uint16_t *missing)
{
    uint16_t count = task->net->count;
    size_t mark = arena->used;
    struct growth growth = {.order = order,
                            .best = arena_alloc(arena, count * sizeof(uint16_t)),
                            .open = arena_alloc(arena, count * sizeof(uint16_t)),
                            .children = arena_alloc(arena, count * sizeof(uint16_t)),
                            .outside = arena_alloc(arena, count),
                            .degree_max = degree_max};
    arena->used = mark;
    memset(tree->parent, 0xff, count * sizeof(uint16_t));
    memset(growth.best, 0xff, count * sizeof(uint16_t));
    memset(growth.children, 0, count * sizeof(uint16_t));
    for (uint16_t host = 0; host < count; host++) {
        growth.outside[host] = task->member[host] && host != task->net->source;
        growth.left += growth.outside[host];
    }
    for (uint16_t host = task->net->source; growth.left > 0; growth.left--) {
        growth.places += children_max(&growth, host);
        if (children_max(&growth, host) > 0)
            open_host(&growth, host);
        host = next_host(&growth);
        if (host == NET_NONE)
            break;
        uint16_t from = tree->parent[host] = growth.best[host];
        growth.outside[host] = false;
        growth.places--;
        if (++growth.children[from] == children_max(&growth, from))
            close_host(&growth, from);
    }
    *missing = 0;
    while (growth.left > 0 && !growth.outside[*missing])
        (*missing)++;
    order_prune(task, tree);
    return growth.left == 0;
}

void order_prune(const struct task *task, struct net_tree *tree)
{
    const struct net *net = task->net;
    for (bool pruned = true; pruned;) {
        pruned = false;
        for (uint16_t host = 0; host < net->count; host++) {
            bool leads = net->hosts[host].receiver || tree->parent[host] == NET_NONE;
            for (uint16_t child = 0; child < net->count && !leads; child++)
                leads = tree->parent[child] == host;
            if (!leads) {
                tree->parent[host] = NET_NONE;
                pruned = true;
            }
        }
    }
}
