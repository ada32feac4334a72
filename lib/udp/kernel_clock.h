/* Times that the kernel notes by CLOCK_REALTIME, in ns of the workers' clock.
 *
 * Guarantee: none while the clock is not known (for some 25 ms after the start, and after it was set: noticed at the next look or watch),
 * and none that lies later than now. */
#pragma once

#include "base/stamp.h"
#include "dpdk/device_clock.h"
#include "dpdk/tsc.h"

struct kernel_clock {
    const struct tsc_clock *ours;
    struct device_clock clock;
};

/* Compares both: at the start, and every 0.1 s or so. */
void kernel_clock_look(struct kernel_clock *clock);
/* Before times that were just noted are converted: cheap; looks where CLOCK_REALTIME was set. */
void kernel_clock_watch(struct kernel_clock *clock);
/* When it was, at the latest now_ns; 0: not known. */
uint64_t kernel_clock_ns(const struct kernel_clock *clock, uint64_t realtime, uint64_t now_ns);
