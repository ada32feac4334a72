/* What repeats at the tail may cost. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/units.h"
#include "edge/repeat_budget.h"

/* A job of so many packets, of which one in loses_every is lost; what it may spend, in packets. */
static void repeat_budget__earns_what_the_header_says(void **state)
{
    (void)state;
    static const struct {
        uint64_t packets, trip, loses_every; /* 0: none */
        int64_t least, most;
    } jobs[] = {
        {100, 1000, 0, 4, 4},   /* 4 % */
        {2500, 100, 0, 32, 32}, /* … of a small object */
        {3125, 100, 0, 15, 16}, /* … less of one that takes longer … */
        {3750, 100, 0, 7, 7},   /* … until only the share of all is left */
        {5000, 100, 0, 9, 9},
        {2500, 4, 0, 4, 4},                 /* slow and near: hundreds of round trips */
        {8000, 80000, 0, 39, 39},           /* 0.49 %: all within a round trip */
        {80000, 80000, 0, 390, 391},        /* … */
        {80000, 80000, 100, 1265, 1272},    /* … and 1.1 for each lost one */
        {80000, 80000, 20, 4050, 4062},     /* … up to a 24th */
        {400000, 80000, 20, 4050, 4062},    /* of one round trip, however long the object */
        {4000000, 80000, 20, 11600, 11800}, /* until the share of all is more */
        {4000000, 80000, 0, 7810, 7815},
        {80000, 80000, 4, 4050, 4062}, /* a path that loses many */
    };
    for (size_t index = 0; index < sizeof(jobs) / sizeof(jobs[0]); index++) {
        struct repeat_budget budget = {0};
        uint64_t every = jobs[index].loses_every;
        repeat_budget_set_trip(&budget, jobs[index].trip);
        for (uint64_t packet = 1; packet <= jobs[index].packets; packet++) {
            repeat_budget_on_new(&budget, every == 4);
            if (every > 0 && packet % every == 0)
                repeat_budget_on_lost(&budget, every == 4);
        }
        assert_in_range(budget.left / REPEAT_PACKET, jobs[index].least, jobs[index].most);
    }
}

static void repeat_budget__begins_anew_with_its_debts(void **state)
{
    (void)state;
    struct repeat_budget budget = {0};
    repeat_budget_set_trip(&budget, 1000);
    for (uint32_t packet = 0; packet < 100; packet++)
        repeat_budget_on_new(&budget, false);
    repeat_budget_on_idle(&budget);
    assert_int_equal(budget.left, 0);
    for (uint32_t packet = 0; packet < 100; packet++)
        repeat_budget_on_new(&budget, false);
    assert_int_equal(budget.left, 100 * REPEAT_SHARE_FAST);
    for (uint32_t copy = 0; copy < 6; copy++)
        repeat_budget_spend(&budget);
    repeat_budget_give_back(&budget);
    int64_t debts = 100 * (int64_t)REPEAT_SHARE_FAST - 5 * REPEAT_PACKET;
    assert_int_equal(budget.left, debts);
    repeat_budget_on_idle(&budget);
    assert_int_equal(budget.left, debts);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(repeat_budget__earns_what_the_header_says),
        cmocka_unit_test(repeat_budget__begins_anew_with_its_debts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
