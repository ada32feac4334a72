/* The Steiner problem by branch and bound: a relay is in the tree, which makes it one more host to
 * reach, or it is out. Both get a least cost from dual ascent and trees from heuristics (steiner.h).
 * Exact where the turns suffice. */
#pragma once

#include "planner/lp/steiner.h"

size_t branch_bytes(uint16_t count); /* of arena, given back on return */
/* parent and *cost: a tree to begin with, replaced by a cheaper one if there is. Returns what no tree costs
 * less than; with enough turns it equals *cost. */
double branch_least(const struct steiner_task *task, uint32_t turns_max, struct arena *arena,
                    uint16_t *parent, double *cost);
