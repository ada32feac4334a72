#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <math.h>

#include "base/units.h"
#include "probe/conserve.h"
#include "probe/fingerprint.h"
#include "probe/pool.h"
#include "probe/profile.h"
#include "queue_lab.h"

#define PACKET_BITS (FULL_PACKET_WIRE_BYTES * 8.0)

static struct lab lab;
static struct train_record record;
static struct probe_points points;

static const struct profile profile = {40000000000, FULL_PACKET_WIRE_BYTES};

static void send(const struct lab_path *path, uint64_t seed, const struct train_shape *shape)
{
    lab_begin(&lab, path, seed);
    lab_send(&lab, shape, 20000000, &record);
    points_take(&points, &record);
}

/* Of any cross traffic and any rates, every cross bit between the first and the last busy arrival is found. */
static void conserve_fit__counts_the_cross_bits_exactly(void **state)
{
    (void)state;
    static const double loads[] = {0, 0.1, 0.5, 0.9};
    for (unsigned kind = LAB_CBR; kind <= LAB_POISSON; kind++) {
        for (unsigned row = 0; row < 4; row++) {
            struct lab_path path = {
                .hop_count = 1,
                .hops = {{.rate = 10, .cross = 10 * loads[row], .kind = (enum lab_cross)kind}}};
            struct train_shape shape;
            profile_around(&profile, (uint64_t)(1e10 * (1.02 - loads[row])), 64, 300, &shape);
            send(&path, 7 + row, &shape);
            struct conserve fit;
            conserve_fit(&fit, &points, &(struct conserve_path){10, 0, PACKET_BITS});
            assert_int_equal(fit.edges, 1);
            assert_true(fit.steps > 250);
            double left = 10 - conserve_cross_bits(&fit.all, 10, false) / fit.all.sent_ns;
            double truth = lab_period(&lab, (double)fit.from_ns - 1e6, (double)fit.until_ns - 1e6);
            assert_true(fabs(left - truth) < 1e-3);
            lab_end(&lab);
        }
    }
}

/* Where the queue runs dry in most trains: no bias, though what went in was chosen as it came. */
static void conserve_fit__a_queue_that_runs_dry_makes_no_bias(void **state)
{
    (void)state;
    struct lab_path path = {.hop_count = 1, .hops = {{.rate = 10, .cross = 5, .kind = LAB_POISSON}}};
    struct train_shape shape;
    profile_around(&profile, 4000000000, 12, 150, &shape);
    double cross = 0, time = 0, whole = 0;
    for (unsigned run = 0; run < 1000; run++) {
        send(&path, run, &shape);
        struct conserve fit;
        conserve_fit(&fit, &points, &(struct conserve_path){10, 0, PACKET_BITS});
        cross += conserve_cross_bits(&fit.all, 10, false);
        time += fit.all.sent_ns;
        whole += (double)points.point[points.count - 1].sent_ns;
        lab_end(&lab);
    }
    assert_true(time < 0.8 * whole); /* it does run dry */
    double deviation = sqrt(5 * PACKET_BITS / time);
    assert_true(fabs(cross / time - 5) < 3 * deviation);
}

/* Lost before the queue or behind it: the steps without a loss tell which. */
static void conserve_fit__finds_where_packets_were_lost(void **state)
{
    (void)state;
    for (unsigned after = 0; after < 2; after++) {
        struct lab_path path = {
            .hop_count = 1, .hops = {{.rate = 10, .cross = 5}}, .loss = 0.02, .late = 0.02, .after = after};
        struct train_shape shape;
        profile_around(&profile, 5100000000, 64, 500, &shape);
        send(&path, 3, &shape);
        struct conserve fit;
        conserve_fit(&fit, &points, &(struct conserve_path){10, 0, PACKET_BITS});
        assert_true(fit.evidence_weight > 10);
        assert_true(fabs(fit.evidence / fit.evidence_weight - !after) < 0.2);
        double cross = conserve_cross_bits(&fit.all, 10, !after);
        assert_true(fabs(cross / fit.all.sent_ns - 5) < 0.05);
        lab_end(&lab);
    }
}

/* By what differs within one train: nothing much of CBR, the law's variance of Poisson arrivals. */
static void conserve_fit__variance_is_that_of_the_traffic(void **state)
{
    (void)state;
    for (unsigned kind = LAB_CBR; kind <= LAB_POISSON; kind++) {
        struct lab_path path = {.hop_count = 1,
                                .hops = {{.rate = 10, .cross = 5, .kind = (enum lab_cross)kind}}};
        struct train_shape shape;
        profile_around(&profile, 5100000000, 64, 400, &shape);
        double ratio = 0;
        for (unsigned run = 0; run < 200; run++) {
            send(&path, run, &shape);
            struct conserve fit;
            conserve_fit(&fit, &points, &(struct conserve_path){10, 0, PACKET_BITS});
            ratio += fit.variance_bits2 / (5 * PACKET_BITS * fit.all.sent_ns) / 200;
            lab_end(&lab);
        }
        assert_true(kind == LAB_CBR ? ratio < 0.02 : fabs(ratio - 1) < 0.15);
    }
}

