/* A token bucket: passes rate × time + depth bytes and no more, over any time, and drops nothing that fits.
 * Exact in integers: what of a token is not a whole nanosecond at the rate is carried. It starts full. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* So that depth * 8 * 10^9 stays within 64 bits, with a packet on top. */
#define NETEM_DEPTH_BYTES_MAX 1000000000u

struct netem_bucket {
    uint64_t rate_bps;
    uint64_t depth_bytes;
    uint64_t full_ns;        /* when it will be full if nothing more is taken */
    uint64_t full_remainder; /* what that lies beyond, in 1 / rate_bps ns; below rate_bps */
};

/* rate_bps > 0, depth_bytes <= NETEM_DEPTH_BYTES_MAX. */
void netem_bucket_init(struct netem_bucket *bucket, uint64_t rate_bps, uint64_t depth_bytes);
/* Takes the tokens of a packet; false: there are too few, and none is taken. Calls come in order of time. */
bool netem_bucket_take(struct netem_bucket *bucket, uint32_t bytes, uint64_t now_ns);
/* Takes them even where that overdraws it, which a packet may that comes when it is not overdrawn. Returns
 * from when on it is not (any more), rounded down: so that what is below a nanosecond stays owed. */
uint64_t netem_bucket_overdraw(struct netem_bucket *bucket, uint32_t bytes, uint64_t now_ns);
