/* Estimators against one FIFO in closed form, linked with probe and base alone: they can know of nothing but records. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "probe/estimators.h"

#define CAPACITY_BPS 10000000000.0
#define DELAY_NS     25000
#define FULL_BITS    (FULL_PACKET_WIRE_BYTES * 8.0)
#define TRAINS_MAX   4096

/* 10 Gbit/s, with evenly spaced packets of full size in between. */
struct fifo {
    double free_ns, cross_ns, interval_ns; /* interval 0: no cross traffic */
    unsigned lose;                         /* every so manieth packet is lost behind it; 0: none */
};

static double fifo_pass(struct fifo *fifo, double now_ns)
{
    for (; fifo->interval_ns > 0 && fifo->cross_ns <= now_ns; fifo->cross_ns += fifo->interval_ns)
        fifo->free_ns = MAX(fifo->free_ns, fifo->cross_ns) + FULL_BITS / CAPACITY_BPS * 1e9;
    fifo->free_ns = MAX(fifo->free_ns, now_ns) + FULL_BITS / CAPACITY_BPS * 1e9;
    return fifo->free_ns;
}

static uint64_t fifo_send(struct fifo *fifo, const struct train_shape *shape, uint64_t start_ns,
                          struct train_record *record)
{
    struct train_schedule schedule;
    uint64_t end_ns = start_ns;
    record->shape = *shape;
    record->start_ns = start_ns;
    record->sent = record->count = record->marks = 0;
    for (train_begin(&schedule, shape, start_ns); schedule.next_ns != TIME_NEVER; train_step(&schedule)) {
        end_ns = (uint64_t)fifo_pass(fifo, (double)schedule.next_ns) + DELAY_NS;
        record->sent++;
        if (fifo->lose != 0 && record->sent % fifo->lose == 0)
            continue;
        record->samples[record->count] =
            (struct train_sample){schedule.next_ns, end_ns, schedule.index, record->count};
        record->count++;
    }
    return end_ns + DELAY_NS;
}

/* Times and bytes of all trains of a run. */
static uint64_t sent_ns[TRAINS_MAX], sent_bytes[TRAINS_MAX];
static unsigned sent_count;
static uint64_t took_ns;

static const struct estimator_goal goal_of_10g = {.port_bps = 10000000000,
                                                  .receiver_bps = 10000000000,
                                                  .rtt_ns = 50000,
                                                  .wire_bytes = FULL_PACKET_WIRE_BYTES,
                                                  .width_ppm = 10000};

/* One measurement; reports come in order. Silent: none ever does. */
static struct estimate measure(const char *name, const struct estimator_goal *goal, struct fifo fifo,
                               bool silent)
{
    static struct train_record record;
    static uint64_t due_ns[64];
    static struct train_record records[64];
    unsigned first = 0, behind = 0;
    const struct estimator_kind *kind = estimator_kind(name);
    assert_non_null(kind);
    void *state = calloc(1, estimator_bytes());
    uint64_t begin_ns = NS_PER_S, now_ns = begin_ns;
    struct estimate estimate;
    kind->start(state, goal, now_ns);
    sent_count = 0;
    while (now_ns < begin_ns + 60 * NS_PER_S) {
        struct train_shape shape = {0};
        uint64_t at_ns = TIME_NEVER;
        enum estimator_step step = kind->next(state, now_ns, &shape, &at_ns);
        if (step == ESTIMATOR_DONE)
            break;
        if (step == ESTIMATOR_TRAIN) {
            assert_true(train_shape_valid(&shape) && sent_count < TRAINS_MAX && behind - first < 64);
            assert_true(at_ns >= now_ns);
            sent_ns[sent_count] = at_ns;
            sent_bytes[sent_count++] = train_bytes(&shape);
            due_ns[behind % 64] = fifo_send(&fifo, &shape, at_ns, &record);
            records[behind++ % 64] = record;
            now_ns = at_ns + train_duration_ns(&shape);
        } else {
            uint64_t report_ns = first < behind ? due_ns[first % 64] : TIME_NEVER;
            now_ns = MAX(now_ns, MIN(at_ns, report_ns));
            assert_true(now_ns != TIME_NEVER);
        }
        for (; first < behind && due_ns[first % 64] <= now_ns; first++)
            kind->take(state, silent ? NULL : &records[first % 64], now_ns);
    }
    kind->result(state, now_ns, &estimate);
    took_ns = now_ns - begin_ns;
    free(state);
    return estimate;
}

static struct fifo crossed_by(double bps)
{
    return (struct fifo){.cross_ns = 12345, .interval_ns = bps > 0 ? FULL_BITS / bps * 1e9 : 0};
}

