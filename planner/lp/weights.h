/* How much of the data each of some given trees is to carry: exactly, by the same simplex as the packing, and in whole
 * blocks of a short period, for a forest. */
#pragma once

#include "planner/net/net.h"

#define WEIGHTS_TREES_MAX 64

struct weights_task {
    const struct net *net;
    double rate_cap_bps; /* 0: none */
    uint16_t tree_count; /* 1 … WEIGHTS_TREES_MAX; each from the source to all receivers over usable edges */
    const struct net_tree *trees;
};

size_t weights_bytes(uint16_t count, uint16_t shared_count); /* of arena, given back on return */
/* The rates that add up to most, within every row; tree_bps[tree_count]. Returns their sum. Trees that do not help get 0:
 * no more than rows are tight have a rate. */
double weights_rates(const struct weights_task *task, struct arena *arena, double *tree_bps);
/* Whole weights near these rates: for every period up to period_max (at most NET_PERIOD_MAX) the largest remainders,
 * then single blocks moved while that helps; of all periods the one with the best rate, of equal ones the shortest. Only
 * trees that carry something are in the forest, greatest rate first, at most trees_max (NET_TREES_MAX); their parents are
 * the task's. Returns the forest's rate; 0 and no trees where no tree has a rate. */
double weights_forest(const struct weights_task *task, const double *tree_bps, uint16_t trees_max,
                      uint16_t period_max, struct arena *arena, struct net_forest *forest);
