/* Which of two edges a spanning tree takes first: by a metric, and where it ties by the hosts' names, or
 * at random from a seed (the published trees are each one draw among such ties). */
#pragma once

#include "planner/tree/shares.h"

#define ORDER_NEVER 1e300 /* a key from here on: the edge is not to be used */

struct order {
    const struct net *net;
    double *key;    /* [edges] smaller goes first */
    double *second; /* [edges] where keys tie; NULL: none */
    bool random;    /* then by a hash of seed and names, the same for both directions of a pair */
    uint64_t seed;
};

struct order_edge {
    uint16_t from, to;
};

/* Equal edges, once all keys tie, by the child's name, then the parent's. */
bool order_before(const struct order *order, struct order_edge one, struct order_edge other);

/* The least tree from the source over the members: exact (Prim) on keys that are the same in both
 * directions, as long as no host would have more children than it may have in one tree, or than
 * `degree_max`; then greedy, for the degree-constrained tree is NP-hard. Relays that lead nowhere are left
 * out. False: *missing is who can't be reached. */
bool order_grow(const struct order *order, const struct task *task, uint16_t degree_max, struct arena *arena,
                struct net_tree *tree, uint16_t *missing);
size_t order_grow_bytes(uint16_t count);
/* Relays without children go, until none is left. */
void order_prune(const struct task *task, struct net_tree *tree);