/* Batches that time closed move the ends of a train's parts, which does not add up; the deviation stays a true one. */
static void conserve_fit__closed_batches_do_not_add_up(void **state)
{
    (void)state;
    struct train_shape shape;
    profile_around(&profile, 1020000000, 96, 600, &shape);
    double deviations = 0;
    for (unsigned run = 0; run < 20; run++) {
        struct lab_path path = {.hop_count = 1,
                                .hops = {{.rate = 10, .cross = 9}},
                                .late = 0.05,
                                .loss = 0.01,
                                .batch = 32,
                                .batch_ns = 5e4,
                                .floor_told = true};
        send(&path, run + 1, &shape);
        struct conserve fit;
        conserve_fit(&fit, &points, &(struct conserve_path){10, 9, PACKET_BITS});
        double deviation = sqrt(fit.variance_bits2) / fit.all.sent_ns;
        assert_true(fabs(conserve_cross_bits(&fit.all, 10, true) / fit.all.sent_ns - 9) < 3 * deviation);
        deviations += deviation;
        lab_end(&lab);
    }
    assert_true(deviations / 20 < 0.012);
}

static struct conserve made_fit(double sent_ns, double received_ns, double capacity, double cross)
{
    struct conserve_sums all = {.sent_ns = sent_ns, .received_ns = received_ns};
    all.index_bits = all.rank_bits = capacity * received_ns - cross * sent_ns;
    return (struct conserve){.all = all, .variance_bits2 = 1e-4 * sent_ns * PACKET_BITS};
}

/* A first train that was all overload, one whose queue ended nearly as it began, and a capacity that is 3 % off. */
static void pool_view__weighs_by_what_is_known_of_the_capacity(void **state)
{
    (void)state;
    static struct pool pool;
    struct conserve first = made_fit(360000, 855000, 10, 8), second = made_fit(2000000, 2030000, 10, 8);
    pool_clear(&pool);
    pool_add(&pool, &first, 0);
    pool_add(&pool, &second, 0);
    struct pool_view view;
    pool_view(&pool, 10.3, 0, PACKET_BITS, false, &view);
    assert_true(fabs(10.3 - view.cross - 2) > 0.05);
    assert_true(view.weight_ns == view.sent_ns);
    pool_view(&pool, 10.3, 0.3, PACKET_BITS, false, &view);
    assert_true(fabs(10.3 - view.cross - 2) < 0.01);
    assert_true(view.balance < 0.02);
    pool_view(&pool, 10, 1e-4, PACKET_BITS, false, &view);
    assert_true(fabs(10 - view.cross - 2) < 1e-9);
}

static void fingerprint_spacing__finds_the_capacity(void **state)
{
    (void)state;
    static const struct {
        double cross, noise_ns, within;
    } rows[] = {{0, 0, 1e-4}, {5, 0, 3e-4}, {9, 0, 1e-3}, {5, 20, 5e-3}, {5, 100, 2e-2}};
    for (unsigned row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
        struct lab_path path = {.hop_count = 1,
                                .hops = {{.rate = 10, .cross = rows[row].cross, .kind = LAB_POISSON}},
                                .noise_ns = rows[row].noise_ns,
                                .floor_told = true};
        struct train_shape shape;
        profile_contact(&profile, 10000000000, 32, 200, 0.1, &shape);
        send(&path, row, &shape);
        struct fingerprint print;
        fingerprint_spacing(&print, &points);
        assert_true(fabs(print.capacity - 10) < 10 * rows[row].within);
        assert_true(print.error < 10 * rows[row].within);
        lab_end(&lab);
    }
}

static void fingerprint_spacing__noise_that_hides_it_finds_none(void **state)
{
    (void)state;
    struct lab_path path = {.hop_count = 1, .hops = {{.rate = 10}}, .noise_ns = 1000, .floor_told = true};
    struct train_shape shape;
    profile_contact(&profile, 10000000000, 32, 200, 0.1, &shape);
    send(&path, 1, &shape);
    struct fingerprint print;
    fingerprint_spacing(&print, &points);
    assert_true(print.capacity == 0);
    lab_end(&lab);
}

static void slopes_solve__finds_capacity_and_cross_traffic(void **state)
{
    (void)state;
    static const struct {
        enum lab_cross kind;
        double cross, noise_ns;
        uint32_t batch;
        double within;
    } rows[] = {{LAB_CBR, 5, 0, 0, 0.02},
                {LAB_CBR, 9, 100, 32, 0.03},
                {LAB_CBR, 5, 1000, 0, 0.05},
                {LAB_POISSON, 5, 0, 0, 0.2}};
    for (unsigned row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
        struct lab_path path = {.hop_count = 1,
                                .hops = {{.rate = 10, .cross = rows[row].cross, .kind = rows[row].kind}},
                                .noise_ns = rows[row].noise_ns,
                                .batch = rows[row].batch,
                                .batch_ns = 1e6,
                                .floor_told = true};
        struct train_shape shape;
        profile_around(&profile, (uint64_t)(1e9 * (10.2 - rows[row].cross)), 128, 400, &shape);
        send(&path, row + 1, &shape);
        struct slopes slopes = {0};
        slopes_add(&slopes, &points, 0, points.count - 1);
        struct fingerprint print;
        slopes_solve(&slopes, &print);
        assert_true(fabs(print.capacity - 10) < 10 * rows[row].within);
        assert_true(fabs(print.cross - rows[row].cross) < 10 * rows[row].within);
        lab_end(&lab);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(conserve_fit__counts_the_cross_bits_exactly),
        cmocka_unit_test(conserve_fit__a_queue_that_runs_dry_makes_no_bias),
        cmocka_unit_test(conserve_fit__finds_where_packets_were_lost),
        cmocka_unit_test(conserve_fit__variance_is_that_of_the_traffic),
        cmocka_unit_test(conserve_fit__closed_batches_do_not_add_up),
        cmocka_unit_test(pool_view__weighs_by_what_is_known_of_the_capacity),
        cmocka_unit_test(fingerprint_spacing__finds_the_capacity),
        cmocka_unit_test(fingerprint_spacing__noise_that_hides_it_finds_none),
        cmocka_unit_test(slopes_solve__finds_capacity_and_cross_traffic),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
