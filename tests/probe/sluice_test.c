#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "probe/estimators.h"
#include "queue_lab.h"

/* The acceptance table's cells, a few runs of each; the whole of it is scripts/bench's. */
static const struct estimator_goal first_look = {.port_bps = 40000000000,
                                                 .receiver_bps = 10000000000,
                                                 .wire_bytes = FULL_PACKET_WIRE_BYTES,
                                                 .width_ppm = 5000,
                                                 .bytes_max = 1500000};
static struct lab lab;

static struct lab_result measure(const struct lab_path *path, const struct estimator_goal *goal,
                                 uint64_t seed)
{
    struct lab_result result;
    lab_begin(&lab, path, seed);
    lab_measure(&lab, &estimator_sluice, goal, 60e9, NULL, &result);
    lab_end(&lab);
    return result;
}

static double gbit(uint64_t bps)
{
    return (double)bps / 1e9;
}

static void sluice__constant_cross_traffic_in_two_round_trips(void **state)
{
    (void)state;
    static const double loads[] = {0, 0.1, 0.37, 0.5, 0.9}, rtts_ns[] = {1e5, 5e7};
    for (unsigned load = 0; load < 5; load++) {
        for (unsigned rtt = 0; rtt < 2; rtt++) {
            struct lab_path path = {
                .hop_count = 1, .hops = {{.rate = 10, .cross = 10 * loads[load]}}, .rtt_ns = rtts_ns[rtt]};
            for (unsigned run = 0; run < 5; run++) {
                struct lab_result result = measure(&path, &first_look, run);
                assert_int_equal(result.estimate.kind, ESTIMATE_VALUE);
                assert_true(fabs(gbit(result.estimate.avail_bps) - result.window) < 0.02);
                assert_true(gbit(result.estimate.low_bps) <= result.period + 1e-6);
                assert_true(gbit(result.estimate.high_bps) >= result.period - 1e-6);
                assert_true(result.took_ns <= 2 * path.rtt_ns + 5e6);
                assert_true(result.bytes <= 1500000);
                assert_true(result.queue_bytes <= 800000);
            }
        }
    }
}

/* An idle path as fast as the port: what was sent came through. */
static void sluice__nothing_queues(void **state)
{
    (void)state;
    static const double rates[] = {10, 25};
    for (unsigned row = 0; row < 2; row++) {
        struct lab_path path = {.hop_count = 1, .hops = {{.rate = rates[row]}}, .rtt_ns = 1e6};
        struct estimator_goal goal = first_look;
        goal.port_bps = 10000000000;
        struct lab_result result = measure(&path, &goal, 1);
        assert_int_equal(result.estimate.kind, ESTIMATE_AT_LEAST);
        assert_true(gbit(result.estimate.avail_bps) >= 9.9);
        assert_true(gbit(result.estimate.avail_bps) <= 10);
        assert_true(result.took_ns <= 2 * path.rtt_ns + 5e6);
    }
}

static void sluice__poisson_over_a_period(void **state)
{
    (void)state;
    static const double loads[] = {0.2, 0.5, 0.8};
    struct estimator_goal goal = first_look;
    goal.duration_ns = 2500 * NS_PER_MS;
    goal.bytes_max = 25000000;
    goal.load_ppm = 10000;
    goal.width_ppm = 10000;
    for (unsigned load = 0; load < 3; load++) {
        struct lab_path path = {.hop_count = 1,
                                .hops = {{.rate = 10, .cross = 10 * loads[load], .kind = LAB_POISSON}},
                                .rtt_ns = 1e6};
        double sum = 0, squares = 0, law = 0;
        unsigned covered = 0;
        for (unsigned run = 0; run < 20; run++) {
            struct lab_result result = measure(&path, &goal, run);
            assert_int_equal(result.estimate.kind, ESTIMATE_VALUE);
            assert_true(fabs(gbit(result.estimate.avail_bps) - result.window) < 0.03);
            assert_true(result.bytes <= 25e6);
            double error = gbit(result.estimate.avail_bps) - result.period;
            sum += error / 20;
            squares += error * error / 20;
            law += path.hops[0].cross * 12304 / (double)result.estimate.busy_ns / 20;
            covered += gbit(result.estimate.low_bps) <= result.period &&
                       gbit(result.estimate.high_bps) >= result.period;
        }
        assert_true(fabs(sum) < 0.03);
        assert_true(squares < 2 * law && squares > law / 2.5);
        assert_true(law < 0.0025); /* so much was watched */
        assert_true(covered >= 17);
    }
}

