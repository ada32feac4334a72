/* Loss by chance, tried anew at half the rate. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/units.h"
#include "edge/bql/retest.h"

/* p0 falls to what half the rate lost, and 2 sigma of so many packets at the p0 of before. */
static void retest__p0_is_at_most_what_half_the_rate_lost(void **state)
{
    (void)state;
    static const struct {
        uint32_t base_ppm;
        uint64_t acked, lost;
        uint32_t after_ppm;
        uint32_t passed;
    } rows[] = {
        {400000, 400, 0, 48988, 0},    /* a crowd's buffer: nothing */
        {400000, 240, 160, 400000, 1}, /* as much: chance */
        {200000, 7, 0, 200000, 1},     /* too few packets tell nothing */
        {40000, 400, 0, 40000, 0},     /* little loss is not worth it */
        {200000, 84, 16, 200000, 1},   /* no less than chance varies by */
    };
    for (size_t index = 0; index < sizeof(rows) / sizeof(rows[0]); index++) {
        struct bql_chance chance = {.base_ppm = rows[index].base_ppm, .swing_ppm = rows[index].base_ppm / 2};
        struct bql_retest retest = {.passed = 0};
        struct congestion_sample sample = {.acked_packets = rows[index].acked,
                                           .lost_packets = rows[index].lost};
        bql_retest_begin(&retest);
        bql_retest_on_sample(&retest, &sample);
        bql_retest_end(&retest, &chance);
        assert_int_equal(chance.base_ppm, rows[index].after_ppm);
        assert_in_range(chance.swing_ppm, 0, chance.base_ppm / 2);
        assert_int_equal(retest.passed, rows[index].passed);
    }
}

static void retest__waits_longer_where_it_found_nothing(void **state)
{
    (void)state;
    static const struct {
        uint32_t base_ppm, passed;
        uint64_t since_s;
        bool due;
    } rows[] = {{100000, 0, 4, false},  {100000, 0, 5, true},  {100000, 1, 9, false}, {100000, 1, 10, true},
                {100000, 9, 19, false}, {100000, 9, 20, true}, {50000, 0, 99, false}};
    for (size_t index = 0; index < sizeof(rows) / sizeof(rows[0]); index++) {
        struct bql_chance chance = {.base_ppm = rows[index].base_ppm};
        struct bql_retest retest = {.passed = rows[index].passed};
        assert_int_equal(bql_retest_due(&retest, &chance, 5 * NS_PER_S, rows[index].since_s * NS_PER_S),
                         rows[index].due);
    }
}

/* More than 40 % is a full buffer that others fill as well. */
static void retest__chance_takes_no_more_than_paths_do(void **state)
{
    (void)state;
    struct bql_chance chance = {.base_ppm = 0};
    bql_chance_on_proof(&chance, 600000, 1000);
    assert_int_equal(chance.base_ppm, BQL_CHANCE_MAX_PPM);
    assert_true(bql_chance_may_take(440000, 1000));
    assert_false(bql_chance_may_take(460000, 1000));
    assert_true(bql_chance_may_take(600000, 32));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(retest__p0_is_at_most_what_half_the_rate_lost),
        cmocka_unit_test(retest__waits_longer_where_it_found_nothing),
        cmocka_unit_test(retest__chance_takes_no_more_than_paths_do),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
