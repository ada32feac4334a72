#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include <math.h>

#include "base/units.h"
#include "probe/in_band.h"
#include "probe/known.h"

#define GIGABIT  1000000000ULL
#define CAPACITY (10 * GIGABIT)

static struct estimate value_of(uint64_t avail_bps, uint64_t half_bps)
{
    return (struct estimate){.kind = ESTIMATE_VALUE,
                             .avail_bps = avail_bps,
                             .low_bps = avail_bps - half_bps,
                             .high_bps = avail_bps + half_bps,
                             .capacity_bps = CAPACITY};
}

static struct estimate at_least(uint64_t avail_bps)
{
    return (struct estimate){.kind = ESTIMATE_AT_LEAST, .avail_bps = avail_bps, .low_bps = avail_bps};
}

static void expect_near(uint64_t value, double expected, double share)
{
    if (fabs((double)value - expected) > share * fabs(expected))
        fail_msg("%llu, expected %.0f", (unsigned long long)value, expected);
}

static void known__many_coarse_make_a_narrow_one(void **state)
{
    (void)state;
    struct known known = {.drift_bps = 1};
    for (unsigned i = 0; i < 16; i++) {
        struct estimate one = value_of(5 * GIGABIT + (i % 2 == 0 ? 100000000 : -100000000), 400000000);
        assert_true(known_take(&known, &one, NS_PER_S + i));
    }
    struct estimate now = known_at(&known, NS_PER_S + 16);
    assert_int_equal(now.kind, ESTIMATE_VALUE);
    expect_near(now.avail_bps, 5e9, 1e-6);
    expect_near(now.high_bps - now.avail_bps, 1e8, 0.01);
    expect_near(now.avail_bps - now.low_bps, 1e8, 0.01);
}

static void known__ages_like_a_random_walk(void **state)
{
    (void)state;
    struct known known = {0};
    struct estimate one = value_of(5 * GIGABIT, 10000000);
    known_take(&known, &one, NS_PER_S);
    for (unsigned s = 1; s <= 100; s *= 10) {
        struct estimate now = known_at(&known, NS_PER_S + s * NS_PER_S);
        double drift = KNOWN_DRIFT * (double)CAPACITY * sqrt(s) * KNOWN_SIGMAS;
        expect_near(now.avail_bps - now.low_bps, sqrt(1e14 + drift * drift), 1e-4);
        assert_int_equal(now.avail_bps, 5 * GIGABIT);
    }
    /* Never beyond what there can be. */
    struct estimate old = known_at(&known, 100000 * NS_PER_S);
    assert_int_equal(old.low_bps, 0);
    assert_int_equal(old.high_bps, CAPACITY);
}

static void known__a_changed_path_begins_anew(void **state)
{
    (void)state;
    struct known known = {0};
    struct estimate one = value_of(2 * GIGABIT, 20000000), far = value_of(7 * GIGABIT, 20000000),
                    near = value_of(7 * GIGABIT + 30000000, 20000000);
    known_take(&known, &one, NS_PER_S);
    known_take(&known, &far, 2 * NS_PER_S);
    assert_int_equal(known.changes, 1);
    assert_int_equal(known_at(&known, 2 * NS_PER_S).avail_bps, 7 * GIGABIT);
    known_take(&known, &near, 2 * NS_PER_S);
    assert_int_equal(known.changes, 1);
    expect_near(known_at(&known, 2 * NS_PER_S).avail_bps, 7.015e9, 1e-4);
    near.flags = ESTIMATE_CHANGED; /* says so itself */
    known_take(&known, &near, 2 * NS_PER_S);
    assert_int_equal(known.changes, 2);
    assert_int_equal(known_at(&known, 2 * NS_PER_S).avail_bps, near.avail_bps);
    /* What comes late, and what says nothing, is left. */
    assert_false(known_take(&known, &one, NS_PER_S));
    struct estimate refused = {.kind = ESTIMATE_REFUSED, .reason = ESTIMATE_NOISE};
    assert_false(known_take(&known, &refused, 3 * NS_PER_S));
    assert_int_equal(known.taken, 4);
}

