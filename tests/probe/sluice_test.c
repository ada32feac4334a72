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

/* What may be sent is no more than a train: nothing is waited for once that has told. Where it is less than one the next
 * measurement is not to follow at once. */
static void sluice__ends_when_nothing_is_left_to_send(void **state)
{
    (void)state;
    static const struct {
        uint64_t most_bytes;
        uint8_t kind;
        double least_ns, most_ns;
    } rows[] = {{100000, ESTIMATE_AT_LEAST, 0, 2.4e8},
                {200000, ESTIMATE_AT_LEAST, 0, 2.4e8},
                {400000, ESTIMATE_AT_LEAST, 0, 2.4e8},
                {1000, ESTIMATE_NONE, 1e9, 1.1e9}};
    struct lab_path path = {.hop_count = 1, .hops = {{.rate = 0.1}}, .rtt_ns = 6e7};
    for (unsigned row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
        struct estimator_goal goal = first_look;
        goal.port_bps = goal.receiver_bps = 100000000;
        goal.bytes_max = rows[row].most_bytes;
        struct lab_result result = measure(&path, &goal, row);
        assert_int_equal(result.estimate.kind, rows[row].kind);
        assert_true(result.took_ns >= rows[row].least_ns && result.took_ns < rows[row].most_ns);
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
        for (unsigned run = 0; run < 10; run++) {
            struct lab_result result = measure(&path, &goal, run);
            assert_int_equal(result.estimate.kind, ESTIMATE_VALUE);
            assert_true(fabs(gbit(result.estimate.avail_bps) - result.window) < 0.03);
            assert_true(result.bytes <= 25e6);
            double error = gbit(result.estimate.avail_bps) - result.period;
            sum += error / 10;
            squares += error * error / 10;
            law += path.hops[0].cross * 12304 / (double)result.estimate.busy_ns / 10;
            covered += gbit(result.estimate.low_bps) <= result.period &&
                       gbit(result.estimate.high_bps) >= result.period;
        }
        assert_true(fabs(sum) < 0.04);
        assert_true(squares < 2.5 * law && squares > law / 4);
        assert_true(law < 0.0025); /* so much was watched */
        assert_true(covered >= 8);
    }
}

static const struct lab_path heavy_tails = {.hop_count = 1,
                                            .hops = {{.rate = 10,
                                                      .cross = 5,
                                                      .kind = LAB_ON_OFF,
                                                      .sources = 20,
                                                      .peak = 1,
                                                      .on_ns = 5e6,
                                                      .off_ns = 15e6,
                                                      .queue_bits = 5e7}},
                                            .rtt_ns = 1e7};

static void sluice__heavy_tails_are_covered(void **state)
{
    (void)state;
    struct estimator_goal goal = first_look;
    goal.duration_ns = 2500 * NS_PER_MS;
    goal.bytes_max = 25000000;
    unsigned covered = 0;
    double half = 0;
    for (unsigned run = 0; run < 10; run++) {
        struct lab_result result = measure(&heavy_tails, &goal, run);
        assert_int_equal(result.estimate.kind, ESTIMATE_VALUE);
        covered +=
            gbit(result.estimate.low_bps) <= result.period && gbit(result.estimate.high_bps) >= result.period;
        half += gbit(result.estimate.high_bps - result.estimate.low_bps) / 20;
    }
    assert_true(covered >= 8);
    assert_true(half < 0.8);
}

/* One source that sends for a second or more, and is still for as long: trains that found the path idle count like the others. */
static void sluice__full_and_idle_in_turn(void **state)
{
    (void)state;
    struct lab_path path = heavy_tails;
    struct estimator_goal goal = first_look;
    path.hops[0] = (struct lab_hop){
        .rate = 10, .cross = 4.5, .kind = LAB_ON_OFF, .sources = 1, .peak = 9, .on_ns = 1e9, .off_ns = 1e9};
    goal.duration_ns = 2500 * NS_PER_MS;
    goal.bytes_max = 25000000;
    goal.load_ppm = goal.width_ppm = 10000;
    unsigned missed = 0;
    for (unsigned run = 0; run < 12; run++) {
        struct lab_result result = measure(&path, &goal, run);
        missed +=
            gbit(result.estimate.low_bps) > result.period || gbit(result.estimate.high_bps) < result.period;
    }
    assert_true(missed <= 1);
}

