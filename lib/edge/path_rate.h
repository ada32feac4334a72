/* Delivery rate over chosen spans, from the receiver's count and clock: the way back has no say in it, nor
 * has when acks were sent.
 *
 * Keeps RATE_POINTS points (count, time) about RTT/32 apart or an ack's distance, thus at least the last two
 * RTT. A point older than a restart (the edge was idle, or the hosts stood still) is not used. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define RATE_POINTS 64u

struct path_rate {
    struct {
        uint64_t time_ns; /* the receiver's clock */
        uint64_t bytes;
    } points[RATE_POINTS];
    uint32_t count;          /* points so far, the newest at (count - 1) % RATE_POINTS */
    uint64_t time_ns, bytes; /* newest of all */
};

void rate_init(struct path_rate *rate);
void rate_restart(struct path_rate *rate);
void rate_on_delivered(struct path_rate *rate, uint64_t bytes, uint64_t time_ns, uint64_t rtt_ns);
/* Mean rate over the newest span of at least `span_ns` that also holds `bytes_min`; over what there is when
 * that is less. 0: not even two points. */
uint64_t rate_over(const struct path_rate *rate, uint64_t span_ns, uint64_t bytes_min);
/* Mean rate over the longest span that is no longer than `span_ns`. 0: none. */
uint64_t rate_within(const struct path_rate *rate, uint64_t span_ns);
