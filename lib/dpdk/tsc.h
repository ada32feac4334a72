/* Time in ns from the time-stamp counter: one read costs about 10 ns and no system call.
 *
 * Guarantee: never runs backwards; follows CLOCK_MONOTONIC. At start the frequency is measured over 10 ms;
 * every tsc_clock_sync afterwards measures it over the whole time since the start and takes out what error
 * has gathered within about one second, by running at most TSC_SLEW_PPM faster or slower, never by a step.
 * The EAL's own figure is rounded to 10 MHz where the CPU does not tell its frequency: up to 0.2 % wrong,
 * which would be the error of every rate. Thread: one clock per worker; further workers follow the one that
 * is synchronized, so that all tell the same time. Needs an invariant TSC, the same on all CPUs. */
#pragma once

#include <stdint.h>

#include "dpdk/compat.h"

#define TSC_SLEW_PPM 500

struct tsc_clock {
    uint64_t base_tsc;
    uint64_t base_ns;
    uint64_t ns_per_tick; /* fixed point, 32 fractional bits */
    uint64_t first_tsc;   /* where measuring began */
    uint64_t first_ns;
};

static inline uint64_t tsc_to_ns(const struct tsc_clock *clock, uint64_t tsc)
{
    return clock->base_ns + (uint64_t)((unsigned __int128)(tsc - clock->base_tsc) * clock->ns_per_tick >> 32);
}

static inline uint64_t tsc_now_ns(const struct tsc_clock *clock)
{
    return tsc_to_ns(clock, rte_rdtsc());
}

/* Takes about 10 ms. */
void tsc_clock_start(struct tsc_clock *clock);
/* To be called about once per second. */
void tsc_clock_sync(struct tsc_clock *clock);

/* The arithmetic of both, with a pair of readings as input. */
void tsc_clock_init(struct tsc_clock *clock, uint64_t tsc, uint64_t monotonic_ns, uint64_t ticks_per_s);
void tsc_clock_adjust(struct tsc_clock *clock, uint64_t tsc, uint64_t monotonic_ns);
uint64_t tsc_clock_hz(const struct tsc_clock *clock);

/* What the owner of a clock tells other workers: written about once per second, looked at every turn. */
struct tsc_shared {
    uint32_t version; /* atomic; odd while the clock below is being written */
    struct tsc_clock clock;
};

/* A follower: behind by no more than the time between two looks, in which both run apart by at
 * most twice TSC_SLEW_PPM. */
struct tsc_follower {
    struct tsc_clock clock;
    uint32_t version; /* of `clock` */
};

/* The owner's thread, after tsc_clock_start and each tsc_clock_sync. */
void tsc_share(struct tsc_shared *shared, const struct tsc_clock *clock);
/* Takes over a clock that was shared since. At the first time it must have been. */
void tsc_follow_new(struct tsc_follower *follower, const struct tsc_shared *shared);
static inline void tsc_follow(struct tsc_follower *follower, const struct tsc_shared *shared)
{
    if (__builtin_expect(__atomic_load_n(&shared->version, __ATOMIC_RELAXED) != follower->version, 0))
        tsc_follow_new(follower, shared);
}
