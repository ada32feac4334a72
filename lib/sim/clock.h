/* A node's own clock: virtual time seen with an offset and a skew, both of which a fault may change. Starts far
 * from zero, so that negative offsets stay above it and nothing may rely on time beginning at 0. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/units.h"

#define CLOCK_BASE_NS       (1000000 * NS_PER_S)
#define CLOCK_OFFSET_NS_MAX ((int64_t)(500000 * NS_PER_S))
#define CLOCK_SKEW_PPB_MAX  100000000 /* 10 % */

struct sim_clock {
    int64_t offset_ns;
    int64_t skew_ppb;
    uint64_t from_ns; /* virtual time since when it runs like that */
};

/* Before from_ns it is read as if it had been set then: its skew counts from there on. */
static inline uint64_t clock_local(const struct sim_clock *clock, uint64_t virtual_ns)
{
    uint64_t local_ns = CLOCK_BASE_NS + virtual_ns + (uint64_t)clock->offset_ns;
    uint64_t ran_ns = elapsed_ns(virtual_ns, clock->from_ns);
    if (clock->skew_ppb > 0)
        local_ns += muldiv64(ran_ns, (uint64_t)clock->skew_ppb, NS_PER_S);
    if (clock->skew_ppb < 0)
        local_ns -= muldiv64(ran_ns, (uint64_t)-clock->skew_ppb, NS_PER_S);
    return local_ns;
}

/* The first virtual time at which the clock shows local_ns or more; 0 when that was before the beginning. */
static inline uint64_t clock_virtual(const struct sim_clock *clock, uint64_t local_ns)
{
    uint64_t start_ns = CLOCK_BASE_NS + (uint64_t)clock->offset_ns;
    if (local_ns == TIME_NEVER)
        return TIME_NEVER;
    uint64_t virtual_ns = elapsed_ns(local_ns, start_ns);
    if (clock->skew_ppb == 0 || virtual_ns <= clock->from_ns)
        return virtual_ns;
    uint64_t ran_ns = virtual_ns - clock->from_ns;
    virtual_ns = clock->from_ns + muldiv64(ran_ns, NS_PER_S, NS_PER_S + (uint64_t)clock->skew_ppb);
    while (virtual_ns > 0 && clock_local(clock, virtual_ns - 1) >= local_ns)
        virtual_ns--;
    while (clock_local(clock, virtual_ns) < local_ns)
        virtual_ns++;
    return virtual_ns;
}

/* From virtual_ns on it shows so much more and runs so much faster than true time. */
static inline void clock_change(struct sim_clock *clock, int64_t step_ns, int64_t skew_ppb,
                                uint64_t virtual_ns)
{
    uint64_t local_ns = clock_local(clock, virtual_ns);
    clock->offset_ns = (int64_t)(local_ns - CLOCK_BASE_NS - virtual_ns) + step_ns;
    clock->skew_ppb = skew_ppb;
    clock->from_ns = virtual_ns;
}
