#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/units.h"
#include "probe/budget.h"

static void budget_left__is_what_was_given_less_what_was_spent(void **state)
{
    (void)state;
    struct budget budget;
    budget_init(&budget, 1000, 0);
    budget_spend(&budget, 600, 5);
    assert_int_equal(budget_left(&budget), 400);
    assert_true(budget_when(&budget, 400, 1e9, 7) == 7);
    assert_true(budget_when(&budget, 401, 1e9, 7) == TIME_NEVER);
    budget_spend(&budget, 600, 5);
    assert_int_equal(budget_left(&budget), 0);
    budget_init(&budget, 0, 0);
    assert_true(budget_left(&budget) == UINT64_MAX);
}

/* Whatever is sent as soon as it is allowed: no 10 s hold more than the share. */
static void budget_when__keeps_to_the_share_over_any_10_s(void **state)
{
    (void)state;
    static const struct {
        uint64_t bytes, capacity_bps, begin_ns;
        uint32_t load_ppm;
    } rows[] = {
        {250000, 2000000000, 0, 10000},
        {357000, 10000000000, 123456789, 10000},
        {250000, 100000000, 77 * NS_PER_S, 10000},
        {1538, 10000000, 1, 500},
    };
    static uint64_t at[20000];
    for (unsigned row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
        struct budget budget;
        budget_init(&budget, 0, rows[row].load_ppm);
        uint64_t now_ns = rows[row].begin_ns, end_ns = now_ns + 40 * NS_PER_S;
        uint64_t allowed = rows[row].capacity_bps / 8 * rows[row].load_ppm / 100000;
        unsigned count = 0;
        while (now_ns < end_ns && count < 20000) {
            uint64_t when_ns = budget_when(&budget, rows[row].bytes, (double)rows[row].capacity_bps, now_ns);
            assert_true(when_ns >= now_ns);
            if (when_ns == now_ns) {
                budget_spend(&budget, rows[row].bytes, now_ns);
                at[count++] = now_ns;
            }
            now_ns = when_ns == now_ns ? now_ns + 3 * NS_PER_MS : when_ns;
        }
        for (unsigned i = 0, first = 0; i < count; i++) {
            while (at[i] - at[first] > 10 * NS_PER_S)
                first++;
            assert_true((i - first + 1) * rows[row].bytes <= allowed);
        }
        assert_true(count * rows[row].bytes >= 3 * allowed * 9 / 10); /* and it is used */
    }
}

/* What a cut train did not send is there again, in all and within the window. */
static void budget_return__gives_back_what_was_not_sent(void **state)
{
    (void)state;
    struct budget budget;
    budget_init(&budget, 30000, 10000);
    budget_spend(&budget, 12500, 0);
    assert_true(budget_when(&budget, 12500, 1e6, 5) > NS_PER_S);
    budget_return(&budget, 12500, 0);
    assert_true(budget_when(&budget, 12500, 1e6, 5) == 5);
    assert_int_equal(budget_left(&budget), 30000);
    budget_spend(&budget, 10000, 20 * NS_PER_S);
    budget_return(&budget, 99999, NS_PER_S); /* long forgotten */
    assert_int_equal(budget_left(&budget), 30000);
    assert_true(budget_when(&budget, 12500, 1e6, 20 * NS_PER_S) > 21 * NS_PER_S);
}

static void budget_when__more_than_the_share_never_goes(void **state)
{
    (void)state;
    struct budget budget;
    budget_init(&budget, 0, 10000);
    assert_true(budget_when(&budget, 12501, 1e6, 0) == TIME_NEVER);
    assert_true(budget_when(&budget, 12500, 1e6, 0) == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(budget_left__is_what_was_given_less_what_was_spent),
        cmocka_unit_test(budget_when__keeps_to_the_share_over_any_10_s),
        cmocka_unit_test(budget_return__gives_back_what_was_not_sent),
        cmocka_unit_test(budget_when__more_than_the_share_never_goes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
