/* What estimates are in words, and what they may say. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <string.h>

#include "probe/estimate.h"

/* Every word of a refusal is explained by a sentence that fits a line of the console's answer. */
static void estimate_reason_help__of_every_word(void **state)
{
    (void)state;
    const char *word;
    unsigned reason = ESTIMATE_SURE + 1;
    for (; (word = estimate_reason_word(reason)) != NULL; reason++) {
        const char *help = estimate_reason_help(word);
        assert_true(strlen(help) > 20 && strlen(help) < 200);
        assert_int_not_equal(help[strlen(help) - 1], '.');
    }
    assert_int_equal(reason, ESTIMATE_CLOCKS + 1);
    assert_non_null(strstr(estimate_reason_help("departures-late"), "CPU of its own"));
    assert_non_null(strstr(estimate_reason_help("not-in-time"), "alone"));
    assert_string_equal(estimate_reason_help("none"), "");
    assert_string_equal(estimate_reason_help("'c' is down"), "");
}

static void estimate_clip__table(void **state)
{
    (void)state;
    static const struct {
        uint64_t most_bps;
        struct estimate before, after;
    } cases[] = {
        {1000,
         {.avail_bps = 781, .low_bps = 700, .high_bps = 1100, .capacity_bps = 46924},
         {.avail_bps = 781, .low_bps = 700, .high_bps = 1000, .capacity_bps = 1000}},
        {1000,
         {.avail_bps = 1300, .low_bps = 1200, .high_bps = 1400, .capacity_bps = 1300},
         {.avail_bps = 1000, .low_bps = 1000, .high_bps = 1000, .capacity_bps = 1000}},
        {1000, {.avail_bps = 900, .low_bps = 900}, {.avail_bps = 900, .low_bps = 900}},
        {0,
         {.avail_bps = 900, .low_bps = 800, .high_bps = 1000, .capacity_bps = 2000},
         {.avail_bps = 900, .low_bps = 800, .high_bps = 1000, .capacity_bps = 2000}},
    };
    for (size_t row = 0; row < sizeof(cases) / sizeof(cases[0]); row++) {
        struct estimate estimate = cases[row].before;
        estimate_clip(&estimate, cases[row].most_bps);
        assert_int_equal(estimate.avail_bps, cases[row].after.avail_bps);
        assert_int_equal(estimate.low_bps, cases[row].after.low_bps);
        assert_int_equal(estimate.high_bps, cases[row].after.high_bps);
        assert_int_equal(estimate.capacity_bps, cases[row].after.capacity_bps);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(estimate_reason_help__of_every_word),
        cmocka_unit_test(estimate_clip__table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
