#include "dpdk/device_clock.h"

#include "base/units.h"

static void start_over(struct device_clock *clock, struct device_clock_look now)
{
    *clock = (struct device_clock){
        .last = now, .rate_from = now, .rate_next = now, .jumps = clock->jumps, .looked = true};
}

static bool has_jumped(const struct device_clock *clock, struct device_clock_look now)
{
    if (now.ticks <= clock->last.ticks || now.ns <= clock->last.ns)
        return true;
    uint64_t expected_ns = device_clock_known(clock) ? device_clock_ns(clock, now.ticks) : now.ns;
    return elapsed_ns(expected_ns, now.ns) + elapsed_ns(now.ns, expected_ns) > DEVICE_CLOCK_JUMP_NS;
}

void device_clock_look(struct device_clock *clock, uint64_t ticks, uint64_t ns)
{
    struct device_clock_look now = {.ticks = ticks, .ns = ns};
    if (!clock->looked || has_jumped(clock, now)) {
        clock->jumps += clock->looked;
        start_over(clock, now);
        return;
    }
    clock->last = now;
    uint64_t base_ns = now.ns - clock->rate_from.ns, base_ticks = now.ticks - clock->rate_from.ticks;
    if (base_ns < DEVICE_CLOCK_BASE_NS)
        return;
    clock->ns_per_tick = muldiv64(base_ns, 1ULL << 32, base_ticks);
    clock->ticks_per_ns = muldiv64(base_ticks, 1ULL << 32, base_ns);
    if (now.ns - clock->rate_next.ns < DEVICE_CLOCK_WINDOW_NS)
        return;
    clock->rate_from = clock->rate_next;
    clock->rate_next = now;
}
