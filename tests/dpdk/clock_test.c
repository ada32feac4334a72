#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/units.h"
#include "dpdk/idle.h"
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

static void idle__actions(void **state)
{
    (void)state;
    const struct {
        uint8_t mode;
        uint64_t idle_for_ns;
        int64_t due_in_ns; /* INT64_MAX: never */
        enum idle_action action;
    } rows[] = {
        {IDLE_MODE_POLL, NS_PER_S, INT64_MAX, IDLE_SPIN},
        {IDLE_MODE_YIELD, NS_PER_S, INT64_MAX, IDLE_YIELD},
        {IDLE_MODE_SLEEP, NS_PER_S, INT64_MAX, IDLE_SLEEP},
        {IDLE_MODE_SLEEP, 2000, INT64_MAX, IDLE_SPIN},   /* just worked */
        {IDLE_MODE_SLEEP, 50000, INT64_MAX, IDLE_YIELD}, /* patience */
        {IDLE_MODE_SLEEP, NS_PER_S, 200000, IDLE_YIELD}, /* the horizon */
        {IDLE_MODE_SLEEP, NS_PER_S, 200001, IDLE_SLEEP},
        {IDLE_MODE_SLEEP, NS_PER_S, 3000, IDLE_SPIN},
        {IDLE_MODE_YIELD, NS_PER_S, 0, IDLE_SPIN},
        {IDLE_MODE_SLEEP, NS_PER_S, -2000, IDLE_SPIN},
        {IDLE_MODE_SLEEP, NS_PER_S, -50000, IDLE_YIELD}, /* overdue: a full device */
    };
    for (size_t row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
        struct idle idle;
        uint64_t now_ns = 10 * NS_PER_S;
        idle_init(&idle, rows[row].mode, now_ns - rows[row].idle_for_ns);
        uint64_t next_ns =
            rows[row].due_in_ns == INT64_MAX ? TIME_NEVER : now_ns + (uint64_t)rows[row].due_in_ns;
        if (idle_next(&idle, false, now_ns, next_ns) != rows[row].action)
            fail_msg("row %zu", row);
        assert_int_equal(idle_next(&idle, true, now_ns, next_ns), IDLE_SPIN);
    }
}

/* Where the CPU stays away for long it is not given away with work due sooner than it would be back. */
static void idle__dear_yields(void **state)
{
    (void)state;
    static const struct {
        uint64_t cost_ns, due_in_ns;
        enum idle_action action;
    } rows[] = {
        {1000, 60000, IDLE_YIELD},       {50000, 60000, IDLE_YIELD},    {70000, 60000, IDLE_SPIN},
        {10000000, 60000, IDLE_SPIN},    {10000000, 200000, IDLE_SPIN}, {10000000, 200001, IDLE_SLEEP},
        {10000000, 2000000, IDLE_SLEEP},
    };
    for (size_t row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
        struct idle idle;
        uint64_t now_ns = NS_PER_S;
        idle_init(&idle, IDLE_MODE_SLEEP, 0);
        assert_int_equal(idle_next(&idle, false, now_ns, now_ns + 100000), IDLE_YIELD);
        now_ns += rows[row].cost_ns;
        assert_int_equal(idle_next(&idle, false, now_ns, now_ns + rows[row].due_in_ns), rows[row].action);
        /* It is forgotten where yields cost little again. */
        idle.mode = IDLE_MODE_YIELD;
        for (unsigned turn = 0; turn < 1000; turn++, now_ns += 1000)
            assert_int_equal(idle_next(&idle, false, now_ns, TIME_NEVER), IDLE_YIELD);
        assert_int_equal(idle_next(&idle, false, now_ns, now_ns + 60000), IDLE_YIELD);
    }
}

static void idle__sleep_doubles_and_starts_over(void **state)
{
    (void)state;
    struct idle idle;
    const uint64_t lengths[] = {20000, 40000, 80000, 100000, 100000};
    idle_init(&idle, IDLE_MODE_SLEEP, 0);
    for (int round = 0; round < 2; round++) {
        for (int step = 0; step < 5; step++) {
            assert_int_equal(idle_next(&idle, false, NS_PER_S, TIME_NEVER), IDLE_SLEEP);
            assert_int_equal(idle.sleep_ns, lengths[step]);
        }
        idle_next(&idle, true, 0, TIME_NEVER);
    }
    assert_int_equal(idle.sleeps, 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tsc__wrong_frequency_is_found_without_a_step),
        cmocka_unit_test(tsc__old_readings_change_nothing),
        cmocka_unit_test(idle__actions),
        cmocka_unit_test(idle__dear_yields),
        cmocka_unit_test(idle__sleep_doubles_and_starts_over),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
