#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <math.h>

#include "base/units.h"
#include "probe/tracker.h"

static void tracker_take__one_far_value_is_held_a_second_is_a_change(void **state)
{
    (void)state;
    struct tracker tracker = {0};
    for (unsigned i = 0; i < 20; i++)
        assert_int_equal(tracker_take(&tracker, 2 + 0.01 * (i % 3), 1e-4, 1e-13, i * NS_PER_MS),
                         TRACKER_TAKEN);
    assert_true(fabs(tracker.value - 2.01) < 0.01);
    assert_int_equal(tracker_take(&tracker, 7, 1e-4, 1e-13, 21 * NS_PER_MS), TRACKER_HELD);
    assert_int_equal(tracker_take(&tracker, 2, 1e-4, 1e-13, 22 * NS_PER_MS),
                     TRACKER_TAKEN); /* it was an outlier */
    assert_int_equal(tracker_take(&tracker, 7, 1e-4, 1e-13, 23 * NS_PER_MS), TRACKER_HELD);
    assert_int_equal(tracker_take(&tracker, 0, 1e-4, 1e-13, 24 * NS_PER_MS),
                     TRACKER_HELD); /* the other side */
    assert_int_equal(tracker_take(&tracker, 0, 1e-4, 1e-13, 25 * NS_PER_MS), TRACKER_CHANGED);
    assert_false(tracker.known);
    assert_int_equal(tracker_take(&tracker, 7, 1e-4, 1e-13, 26 * NS_PER_MS), TRACKER_TAKEN);
    assert_true(tracker.value == 7);
}

/* What drifts as slowly as the walk allows is followed. */
static void tracker_take__follows_a_walk(void **state)
{
    (void)state;
    struct tracker tracker = {0};
    for (unsigned i = 0; i < 1000; i++)
        assert_int_equal(tracker_take(&tracker, 5 + 0.001 * i, 1e-4, 1e-11, i * NS_PER_MS), TRACKER_TAKEN);
    assert_true(fabs(tracker.value - 6) < 0.02);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tracker_take__one_far_value_is_held_a_second_is_a_change),
        cmocka_unit_test(tracker_take__follows_a_walk),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