/* A path that loses most of the first train carries what came of it, and is asked about that. */
static void sluice__a_slow_path_behind_a_fast_port(void **state)
{
    (void)state;
    static const struct {
        double port, rate, queue_bits;
    } rows[] = {{10, 0.1, 4e5}, {10, 0.1, 1e5},  {10, 0.1, 2e4},
                {1, 0.02, 1e6}, {1, 0.002, 4e5}, {1, 0.001, 2e5}};
    for (unsigned row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
        struct lab_path path = {.hop_count = 1,
                                .hops = {{.rate = rows[row].rate, .queue_bits = rows[row].queue_bits}},
                                .rtt_ns = 1e6};
        struct estimator_goal goal = first_look;
        goal.port_bps = (uint64_t)(rows[row].port * 1e9);
        struct lab_result result = measure(&path, &goal, row);
        assert_int_equal(result.estimate.kind, ESTIMATE_VALUE);
        assert_true(fabs(gbit(result.estimate.avail_bps) - rows[row].rate) < 0.03 * rows[row].rate);
    }
}

/* Nothing of any train comes but its first packets: what the path carries is not known, and trains become rare. */
static void sluice__goes_on_where_trains_tell_nothing(void **state)
{
    (void)state;
    struct lab_path path = {.hop_count = 1, .hops = {{.rate = 0.0005, .queue_bits = 2e4}}, .rtt_ns = 1e6};
    struct estimator_goal goal = first_look;
    struct lab_result result;
    goal.port_bps = 10000000000;
    goal.bytes_max = 0;
    goal.load_ppm = 10000;
    goal.continuous = true;
    lab_begin(&lab, &path, 1);
    lab_measure(&lab, &estimator_sluice, &goal, 40e9, NULL, &result);
    lab_end(&lab);
    assert_int_equal(result.estimate.kind, ESTIMATE_REFUSED);
    assert_true(result.bytes <= 12e6);
}

/* With bytes for a few trains they are spread over the period, and none of them is thrown away. */
static void sluice__a_period_with_few_bytes(void **state)
{
    (void)state;
    struct estimator_goal goal = first_look;
    goal.duration_ns = 250 * NS_PER_MS;
    goal.bytes_max = 440000;
    double squares = 0;
    for (unsigned run = 0; run < 40; run++) {
        struct lab_result result = measure(&heavy_tails, &goal, run);
        assert_int_equal(result.estimate.kind, ESTIMATE_VALUE);
        assert_in_range(result.estimate.trains, 5, 7);
        assert_true(result.estimate.until_ns - result.estimate.from_ns > goal.duration_ns / 2);
        double error = gbit(result.estimate.avail_bps) - result.period;
        squares += error * error / 40;
    }
    assert_true(sqrt(squares) < 1.1); /* the traffic's own deviation is 1.9 */
}

/* Loss, late packets, batches, a clock that is off and stamps that tremble, all at once. */
static void sluice__rough_path(void **state)
{
    (void)state;
    static const struct {
        double load, batch_ns; /* batches: that fill, or that time closes */
    } rows[] = {{0.1, 1e6}, {0.5, 1e6}, {0.9, 1e6}, {0.9, 5e4}};
    for (unsigned row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
        struct lab_path path = {.hop_count = 1,
                                .hops = {{.rate = 10, .cross = 10 * rows[row].load}},
                                .rtt_ns = 1e6,
                                .loss = 0.01,
                                .late = 0.05,
                                .batch = 32,
                                .batch_ns = rows[row].batch_ns,
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
            assert_true(fabs(gbit(result.estimate.capacity_bps) - 10) < 0.3);
            assert_true(result.estimate.flags & ESTIMATE_BATCHED);
            assert_true(result.estimate.flags & ESTIMATE_LOSSY);
        }
    }
}

