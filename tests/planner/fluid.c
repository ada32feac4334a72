/* Progressive filling: everybody who is not stopped grows, the next row to be full stops those who use it. */
#include "fluid.h"

#include <string.h>

#include "base/rng.h"
#include "planner/tree/part.h"

#define DRAWS 12 /* sum of so many uniform ones, less half as many: nearly normal */
#define FULL  (1 - 1e-9)

struct fluid {
    const struct net *net;
    const struct choice *choice;
    double *rate_bps;        /* [count] of hosts that are stopped */
    bool *stopped;           /* [count] */
    double *still, *growing; /* [rows] load of hosts that are stopped; of the others, per planned rate */
};

size_t fluid_bytes(const struct net *net)
{
    return part_bytes(net) + 2 * arena_need(net_rows(net) * sizeof(double)) +
           arena_need(net->count * sizeof(double)) + 2 * arena_need(net->count);
}

static double factor(struct rng *rng, double share)
{
    double sum = 0;
    for (unsigned draw = 0; draw < DRAWS; draw++)
        sum += (double)rng_below(rng, 1000000) / 1e6;
    return 1 + share * (sum - DRAWS / 2);
}

static void mismeasure(double *capacity, double share, struct rng *rng)
{
    if (*capacity > 0 && *capacity < NET_NO_LIMIT)
        *capacity *= factor(rng, share);
}

void fluid_noise(const struct net *net, double share, uint64_t seed, struct net *noisy, struct arena *arena)
{
    struct rng rng;
    struct part copy;
    bool *all = arena_alloc(arena, net->count);
    memset(all, true, net->count);
    part_init(&copy, net, all, arena);
    *noisy = copy.net;
    rng_init(&rng, seed);
    for (uint16_t host = 0; host < net->count; host++) {
        mismeasure(&noisy->hosts[host].up_bps, share, &rng);
        mismeasure(&noisy->hosts[host].down_bps, share, &rng);
        mismeasure(&noisy->hosts[host].packets_ps, share, &rng);
        mismeasure(&noisy->hosts[host].window_bytes, share, &rng);
    }
    for (uint16_t shared = 0; shared < net->shared_count; shared++)
        mismeasure(&noisy->shared[shared].rate_bps, share, &rng);
    for (uint32_t edge = 0; edge < (uint32_t)net->count * net->count; edge++)
        mismeasure(&noisy->path_bps[edge], share, &rng);
}

/* ---- rates ---- */

static void add_edge(struct fluid *fluid, uint16_t tree, uint16_t host)
{
    const struct choice *choice = fluid->choice;
    struct net_use uses[NET_USES_MAX];
    uint16_t parent = choice->forest.trees[tree].parent[host];
    double weight = (double)choice->forest.weight[tree] / choice->forest.period;
    unsigned count = parent == NET_NONE ? 0 : net_uses(fluid->net, parent, host, uses);
    for (unsigned use = 0; use < count; use++)
        if (fluid->stopped[host])
            fluid->still[uses[use].row] += weight * uses[use].per_bit * fluid->rate_bps[host];
        else
            fluid->growing[uses[use].row] += weight * uses[use].per_bit * choose_host_bps(choice, host);
}

static void sum_up(struct fluid *fluid)
{
    memset(fluid->still, 0, net_rows(fluid->net) * sizeof(double));
    memset(fluid->growing, 0, net_rows(fluid->net) * sizeof(double));
    for (uint16_t tree = 0; tree < fluid->choice->forest.tree_count; tree++)
        for (uint16_t host = 0; host < fluid->net->count; host++)
            add_edge(fluid, tree, host);
}

/* Of the planned rates, when the row is full. */
static double full_at(const struct fluid *fluid, uint32_t row)
{
    double capacity = net_capacity(fluid->net, row), left = capacity - fluid->still[row];
    if (capacity >= NET_NO_LIMIT || !(fluid->growing[row] > 0))
        return NET_NO_LIMIT;
    return left > 0 ? left / fluid->growing[row] : 0;
}

/* When the host gets what the slowest of its parents gets that are stopped. */
static double fed_at(const struct fluid *fluid, uint16_t host)
{
    double at = NET_NO_LIMIT;
    for (uint16_t tree = 0; tree < fluid->choice->forest.tree_count; tree++) {
        uint16_t parent = fluid->choice->forest.trees[tree].parent[host];
        if (parent == NET_NONE || parent == fluid->net->source || !fluid->stopped[parent])
            continue;
        double its = fluid->rate_bps[parent] / choose_host_bps(fluid->choice, host);
        at = its < at ? its : at;
    }
    return at;
}

static double next_stop(const struct fluid *fluid)
{
    double next = NET_NO_LIMIT;
    for (uint32_t row = 0; row < net_rows(fluid->net); row++) {
        double at = full_at(fluid, row);
        next = at < next ? at : next;
    }
    for (uint16_t host = 0; host < fluid->net->count; host++) {
        double at = fluid->stopped[host] ? NET_NO_LIMIT : fed_at(fluid, host);
        next = at < next ? at : next;
    }
    return next;
}

/* Whether the host, growing, is stopped by a row of one of its edges, or by a parent. */
static bool stops(const struct fluid *fluid, uint16_t host, double at)
{
    bool full = fed_at(fluid, host) * FULL <= at;
    for (uint16_t tree = 0; tree < fluid->choice->forest.tree_count; tree++) {
        struct net_use uses[NET_USES_MAX];
        uint16_t parent = fluid->choice->forest.trees[tree].parent[host];
        unsigned count = parent == NET_NONE ? 0 : net_uses(fluid->net, parent, host, uses);
        for (unsigned use = 0; use < count; use++)
            full |= full_at(fluid, uses[use].row) * FULL <= at;
    }
    return full;
}

/* One of the hosts without a pace stops them all; false: nobody grows any more. */
static bool stop_some(struct fluid *fluid)
{
    const struct choice *choice = fluid->choice;
    double at = next_stop(fluid);
    bool common = false, any = false, now[NET_HOSTS_MAX];
    for (uint16_t host = 0; host < fluid->net->count; host++) {
        now[host] = !fluid->stopped[host] && stops(fluid, host, at);
        common |= now[host] && choice->pace_bps[host] >= NET_NO_LIMIT;
    }
    for (uint16_t host = 0; host < fluid->net->count; host++)
        if (now[host] || (!fluid->stopped[host] && common && choice->pace_bps[host] >= NET_NO_LIMIT)) {
            fluid->stopped[host] = any = true;
            fluid->rate_bps[host] = choose_host_bps(choice, host) * at;
        }
    return any;
}

double fluid_rate(const struct net *net, const struct choice *choice, struct arena *arena)
{
    struct fluid fluid = {.net = net,
                          .choice = choice,
                          .rate_bps = arena_alloc(arena, net->count * sizeof(double)),
                          .stopped = arena_alloc(arena, net->count),
                          .still = arena_alloc(arena, net_rows(net) * sizeof(double)),
                          .growing = arena_alloc(arena, net_rows(net) * sizeof(double))};
    double slowest_bps = NET_NO_LIMIT;
    memset(fluid.stopped, false, net->count);
    do
        sum_up(&fluid);
    while (stop_some(&fluid));
    for (uint16_t host = 0; host < net->count; host++)
        if (host != net->source && net->hosts[host].receiver && fluid.rate_bps[host] < slowest_bps)
            slowest_bps = fluid.rate_bps[host];
    return slowest_bps;
}
