/* Why an edge is in no tree of a plan: what forbids it, or what rate and delay become when it takes the place
 * of the edge that feeds its receiver. One exchange, not a plan made anew: rate that is lost this way is what
 * the rows on the edge are short of, and no change is a tie. */
#pragma once

#include "planner/taken.h"

size_t exchange_bytes(const struct net *net); /* of arena, given back */
/* Fills plan->why.edges, of all pairs of nodes. `taken` is of this plan, and as before on return. `capped`:
 * the plan is held by the operator's rate, so no exchange gains any. */
void exchange_fill(struct taken *taken, bool capped, struct arena *arena, struct plan *plan);
