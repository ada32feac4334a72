/* Loss in bursts: the Gilbert-Elliott model (Gilbert 1960, Elliott 1963), two states and a step per packet.
 *
 * A packet is lost with loss_ppb in the bad state and gap_loss_ppb in the good one; then the state changes,
 * good → bad with enter_ppb, bad → good with leave_ppb. So with p = enter, r = leave: the share of packets in
 * the bad state is p / (p + r), the mean number of packets in a stay there is 1 / r, and the loss in all is
 * loss * p / (p + r) + gap_loss * r / (p + r). It starts good. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/rng.h"

/* All zero: no such loss. */
struct netem_burst {
    uint64_t enter_ppb, leave_ppb;
    uint64_t loss_ppb, gap_loss_ppb;
};

/* Whether the packet is lost; *bad is the state. */
static inline bool netem_burst_step(const struct netem_burst *burst, bool *bad, struct rng *rng)
{
    bool lost = rng_chance_ppb(rng, *bad ? burst->loss_ppb : burst->gap_loss_ppb);
    if (rng_chance_ppb(rng, *bad ? burst->leave_ppb : burst->enter_ppb))
        *bad = !*bad;
    return lost;
}
