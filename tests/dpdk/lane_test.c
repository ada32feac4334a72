#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>

#include "base/units.h"
#include "dpdk/lane.h"

static struct lane lane;
static int packet;

static void push_run(uint32_t count, uint64_t first_ns, uint64_t gap_ns)
{
    for (uint32_t index = 0; index < count; index++)
        lane_push(&lane, &(struct lane_item){
                             .packet = &packet, .cookie = index, .asked_ns = first_ns + index * gap_ns});
}

/* Polls every `step_ns` from `from_ns` until the lane is empty; fills departure times. */
static uint32_t drain(uint64_t from_ns, uint64_t step_ns, uint64_t *left_ns)
{
    uint32_t count = 0;
    for (uint64_t now_ns = from_ns; lane_count(&lane) > 0; now_ns += step_ns) {
        uint32_t due = lane_due(&lane, now_ns, 32);
        for (uint32_t index = 0; index < due; index++)
            left_ns[count++] = now_ns;
        lane_pop(&lane, due, now_ns);
    }
    return count;
}

static void lane__nothing_leaves_early(void **state)
{
    (void)state;
    uint64_t left_ns[LANE_PLACES];
    const uint64_t slacks[] = {0, 10000};
    for (int row = 0; row < 2; row++) {
        lane_init(&lane, slacks[row]);
        push_run(100, 50000, 1230);
        assert_int_equal(lane_next_ns(&lane), 50000);
        assert_int_equal(drain(0, 100, left_ns), 100);
        for (uint32_t index = 0; index < 100; index++) {
            uint64_t asked_ns = 50000 + index * 1230;
            assert_true(left_ns[index] + slacks[row] >= asked_ns);
            assert_true(left_ns[index] < asked_ns + 100);
        }
        assert_int_equal(lane.reanchored, 0);
        assert_true(lane_next_ns(&lane) == TIME_NEVER);
    }
}

static void lane__stall_is_followed_by_eight_then_the_old_spacing(void **state)
{
    (void)state;
    uint64_t left_ns[LANE_PLACES];
    lane_init(&lane, 0);
    push_run(40, 1000, 1000);
    uint64_t back_ns = 5000000;
    assert_int_equal(drain(back_ns, 50, left_ns), 40);
    for (uint32_t index = 0; index < LANE_CATCH_UP; index++)
        assert_int_equal(left_ns[index], back_ns);
    for (uint32_t index = LANE_CATCH_UP; index < 40; index++)
        assert_true(left_ns[index] - left_ns[index - 1] >= 950);
    assert_int_equal(lane.reanchored, 1);
}

/* What was lost is made up at 8/7 of the rate: the lag of the first 32 packets is gone 7 times later. */
static void lane__lag_after_a_stall_goes_away(void **state)
{
    (void)state;
    uint64_t left_ns[LANE_PLACES];
    lane_init(&lane, 0);
    push_run(40, 1000, 1000);
    uint64_t now_ns = 5000000;
    lane_pop(&lane, lane_due(&lane, now_ns, 32), now_ns);
    for (uint32_t index = 0; index < 400; index++)
        lane_push(&lane, &(struct lane_item){.packet = &packet, .asked_ns = now_ns + index * 1000});
    uint32_t count = drain(now_ns, 50, left_ns);
    assert_true(left_ns[count - 1] - (now_ns + 399 * 1000) < 100);
    for (uint32_t index = 1; index < count; index++)
        assert_true(left_ns[index] - left_ns[index - 1] >= 800);
}

static void lane__due_respects_room(void **state)
{
    (void)state;
    lane_init(&lane, 0);
    push_run(LANE_PLACES, 1000, 1);
    assert_int_equal(lane_room(&lane), 0);
    assert_int_equal(lane_due(&lane, 999, 32), 0);
    assert_int_equal(lane_due(&lane, 1003, 32), 4);
    assert_int_equal(lane_due(&lane, 1003, 2), 2);
    lane_pop(&lane, 2, 1003);
    assert_int_equal(lane_room(&lane), 2);
}

static void lane__late_is_recorded(void **state)
{
    (void)state;
    lane_init(&lane, 0);
    push_run(4, 1000, 1000);
    lane_pop(&lane, lane_due(&lane, 3000, 32), 3000);
    assert_int_equal(lane.error_ns.count, 3);
    assert_int_equal(lane.error_ns.largest, 2000);
    assert_int_equal(histogram_percentile(&lane.error_ns, 1), 0);
}

static void histogram__percentiles_are_right_to_an_eighth(void **state)
{
    (void)state;
    static struct histogram histogram;
    for (uint64_t value = 1; value <= 100000; value++)
        histogram_add(&histogram, value);
    const uint32_t shares[] = {1000, 10000, 500000, 990000, 1000000};
    for (int row = 0; row < 5; row++) {
        uint64_t exact = shares[row] / 10;
        uint64_t got = histogram_percentile(&histogram, shares[row]);
        assert_true(got <= exact && got * 9 >= exact * 8);
    }
    assert_int_equal(histogram.largest, 100000);
    histogram_add(&histogram, UINT64_MAX);
    assert_true(histogram_percentile(&histogram, 1000000) > UINT64_MAX / 9 * 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lane__nothing_leaves_early),
        cmocka_unit_test(lane__stall_is_followed_by_eight_then_the_old_spacing),
        cmocka_unit_test(lane__lag_after_a_stall_goes_away),
        cmocka_unit_test(lane__due_respects_room),
        cmocka_unit_test(lane__late_is_recorded),
        cmocka_unit_test(histogram__percentiles_are_right_to_an_eighth),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
