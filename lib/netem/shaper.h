/* The server of a queue: one packet at a time at the line's rate and, where it has a bucket, not before
 * that holds a token: depth_bytes at the line's rate, then the bucket's rate. It delays and drops nothing.
 * A packet may begin when the bucket is not overdrawn, and can overdraw it; so over any time at most depth
 * + rate * time + one packet pass. Exact in integers, as the line's remainder and the bucket's are
 * carried. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "netem/bucket.h"

struct netem_shaper {
    uint64_t busy_until_ns; /* what comes now does not begin before: the line is free, and there are tokens */
    uint64_t busy_remainder;    /* what that lies beyond it, in 1 / rate_bps ns of the line */
    struct netem_bucket bucket; /* rate_bps 0: there is none */
};

/* The line has another rate, perhaps, and the bucket these values: it is full where they differ from those
 * before. Rate 0: no bucket. */
static inline void netem_shaper_set(struct netem_shaper *shaper, uint64_t bucket_bps, uint64_t depth_bytes)
{
    struct netem_bucket *bucket = &shaper->bucket;
    shaper->busy_remainder = 0;
    if (bucket_bps == 0)
        bucket->rate_bps = 0;
    else if (bucket_bps != bucket->rate_bps || depth_bytes != bucket->depth_bytes)
        netem_bucket_init(bucket, bucket_bps, depth_bytes);
}

/* A packet that begins at start_ns at the earliest and takes share_ns + share_remainder / rate_bps ns of
 * the line (rate_bps 0: no time). Returns when its last bit has left. */
static inline uint64_t netem_shaper_take(struct netem_shaper *shaper, uint64_t rate_bps, uint64_t share_ns,
                                         uint64_t share_remainder, uint32_t bytes, uint64_t start_ns)
{
    /* No jumps: whether the line is idle, and what is carried, is anybody's guess. */
    bool idle = start_ns > shaper->busy_until_ns;
    uint64_t begins_ns = idle ? start_ns : shaper->busy_until_ns;
    uint64_t remainder = (idle ? 0 : shaper->busy_remainder) + share_remainder;
    uint64_t carried = (uint64_t)(remainder >= rate_bps) & (uint64_t)(rate_bps != 0);
    uint64_t left_ns = begins_ns + share_ns + carried;
    shaper->busy_until_ns = left_ns;
    shaper->busy_remainder = remainder - carried * rate_bps;
    if (shaper->bucket.rate_bps != 0) {
        uint64_t tokens_ns = netem_bucket_overdraw(&shaper->bucket, bytes, begins_ns);
        if (tokens_ns > left_ns) {
            shaper->busy_until_ns = tokens_ns;
            shaper->busy_remainder = 0;
        }
    }
    return left_ns;
}
