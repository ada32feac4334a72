#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/rng.h"
#include "base/units.h"
#include "probe/points.h"

static struct train_record record;
static struct probe_points points;

/* Packets that leave every 1000 ns and come in that order of arrival, at those times. */
static void make(const struct train_sample *samples, uint32_t count, uint32_t sent)
{
    record = (struct train_record){.shape = {.wire_bytes = 1000}, .sent = sent, .count = count};
    for (uint32_t i = 0; i < count; i++) {
        record.samples[i] = samples[i];
        record.samples[i].sent_ns = 5000000000 + samples[i].index * 1000;
        record.samples[i].received_ns += 9000000000;
    }
}

static void points_take__overtaken_and_lost_ones_are_none(void **state)
{
    (void)state;
    static const struct train_sample samples[] = {
        {.index = 0, .arrival = 0, .received_ns = 100},  {.index = 1, .arrival = 1, .received_ns = 1100},
        {.index = 2, .arrival = 4, .received_ns = 5000}, {.index = 4, .arrival = 2, .received_ns = 4100},
        {.index = 5, .arrival = 3, .received_ns = 4900}, {.index = 6, .arrival = 5, .received_ns = 6100},
        {.index = 7, .arrival = 6, .received_ns = 7100},
    };
    make(samples, 7, 8);
    points_take(&points, &record);
    assert_int_equal(points.lost, 1);
    assert_int_equal(points.late, 1);
    static const struct probe_point expected[] = {
        {0, 0, 0, 0, 0},       {1000, 1000, 1, 1, 0}, {4000, 4000, 4, 2, 0},
        {5000, 4800, 5, 3, 0}, {6000, 6000, 6, 5, 0},
    };
    assert_int_equal(points.count, 5); /* the last one might be late itself */
    for (unsigned i = 0; i < 5; i++) {
        assert_int_equal(points.point[i].sent_ns, expected[i].sent_ns);
        assert_int_equal(points.point[i].received_ns, expected[i].received_ns);
        assert_int_equal(points.point[i].index, expected[i].index);
        assert_int_equal(points.point[i].rank, expected[i].rank);
    }
    assert_true(points_rate(&points, 0, 2) == 4 * 8000 / 4000.0);
    assert_int_equal(points_delay_ns(&points, 3), -200);
}

/* The last of a batch stands for it, unless another one had overtaken it; the one that was never filled for nothing. */
static void points_take__batches(void **state)
{
    (void)state;
    for (unsigned told = 0; told < 2; told++) {
        struct train_sample samples[14];
        for (uint32_t i = 0; i < 14; i++)
            samples[i] = (struct train_sample){.index = i, .arrival = i, .received_ns = (i / 4 + 1) * 4000};
        samples[6].arrival = 7; /* overtaken within the second batch */
        samples[7].arrival = 6;
        make(samples, 14, 14);
        record.receiver.batch = told ? 4 : 0;
        points_take(&points, &record);
        assert_int_equal(points.batch, 4);
        assert_int_equal(points.candidates, 4);
        assert_int_equal(points.late, 1);
        assert_int_equal(points.count, 2);
        assert_int_equal(points.point[0].index, 3);
        assert_int_equal(points.point[1].index, 11);
        assert_int_equal(points.point[1].received_ns - points.point[0].received_ns, 8000);
    }
}

/* What an interrupt held comes at once, one close behind the other: the last of each clump stands for it, as in a batch. */
static void points_take__clumps(void **state)
{
    (void)state;
    enum { PACKETS = 200, SERVED_NS = 12000, HELD_NS = 200000, CLOSE_NS = 3000 };
    struct train_sample samples[PACKETS];
    for (uint32_t i = 0; i < PACKETS; i++) {
        uint64_t due_ns = (i + 1) * SERVED_NS, let_go_ns = (due_ns / HELD_NS + 1) * HELD_NS;
        uint64_t before =
            let_go_ns / HELD_NS == 1 ? 0 : ((let_go_ns - HELD_NS) + SERVED_NS - 1) / SERVED_NS - 1;
        samples[i] = (struct train_sample){
            .index = i, .arrival = i, .received_ns = let_go_ns + (i - before) * CLOSE_NS};
    }
    make(samples, PACKETS, PACKETS);
    points_take(&points, &record);
    assert_int_equal(points.batch, 1); /* exact stamps show others' bursts so */
    record.receiver.stamp_kind = STAMP_HARDWARE;
    record.receiver.noise_ns = 1000;
    points_take(&points, &record);
    assert_in_range(points.batch, HELD_NS / SERVED_NS, HELD_NS / SERVED_NS + 1);
    assert_in_range(points.count, 10, 13);
    const struct probe_point *first = &points.point[0], *last = &points.point[points.count - 1];
    double served_ns = (double)(last->received_ns - first->received_ns) / (last->index - first->index);
    assert_true(served_ns > 0.98 * SERVED_NS && served_ns < 1.02 * SERVED_NS);
}

