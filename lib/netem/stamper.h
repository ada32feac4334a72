/* What a host adds to the times of its packets: it takes them in batches, and its stamps are noisy and
 * coarse. For the simulator's hosts, and for whoever runs estimators over a link model without hosts. All
 * zero: stamps are exact.
 *
 * A batch is handed over when it is complete, `batch` packets after the first one at the earliest, or when
 * `batch_ns` have passed since that came; all of its packets get that moment as theirs. Then a stamp is
 * off by a normal draw of deviation noise_ns, and rounded down to a multiple of granularity_ns. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/rng.h"

#define NETEM_BATCH_MAX 256

struct netem_stamping {
    uint32_t batch; /* 0 and 1: each packet for itself; at most NETEM_BATCH_MAX */
    uint64_t batch_ns;
    uint64_t noise_ns;       /* < 2^31 */
    uint64_t granularity_ns; /* 0 and 1: of a nanosecond */
};

static inline bool netem_stamping_exact(const struct netem_stamping *stamping)
{
    return stamping->batch <= 1 && stamping->noise_ns == 0 && stamping->granularity_ns <= 1;
}

/* One packet: noise and granularity. Draws only where there is noise. */
uint64_t netem_stamp(const struct netem_stamping *stamping, uint64_t at_ns, struct rng *rng);
/* Packets that came at at_ns (in order of time; `count` > 0 of them by now_ns): how many the first batch
 * has, and its stamp without noise; 0: it is not complete at now_ns. */
uint32_t netem_stamp_batch(const struct netem_stamping *stamping, const uint64_t *at_ns, uint32_t count,
                           uint64_t now_ns, uint64_t *stamp_ns);
/* All that came at a host, in order of time: each time becomes its stamp. */
void netem_stamp_all(const struct netem_stamping *stamping, uint64_t *at_ns, uint32_t count, struct rng *rng);
