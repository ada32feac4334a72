/* Histogram of durations: buckets of 1/8 octave, so that a percentile is right to 12.5 % from 1 ns to hours.
 * Free-running: readers take percentiles of all that was ever recorded, or of the difference of two
 * copies. */
#pragma once

#include <stdint.h>

#include "base/count.h"

#define HISTOGRAM_SUB_BITS 3
#define HISTOGRAM_BUCKETS  ((64 - HISTOGRAM_SUB_BITS + 1) << HISTOGRAM_SUB_BITS)

struct histogram {
    uint64_t count;
    uint64_t largest;
    uint64_t buckets[HISTOGRAM_BUCKETS];
};

static inline uint32_t histogram_bucket(uint64_t value)
{
    if (value < 1u << HISTOGRAM_SUB_BITS)
        return (uint32_t)value;
    uint32_t shift = 63 - (uint32_t)__builtin_clzll(value) - HISTOGRAM_SUB_BITS;
    return ((shift + 1) << HISTOGRAM_SUB_BITS) +
           (uint32_t)(value >> shift & ((1u << HISTOGRAM_SUB_BITS) - 1));
}

static inline void histogram_add(struct histogram *histogram, uint64_t value)
{
    count_add(&histogram->buckets[histogram_bucket(value)], 1);
    count_add(&histogram->count, 1);
    if (value > histogram->largest)
        count_set(&histogram->largest, value);
}

/* The smallest value of the bucket in which the given share (per million) of all values is reached; 0 when
 * empty. */
uint64_t histogram_percentile(const struct histogram *histogram, uint32_t per_million);