/* Noise of stamps that are taken for exact shows; what others send between does not look like any. */
static void points_take__noise_that_nobody_tells(void **state)
{
    (void)state;
    enum { PACKETS = 400, SERVED_NS = 100000 };
    static const struct {
        uint64_t noise_ns, cross_ns;
        enum stamp_kind kind;
        bool shows;
    } rows[] = {{20000, 0, STAMP_HARDWARE, true},
                {0, 0, STAMP_HARDWARE, false},
                {0, SERVED_NS, STAMP_HARDWARE, false},
                {20000, 0, STAMP_VIRTUAL, false}};
    for (unsigned row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
        struct train_sample samples[PACKETS];
        struct rng rng;
        uint64_t came_ns = 0;
        rng_init(&rng, row + 1);
        for (uint32_t i = 0; i < PACKETS; i++) {
            came_ns +=
                SERVED_NS + (rows[row].cross_ns != 0 && rng_below(&rng, 3) == 0 ? rows[row].cross_ns : 0);
            uint64_t noise_ns = rows[row].noise_ns != 0 ? rng_below(&rng, 2 * rows[row].noise_ns) : 0;
            samples[i] = (struct train_sample){.index = i, .arrival = i, .received_ns = came_ns + noise_ns};
        }
        make(samples, PACKETS, PACKETS);
        record.receiver.stamp_kind = rows[row].kind;
        points_take(&points, &record);
        assert_int_equal(points.batch, 1);
        double uniform_ns = (double)rows[row].noise_ns / 1.732;
        assert_true(rows[row].shows ? points.noise_ns > 0.7 * uniform_ns && points.noise_ns < 1.4 * uniform_ns
                                    : points.noise_ns < 1);
    }
}

/* Where packets come late, the last ones may be too, and nothing was behind to overtake them. */
static void points_take__the_end_is_not_trusted_among_late_ones(void **state)
{
    (void)state;
    struct train_sample samples[40];
    for (uint32_t i = 0; i < 40; i++)
        samples[i] = (struct train_sample){.index = i, .arrival = i, .received_ns = i * 1000};
    samples[10].received_ns = 15500; /* 4500 ns beyond the one behind it */
    samples[10].arrival = 15;
    for (uint32_t i = 11; i <= 15; i++)
        samples[i].arrival = i - 1;
    make(samples, 40, 40);
    points_take(&points, &record);
    assert_int_equal(points.late, 1);
    assert_int_equal(points.point[points.count - 1].index, 34);
}

static void points_take__bad_arrivals_do_no_harm(void **state)
{
    (void)state;
    struct train_sample samples[4];
    for (uint32_t i = 0; i < 4; i++)
        samples[i] =
            (struct train_sample){.index = i, .arrival = i < 2 ? UINT32_MAX : 5, .received_ns = i * 1000};
    make(samples, 4, 4);
    points_take(&points, &record);
    assert_true(points.count <= 4);
    make(samples, 0, 4);
    points_take(&points, &record);
    assert_int_equal(points.count, 0);
    assert_int_equal(points.lost, 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(points_take__overtaken_and_lost_ones_are_none),
        cmocka_unit_test(points_take__batches),
        cmocka_unit_test(points_take__clumps),
        cmocka_unit_test(points_take__noise_that_nobody_tells),
        cmocka_unit_test(points_take__the_end_is_not_trusted_among_late_ones),
        cmocka_unit_test(points_take__bad_arrivals_do_no_harm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
