/* GATHER: how long what is due, or what came, may wait for more of its kind, so that a host that sleeps in
 * between wakes up rarely (a wake costs 30 us of CPU and more). Packets that waited for each other leave at
 * once and make a queue as long as they waited: an eighth of the queue that bql keeps at that rate is too
 * little to disturb anybody. */
#pragma once

#include <stdint.h>

#include "base/units.h"
#include "edge/roots.h"

#define GATHER_NS_MAX     NS_PER_MS
#define GATHER_QUEUE_PART 8
#define GATHER_GIGABIT_NS                                                                                    \
    312500ULL /* at 1 Gbit/s; as the queue (bql/path.c, TARGET_BASE_NS) by 1 / sqrt(rate) */

/* At that rate, where nothing else is known. */
static inline uint64_t gather_at_ns(uint64_t rate_bps)
{
    uint64_t root_millis = square_root(muldiv64(NS_PER_S, 1000000, MAX(rate_bps, NS_PER_MS)));
    return MIN(muldiv64(GATHER_GIGABIT_NS, root_millis, 1000), GATHER_NS_MAX);
}
