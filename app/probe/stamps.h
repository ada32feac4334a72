/* What an end of the path adds to its stamps: noise, granularity, batches that come with one stamp, a clock of its own. */
#pragma once

#include <stdint.h>

#include "base/rng.h"
#include "probe/record.h"

struct stamps_config {
    uint64_t noise_ns;       /* standard deviation */
    uint64_t granularity_ns; /* stamps are multiples of it; 0: of a nanosecond */
    uint32_t batch;          /* packets that are stamped together, with the last one's time; 0 and 1: none */
    uint64_t batch_ns;       /* a batch ends that long after its first packet at the latest */
    int64_t skew_ppb;        /* its clock runs so much faster */
    uint64_t offset_ns;      /* and was ahead at 0 by this */
};

struct stamps {
    const struct stamps_config *config;
    struct rng rng;
};

/* What a self-test of that end would find. */
struct train_floor stamps_floor(const struct stamps_config *config);
void stamps_begin(struct stamps *stamps, const struct stamps_config *config, uint64_t seed);
/* The stamp of something that happened at at_ns, without batches. */
uint64_t stamps_take(struct stamps *stamps, uint64_t at_ns);
/* Times of `count` arrivals, in order, become those at which they are seen: all of a batch at its end. */
void stamps_batch(const struct stamps_config *config, uint64_t *arrivals_ns, uint32_t count);
