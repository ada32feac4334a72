/* Histogram of waiting times in ns: 32 buckets per power of two, so that a percentile is at most 1/32 too
 * high and never too low. */
#pragma once

#include <stdint.h>

#define WAIT_BUCKETS 1920 /* up to 2^64 */

struct wait_histogram {
    uint32_t buckets[WAIT_BUCKETS];
    uint64_t count;
};

void wait_add(struct wait_histogram *histogram, uint64_t wait_ns);
/* Upper edge of the bucket that holds the given share of the packets; 0 when there are none. */
uint64_t wait_percentile(const struct wait_histogram *histogram, unsigned percent);
