/* Time in ns from the time-stamp counter: one read costs about 10 ns and no system call.
 *
 * Guarantee: never runs backwards; follows CLOCK_MONOTONIC. At start the frequency is measured over 10 ms;
 * every tsc_clock_sync afterwards measures it over the whole time since the start and takes out what error
 * has gathered within about one second, by running at most TSC_SLEW_PPM faster or slower, never by a step.
 * The EAL's own figure is rounded to 10 MHz where the CPU does not tell its frequency: up to 0.2 % wrong,
 * which would be the error of every rate. Thread: one clock per worker. Needs an invariant TSC. */
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
