/* Sources that send evenly while on and pause while off, in turn, independently of each other; the times are
 * of Pareto's distribution (least time m = mean * (alpha - 1) / alpha, beyond it P(T > t) = (t / m)^-alpha),
 * so that their sum is bursty over many scales of time. They start as if they had always been running.
 *
 * What of a gap a source still has to wait when it goes off is waited when it is on again: over any time
 * it sends what its time on is worth, to a packet. All send alike while on, so those that are on take
 * turns in one order, and the next packet of all costs the same however many there are. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/rng.h"

#define NETEM_SOURCES_MAX 64

/* Even gaps: interval_ns and interval_remainder / denominator ns from one to the next. */
struct netem_pace {
    uint64_t interval_ns, interval_remainder, denominator;
};

struct netem_onoff {
    struct netem_pace pace; /* of each source while on */
    uint32_t alpha_milli;
    uint64_t on_ns, off_ns; /* means */
    uint8_t count, active_count, active_head, waiting_count;
    uint8_t active[NETEM_SOURCES_MAX];  /* a ring, in the order of their next packets */
    uint8_t waiting[NETEM_SOURCES_MAX]; /* those that are off, by their next packets, the soonest last */
    uint64_t next_ns[NETEM_SOURCES_MAX], remainder[NETEM_SOURCES_MAX]; /* its next packet */
    uint64_t end_ns[NETEM_SOURCES_MAX]; /* of the time on that the next packet is in */
};

/* 1 to NETEM_SOURCES_MAX sources, alpha > 1, means > 0; `pace` is that of one source. */
void netem_onoff_init(struct netem_onoff *onoff, const struct netem_pace *pace, unsigned count,
                      uint32_t alpha_milli, uint64_t on_ns, uint64_t off_ns, struct rng *rng);
/* When the next packet of all comes. */
uint64_t netem_onoff_next_ns(const struct netem_onoff *onoff);
/* It has come. */
void netem_onoff_step(struct netem_onoff *onoff, struct rng *rng);
/* All of them are later by that. */
void netem_onoff_delay(struct netem_onoff *onoff, uint64_t later_ns);
