#include "dpdk/histogram.h"

#include "base/units.h"

static uint64_t bucket_low(uint32_t bucket)
{
    uint32_t sub = bucket & ((1u << HISTOGRAM_SUB_BITS) - 1);
    uint32_t octave = bucket >> HISTOGRAM_SUB_BITS;
    if (octave == 0)
        return sub;
    return (uint64_t)((1u << HISTOGRAM_SUB_BITS) + sub) << (octave - 1);
}

uint64_t histogram_percentile(const struct histogram *histogram, uint32_t per_million)
{
    uint64_t count = count_get(&histogram->count);
    if (count == 0)
        return 0;
    uint64_t wanted = muldiv64_up(count, per_million, 1000000);
    uint64_t seen = 0;
    for (uint32_t bucket = 0; bucket < HISTOGRAM_BUCKETS; bucket++) {
        seen += count_get(&histogram->buckets[bucket]);
        if (seen >= wanted && seen > 0)
            return bucket_low(bucket);
    }
    return count_get(&histogram->largest);
}
