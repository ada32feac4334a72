/* Seeded nets; rates in Mbit/s where a number stands alone. */
#include "nets.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/rng.h"

#define SITES       5
#define REGIONS     8
#define SHARED_MAX  REGIONS
#define MEGABIT_BPS 1e6

const char *const nets_names[NETS_KIND_COUNT] = {
    [NETS_PURE] = "pure",   [NETS_UPLINK] = "uplink", [NETS_HET] = "het",   [NETS_ASYM] = "asym",
    [NETS_NODES] = "nodes", [NETS_EDGE30] = "edge30", [NETS_HOST] = "host", [NETS_SITE] = "site",
    [NETS_ADV] = "adv",     [NETS_EDGES] = "edges",   [NETS_SKEW] = "skew", [NETS_TIGHT] = "tight",
};

/* London, Frankfurt, Canada, Oregon, Singapore. */
static const unsigned site_rtt_ms[SITES][SITES] = {{1, 13, 79, 128, 168},
                                                   {13, 1, 93, 142, 160},
                                                   {79, 93, 1, 60, 220},
                                                   {128, 142, 60, 1, 162},
                                                   {168, 160, 220, 162, 1}};

size_t nets_bytes(uint16_t count)
{
    return net_bytes(count < 15 ? 15 : count, SHARED_MAX);
}

static double between(struct rng *rng, unsigned low, unsigned high)
{
    return (double)(low + rng_below(rng, high - low + 1));
}

static void name_hosts(struct net *net)
{
    for (uint16_t host = 0; host < net->count; host++) {
        struct net_host *its = &net->hosts[host];
        snprintf(its->name, sizeof(its->name), "h%03u", host);
        its->children_max = its->distinct_max = 16;
        its->receiver = host != net->source;
    }
}

static void set_up(struct net *net, uint16_t host, double up, double down)
{
    net->hosts[host].up_bps = up * MEGABIT_BPS;
    net->hosts[host].down_bps = down * MEGABIT_BPS;
}

static void five_sites(struct net *net, struct rng *rng)
{
    for (uint16_t from = 0; from < net->count; from++) {
        set_up(net, from, 100, 100);
        for (uint16_t to = 0; to < from; to++) {
            uint32_t rtt_us = site_rtt_ms[from / 3][to / 3] * 1000 + (uint32_t)rng_below(rng, 300);
            net->rtt_us[net_edge(net, from, to)] = net->rtt_us[net_edge(net, to, from)] = rtt_us;
        }
    }
}

static void set_path(struct net *net, uint16_t from, uint16_t to, double rate)
{
    if (from != to && to != net->source)
        net->path_bps[net_edge(net, from, to)] = rate * MEGABIT_BPS;
}

static void uplinks(struct net *net, enum nets_kind kind, struct rng *rng)
{
    for (uint16_t host = 0; host < net->count; host++) {
        if (kind == NETS_UPLINK && rng_below(rng, 3) == 0)
            set_up(net, host, 100 - between(rng, 30, 90), 100);
        if (kind == NETS_ASYM)
            set_up(net, host, host % 3 == 0 ? 200 : 30, 1000);
        if (kind == NETS_SKEW && host % 6 != 0)
            set_up(net, host, between(rng, 5, 150), 10000);
        if (kind == NETS_HET) {
            double up = between(rng, 50, 1000);
            set_up(net, host, up, 2 * up);
        }
    }
}

static void paths(struct net *net, enum nets_kind kind, struct rng *rng)
{
    bool lost[SITES][SITES];
    for (unsigned from = 0; from < SITES; from++)
        for (unsigned to = 0; to < SITES; to++)
            lost[from][to] = from != to && rng_below(rng, 10) < 4;
    for (uint16_t from = 0; from < net->count; from++)
        for (uint16_t to = 0; to < net->count; to++) {
            unsigned one = from / 3, other = to / 3;
            bool loses = kind == NETS_HOST ? rng_below(rng, 10) < 4
                         : one == other    ? rng_below(rng, 10) < 2
                                           : lost[one][other];
            unsigned nearer = one < other ? one : other, farther = one < other ? other : one;
            bool adverse = (nearer == 0 && farther == 1) || (nearer == 0 && farther == 2) ||
                           (nearer == 2 && farther == 3);
            if (kind == NETS_ADV)
                set_path(net, from, to, adverse ? 35 : 100);
            else
                set_path(net, from, to, loses ? 100 - between(rng, 20, 80) : 100);
        }
}

static void shared_egress(struct net *net, uint16_t shared, double rate)
{
    snprintf(net->shared[shared].name, sizeof(net->shared[shared].name), "egress%u", shared);
    net->shared[shared].rate_bps = rate * MEGABIT_BPS;
    for (uint16_t from = 0; from < net->count; from++)
        for (uint16_t to = 0; to < net->count; to++)
            if ((from / 3) % net->shared_count == shared && (to / 3) % net->shared_count != shared)
                net_cross(net, from, to, (uint8_t)shared);
}

/* Regions on a plane, so that RTTs are a metric's. */
static void regions(struct net *net, struct rng *rng)
{
    double x[REGIONS], y[REGIONS];
    for (unsigned region = 0; region < REGIONS; region++) {
        x[region] = between(rng, 0, 100);
        y[region] = between(rng, 0, 100);
    }
    for (uint16_t from = 0; from < net->count; from++) {
        double up = between(rng, 100, 2500);
        set_up(net, from, up, 10000);
        for (uint16_t to = 0; to < from; to++) {
            unsigned one = from / 3 % REGIONS, other = to / 3 % REGIONS;
            double far = (x[one] > x[other] ? x[one] - x[other] : x[other] - x[one]) +
                         (y[one] > y[other] ? y[one] - y[other] : y[other] - y[one]);
            uint32_t rtt_us = 500 + (uint32_t)(far * 1000) + (uint32_t)rng_below(rng, 500);
            net->rtt_us[net_edge(net, from, to)] = net->rtt_us[net_edge(net, to, from)] = rtt_us;
        }
    }
}