static void sluice__heavy_tails_are_covered(void **state)
{
    (void)state;
    struct lab_path path = {.hop_count = 1,
                            .hops = {{.rate = 10,
                                      .cross = 5,
                                      .kind = LAB_ON_OFF,
                                      .sources = 20,
                                      .peak = 1,
                                      .on_ns = 5e6,
                                      .off_ns = 15e6,
                                      .queue_bits = 5e7}},
                            .rtt_ns = 1e7};
    struct estimator_goal goal = first_look;
    goal.duration_ns = 2500 * NS_PER_MS;
    goal.bytes_max = 25000000;
    unsigned covered = 0;
    double half = 0;
    for (unsigned run = 0; run < 20; run++) {
        struct lab_result result = measure(&path, &goal, run);
        assert_int_equal(result.estimate.kind, ESTIMATE_VALUE);
        covered +=
            gbit(result.estimate.low_bps) <= result.period && gbit(result.estimate.high_bps) >= result.period;
        half += gbit(result.estimate.high_bps - result.estimate.low_bps) / 40;
    }
    assert_true(covered >= 17);
    assert_true(half < 0.8);
}

/* Loss, late packets, batches, a clock that is off and stamps that tremble, all at once. */
static void sluice__rough_path(void **state)
{
    (void)state;
    static const double loads[] = {0.1, 0.5, 0.9};
    for (unsigned load = 0; load < 3; load++) {
        struct lab_path path = {.hop_count = 1,
                                .hops = {{.rate = 10, .cross = 10 * loads[load]}},
                                .rtt_ns = 1e6,
                                .loss = 0.01,
                                .late = 0.05,
                                .batch = 32,
                                .batch_ns = 1e6,
                                .noise_ns = 100,
                                .skew = 1e-4,
                                .floor_told = true};
        struct estimator_goal goal = first_look;
        goal.width_ppm = 10000;
        goal.bytes_max = 3000000;
        goal.receiver = (struct train_floor){.batch = 32, .noise_ns = 100};
        for (unsigned run = 0; run < 10; run++) {
            struct lab_result result = measure(&path, &goal, run);
            assert_int_equal(result.estimate.kind, ESTIMATE_VALUE);
            assert_true(fabs(gbit(result.estimate.avail_bps) - result.window) < 0.1);
            assert_true(result.estimate.flags & ESTIMATE_BATCHED);
            assert_true(result.estimate.flags & ESTIMATE_LOSSY);
        }
    }
}

static void sluice__no_report_is_no_answer(void **state)
{
    (void)state;
    void *memory = malloc(estimator_sluice.bytes);
    estimator_sluice.start(memory, &first_look, 1000);
    uint64_t now_ns = 1000, at_ns;
    struct train_shape shape;
    unsigned trains = 0;
    enum estimator_step step;
    while ((step = estimator_sluice.next(memory, now_ns, &shape, &at_ns)) != ESTIMATOR_DONE) {
        now_ns += NS_PER_S;
        if (step == ESTIMATOR_TRAIN) {
            estimator_sluice.take(memory, NULL, now_ns);
            trains++;
        }
        assert_true(trains < 10);
    }
    struct estimate estimate;
    estimator_sluice.result(memory, now_ns, &estimate);
    assert_int_equal(estimate.kind, ESTIMATE_REFUSED);
    assert_int_equal(estimate.reason, ESTIMATE_NO_ANSWER);
    free(memory);
}

static void estimator_kind__by_name(void **state)
{
    (void)state;
    assert_ptr_equal(estimator_kinds[0], &estimator_sluice);
    assert_ptr_equal(estimator_kind("sluice"), &estimator_sluice);
    assert_null(estimator_kind("none such"));
    assert_true(estimator_bytes() >= estimator_sluice.bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sluice__constant_cross_traffic_in_two_round_trips),
        cmocka_unit_test(sluice__nothing_queues),
        cmocka_unit_test(sluice__poisson_over_a_period),
        cmocka_unit_test(sluice__heavy_tails_are_covered),
        cmocka_unit_test(sluice__rough_path),
        cmocka_unit_test(sluice__no_report_is_no_answer),
        cmocka_unit_test(estimator_kind__by_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
