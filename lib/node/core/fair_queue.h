/* Start-time fair queueing (Goyal, Vin, Cheng 1996): who is next among those that share something.
 *
 * Guarantee: while two users both have something to send, the costs that they were charged in any interval
 * differ by at most one packet of each. One that has nothing to send saves nothing up; what it leaves goes
 * to the others by the same rule. A cost is bytes ÷ weight, in any unit that all users of one clock have in
 * common. Used for the edges of a port (weights are rates, so that a tag is the time at which the edge's
 * bytes would have left at its own rate) and for the jobs of an edge (weights are 2^priority). */
#pragma once

#include <stdint.h>

#include "base/units.h"

#define FAIR_RATE_MIN_BPS 1000u /* keeps a tag from wrapping within 10^9 packets */

struct fair_clock {
    uint64_t virtual_time; /* tag of what was sent last */
};

struct fair_user {
    uint64_t finish; /* where its next packet starts if it has not been idle */
};

/* The user with the smallest tag is next. */
static inline uint64_t fair_tag(const struct fair_clock *clock, const struct fair_user *user)
{
    return MAX(clock->virtual_time, user->finish);
}

static inline void fair_on_sent(struct fair_clock *clock, struct fair_user *user, uint64_t cost)
{
    clock->virtual_time = fair_tag(clock, user);
    user->finish = clock->virtual_time + cost;
}

/* What a packet costs an edge whose weight is its rate: ns, rounded up. */
static inline uint64_t fair_rate_cost(uint32_t wire_bytes, uint64_t rate_bps)
{
    uint64_t weight_bps = MAX(rate_bps, (uint64_t)FAIR_RATE_MIN_BPS);
    return (wire_bytes * 8 * NS_PER_S + weight_bps - 1) / weight_bps;
}