static void edges(struct net *net, bool tight, struct rng *rng)
{
    for (uint16_t from = 0; from < net->count; from++) {
        net->hosts[from].children_max = (uint16_t)((tight ? 1 : 2) + rng_below(rng, 3));
        net->hosts[from].distinct_max = (uint16_t)(net->hosts[from].children_max + 4 + rng_below(rng, 9));
        for (uint16_t to = 0; to < net->count; to++) {
            double end_bps = net->hosts[from].up_bps < net->hosts[to].down_bps ? net->hosts[from].up_bps
                                                                               : net->hosts[to].down_bps;
            set_path(net, from, to, end_bps / MEGABIT_BPS * between(rng, 5, tight ? 50 : 100) / 100);
            if (tight && from != to)
                net->loss[net_edge(net, from, to)] = between(rng, 0, 3) / 100;
        }
    }
    for (uint16_t shared = 0; shared < net->shared_count; shared++)
        shared_egress(net, shared, tight ? between(rng, 500, 2500) : between(rng, 1000, 5000));
}

void nets_make(struct net *net, enum nets_kind kind, uint16_t count, uint64_t seed, struct arena *arena)
{
    struct rng rng;
    bool random = kind == NETS_NODES || kind == NETS_SKEW || kind == NETS_EDGES || kind == NETS_TIGHT;
    rng_init(&rng, seed * NETS_KIND_COUNT + kind);
    net_make(net, random ? count : 15, 0,
             kind == NETS_SITE    ? SITES
             : kind == NETS_EDGES ? REGIONS
                                  : 0,
             arena);
    name_hosts(net);
    if (random)
        regions(net, &rng);
    else
        five_sites(net, &rng);
    uplinks(net, kind, &rng);
    if (kind == NETS_EDGE30 || kind == NETS_HOST || kind == NETS_ADV)
        paths(net, kind, &rng);
    for (uint16_t shared = 0; kind == NETS_SITE && shared < SITES; shared++)
        shared_egress(net, shared, 100);
    if (kind == NETS_EDGES || kind == NETS_TIGHT)
        edges(net, kind == NETS_TIGHT, &rng);
}

static double one_of(struct rng *rng, unsigned choices, ...)
{
    double chosen = 0;
    unsigned place = (unsigned)rng_below(rng, choices);
    va_list list;
    va_start(list, choices);
    for (unsigned choice = 0; choice <= place; choice++)
        chosen = va_arg(list, int);
    va_end(list);
    return chosen;
}

static void small_hosts(struct net *net, bool awkward, struct rng *rng)
{
    for (uint16_t host = 0; host < net->count; host++) {
        struct net_host *its = &net->hosts[host];
        set_up(net, host, one_of(rng, 6, 100, 100, 50, 30, 10, awkward ? 0 : 1),
               one_of(rng, 6, 1000, 1000, 100, 100, 60, awkward ? 5 : 100));
        its->children_max = (uint16_t)one_of(rng, 5, 16, 16, 3, 2, awkward ? 0 : 1);
        its->distinct_max = (uint16_t)(its->children_max + rng_below(rng, 4));
        its->receiver = host != net->source && (!awkward || rng_below(rng, 6) != 0);
        its->packets_ps = rng_below(rng, 8) == 0 ? between(rng, 1000, 20000) : NET_NO_LIMIT;
        its->window_bytes = rng_below(rng, 8) == 0 ? between(rng, 100000, 2000000) : NET_NO_LIMIT;
    }
    net->hosts[net->source].up_bps = between(rng, 10, 100) * MEGABIT_BPS;
    net->hosts[net->source].children_max = (uint16_t)between(rng, 1, 4);
    net->hosts[net->source].distinct_max =
        (uint16_t)(net->hosts[net->source].children_max + rng_below(rng, 4));
    net->hosts[net->source == 0 ? 1 : 0].receiver = true; /* somebody is */
}

void nets_make_small(struct net *net, uint64_t seed, struct arena *arena)
{
    struct rng rng;
    rng_init(&rng, seed);
    uint16_t count = (uint16_t)between(&rng, 2, NETS_SMALL_MAX), source = (uint16_t)rng_below(&rng, count);
    bool awkward = rng_below(&rng, 2) == 0;
    net_make(net, count, source, (uint16_t)(rng_below(&rng, 2) * 2), arena);
    net->packet_bits = 1538 * 8;
    name_hosts(net);
    small_hosts(net, awkward, &rng);
    bool idle = rng_below(&rng, 3) == 0; /* nothing known of paths: all ties */
    for (uint16_t from = 0; from < count; from++)
        for (uint16_t to = 0; to < count; to++) {
            if (from < to)
                net->rtt_us[net_edge(net, from, to)] = net->rtt_us[net_edge(net, to, from)] =
                    (uint32_t)one_of(&rng, 4, 1000, 10000, 80000, 160000);
            if (!idle)
                set_path(net, from, to, one_of(&rng, 6, 100, 100, 70, 40, 20, awkward ? 0 : 10));
            if (rng_below(&rng, 10) == 0)
                net->loss[net_edge(net, from, to)] = 0.01;
        }
    for (uint16_t shared = 0; shared < net->shared_count; shared++)
        shared_egress(net, shared, between(&rng, 5, 200));
}