/* Stamps ten times as coarse: a wider interval or none, told or not. */
static void sluice__coarse_stamps_are_never_sure_and_wrong(void **state)
{
    (void)state;
    static const double loads[] = {0, 0.1, 0.5, 0.9};
    for (unsigned load = 0; load < 4; load++) {
        for (unsigned told = 0; told < 2; told++) {
            struct lab_path path = {.hop_count = 1,
                                    .hops = {{.rate = 10, .cross = 10 * loads[load]}},
                                    .rtt_ns = 1e6,
                                    .noise_ns = 1000,
                                    .floor_told = told};
            struct estimator_goal goal = first_look;
            goal.receiver.noise_ns = goal.sender.noise_ns = told ? 1000 : 0;
            for (unsigned run = 0; run < 5; run++) {
                struct lab_result result = measure(&path, &goal, run);
                if (result.estimate.kind == ESTIMATE_VALUE) {
                    assert_true(gbit(result.estimate.low_bps) <= result.period + 0.05);
                    assert_true(gbit(result.estimate.high_bps) >= result.period - 0.05);
                } else if (result.estimate.kind == ESTIMATE_AT_LEAST) {
                    assert_true(gbit(result.estimate.avail_bps) <= 10 - path.hops[0].cross + 0.1);
                } else {
                    assert_int_equal(result.estimate.reason, ESTIMATE_NOISE);
                }
            }
        }
    }
}

static void sluice__jitter_is_refused(void **state)
{
    (void)state;
    struct lab_path path = {
        .hop_count = 1, .hops = {{.rate = 10, .cross = 5}}, .rtt_ns = 1e6, .jitter_ns = 5e5};
    for (unsigned after = 0; after < 2; after++) {
        path.after = after;
        struct lab_result result = measure(&path, &first_look, 1);
        assert_int_equal(result.estimate.kind, ESTIMATE_REFUSED);
        assert_int_equal(result.estimate.reason, ESTIMATE_JITTER);
    }
}

static const struct estimator_goal over_a_period = {.port_bps = 40000000000,
                                                    .receiver_bps = 10000000000,
                                                    .wire_bytes = FULL_PACKET_WIRE_BYTES,
                                                    .width_ppm = 10000,
                                                    .duration_ns = 2500 * NS_PER_MS,
                                                    .bytes_max = 25000000,
                                                    .load_ppm = 10000};

/* Within 3 % of capacity, or flagged with a bound that holds and is worth something. */
static void sluice__two_hops(void **state)
{
    (void)state;
    static const struct {
        struct lab_hop hops[2];
        double left;
    } rows[] = {
        {{{.rate = 10, .cross = 7}, {.rate = 5}}, 3},
        {{{.rate = 5}, {.rate = 10, .cross = 7}}, 3},
        {{{.rate = 10, .cross = 5}, {.rate = 10, .cross = 5}}, 5},
    };
    for (unsigned row = 0; row < 3; row++) {
        for (unsigned kind = LAB_CBR; kind <= LAB_POISSON; kind++) {
            struct lab_path path = {
                .hop_count = 2, .hops = {rows[row].hops[0], rows[row].hops[1]}, .rtt_ns = 1e6};
            path.hops[0].kind = path.hops[1].kind = (enum lab_cross)kind;
            for (unsigned run = 0; run < 2; run++) {
                struct lab_result result = measure(&path, &over_a_period, run);
                assert_int_equal(result.estimate.kind, ESTIMATE_VALUE);
                bool flagged = result.estimate.flags & ESTIMATE_MULTI_HOP;
                double low = gbit(result.estimate.low_bps);
                if (flagged)
                    assert_true(low <= rows[row].left && low >= 0.8 * rows[row].left);
                else
                    assert_true(fabs(gbit(result.estimate.avail_bps) - rows[row].left) < 0.3);
            }
        }
    }
}

static void sluice__one_hop_is_not_flagged(void **state)
{
    (void)state;
    struct lab_path path = {.hop_count = 1, .hops = {{.rate = 10, .kind = LAB_POISSON}}, .rtt_ns = 1e6};
    unsigned flagged = 0;
    for (unsigned run = 0; run < 20; run++) {
        path.hops[0].cross = 2 + 0.3 * run;
        struct lab_result result = measure(&path, &over_a_period, run);
        flagged += result.estimate.flags != 0;
    }
    assert_int_equal(flagged, 0);
    struct lab_path lossy = {.hop_count = 1, .hops = {{.rate = 10}}, .rtt_ns = 1e6, .loss = 0.01};
    for (unsigned run = 0; run < 10; run++) {
        struct lab_result result = measure(&lossy, &over_a_period, run);
        flagged += (result.estimate.flags & ESTIMATE_MULTI_HOP) != 0;
    }
    assert_int_equal(flagged, 0);
}

