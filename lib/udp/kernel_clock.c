#include "udp/kernel_clock.h"

#include <time.h>

#include "base/units.h"

#define LOOK_TRIES 4 /* the tightest of them counts: a preemption in between would be taken for a step */

static uint64_t realtime_ns(void)
{
    struct timespec time;
    clock_gettime(CLOCK_REALTIME, &time);
    return (uint64_t)time.tv_sec * NS_PER_S + (uint64_t)time.tv_nsec;
}

void kernel_clock_look(struct kernel_clock *clock)
{
    struct device_clock_look best = {0};
    uint64_t best_ns = UINT64_MAX;
    for (int try = 0; try < LOOK_TRIES; try++) {
        uint64_t before_ns = tsc_now_ns(clock->ours), ticks = realtime_ns();
        uint64_t width_ns = tsc_now_ns(clock->ours) - before_ns;
        if (width_ns >= best_ns)
            continue;
        best_ns = width_ns;
        best = (struct device_clock_look){.ticks = ticks, .ns = before_ns + width_ns / 2};
    }
    device_clock_look(&clock->clock, best.ticks, best.ns);
}

void kernel_clock_watch(struct kernel_clock *clock)
{
    if (!device_clock_known(&clock->clock))
        return;
    uint64_t before_ns = tsc_now_ns(clock->ours), ns = device_clock_ns(&clock->clock, realtime_ns());
    uint64_t after_ns = tsc_now_ns(clock->ours);
    if (elapsed_ns(before_ns, ns) > DEVICE_CLOCK_JUMP_NS || elapsed_ns(ns, after_ns) > DEVICE_CLOCK_JUMP_NS)
        kernel_clock_look(clock);
}

uint64_t kernel_clock_ns(const struct kernel_clock *clock, uint64_t realtime, uint64_t now_ns)
{
    if (!device_clock_known(&clock->clock) || realtime == 0)
        return 0;
    uint64_t ns = device_clock_ns(&clock->clock, realtime);
    if (elapsed_ns(now_ns, ns) > STAMP_KERNEL_AGE_NS_MAX || elapsed_ns(ns, now_ns) > DEVICE_CLOCK_JUMP_NS)
        return 0;
    return MIN(ns, now_ns);
}
