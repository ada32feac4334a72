#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include "app/sluice/retry.h"

/* Each row: the program starts as soon as it may, runs for so long, and is left alone for so long. */
static void retry__gaps(void **state)
{
    static const struct {
        uint64_t ran_ns, gap_ns;
    } rows[] = {
        {0, 1 * NS_PER_S},
        {0, 2 * NS_PER_S},
        {5 * NS_PER_S, 4 * NS_PER_S},
        {0, 8 * NS_PER_S},
        {0, 16 * NS_PER_S},
        {0, 32 * NS_PER_S},
        {0, 60 * NS_PER_S},
        {60 * NS_PER_S - 1, 60 * NS_PER_S},
        {60 * NS_PER_S, 1 * NS_PER_S},
        {3600 * NS_PER_S, 1 * NS_PER_S},
        {NS_PER_S, 2 * NS_PER_S},
    };
    (void)state;
    struct retry retry = {.gap_ns = 0};
    uint64_t now_ns = 100 * NS_PER_S;
    for (unsigned row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
        assert_true(retry_due(&retry, now_ns));
        retry_started(&retry, now_ns);
        now_ns += rows[row].ran_ns;
        assert_int_equal(retry_ended(&retry, now_ns), rows[row].gap_ns);
        now_ns += rows[row].gap_ns - 1;
        assert_false(retry_due(&retry, now_ns));
        now_ns++;
    }
}

/* The first start needs no wait, on a machine that was started just now either. */
static void retry__first_at_once(void **state)
{
    (void)state;
    struct retry retry = {.gap_ns = 0};
    assert_true(retry_due(&retry, 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(retry__gaps),
        cmocka_unit_test(retry__first_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
