#include "sim/waits.h"

#include "base/units.h"

#define BITS   5 /* of a value below its highest one that count */
#define PLACES (1u << BITS)

static uint32_t bucket_of(uint64_t wait_ns)
{
    if (wait_ns < PLACES)
        return (uint32_t)wait_ns;
    uint32_t power = 63 - (uint32_t)__builtin_clzll(wait_ns);
    return PLACES * (power - BITS + 1) + (uint32_t)(wait_ns >> (power - BITS) & (PLACES - 1));
}

static uint64_t bucket_end(uint32_t bucket)
{
    if (bucket < PLACES)
        return bucket;
    uint32_t shift = bucket / PLACES - 1;
    uint64_t first = (uint64_t)(PLACES + bucket % PLACES) << shift;
    return first + ((1ULL << shift) - 1);
}

_Static_assert(PLACES *(63 - BITS + 2) == WAIT_BUCKETS, "the last bucket is that of UINT64_MAX");

void wait_add(struct wait_histogram *histogram, uint64_t wait_ns)
{
    histogram->buckets[bucket_of(wait_ns)]++;
    histogram->count++;
}

uint64_t wait_percentile(const struct wait_histogram *histogram, unsigned percent)
{
    uint64_t wanted = muldiv64_up(histogram->count, percent, 100), seen = 0;
    uint32_t bucket = 0;
    if (histogram->count == 0)
        return 0;
    while ((seen += histogram->buckets[bucket]) < wanted)
        bucket++;
    return bucket_end(bucket);
}
