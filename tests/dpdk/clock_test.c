#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/units.h"
#include "dpdk/tsc.h"

/* A counter of 2.59615 GHz taken for 2.6 GHz at first, as the EAL would. */
static void tsc__wrong_frequency_is_found_without_a_step(void **state)
{
    (void)state;
    const uint64_t hz = 2596150000;
    struct tsc_clock clock;
    tsc_clock_init(&clock, 1000, 7 * NS_PER_S, 2600000000ULL);
    uint64_t last_ns = 0;
    for (uint64_t second = 1; second <= 20; second++) {
        uint64_t tsc = 1000 + second * hz, true_ns = (7 + second) * NS_PER_S;
        uint64_t before_ns = tsc_to_ns(&clock, tsc);
        tsc_clock_adjust(&clock, tsc, true_ns);
        assert_int_equal(tsc_to_ns(&clock, tsc), before_ns);
        assert_true(before_ns > last_ns);
        last_ns = before_ns;
        uint64_t error_ns = before_ns > true_ns ? before_ns - true_ns : true_ns - before_ns;
        if (second > 8) /* 1.5 ms of error at most 500 us/s smaller each time */
            assert_true(error_ns < 1000);
    }
    assert_true(tsc_clock_hz(&clock) > hz - 3000 && tsc_clock_hz(&clock) < hz + 3000);
}

static void tsc__old_readings_change_nothing(void **state)
{
    (void)state;
    struct tsc_clock clock, before;
    tsc_clock_init(&clock, 1000, NS_PER_S, NS_PER_S);
    before = clock;
    tsc_clock_adjust(&clock, 999, 2 * NS_PER_S);
    tsc_clock_adjust(&clock, 2000, NS_PER_S);
    assert_memory_equal(&clock, &before, sizeof(clock));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tsc__wrong_frequency_is_found_without_a_step),
        cmocka_unit_test(tsc__old_readings_change_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
