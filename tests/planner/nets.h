/* Nets to try planners on, from a seed: fifteen hosts in five regions with limits of
 * one kind each, and random ones. */
#pragma once

#include "planner/net/net.h"

enum nets_kind {
    /* Node rows bind: */
    NETS_PURE = 0, /* 15 hosts, three in each of five sites, 100 Mbit/s */
    NETS_UPLINK,   /* a third of the hosts lost 30 to 90 % of their uplink */
    NETS_HET,      /* uplinks 50 to 1000, downlinks twice that */
    NETS_ASYM,     /* uplinks 30, one of 200 per site */
    NETS_NODES,    /* n hosts, uplinks 100 to 2500, in eight regions */
    NETS_SKEW,     /* the same, one host in six with most of the uplinks */
    /* Edges, shared links and counts of children bind: */
    NETS_EDGE30, /* 40 % of ordered pairs of sites and 20 % inside lost 20 to 80 % */
    NETS_HOST,   /* 40 % of ordered pairs of hosts lost 20 to 80 % */
    NETS_SITE,   /* the three hosts of a site share 100 Mbit/s outwards */
    NETS_ADV,    /* 65 Mbit/s of cross traffic where RTT would go */
    /* n hosts, paths of 5 to 100 % of their ends, shared links, 2 to 4 children in a tree, 6 to 16 in all. */
    NETS_EDGES,
    NETS_TIGHT, /* the same, narrower groups and paths, 1 to 3 children, losses */
    NETS_KIND_COUNT
};
extern const char *const nets_names[NETS_KIND_COUNT];
static inline bool nets_binds_nodes(enum nets_kind kind)
{
    return kind <= NETS_SKEW;
}

size_t nets_bytes(uint16_t count); /* of arena */
/* `count` matters for the random kinds only: NODES, SKEW, EDGES, TIGHT. */
void nets_make(struct net *net, enum nets_kind kind, uint16_t count, uint64_t seed, struct arena *arena);

/* 2 to 12 hosts and all that is awkward: ties, tiny and zero uplinks, closed paths, hosts that take one
 * child, shared links, losses, slow receivers, hosts that only relay. Not every such net can be planned. */
#define NETS_SMALL_MAX 12
void nets_make_small(struct net *net, uint64_t seed, struct arena *arena);
