/* Whole weights for given trees: which period up to NET_PERIOD_MAX and which share of it each tree best
 * gets. Small steps (one more, one less, one from here to there) from the weights it has and their
 * multiples, until none helps. */
#pragma once

#include "planner/tree/booking.h"

size_t weigh_bytes(uint16_t count, uint16_t shared_count);
/* Trees that are better left out get weight 0 and stay; forest_drop takes them away. Returns the largest
 * load per period: 1 / rate. `scale` as in the booking, which it uses as scratch and leaves closed. */
double weigh(struct booking *booking, struct net_forest *forest, double rate_bps, struct arena *arena);
/* Trees of weight 0 go, equal trees become one, weights lose their common divisor; the heaviest tree comes
 * first. */
void weigh_tidy(const struct net *net, struct net_forest *forest);
