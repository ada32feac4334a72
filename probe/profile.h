/* The trains of estimator `sluice`: how many packets leave at which rates.
 *
 * Contact: of a path of which nothing is known. A prime at the port's rate makes a queue at any hop that is
 * slower; then rates fall in even steps of their logarithm to a share of the first. What the whole of it
 * can queue is its bytes. Around: a prime that outlasts the cross traffic's fluctuation, then the rate that
 * is available, so that the queue stands and ends as it began.
 * Flat: all at one rate: where the cross traffic changes too much to follow, at the hop's own rate, whose
 * queue cannot run dry; at the port's rate, where nothing has queued yet. */
#pragma once

#include "probe/train.h"

struct profile {
    uint64_t port_bps;
    uint32_t wire_bytes;
};

void profile_contact(const struct profile *profile, uint64_t top_bps, uint32_t prime, uint32_t packets,
                     double least, struct train_shape *shape);
void profile_around(const struct profile *profile, uint64_t rate_bps, uint32_t prime, uint32_t packets,
                    struct train_shape *shape);
void profile_flat(const struct profile *profile, uint64_t rate_bps, uint32_t packets,
                  struct train_shape *shape);