static void known__at_least_lifts_and_never_lowers(void **state)
{
    (void)state;
    const struct {
        struct estimate before;
        uint64_t least_bps;
        bool taken;
        uint8_t kind;
        uint64_t avail_bps;
    } cases[] = {
        {value_of(5 * GIGABIT, 100000000), 3 * GIGABIT, false, ESTIMATE_VALUE, 5 * GIGABIT},
        {value_of(5 * GIGABIT, 100000000), 5050000000, true, ESTIMATE_VALUE, 5050000000},
        {value_of(5 * GIGABIT, 100000000), 8 * GIGABIT, true, ESTIMATE_AT_LEAST, 8 * GIGABIT},
        {at_least(5 * GIGABIT), 3 * GIGABIT, false, ESTIMATE_AT_LEAST, 5 * GIGABIT},
        {at_least(5 * GIGABIT), 6 * GIGABIT, true, ESTIMATE_AT_LEAST, 6 * GIGABIT},
        {at_least(5 * GIGABIT), 5 * GIGABIT, true, ESTIMATE_AT_LEAST, 5 * GIGABIT},
        {{0}, 3 * GIGABIT, true, ESTIMATE_AT_LEAST, 3 * GIGABIT},
    };
    for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct known known = {0};
        known_take(&known, &cases[i].before, NS_PER_S);
        struct estimate least = at_least(cases[i].least_bps);
        assert_int_equal(known_take(&known, &least, NS_PER_S), cases[i].taken);
        struct estimate now = known_at(&known, NS_PER_S);
        assert_int_equal(now.kind, cases[i].kind);
        assert_int_equal(now.avail_bps, cases[i].avail_bps);
    }
    /* A bound ages too, and a value ends it. */
    struct known known = {0};
    struct estimate least = at_least(5 * GIGABIT), less = at_least(4800000000),
                    one = value_of(6 * GIGABIT, 100000000);
    known_take(&known, &least, NS_PER_S);
    assert_true(known_at(&known, 11 * NS_PER_S).avail_bps < 5 * GIGABIT);
    assert_true(known_take(&known, &less, 60 * NS_PER_S));
    assert_int_equal(known_at(&known, 60 * NS_PER_S).avail_bps, 4800000000);
    assert_true(known_take(&known, &one, 61 * NS_PER_S));
    assert_int_equal(known_at(&known, 61 * NS_PER_S).kind, ESTIMATE_VALUE);
}

static void known_wants_train__cases(void **state)
{
    (void)state;
    const struct {
        struct estimate estimate;
        uint64_t half_bps;
        unsigned age_s;
        bool wanted;
    } cases[] = {
        {{0}, 100000000, 0, true},
        {value_of(5 * GIGABIT, 50000000), 100000000, 0, false},
        {value_of(5 * GIGABIT, 200000000), 100000000, 0, true},
        {value_of(5 * GIGABIT, 50000000), 100000000, 60, true},
        {at_least(9950000000), 100000000, 0, false},
        {at_least(5 * GIGABIT), 100000000, 0, true},
    };
    for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct known known = {0};
        known_take(&known, &cases[i].estimate, NS_PER_S);
        assert_int_equal(
            known_wants_train(&known, cases[i].half_bps, CAPACITY, (1 + cases[i].age_s) * NS_PER_S),
            cases[i].wanted);
    }
}