static void sluice__token_bucket(void **state)
{
    (void)state;
    static const double rates[] = {1, 5, 6, 8};
    for (unsigned row = 0; row < sizeof(rates) / sizeof(rates[0]); row++) {
        struct lab_path path = {.hop_count = 1,
                                .hops = {{.rate = 10, .tokens = rates[row], .depth_bits = 1600000}},
                                .rtt_ns = 1e6};
        struct lab_result result = measure(&path, &over_a_period, 1);
        assert_int_equal(result.estimate.kind, ESTIMATE_VALUE);
        assert_int_equal(result.estimate.flags, ESTIMATE_SHAPER);
        assert_true(fabs(gbit(result.estimate.capacity_bps) - rates[row]) < 0.01 * rates[row]);
        assert_true(fabs((double)result.estimate.depth_bytes - 200000) < 4000);
    }
}

/* What one that goes on says after a second, and from a second after the step on. */
static void check_step(void *user, struct lab *at, const struct estimate *estimate, double now_ns)
{
    const double *step_ns = user;
    if (now_ns < 1e9 || (now_ns > *step_ns && now_ns < *step_ns + 1e9))
        return;
    double truth = at->queues[0].rate - at->path.hops[0].cross;
    assert_int_equal(estimate->kind, ESTIMATE_VALUE);
    assert_true(fabs(gbit(estimate->avail_bps) - truth) < 0.005 * at->queues[0].rate);
}

