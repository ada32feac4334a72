/* What sluice-bench probe says of trains: departures against the schedule, marks, and when a measurement is over. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "app/bench/seen.h"
#include "base/units.h"

static struct seen seen;
static struct train_record record;

static void make_record(uint32_t packets, uint64_t late_ns, uint32_t marks)
{
    memset(&record, 0, sizeof(record));
    record.shape.wire_bytes = 1250;
    assert_true(train_add(&record.shape, packets, 1000000000)); /* 10 us each */
    record.start_ns = 5000;
    record.marks = marks;
    for (uint32_t index = 0; index < packets; index += 2) /* half of them are lost */
        record.samples[record.count++] = (struct train_sample){.index = index,
                                                               .sent_ns = 5000 + index * 10000 + late_ns,
                                                               .received_ns = 9000 + index / 4 * 10000};
}

static void seen__departures_and_marks(void **state)
{
    (void)state;
    memset(&seen, 0, sizeof(seen));
    make_record(100, 0, 0);
    seen_train(&seen, &record);
    make_record(100, 64, TRAIN_CUT | TRAIN_STOOD_STILL);
    record.receiver = (struct train_floor){.batch = 7, .gap_ns = 1234};
    seen_train(&seen, &record);
    seen_train(&seen, NULL);
    assert_int_equal(seen.trains, 2);
    assert_int_equal(seen.lost, 1);
    assert_int_equal(seen.spoiled, 1);
    static const uint64_t marked[SEEN_MARKS] = {0, 0, 1, 1};
    assert_memory_equal(seen.marked, marked, sizeof(marked));
    assert_int_equal(seen.packets, 100);
    assert_int_equal(seen.stamped_alike, 50);
    assert_int_equal(seen.batch_max, 7);
    assert_int_equal(seen.gap_ns_max, 1234);
    assert_int_equal(seen.departure_ns.count, 100);
    assert_int_equal(seen.departure_ns.largest, 64);
    assert_int_equal(histogram_percentile(&seen.departure_ns, 400000), 0);
    assert_int_equal(histogram_percentile(&seen.departure_ns, 990000), 64);
}

/* Two trains, then it is done. */
static unsigned asked;

static void start(void *state, const struct estimator_goal *goal, uint64_t now_ns)
{
    (void)state;
    (void)goal;
    (void)now_ns;
    asked = 0;
}

static enum estimator_step next(void *state, uint64_t now_ns, struct train_shape *shape, uint64_t *at_ns)
{
    (void)state;
    *shape = record.shape;
    *at_ns = now_ns;
    return asked++ < 2 ? ESTIMATOR_TRAIN : ESTIMATOR_DONE;
}

static void take(void *state, const struct train_record *told, uint64_t now_ns)
{
    (void)state;
    (void)told;
    (void)now_ns;
}

static void result(const void *state, uint64_t now_ns, struct estimate *estimate)
{
    (void)state;
    *estimate = (struct estimate){.kind = ESTIMATE_VALUE, .avail_bps = now_ns};
}

static void seen__ends_with_the_last_train(void **state)
{
    (void)state;
    static const struct estimator_kind inner = {"inner", 8, true, start, next, take, result};
    const struct estimator_kind *kind = seen_around(&inner, &seen);
    struct estimate estimate;
    uint64_t at_ns;
    make_record(10, 0, 0);
    assert_string_equal(kind->name, "inner");
    assert_int_equal(kind->bytes, 8);
    assert_true(kind->floors);
    for (int run = 0; run < 2; run++) {
        seen_next(&seen);
        kind->start(NULL, NULL, 0);
        for (int train = 0; train < 2; train++)
            assert_int_equal(kind->next(NULL, 1, &record.shape, &at_ns), ESTIMATOR_TRAIN);
        assert_int_equal(kind->next(NULL, 1, &record.shape, &at_ns), ESTIMATOR_DONE);
        kind->take(NULL, &record, 2);
        kind->result(NULL, 2, &estimate);
        assert_false(seen.ended);
        kind->take(NULL, NULL, 3);
        kind->result(NULL, 3, &estimate);
        assert_true(seen.ended);
        assert_int_equal(seen.estimate.avail_bps, 3);
    }
    assert_int_equal(seen.trains, 2);
    assert_int_equal(seen.lost, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(seen__departures_and_marks),
        cmocka_unit_test(seen__ends_with_the_last_train),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
