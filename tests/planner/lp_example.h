/* Seeded nets of several kinds, for the tests of planner/lp and for those that
 * compare it with another solver. */
#pragma once

#include <stdio.h>
#include <string.h>

#include "base/rng.h"
#include "planner/net/net.h"

enum example_kind {
    EXAMPLE_UPLINKS = 0, /* interfaces alone */
    EXAMPLE_PATHS,       /* all paths limited */
    EXAMPLE_MIXED,       /* rows of all kinds */
    EXAMPLE_SPARSE,      /* few paths, some hosts that forward nothing; may be impossible */
    EXAMPLE_RELAYS,      /* mixed, some hosts no receivers */
    EXAMPLE_TIES,        /* capacities of a few values, narrow paths */
    EXAMPLE_SITES,       /* narrow paths and shared links between four sites */
    EXAMPLE_KINDS
};

static inline double example_mbps(struct rng *rng, double low, double high)
{
    return (low + (high - low) * (double)rng_below(rng, 1000) / 1000) * 1e6;
}

static inline void example_hosts(struct net *net, struct rng *rng)
{
    net->packet_bits = 12304;
    for (uint16_t host = 0; host < net->count; host++) {
        struct net_host *one = &net->hosts[host];
        snprintf(one->name, sizeof(one->name), "h%03u", host);
        one->up_bps = example_mbps(rng, 20, 1000);
        one->down_bps = 2 * one->up_bps + 5e8;
        one->children_max = one->distinct_max = (uint16_t)(net->count - 1);
        one->receiver = host != net->source;
    }
}

static inline void example_edges(struct net *net, struct rng *rng)
{
    for (uint32_t edge = 0; edge < (uint32_t)net->count * net->count; edge++)
        net->rtt_us[edge] = (uint32_t)(1000 + rng_below(rng, 200000));
    for (uint16_t from = 0; from < net->count; from++)
        for (uint16_t to = 0; to < net->count; to++) {
            double up_bps = net->hosts[from].up_bps;
            if (net->path_bps[net_edge(net, from, to)] > 0)
                net->path_bps[net_edge(net, from, to)] = example_mbps(rng, 0.05, 1) / 1e6 * up_bps;
        }
}

static inline void example_more_rows(struct net *net, struct rng *rng)
{
    for (uint16_t host = 0; host < net->count; host++) {
        if (rng_below(rng, 3) == 0)
            net->hosts[host].packets_ps = (double)(20000 + rng_below(rng, 100000));
        if (rng_below(rng, 3) == 0)
            net->hosts[host].window_bytes = (double)(1000000 + rng_below(rng, 8000000));
    }
    for (uint8_t shared = 0; shared < net->shared_count; shared++)
        net->shared[shared].rate_bps = example_mbps(rng, 100, 600);
    for (uint16_t from = 0; from < net->count; from++)
        for (uint16_t to = 0; to < net->count; to++) {
            uint32_t edge = net_edge(net, from, to);
            net->loss[edge] = rng_below(rng, 3) == 0 ? (double)rng_below(rng, 50) / 1000 : 0;
            if (from % 4 != to % 4 && net->shared_count > 0)
                net_cross(net, from, to, (uint8_t)(from % 4 % net->shared_count));
            if (rng_below(rng, 4) == 0)
                net->path_bps[edge] = from == to || to == net->source ? 0 : NET_NO_LIMIT;
        }
}

static inline void example_thin_out(struct net *net, struct rng *rng)
{
    for (uint32_t edge = 0; edge < (uint32_t)net->count * net->count; edge++)
        if (rng_below(rng, 10) < 6)
            net->path_bps[edge] = 0;
    for (uint16_t host = 0; host < net->count; host++) {
        if (rng_below(rng, 5) == 0 && host != net->source)
            net->hosts[host].children_max = 0;
        if (rng_below(rng, 8) == 0)
            net->hosts[host].up_bps = 0;
    }
}

static inline void example_ties(struct net *net, struct rng *rng)
{
    for (uint16_t host = 0; host < net->count; host++)
        net->hosts[host].up_bps = 1e8 * (double)(1 + rng_below(rng, 2));
    for (uint16_t from = 0; from < net->count; from++)
        for (uint16_t to = 0; to < net->count; to++)
            if (net->path_bps[net_edge(net, from, to)] > 0)
                net->path_bps[net_edge(net, from, to)] =
                    rng_below(rng, 3) == 0 ? 1e8 : 1e8 * (double)(1 + rng_below(rng, 3)) / net->count;
}

static inline void example_sites(struct net *net, struct rng *rng)
{
    for (uint8_t shared = 0; shared < net->shared_count; shared++)
        net->shared[shared].rate_bps = example_mbps(rng, 100, 400);
    for (uint16_t from = 0; from < net->count; from++)
        for (uint16_t to = 0; to < net->count; to++) {
            uint32_t edge = net_edge(net, from, to);
            if (from % 4 == to % 4 || net->path_bps[edge] <= 0)
                continue;
            net->path_bps[edge] = example_mbps(rng, 1, 400) / (1 + net->count * net->count / 16.0);
            net_cross(net, from, to, (uint8_t)(from % 4));
        }
}

static inline void example_net(struct net *net, uint16_t count, enum example_kind kind, uint64_t seed,
                               struct arena *arena)
{
    struct rng rng;
    rng_init(&rng, seed * EXAMPLE_KINDS + kind);
    net_make(net, count, (uint16_t)rng_below(&rng, count), 4, arena);
    for (uint8_t shared = 0; shared < 4; shared++)
        net->shared[shared].rate_bps = NET_NO_LIMIT;
    example_hosts(net, &rng);
    if (kind != EXAMPLE_UPLINKS)
        example_edges(net, &rng);
    if (kind == EXAMPLE_SITES)
        example_sites(net, &rng);
    if (kind == EXAMPLE_TIES)
        example_ties(net, &rng);
    if (kind == EXAMPLE_MIXED || kind == EXAMPLE_RELAYS)
        example_more_rows(net, &rng);
    if (kind == EXAMPLE_SPARSE)
        example_thin_out(net, &rng);
    for (uint16_t host = 0; host < count && kind == EXAMPLE_RELAYS; host++)
        if (rng_below(&rng, 3) == 0)
            net->hosts[host].receiver = false;
    if (kind == EXAMPLE_RELAYS)
        net->hosts[net->source == 0 ? 1 : 0].receiver = true;
}
