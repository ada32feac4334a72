/* RTT of one edge: smoothed and variation (RFC 6298 gains 1/8, 1/4), latest, and the minimum over a sliding
 * window of RTT_MIN_WINDOW_NS kept by three buckets. All in ns; samples are free of the receiver's delay. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define RTT_MIN_WINDOW_NS 30000000000ULL
#define RTT_INITIAL_NS    200000000ULL /* until the first sample */

struct rtt {
    uint64_t smoothed_ns;
    uint64_t variation_ns;
    uint64_t latest_ns;
    uint64_t bucket_min_ns[3];
    uint64_t bucket_start_ns;
    bool sampled;
};

/* No sample yet: RTT_INITIAL_NS. */
void rtt_init(struct rtt *rtt, uint64_t now_ns);
/* A packet and its ack took sample_ns > 0. */
void rtt_on_sample(struct rtt *rtt, uint64_t sample_ns, uint64_t now_ns);
/* The path is another one: the least is that of samples from now on. */
void rtt_forget_least(struct rtt *rtt);
uint64_t rtt_min_ns(const struct rtt *rtt); /* RTT_INITIAL_NS before the first sample */
/* smoothed + 4 * variation, at least 1 ms: how long an answer may take before its absence means something. */
uint64_t rtt_timeout_ns(const struct rtt *rtt);
