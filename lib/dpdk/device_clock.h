/* A device's clock against ours: what it stamps frames with, and departs them by, is in ticks of its own,
 * of a rate that no driver tells.
 *
 * Guarantee: known after two looks at least DEVICE_CLOCK_BASE_NS apart. From then on a conversion near the
 * last look is wrong by no more than that look was uncertain, and by what the rate, measured over the last
 * one to two seconds, is wrong since. A clock that was set (by more than DEVICE_CLOCK_JUMP_NS, or
 * backwards) is unknown again and counted. Pure arithmetic; ns are those of the caller's clock. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define DEVICE_CLOCK_BASE_NS   20000000ULL
#define DEVICE_CLOCK_WINDOW_NS 1000000000ULL
#define DEVICE_CLOCK_JUMP_NS   100000ULL

struct device_clock_look {
    uint64_t ticks, ns;
};

struct device_clock {
    /* The rate is measured from rate_from; rate_next follows it. */
    struct device_clock_look last, rate_from, rate_next;
    uint64_t ns_per_tick, ticks_per_ns; /* fixed point, 32 fractional bits; 0: not known */
    uint64_t jumps;
    bool looked;
};

/* At `ns` it showed `ticks`. */
void device_clock_look(struct device_clock *clock, uint64_t ticks, uint64_t ns);

static inline bool device_clock_known(const struct device_clock *clock)
{
    return clock->ns_per_tick != 0;
}

/* Both need a clock that is known. */
static inline uint64_t device_clock_ns(const struct device_clock *clock, uint64_t ticks)
{
    return clock->last.ns +
           (uint64_t)((__int128)(int64_t)(ticks - clock->last.ticks) * (int64_t)clock->ns_per_tick >> 32);
}

static inline uint64_t device_clock_ticks(const struct device_clock *clock, uint64_t ns)
{
    return clock->last.ticks +
           (uint64_t)((__int128)(int64_t)(ns - clock->last.ns) * (int64_t)clock->ticks_per_ns >> 32);
}