/* Seconds of a job: what it was held by, and what that says. */
static void in_band__windows(void **state)
{
    (void)state;
    struct in_band in_band = {0};
    struct estimate estimate;
    const struct {
        uint64_t from_ms, rate_bps;
        uint32_t congested_ppm;
        uint8_t kind;
        uint64_t avail_bps, low_bps, high_bps, begin_ms;
    } cases[] = {
        {1000, 3 * GIGABIT, 0, ESTIMATE_AT_LEAST, 3 * GIGABIT, 3 * GIGABIT, 0, 1000},
        {2000, 4 * GIGABIT, 1000000, ESTIMATE_VALUE, 4 * GIGABIT, 3600000000, 4400000000, 2000},
        {3000, 4 * GIGABIT, 800000, ESTIMATE_VALUE, 4 * GIGABIT, 3880000000, 4120000000, 2000},
        {4000, 4600000000, 900000, ESTIMATE_VALUE, 4200000000, 3340000000, 5060000000, 2000},
        {5000, 4 * GIGABIT, 799999, ESTIMATE_AT_LEAST, 4 * GIGABIT, 4 * GIGABIT, 0, 5000},
        {6000, 2 * GIGABIT, 1000000, ESTIMATE_VALUE, 2 * GIGABIT, 1800000000, 2200000000, 6000},
    };
    for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct in_band_window window = {.from_ns = cases[i].from_ms * NS_PER_MS,
                                        .until_ns = (cases[i].from_ms + 1000) * NS_PER_MS,
                                        .delivered_bytes = cases[i].rate_bps / 8,
                                        .congested_ppm = cases[i].congested_ppm};
        assert_true(in_band_take(&in_band, &window, &estimate));
        assert_int_equal(estimate.kind, cases[i].kind);
        assert_int_equal(estimate.flags, ESTIMATE_IN_BAND);
        expect_near(estimate.avail_bps, (double)cases[i].avail_bps, 1e-6);
        expect_near(estimate.low_bps, (double)cases[i].low_bps, 1e-3);
        expect_near(estimate.high_bps, (double)cases[i].high_bps, 1e-3);
        assert_int_equal(estimate.from_ns, cases[i].begin_ms * NS_PER_MS);
        assert_int_equal(estimate.until_ns, window.until_ns);
    }
}

static void in_band__a_mean_of_the_last_windows(void **state)
{
    (void)state;
    struct in_band in_band = {0};
    struct estimate estimate;
    for (unsigned i = 0; i < 20; i++) {
        struct in_band_window window = {.from_ns = i * NS_PER_S,
                                        .until_ns = (i + 1) * NS_PER_S,
                                        .delivered_bytes = i < 12 ? 125000000 : 250000000,
                                        .congested_ppm = 1000000};
        assert_true(in_band_take(&in_band, &window, &estimate));
    }
    assert_int_equal(estimate.avail_bps, 2 * GIGABIT);
    assert_int_equal(estimate.from_ns, 12 * NS_PER_S);
    struct in_band_window brief = {.until_ns = 99 * NS_PER_MS, .delivered_bytes = 1000},
                          idle = {.until_ns = NS_PER_S};
    assert_false(in_band_take(&in_band, &brief, &estimate));
    assert_false(in_band_take(&in_band, &idle, &estimate));
}

/* A job runs at what congestion leaves it: no train is worth its bytes. Once it is held by something else, one is. */
static void in_band__saves_trains(void **state)
{
    (void)state;
    struct in_band in_band = {0};
    struct known known = {0};
    struct estimate estimate, train = value_of(4 * GIGABIT, 500000000);
    known_take(&known, &train, 0);
    for (unsigned i = 0; i < 30; i++) {
        struct in_band_window window = {.from_ns = i * NS_PER_S,
                                        .until_ns = (i + 1) * NS_PER_S,
                                        .delivered_bytes = 500000000 + (i % 3) * 1000000,
                                        .congested_ppm = i < 20 ? 1000000 : 0};
        in_band_take(&in_band, &window, &estimate);
        known_take(&known, &estimate, window.until_ns);
        bool wanted = known_wants_train(&known, 200000000, CAPACITY, window.until_ns);
        assert_int_equal(wanted, i < 1 || i >= 24);
        expect_near(known_at(&known, window.until_ns).avail_bps, 4e9, 0.01);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known__many_coarse_make_a_narrow_one),
        cmocka_unit_test(known__ages_like_a_random_walk),
        cmocka_unit_test(known__a_changed_path_begins_anew),
        cmocka_unit_test(known__at_least_lifts_and_never_lowers),
        cmocka_unit_test(known_wants_train__cases),
        cmocka_unit_test(in_band__windows),
        cmocka_unit_test(in_band__a_mean_of_the_last_windows),
        cmocka_unit_test(in_band__saves_trains),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
