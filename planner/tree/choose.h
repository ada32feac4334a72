/* The planner's own choice (`auto`): which receivers are fed at a pace of their own, which relays are
 * worth it, and the forest.
 *
 * Guarantee: the time until the last receiver has the object is never longer than by any mode's tree
 * (mode.h), but by eps at most, both judged by the rows of the net (judge.h). A receiver gets a pace of
 * its own when the others end sooner for it by more than eps, and the last one no later. A relay is used
 * when that makes it shorter by more than eps. */
#pragma once

#include "planner/tree/pool.h"

struct choose_options {
    struct pool_options pool;
    bool pack; /* look for the bound and for columns by the linear program (lp/packing.h) */
};

struct choice {
    struct net_forest forest;
    double *pace_bps; /* [count] of a slow host its own rate; NET_NO_LIMIT: judgement.rate_bps */
    bool *member;     /* [count] relays that were asked for; of those, trees have the ones that help */
    struct judgement judgement;
    double bound_bps; /* no forest brings hosts without a pace more */
    enum pool_origin origin;
    unsigned detail;
    /* Each mode's tree, where it has one, without paces and extra relays. */
    bool mode_known[PLAN_METRIC_COUNT];
    struct judgement modes[PLAN_METRIC_COUNT];
};

size_t choose_bytes(const struct net *net); /* of arena */
/* False: err says who can't be reached. The choice's memory is the arena's; what else was used is given
 * back. */
bool choose(const struct net *net, const struct choose_options *options, struct arena *arena,
            struct choice *choice, struct err *err);
/* What the edge into the host carries in the tree, bit/s on the wire of new data. */
double choose_edge_bps(const struct choice *choice, uint16_t tree, uint16_t host);
/* What the host gets. */
double choose_host_bps(const struct choice *choice, uint16_t host);