static void estimator__says_what_is_left(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        double cross_bps, low, high; /* of the capacity: where the estimate lies */
    } cases[] = {
        {"yaz", 5e9, 0.49, 0.53},       {"yaz", 8e9, 0.19, 0.23},      {"yaz", 1e9, 0.88, 0.93},
        {"pathload", 5e9, 0.42, 0.52},  {"pathload", 1e9, 0.85, 0.93}, {"kite2", 5e9, 0.49, 0.52},
        {"kite2", 8e9, 0.19, 0.22},     {"kite2", 1e9, 0.89, 0.92},    {"pathchirp", 5e9, 0.4, 0.75},
        {"pathchirp", 8e9, 0.15, 0.30},
    };
    for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct estimate estimate =
            measure(cases[i].name, &goal_of_10g, crossed_by(cases[i].cross_bps), false);
        double share = (double)estimate.avail_bps / CAPACITY_BPS;
        if (estimate.kind != ESTIMATE_VALUE || share < cases[i].low || share > cases[i].high)
            fail_msg("%s beside %g: %s %g", cases[i].name, cases[i].cross_bps,
                     estimate_kind_word(estimate.kind), share);
        assert_true(estimate.low_bps <= estimate.avail_bps && estimate.avail_bps <= estimate.high_bps);
        assert_true(estimate.trains + estimate.discarded <= sent_count);
        assert_true(estimate.from_ns >= NS_PER_S && estimate.until_ns > estimate.from_ns);
    }
}

static void estimator__an_idle_path_is_at_least_as_fast(void **state)
{
    (void)state;
    static const char *const names[] = {"yaz", "pathload", "kite2"};
    for (unsigned i = 0; i < 3; i++) {
        struct estimate estimate = measure(names[i], &goal_of_10g, crossed_by(0), false);
        assert_int_equal(estimate.kind, ESTIMATE_AT_LEAST);
        assert_in_range(estimate.avail_bps, 9900000000, 10000000000);
    }
}

static void estimator_capacity__whatever_crosses(void **state)
{
    (void)state;
    struct estimator_goal goal = goal_of_10g;
    goal.port_bps = 40000000000;
    for (double cross_bps = 0; cross_bps < 9e9; cross_bps += 1e9) {
        struct estimate estimate = measure("capacity", &goal, crossed_by(cross_bps), false);
        assert_int_equal(estimate.kind, ESTIMATE_NONE);
        assert_in_range(estimate.capacity_bps, 9990000000, 10010000000);
    }
    /* Nothing is stretched where the port is the narrow hop. */
    assert_int_equal(measure("capacity", &goal_of_10g, crossed_by(0), false).capacity_bps, 0);
}

static void estimator_rtt__says_nothing(void **state)
{
    (void)state;
    struct estimate estimate = measure("rtt", &goal_of_10g, crossed_by(5e9), false);
    assert_int_equal(estimate.kind, ESTIMATE_NONE);
    assert_int_equal(estimate.avail_bps, 0);
    assert_int_equal(estimate.trains, 10);
}

static void estimator__nobody_answers(void **state)
{
    (void)state;
    for (unsigned i = 0; estimator_kinds[i] != NULL; i++) {
        struct estimate estimate = measure(estimator_kinds[i]->name, &goal_of_10g, crossed_by(0), true);
        assert_int_equal(estimate.kind, ESTIMATE_REFUSED);
        assert_int_equal(estimate.reason, ESTIMATE_NO_ANSWER);
        assert_true(took_ns < 60 * NS_PER_S);
    }
}

/* Whatever is measured: no more than the bytes; and no 10 s with more than the share of the load. */
static void estimator__keeps_to_what_it_may_send(void **state)
{
    (void)state;
    for (unsigned i = 0; estimator_kinds[i] != NULL; i++) {
        struct estimator_goal goal = goal_of_10g;
        goal.bytes_max = 1000000;
        struct estimate estimate = measure(estimator_kinds[i]->name, &goal, crossed_by(5e9), false);
        uint64_t bytes = 0;
        for (unsigned k = 0; k < sent_count; k++)
            bytes += sent_bytes[k];
        assert_true(bytes <= goal.bytes_max && estimate.bytes == bytes);

        goal.bytes_max = 0;
        goal.load_ppm = 1000;
        goal.continuous = true;
        measure(estimator_kinds[i]->name, &goal, crossed_by(5e9), false);
        uint64_t within = 0, most = 0;
        for (unsigned k = 0, oldest = 0; k < sent_count; k++) {
            within += sent_bytes[k];
            while (sent_ns[k] - sent_ns[oldest] > 10 * NS_PER_S)
                within -= sent_bytes[oldest++];
            most = MAX(most, within);
        }
        assert_true(most <= 12500000 && sent_count > 20);
    }
}

/* A packet in a hundred, lost behind the queue. */
static void estimator__loss(void **state)
{
    (void)state;
    struct fifo fifo = crossed_by(5e9);
    fifo.lose = 100;
    struct estimate estimate = measure("kite2", &goal_of_10g, fifo, false);
    assert_int_equal(estimate.kind, ESTIMATE_VALUE);
    assert_in_range(estimate.avail_bps, 4900000000, 5200000000);
}

static void estimator_kind__by_name(void **state)
{
    (void)state;
    assert_ptr_equal(estimator_kind("yaz"), &estimator_yaz);
    assert_null(estimator_kind("ya"));
    for (unsigned i = 0; estimator_kinds[i] != NULL; i++)
        assert_true(estimator_kinds[i]->bytes <= estimator_bytes());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(estimator__says_what_is_left),
        cmocka_unit_test(estimator__an_idle_path_is_at_least_as_fast),
        cmocka_unit_test(estimator_capacity__whatever_crosses),
        cmocka_unit_test(estimator_rtt__says_nothing),
        cmocka_unit_test(estimator__nobody_answers),
        cmocka_unit_test(estimator__keeps_to_what_it_may_send),
        cmocka_unit_test(estimator__loss),
        cmocka_unit_test(estimator_kind__by_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
