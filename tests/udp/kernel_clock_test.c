#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <time.h>

#include "base/units.h"
#include "udp/kernel_clock.h"

static struct tsc_clock ours;

static uint64_t realtime_ns(void)
{
    struct timespec time;
    clock_gettime(CLOCK_REALTIME, &time);
    return (uint64_t)time.tv_sec * NS_PER_S + (uint64_t)time.tv_nsec;
}

/* Two looks, as far apart as it takes. */
static struct kernel_clock known(void)
{
    struct kernel_clock clock = {.ours = &ours};
    tsc_clock_start(&ours);
    kernel_clock_look(&clock);
    while (!device_clock_known(&clock.clock)) {
        nanosleep(&(struct timespec){.tv_nsec = 25000000}, NULL);
        kernel_clock_look(&clock);
    }
    return clock;
}

static void kernel_clock__knows_nothing_at_first(void **state)
{
    struct kernel_clock clock = {.ours = &ours};
    (void)state;
    tsc_clock_start(&ours);
    kernel_clock_look(&clock);
    assert_int_equal(kernel_clock_ns(&clock, realtime_ns(), tsc_now_ns(&ours)), 0);
}

static void kernel_clock__converts_what_was_noted(void **state)
{
    struct kernel_clock clock = known();
    (void)state;
    uint64_t before_ns = tsc_now_ns(&ours), noted = realtime_ns(), after_ns = tsc_now_ns(&ours);
    uint64_t ns = kernel_clock_ns(&clock, noted, after_ns);
    assert_in_range(ns, before_ns - DEVICE_CLOCK_JUMP_NS, after_ns);
    uint64_t earlier_ns = kernel_clock_ns(&clock, noted - NS_PER_MS, after_ns);
    assert_in_range(earlier_ns + NS_PER_MS, ns - 1000, ns + 1000); /* the clocks' rates differ by little */
}

static void kernel_clock__believes_no_time_that_cannot_be(void **state)
{
    struct kernel_clock clock = known();
    (void)state;
    uint64_t now_ns = tsc_now_ns(&ours), now = realtime_ns();
    assert_int_equal(kernel_clock_ns(&clock, 0, now_ns), 0);
    assert_int_equal(kernel_clock_ns(&clock, now + NS_PER_S, now_ns), 0);
    assert_int_equal(kernel_clock_ns(&clock, now - 2 * STAMP_KERNEL_AGE_NS_MAX, now_ns), 0);
    assert_int_equal(kernel_clock_ns(&clock, now + 50000, now_ns),
                     now_ns); /* what is not quite past is now */
}

/* As if CLOCK_REALTIME had been set by a second. */
static void kernel_clock__that_was_set_is_unknown_again(void **state)
{
    struct kernel_clock clock = known();
    (void)state;
    clock.clock.last.ticks -= NS_PER_S;
    kernel_clock_watch(&clock);
    assert_false(device_clock_known(&clock.clock));
    assert_int_equal(clock.clock.jumps, 1);
    assert_int_equal(kernel_clock_ns(&clock, realtime_ns(), tsc_now_ns(&ours)), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernel_clock__knows_nothing_at_first),
        cmocka_unit_test(kernel_clock__converts_what_was_noted),
        cmocka_unit_test(kernel_clock__believes_no_time_that_cannot_be),
        cmocka_unit_test(kernel_clock__that_was_set_is_unknown_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
