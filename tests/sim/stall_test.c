/* When hosts stand still, and what their rings drop. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/units.h"
#include "sim/stall.h"

static void stall__as_often_and_as_long_as_asked(void **state)
{
    (void)state;
    static const struct sim_stall_config rows[] = {
        {.every_ns = 100 * NS_PER_MS, .for_ns = 5 * NS_PER_MS},
        {.every_ns = 100 * NS_PER_MS, .for_ns = 5 * NS_PER_MS, .spread_ns = 50 * NS_PER_MS},
        {.every_ns = 275 * NS_PER_MS, .for_ns = 20 * NS_PER_MS, .spread_ns = 225 * NS_PER_MS},
        {.every_ns = 2 * NS_PER_US, .for_ns = NS_PER_US},
    };
    for (size_t row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
        struct sim_stall stall, again;
        sim_stall_init(&stall, &rows[row], 7);
        sim_stall_init(&again, &rows[row], 7);
        uint64_t first_ns = stall.from_ns, before_ns = stall.from_ns;
        assert_in_range(first_ns, 0, rows[row].every_ns);
        for (unsigned count = 1; count <= 1000; count++) {
            assert_int_equal(sim_stall_awake_ns(&stall, stall.from_ns), stall.until_ns);
            assert_int_equal(sim_stall_awake_ns(&stall, stall.until_ns - 1), stall.until_ns);
            assert_int_equal(sim_stall_awake_ns(&stall, stall.until_ns), stall.until_ns);
            sim_stall_look(&stall, stall.until_ns);
            assert_int_equal(stall.ended_ns - stall.before_ns, rows[row].for_ns);
            assert_in_range(stall.from_ns - before_ns, rows[row].every_ns - rows[row].spread_ns,
                            rows[row].every_ns + rows[row].spread_ns);
            before_ns = stall.from_ns;
        }
        assert_in_range(stall.from_ns - first_ns, rows[row].every_ns * 940, rows[row].every_ns * 1060);
        sim_stall_look(&again, stall.ended_ns); /* in one step */
        assert_int_equal(again.from_ns, stall.from_ns);
    }
}

static void stall__never(void **state)
{
    (void)state;
    struct sim_stall stall;
    sim_stall_init(&stall, &(struct sim_stall_config){.every_ns = 0}, 1);
    sim_stall_look(&stall, 3600 * NS_PER_S);
    assert_int_equal(sim_stall_awake_ns(&stall, 3600 * NS_PER_S), 3600 * NS_PER_S);
    assert_int_equal(stall.ended_ns, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stall__as_often_and_as_long_as_asked),
        cmocka_unit_test(stall__never),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
