/* The greatest rate at which trees, as many as it takes, bring everything to every receiver: a linear program
 * over all trees, solved by column generation (Gilmore and Gomory 1961). Each turn asks for the cheapest tree
 * under the prices of the rows; one that costs less than 1 gets a rate, and prices prove a bound: rate <= sum
 * of price * capacity / cheapest.
 *
 * Where all hosts receive, rate and bound meet within the tolerance. Hosts that only relay make the
 * trees those of heuristics, and the bound one that may stay above (pricing.h). Children per tree are
 * looked at on the average only, and only when asked for; distinct children not at all: the trees
 * need not be valid for a forest. */
#pragma once

#include "planner/net/net.h"

#define PACKING_ROUNDS_MAX 20000
#define PACKING_PIVOTS_MAX 100000

struct packing_options {
    double rate_cap_bps; /* 0: none */
    double tolerance;    /* ends when rate >= (1 - tolerance) * bound; at least 1e-7 */
    uint32_t rounds_max; /* trees asked for; PACKING_ROUNDS_MAX hardly ever ends it */
    uint32_t pivots_max; /* steps of the simplex */
    bool fan_out;        /* sum of (children - children_max) * rate <= 0 at every host; kept within 1e-6 */
};

/* Prices that prove the bound: every tree T from the source to all receivers over edges whose rows all have
 * capacity has sum of row[r] * u_r(T) + sum of children[v] * (children of v in T - children_max of v) +
 * sum >= 1, so rate <= sum of row[r] * capacity(r) + sum * rate cap. */
struct packing_proof {
    double *row;      /* [net_rows] */
    double *children; /* [count] */
    double sum;
};

struct packing {
    double rate_bps, bound_bps;
    uint32_t rounds, pivots;
    uint16_t tree_count;
    struct net_tree *trees; /* greatest rate first */
    double *tree_bps;
    struct packing_proof proof;
};

/* Of arena, for what stays and for what is needed in between. */
size_t packing_bytes(uint16_t count, uint16_t shared_count);
/* Begins with the trees given, if any. Where some receiver can't be reached: rate and bound 0, no trees. */
void packing_solve(const struct net *net, const struct packing_options *options, const struct net_tree *warm,
                   uint16_t warm_count, struct arena *arena, struct packing *packing);
