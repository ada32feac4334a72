/* Estimator sluice: what the ends of a path do to trains, and what of an estimate can not be. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "probe/estimators.h"
#include "probe/sluice_verdict.h"
#include "queue_lab.h"

/* Trains that an end has spoiled say nothing of the path: others are sent, not at once, while there is time and money; and
 * the refusal says which end. */
static void sluice__an_end_was_away(void **state)
{
    (void)state;
    static const struct {
        uint32_t marks, batch;
        uint64_t bytes_max, duration_ns;
        unsigned least, most; /* trains */
        uint8_t reason;
        int64_t step_ns; /* of the receiver's clock, in the middle */
    } rows[] = {
        {TRAIN_REANCHORED, 1, 0, 0, 80, 84, ESTIMATE_DEPARTURES, 0},
        {TRAIN_CUT, 1, 0, 0, 80, 84, ESTIMATE_DEPARTURES, 0},
        {TRAIN_STOOD_STILL, 1, 0, 0, 80, 84, ESTIMATE_BATCHES, 0},
        {0, 100, 0, 0, 80, 84, ESTIMATE_BATCHES, 0},
        {TRAIN_REANCHORED, 1, 3000000, 0, 3, 14, ESTIMATE_DEPARTURES, 0},
        {TRAIN_REANCHORED, 1, 0, 100 * NS_PER_MS, 3, 14, ESTIMATE_DEPARTURES, 0},
        {0, 1, 0, 0, 80, 84, ESTIMATE_CLOCKS, 5000000},
        {0, 1, 0, 0, 80, 84, ESTIMATE_CLOCKS, -5000000},
    };
    static struct train_record record;
    void *memory = malloc(estimator_sluice.bytes);
    for (unsigned row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
        struct estimator_goal goal = first_look;
        goal.bytes_max = rows[row].bytes_max;
        goal.duration_ns = rows[row].duration_ns;
        estimator_sluice.start(memory, &goal, 1000);
        uint64_t now_ns = 1000, at_ns, last_ns = 0;
        unsigned trains = 0;
        enum estimator_step step;
        memset(&record, 0, sizeof(record));
        record.marks = rows[row].marks;
        record.receiver.batch = rows[row].batch;
        while ((step = estimator_sluice.next(memory, now_ns, &record.shape, &at_ns)) != ESTIMATOR_DONE) {
            if (step == ESTIMATOR_WAIT) {
                assert_true(at_ns > now_ns && at_ns != TIME_NEVER);
                now_ns = at_ns;
                continue;
            }
            assert_true(trains++ == 0 || rows[row].least < 20 || trains > 80 ||
                        now_ns - last_ns >= 10 * NS_PER_MS);
            record.start_ns = last_ns = now_ns;
            record.sent = record.count = train_packets(&record.shape) / 2;
            for (uint32_t at = 0; at < record.count; at++)
                record.samples[at] = (struct train_sample){now_ns + at * 1230, now_ns + NS_PER_MS, at, at};
            for (uint32_t at = 0; rows[row].step_ns != 0 && at < record.count; at++)
                record.samples[at].received_ns +=
                    at * 1230 + (at < record.count / 2 ? 0 : (uint64_t)rows[row].step_ns);
            estimator_sluice.take(memory, &record, now_ns += NS_PER_MS);
        }
        struct estimate estimate;
        estimator_sluice.result(memory, now_ns, &estimate);
        assert_int_equal(estimate.kind, ESTIMATE_REFUSED);
        assert_int_equal(estimate.reason, rows[row].reason);
        assert_in_range(trains, rows[row].least, rows[row].most);
        assert_true(rows[row].bytes_max == 0 || estimate.bytes <= rows[row].bytes_max);
    }
    free(memory);
}

/* What is known of the ends makes the first train as long as it has to be, or none is sent at all and the reason said. */
static void sluice__floors_count_at_the_first_train(void **state)
{
    (void)state;
    static const struct {
        struct train_floor receiver;
        uint64_t bytes_max;
        uint32_t packets; /* of the first train; 0: none is sent */
        uint8_t reason;
    } rows[] = {
        {{0}, 1500000, 232, 0},
        {{.noise_ns = 100}, 1500000, 238, 0},
        {{.noise_ns = 1000}, 1500000, 297, 0},
        {{.batch = 32}, 1500000, 512, 0},
        {{.batch = 32, .noise_ns = 100}, 1500000, 512, 0},
        {{.noise_ns = 20000}, 1500000, 360, 0},
        {{.noise_ns = 40000}, 1500000, 0, ESTIMATE_NOISE},
        {{.noise_ns = 1000000}, 0, 0, ESTIMATE_NOISE},
        {{.batch = 256}, 1500000, 0, ESTIMATE_BATCHES},
        {{.batch = 32}, 150000, 0, ESTIMATE_BATCHES},
    };
    struct sluice *sluice = malloc(estimator_sluice.bytes);
    for (unsigned row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
        struct estimator_goal goal = first_look;
        struct train_shape shape;
        struct estimate estimate;
        uint64_t at_ns;
        goal.receiver = rows[row].receiver;
        goal.bytes_max = rows[row].bytes_max;
        estimator_sluice.start(sluice, &goal, 1000);
        enum estimator_step step = estimator_sluice.next(sluice, 1000, &shape, &at_ns);
        assert_int_equal(step, rows[row].packets > 0 ? ESTIMATOR_TRAIN : ESTIMATOR_DONE);
        if (step == ESTIMATOR_TRAIN)
            assert_int_equal(train_packets(&shape), rows[row].packets);
        estimator_sluice.result(sluice, 1000, &estimate);
        assert_int_equal(estimate.kind, rows[row].packets > 0 ? ESTIMATE_NONE : ESTIMATE_REFUSED);
        assert_int_equal(estimate.reason, rows[row].reason);
        assert_int_equal(estimate.trains + estimate.discarded, 0);
    }
    free(sluice);
}

/* Trains that found more than the path carries, by more than the interval: something else than a queue made that. */
static void sluice__more_than_the_path_carries_is_unsteady(void **state)
{
    (void)state;
    static const struct {
        double sent_share, capacity_error; /* bits sent of what the hop could serve; of capacity */
        uint8_t kind, reason;
    } rows[] = {
        {0.9, 0, ESTIMATE_VALUE, 0},
        {1.05, 0, ESTIMATE_VALUE, 0},
        {1.2, 0, ESTIMATE_REFUSED, ESTIMATE_UNSTEADY},
        {1.2, 0.5, ESTIMATE_VALUE, 0},
        {3, 0, ESTIMATE_REFUSED, ESTIMATE_UNSTEADY},
    };
    struct sluice *sluice = malloc(estimator_sluice.bytes);
    for (unsigned row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
        estimator_sluice.start(sluice, &first_look, 1000);
        sluice->path.capacity = 10;
        sluice->path.capacity_error = 10 * rows[row].capacity_error;
        struct conserve fit = {
            .steps = 1000, .edges = 1, .last = 1000, .from_ns = 1000, .until_ns = 10001000};
        double bits = rows[row].sent_share * 1e8;
        fit.all = (struct conserve_sums){1e7, 1e7, bits, bits};
        pool_add(&sluice->pool, &fit, 1000000);
        struct estimate estimate;
        sluice_tell(sluice, 20000000, &estimate);
        assert_int_equal(estimate.kind, rows[row].kind);
        assert_int_equal(estimate.reason, rows[row].reason);
    }
    free(sluice);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sluice__an_end_was_away),
        cmocka_unit_test(sluice__floors_count_at_the_first_train),
        cmocka_unit_test(sluice__more_than_the_path_carries_is_unsteady),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
