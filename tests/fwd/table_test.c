/* Forwarding snapshots: lookups after additions, replacements and removals, and that the old snapshot stays
 * as it was. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "fwd/table.h"

static struct forward_table tables[2];

static struct forward_entry entry_of(uint32_t job, uint8_t stripe)
{
    return (struct forward_entry){.job = job, .stripe = stripe, .job_slot = (uint8_t)(job % 16), .parent = 3};
}

static void forward_lookup__finds_what_was_added(void **state)
{
    (void)state;
    forward_init(&tables[0]);
    for (uint32_t job = 1; job <= FORWARD_ENTRIES_MAX; job++) {
        struct forward_entry entry = entry_of(job * 7919, (uint8_t)(job % 3));
        assert_true(forward_with(&tables[job % 2], &tables[(job + 1) % 2], &entry));
        assert_int_equal(tables[job % 2].generation, job);
        assert_null(forward_lookup(&tables[(job + 1) % 2], job * 7919, (uint8_t)(job % 3)));
    }
    struct forward_table *full = &tables[FORWARD_ENTRIES_MAX % 2];
    for (uint32_t job = 1; job <= FORWARD_ENTRIES_MAX; job++) {
        const struct forward_entry *found = forward_lookup(full, job * 7919, (uint8_t)(job % 3));
        assert_non_null(found);
        assert_int_equal(found->job_slot, job * 7919 % 16);
        assert_null(forward_lookup(full, job * 7919, (uint8_t)(job % 3 + 1)));
    }
    struct forward_entry one_more = entry_of(1, 0);
    assert_false(forward_with(&tables[(FORWARD_ENTRIES_MAX + 1) % 2], full, &one_more));
}

static void forward_with__replaces_the_same_job_and_stripe(void **state)
{
    (void)state;
    forward_init(&tables[0]);
    struct forward_entry entry = entry_of(5, 0);
    assert_true(forward_with(&tables[1], &tables[0], &entry));
    entry.epoch = 2;
    assert_true(forward_with(&tables[0], &tables[1], &entry));
    assert_int_equal(tables[0].count, 1);
    assert_int_equal(forward_lookup(&tables[0], 5, 0)->epoch, 2);
    assert_int_equal(forward_lookup(&tables[1], 5, 0)->epoch, 0);
}

static void forward_without__removes_all_stripes_of_a_job(void **state)
{
    (void)state;
    forward_init(&tables[0]);
    for (uint8_t stripe = 0; stripe < 8; stripe++) {
        struct forward_entry five = entry_of(5, stripe), six = entry_of(6, stripe);
        assert_true(forward_with(&tables[1], &tables[0], &five));
        assert_true(forward_with(&tables[0], &tables[1], &six));
    }
    forward_without(&tables[1], &tables[0], 5);
    assert_int_equal(tables[1].count, 8);
    for (uint8_t stripe = 0; stripe < 8; stripe++) {
        assert_null(forward_lookup(&tables[1], 5, stripe));
        assert_non_null(forward_lookup(&tables[1], 6, stripe));
        assert_non_null(forward_lookup(&tables[0], 5, stripe));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(forward_lookup__finds_what_was_added),
        cmocka_unit_test(forward_with__replaces_the_same_job_and_stripe),
        cmocka_unit_test(forward_without__removes_all_stripes_of_a_job),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
