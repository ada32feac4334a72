#include "netem/bucket.h"

#include "base/check.h"
#include "base/units.h"

#define BYTE_NS (8 * NS_PER_S) /* a byte's time on the link, in 1 / rate_bps ns */

void netem_bucket_init(struct netem_bucket *bucket, uint64_t rate_bps, uint64_t depth_bytes)
{
    CHECK(rate_bps > 0);
    CHECK(depth_bytes <= NETEM_DEPTH_BYTES_MAX);
    *bucket = (struct netem_bucket){.rate_bps = rate_bps, .depth_bytes = depth_bytes};
}

/* What is missing is kept as the time to refill it. It never exceeds the depth, so no product here exceeds
 * 64 bits. */
bool netem_bucket_take(struct netem_bucket *bucket, uint32_t bytes, uint64_t now_ns)
{
    if (now_ns > bucket->full_ns || (now_ns == bucket->full_ns && bucket->full_remainder == 0)) {
        bucket->full_ns = now_ns;
        bucket->full_remainder = 0;
    }
    uint64_t missing = (bucket->full_ns - now_ns) * bucket->rate_bps + bucket->full_remainder;
    if (missing + bytes * BYTE_NS > bucket->depth_bytes * BYTE_NS)
        return false;
    missing += bytes * BYTE_NS;
    bucket->full_ns = now_ns + missing / bucket->rate_bps;
    bucket->full_remainder = missing % bucket->rate_bps;
    return true;
}
