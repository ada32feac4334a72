/* Delivery rate over chosen spans, from the receiver's count and clock: the way back has no say in it, nor
 * has when acks were sent.
 *
 * Keeps PATH_RATE_POINTS points (count, time) about RTT/32 apart or an ack's distance, thus at least the
 * last two RTT. A point that may be late, because the receiver stood still and had not yet counted all that
 * came, is used only where there was no better one for max(RTT/2, min(4 x as long as it stood, 250 ms)).
 * What a ring loses while its host stands still, eight times longer than it usually waits, is not what the
 * path takes: so much of that time does not count as makes the rate the usual one, less 1/32. Time in which
 * the sender stood still is taken out (path_rate_skip): rates are those of a sender that is awake. A point
 * older than a restart (the edge was idle, or the hosts stood still) is not used. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define PATH_RATE_POINTS 64u

struct path_rate {
    struct {
        uint64_t time_ns; /* the receiver's clock */
        uint64_t bytes;
    } points[PATH_RATE_POINTS];
    uint32_t count;          /* points so far, the newest at (count - 1) % PATH_RATE_POINTS */
    uint64_t time_ns, bytes; /* newest of all */
    uint64_t skipped_ns;     /* taken out of the receiver's time so far */
    uint64_t stood_ns;       /* the longest that the receiver stood still since the newest point */
    uint64_t wait_ns;        /* how long what points tell of may have waited, usually */
};

/* Nothing was delivered yet. */
void path_rate_init(struct path_rate *rate);
/* What was delivered so far makes no rate together with what follows. */
void path_rate_restart(struct path_rate *rate);
/* The receiver stood still for up to wait_ns: told together with a count that makes no point. */
void path_rate_on_wait(struct path_rate *rate, uint64_t wait_ns);
/* The receiver's count stood at `bytes` when its clock showed `time_ns`, or up to wait_ns before. usual_bps: deliveries
 * before that; 0: unknown. False: that is too unsure, it was not taken. */
bool path_rate_on_delivered(struct path_rate *rate, uint64_t bytes, uint64_t time_ns, uint64_t wait_ns,
                            uint64_t rtt_ns, uint64_t usual_bps);
/* Between the newest point and the one that comes next (`bytes` at time_ns) lies a hole of at most hole_ns in what was
 * sent: the time that they would not have taken at usual_bps does not count. */
void path_rate_skip(struct path_rate *rate, uint64_t bytes, uint64_t time_ns, uint64_t hole_ns,
                    uint64_t usual_bps);
/* Mean rate over the newest span of at least `span_ns` that also holds `bytes_min`; over what there is when
 * that is less. 0: not even two points. */
uint64_t path_rate_over(const struct path_rate *rate, uint64_t span_ns, uint64_t bytes_min);
/* Whether so much was delivered within the points that are kept. */
bool path_rate_holds(const struct path_rate *rate, uint64_t bytes);
/* Mean rate over the longest span that is no longer than `span_ns`. 0: none. */
uint64_t path_rate_within(const struct path_rate *rate, uint64_t span_ns);
