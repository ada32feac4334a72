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

/* What is missing is kept as the time to refill it. It never exceeds the depth and a packet, so no product
 * here exceeds 64 bits. */
static uint64_t missing_at(struct netem_bucket *bucket, uint64_t now_ns)
{
    if (now_ns > bucket->full_ns || (now_ns == bucket->full_ns && bucket->full_remainder == 0)) {
        bucket->full_ns = now_ns;
        bucket->full_remainder = 0;
    }
    return (bucket->full_ns - now_ns) * bucket->rate_bps + bucket->full_remainder;
}

static void set_missing(struct netem_bucket *bucket, uint64_t missing, uint64_t now_ns)
{
    bucket->full_ns = now_ns + missing / bucket->rate_bps;
    bucket->full_remainder = missing % bucket->rate_bps;
}

bool netem_bucket_take(struct netem_bucket *bucket, uint32_t bytes, uint64_t now_ns)
{
    uint64_t missing = missing_at(bucket, now_ns) + bytes * BYTE_NS;
    if (missing > bucket->depth_bytes * BYTE_NS)
        return false;
    set_missing(bucket, missing, now_ns);
    return true;
}

uint64_t netem_bucket_overdraw(struct netem_bucket *bucket, uint32_t bytes, uint64_t now_ns)
{
    uint64_t missing = missing_at(bucket, now_ns) + bytes * BYTE_NS;
    uint64_t depth = bucket->depth_bytes * BYTE_NS;
    set_missing(bucket, missing, now_ns);
    return missing <= depth ? now_ns : now_ns + (missing - depth) / bucket->rate_bps;
}
