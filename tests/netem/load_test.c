/* Cross traffic by its numbers: draws that are pinned, and sums against theory. Bounds are four standard
 * deviations. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/units.h"
#include "netem/background.h"
#include "netem/draw.h"

#define GBPS 1000000000ULL

static const struct netem_load poisson = {
    .kind = NETEM_LOAD_POISSON, .rate_bps = 5 * GBPS, .wire_bytes = 1538};
static const struct netem_load trimodal = {
    .kind = NETEM_LOAD_POISSON, .rate_bps = 5 * GBPS, .trimodal = true};
static const struct netem_load onoff = {.kind = NETEM_LOAD_ONOFF,
                                        .rate_bps = GBPS,
                                        .wire_bytes = 1538,
                                        .sources = 20,
                                        .on_ns = 5 * NS_PER_MS,
                                        .off_ns = 15 * NS_PER_MS,
                                        .alpha_milli = 1500};

static void begin(struct netem_background *background, struct netem_onoff *storage,
                  const struct netem_load *load, uint64_t seed)
{
    netem_background_of(background, load, seed, load->kind == NETEM_LOAD_ONOFF ? storage : NULL);
}

/* A change here changes what every scenario with such traffic has recorded. */
static void netem_background__golden(void **state)
{
    (void)state;
    const struct {
        const struct netem_load *load;
        uint64_t first_ns, thousandth_ns, millionth_ns;
    } rows[] = {
        {&poisson, 814, 2502493, 2460921786},
        {&trimodal, 207, 639297, 628326647},
        {&onoff, 5163, 2344774, 2602880224},
    };
    for (size_t row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
        struct netem_background background;
        struct netem_onoff storage;
        begin(&background, &storage, rows[row].load, 42);
        for (unsigned packet = 1; packet <= 1000000; packet++) {
            if (packet == 1)
                assert_int_equal(background.next_ns, rows[row].first_ns);
            if (packet == 1000)
                assert_int_equal(background.next_ns, rows[row].thousandth_ns);
            if (packet == 1000000)
                assert_int_equal(background.next_ns, rows[row].millionth_ns);
            netem_background_step(&background);
        }
    }
}

static void netem_draw__moments(void **state)
{
    (void)state;
    const uint64_t draws = 1000000, one = 1ULL << 32;
    struct rng rng;
    uint64_t sum = 0, above_three = 0, pareto_above = 0, within_one = 0;
    int64_t normal_sum = 0, normal_squares = 0;
    rng_init(&rng, 1);
    for (uint64_t draw = 0; draw < draws; draw++) {
        uint64_t exponential = netem_draw_exponential(&rng);
        int64_t normal = netem_draw_normal_ns(&rng, 1000);
        sum += exponential >> 12;
        above_three += exponential > 3 * one;
        pareto_above += netem_draw_pareto_ns(&rng, 1000000, 1500) > 4000000; /* 4^-1.5 = 1/8 */
        normal_sum += normal;
        normal_squares += normal * normal;
        within_one += normal >= -1000 && normal <= 1000;
    }
    assert_in_range(sum / draws, (one >> 12) * 996 / 1000, (one >> 12) * 1004 / 1000);
    assert_in_range(above_three, 49787 - 870, 49787 + 870);
    assert_in_range(pareto_above, 125000 - 1323, 125000 + 1323);
    assert_in_range(normal_sum + 4000000, 0, 8000000);
    assert_in_range(normal_squares / (int64_t)draws, 994000, 1006000);
    assert_in_range(within_one, 676800, 680600); /* 0.6787: of a true normal one 0.6827 */
}

/* No time that is drawn is too long to count with, and none is shorter than the least. */
static void netem_draw_pareto__bounds(void **state)
{
    (void)state;
    struct rng rng;
    rng_init(&rng, 2);
    for (unsigned draw = 0; draw < 100000; draw++) {
        assert_in_range(netem_draw_pareto_ns(&rng, 1000, 1), 1000, NETEM_DRAW_NS_MAX);
        assert_in_range(netem_draw_pareto_ns(&rng, (1ULL << 44) - 1, 1500), (1ULL << 44) - 1,
                        NETEM_DRAW_NS_MAX);
    }
}

/* 2000 windows of a millisecond: as many packets as the rate says, and the variance of their number is its
 * mean. */
static void netem_background__poisson_counts(void **state)
{
    (void)state;
    enum { WINDOWS = 2000 };
    struct netem_background background;
    uint64_t total = 0, squares = 0;
    begin(&background, NULL, &poisson, 3);
    for (uint64_t window = 1; window <= WINDOWS; window++) {
        uint64_t count = 0;
        for (; background.next_ns < window * NS_PER_MS; netem_background_step(&background))
            count++;
        total += count;
        squares += count * count;
    }
    uint64_t expected = WINDOWS * 5 * GBPS / 12304 / 1000, mean = total / WINDOWS;
    uint64_t variance = squares / WINDOWS - total * total / WINDOWS / WINDOWS;
    assert_in_range(total, expected - 3606, expected + 3606);
    assert_in_range(variance, mean * 87 / 100, mean * 113 / 100);
}