static void sluice__sees_steps_within_a_second(void **state)
{
    (void)state;
    static const struct {
        double from, to, rtt_ns, loss;
    } rows[] = {{2, 7, 1e6, 0}, {7, 10, 1e8, 0}, {10, 2, 1e7, 0.01}};
    for (unsigned row = 0; row < 3; row++) {
        double step_ns = 4e9;
        struct lab_path path = {.hop_count = 1,
                                .hops = {{.rate = rows[row].from}},
                                .rtt_ns = rows[row].rtt_ns,
                                .loss = rows[row].loss,
                                .step = {.at_ns = step_ns + 2e7, .rate = rows[row].to}};
        struct estimator_goal goal = first_look;
        goal.bytes_max = 0;
        goal.load_ppm = 10000;
        goal.continuous = true;
        struct lab_result result;
        struct lab_watch watch = {.look_ns = 1e8, .look = check_step, .user = &step_ns};
        lab_begin(&lab, &path, row);
        lab_measure(&lab, &estimator_sluice, &goal, 8e9, &watch, &result);
        lab_end(&lab);
        assert_true(result.estimate.flags & ESTIMATE_CHANGED);
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

/* What a receiver reports is its word alone: whatever it says, the estimator goes on, ends, and has an estimate. */
static void make_nonsense(struct rng *rng, const struct train_shape *shape, uint64_t now_ns,
                          struct train_record *record)
{
    static const uint64_t spans_ns[] = {1, 1000, 1000000, 1000000000, UINT64_MAX};
    uint64_t span_ns = spans_ns[rng_below(rng, 5)], keep = rng_below(rng, 4);
    *record = (struct train_record){.shape = *shape, .start_ns = now_ns, .sent = train_packets(shape)};
    record->receiver = (struct train_floor){.batch = (uint32_t)rng_below(rng, 3) * 16,
                                            .noise_ns = rng_below(rng, 2) * rng_below(rng, 1000000)};
    for (uint32_t i = 0; i < record->sent; i++) {
        if (keep > 0 && rng_below(rng, 4) < keep)
            continue;
        bool far = rng_below(rng, 50) == 0;
        record->samples[record->count++] = (struct train_sample){
            .index = i,
            .sent_ns = now_ns + i * rng_below(rng, 3000),
            .received_ns = far ? rng_next(rng) : i * 1230 * rng_below(rng, 2) + rng_below(rng, span_ns),
            .arrival = rng_below(rng, 2) ? i : (uint32_t)rng_below(rng, 5000)};
    }
}

static void sluice__survives_what_a_receiver_makes_up(void **state)
{
    (void)state;
    static struct train_record record;
    void *memory = malloc(estimator_sluice.bytes);
    struct rng rng;
    rng_init(&rng, 11);
    for (unsigned run = 0; run < 60; run++) {
        struct estimator_goal goal = run % 3 == 0 ? first_look : over_a_period;
        goal.continuous = run % 3 == 2;
        uint64_t now_ns = NS_PER_S, at_ns;
        struct train_shape shape;
        struct estimate estimate;
        enum estimator_step step = ESTIMATOR_WAIT;
        estimator_sluice.start(memory, &goal, now_ns);
        for (unsigned turn = 0; turn < 400 && step != ESTIMATOR_DONE; turn++) {
            step = estimator_sluice.next(memory, now_ns, &shape, &at_ns);
            if (step == ESTIMATOR_WAIT)
                now_ns = at_ns == TIME_NEVER ? now_ns + NS_PER_MS : MAX(now_ns + 1, at_ns);
            if (step != ESTIMATOR_TRAIN)
                continue;
            assert_true(train_shape_valid(&shape));
            make_nonsense(&rng, &shape, now_ns, &record);
            now_ns += NS_PER_MS;
            estimator_sluice.take(memory, &record, now_ns);
            estimator_sluice.result(memory, now_ns, &estimate);
            assert_true(estimate.kind <= ESTIMATE_REFUSED);
        }
        assert_true(step == ESTIMATOR_DONE || run % 3 == 2);
    }
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

/* Noise that the train which settles it would not outlast makes that longer. */
static void sluice__noise_makes_trains_longer(void **state)
{
    (void)state;
    uint64_t bytes[2];
    for (unsigned noisy = 0; noisy < 2; noisy++) {
        struct lab_path path = {.hop_count = 1,
                                .hops = {{.rate = 10, .cross = 1}},
                                .rtt_ns = 1e6,
                                .noise_ns = noisy * 1000,
                                .floor_told = noisy};
        struct estimator_goal goal = first_look;
        goal.bytes_max = 4000000;
        goal.receiver.noise_ns = goal.sender.noise_ns = noisy * 1000;
        struct lab_result result = measure(&path, &goal, 1);
        assert_int_equal(result.estimate.kind, ESTIMATE_VALUE);
        assert_true(fabs(gbit(result.estimate.avail_bps) - result.window) < 0.05);
        bytes[noisy] = result.bytes;
    }
    assert_true(bytes[1] > bytes[0] + 1000000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sluice__constant_cross_traffic_in_two_round_trips),
        cmocka_unit_test(sluice__ends_when_nothing_is_left_to_send),
        cmocka_unit_test(sluice__nothing_queues),
        cmocka_unit_test(sluice__poisson_over_a_period),
        cmocka_unit_test(sluice__heavy_tails_are_covered),
        cmocka_unit_test(sluice__full_and_idle_in_turn),
        cmocka_unit_test(sluice__a_slow_path_behind_a_fast_port),
        cmocka_unit_test(sluice__goes_on_where_trains_tell_nothing),
        cmocka_unit_test(sluice__a_period_with_few_bytes),
        cmocka_unit_test(sluice__rough_path),
        cmocka_unit_test(sluice__coarse_stamps_are_never_sure_and_wrong),
        cmocka_unit_test(sluice__jitter_is_refused),
        cmocka_unit_test(sluice__two_hops),
        cmocka_unit_test(sluice__one_hop_is_not_flagged),
        cmocka_unit_test(sluice__token_bucket),
        cmocka_unit_test(sluice__sees_steps_within_a_second),
        cmocka_unit_test(sluice__noise_makes_trains_longer),
        cmocka_unit_test(sluice__no_report_is_no_answer),
        cmocka_unit_test(sluice__survives_what_a_receiver_makes_up),
        cmocka_unit_test(estimator_kind__by_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
