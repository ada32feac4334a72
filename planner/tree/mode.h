/* Every metric that leads to one tree (PLAN_METRICS), those of the papers and a few more. None but `widest`
 * knows the rows of hosts; that is what the planner's own choice is better by.
 *
 *   rtt            minimum spanning tree on RTT, the smaller of both directions; unmeasured pairs are not
 *                  used
 *   avb            the same on 1 / AvB, elementwise (Cascade); AvB of a pair is the smaller of its open
 *                  directions
 *   avb-directed   the least out-tree on 1 / AvB of each direction (Edmonds)
 *   distance       minimum spanning tree on a matrix of the operator's
 *   dcmst          a metric's tree with `degree` children per host at most
 *   lexicographic  AvB in classes that measurement can tell apart, then RTT
 *   widest         the fastest single tree under all rows that the token builder finds
 *   chain          from host to host, the nearest by RTT next
 *   star           everybody straight from the source
 *   given          as given
 *
 * All keep to children_max of the hosts; a greedy tree where that binds. */
#pragma once

#include "base/err.h"
#include "plan/plan.h"
#include "planner/tree/search.h"

/* Of an edge's AvB, where no interval was measured. */
#define MODE_CLASS_LOW  0.95
#define MODE_CLASS_HIGH 1.05

struct mode_options {
    enum plan_metric metric; /* of dcmst: rtt, avb, distance or lexicographic */
    uint16_t degree;         /* of dcmst; 0: 2 */
    bool ties_random;        /* where the metric ties; else by name */
    uint64_t ties_seed;
    const double *distance; /* [edges]; below 0: not known. NULL: there is none */
    /* [edges] What the measurement left open; NULL: 5 % on both sides. */
    const double *avb_low_bps, *avb_high_bps;
    const uint16_t *given; /* [count] parents, NET_NONE: not in the tree. NULL: none */
};

size_t mode_bytes(uint16_t count); /* of arena, while it runs, beside the search's own */
/* False: err says who can't be reached, or what was not given. Relays are left out but for a given tree. */
bool mode_tree(struct search *search, enum plan_metric mode, const struct mode_options *options,
               struct net_tree *tree, struct err *err);
/* AvB of an edge: of its path, and what its ends' interfaces allow. */
double mode_avb_bps(const struct net *net, uint16_t from, uint16_t to);
/* AvB of a pair is that of its narrower direction that is not closed: whether that is to → from. */
bool mode_avb_backwards(const struct net *net, uint16_t from, uint16_t to);