static void netem_background__trimodal_shares(void **state)
{
    (void)state;
    struct netem_background background;
    uint64_t counts[NETEM_LOAD_SIZES_MAX] = {0}, bytes = 0;
    begin(&background, NULL, &trimodal, 4);
    for (unsigned packet = 0; packet < 1200000; packet++) {
        counts[background.next_size]++;
        bytes += background.bytes[background.next_size];
        netem_background_step(&background);
    }
    assert_in_range(counts[0], 700000 - 2160, 700000 + 2160);
    assert_in_range(counts[1], 400000 - 2065, 400000 + 2065);
    assert_in_range(counts[2], 100000 - 1211, 100000 + 1211);
    /* The gaps' own deviation is 1 / sqrt(n), the sizes' about as much. */
    uint64_t rate_bps = muldiv64(bytes * 8, NS_PER_S, background.next_ns);
    assert_in_range(rate_bps, 5 * GBPS * 994 / 1000, 5 * GBPS * 1006 / 1000);
}

/* Of 20 sources a quarter is on: at the start as later, with the variance of so many coins. */
static void netem_background__onoff_is_stationary(void **state)
{
    (void)state;
    enum { RUNS = 1000, MOMENTS = 3 };
    const uint64_t moments_ns[MOMENTS] = {0, 3 * NS_PER_MS, 40 * NS_PER_MS},
                   window_ns = 123040; /* ten gaps */
    struct netem_background background;
    struct netem_onoff storage;
    uint64_t sums[MOMENTS] = {0}, squares[MOMENTS] = {0};
    for (uint64_t run = 0; run < RUNS; run++) {
        begin(&background, &storage, &onoff, run);
        for (unsigned moment = 0; moment < MOMENTS; moment++) {
            uint64_t count = 0;
            while (background.next_ns < moments_ns[moment])
                netem_background_step(&background);
            for (; background.next_ns < moments_ns[moment] + window_ns; netem_background_step(&background))
                count++;
            sums[moment] += count;
            squares[moment] += count * count;
        }
    }
    for (unsigned moment = 0; moment < MOMENTS; moment++) {
        uint64_t mean_milli = sums[moment]; /* of packets in ten gaps: 50; the deviation of one is 19.4 */
        uint64_t variance = squares[moment] / RUNS - sums[moment] * sums[moment] / RUNS / RUNS;
        assert_in_range(mean_milli, 50000 - 2450, 50000 + 2450);
        assert_in_range(variance, 375 * 80 / 100, 375 * 120 / 100);
    }
}

/* Windows ten times as long vary less, but not ten times less: 10^(alpha - 1) times. */
static void netem_background__onoff_is_bursty_over_scales(void **state)
{
    (void)state;
    enum { RUNS = 40, WINDOWS = 80, LONG = 10 };
    struct netem_background background;
    struct netem_onoff storage;
    uint64_t short_squares = 0, long_squares = 0, count = 0, long_count, total = 0;
    const uint64_t expected = GBPS * 5 / 12304 / 100; /* of 10 ms */
    for (uint64_t run = 0; run < RUNS; run++) {
        begin(&background, &storage, &onoff, 7000 + run);
        long_count = 0;
        for (uint64_t window = 1; window <= WINDOWS; window++, count = 0) {
            for (; background.next_ns < window * 10 * NS_PER_MS; netem_background_step(&background))
                count++;
            int64_t more = (int64_t)count - (int64_t)expected;
            short_squares += (uint64_t)(more * more);
            long_count += count;
            if (window % LONG != 0)
                continue;
            more = (int64_t)long_count - LONG * (int64_t)expected;
            long_squares += (uint64_t)(more * more);
            total += long_count;
            long_count = 0;
        }
    }
    /* Of the mean over a window: divided by its length squared, and there are ten times fewer. */
    uint64_t ratio_percent = short_squares * 100 * LONG * LONG / LONG / long_squares;
    assert_in_range(ratio_percent, 180, 600);
    assert_in_range(total, RUNS * WINDOWS * expected * 93 / 100, RUNS * WINDOWS * expected * 107 / 100);
}

/* Times go forward whatever is rounded, and a source's packets are those of its time on. */
static void netem_background__onoff_in_order(void **state)
{
    (void)state;
    const struct netem_load odd = {.kind = NETEM_LOAD_ONOFF,
                                   .rate_bps = 999999937,
                                   .wire_bytes = 1538,
                                   .sources = NETEM_SOURCES_MAX,
                                   .on_ns = 40000,
                                   .off_ns = 3000,
                                   .alpha_milli = 1100};
    struct netem_background background;
    struct netem_onoff storage;
    begin(&background, &storage, &odd, 1);
    netem_background_delay(&background, 1ULL << 60);
    for (uint64_t packet = 0, before_ns = 1ULL << 60; packet < 1000000; packet++) {
        assert_true(background.next_ns >= before_ns);
        before_ns = background.next_ns;
        netem_background_step(&background);
        assert_int_equal(storage.active_count + storage.waiting_count, NETEM_SOURCES_MAX);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(netem_background__golden),
        cmocka_unit_test(netem_draw__moments),
        cmocka_unit_test(netem_draw_pareto__bounds),
        cmocka_unit_test(netem_background__poisson_counts),
        cmocka_unit_test(netem_background__trimodal_shares),
        cmocka_unit_test(netem_background__onoff_is_stationary),
        cmocka_unit_test(netem_background__onoff_is_bursty_over_scales),
        cmocka_unit_test(netem_background__onoff_in_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
