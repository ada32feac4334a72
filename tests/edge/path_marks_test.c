/* Rounds of marks, and marks that stay when the edge gives way. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/units.h"
#include "edge/bql/heed.h"
#include "edge/bql/path.h"
#include "edge/path_marks.h"

#define ROUND_NS (100 * NS_PER_MS)

static uint32_t share_of(struct path_marks *marks, uint64_t packets, uint64_t marked, uint64_t now_ns)
{
    struct path_marks_round round = {.share_ppm = UINT32_MAX};
    path_marks_on_sample(marks, packets, marked, now_ns - ROUND_NS / 2);
    return path_marks_round(marks, ROUND_NS, now_ns, &round) ? round.share_ppm : UINT32_MAX;
}

static void path_marks__rounds(void **state)
{
    (void)state;
    static const struct {
        uint64_t packets, marked;
        uint32_t share_ppm; /* UINT32_MAX: too few for a round */
    } rows[] = {{100, 0, 0},         {100, 7, 70000},
                {100, 100, 1000000}, {100, 4000000000, 1000000}, /* the far end may say anything */
                {10000000, 1, 1},    {7, 7, UINT32_MAX}};
    for (size_t row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
        struct path_marks marks;
        path_marks_init(&marks, NS_PER_S);
        assert_int_equal(share_of(&marks, rows[row].packets, rows[row].marked, NS_PER_S + ROUND_NS),
                         rows[row].share_ppm);
    }
    struct path_marks marks;
    path_marks_init(&marks, NS_PER_S);
    assert_int_equal(share_of(&marks, 100, 1, NS_PER_S + ROUND_NS - 1), UINT32_MAX);
}

/* One trial: gives way for 200 ms, of whose packets so many are marked. */
static void give_way(struct path_marks *marks, uint64_t packets, uint64_t marked, uint64_t now_ns)
{
    path_marks_try(marks, now_ns, now_ns + 2 * ROUND_NS);
    path_marks_on_sample(marks, 50, 50, now_ns - 1); /* left before */
    path_marks_on_sample(marks, packets, marked, now_ns);
    path_marks_on_sample(marks, 50, 50, now_ns + 2 * ROUND_NS); /* left after */
}

static void path_marks__that_stay_say_nothing(void **state)
{
    (void)state;
    static const struct {
        uint64_t first_marked, second_marked; /* of 100 */
        bool idle;
    } rows[] = {{100, 100, true}, {60, 51, true}, {100, 50, false}, {0, 100, false}, {3, 0, false}};
    for (size_t row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
        struct path_marks marks;
        path_marks_init(&marks, NS_PER_S);
        give_way(&marks, 100, rows[row].first_marked, 2 * NS_PER_S);
        assert_false(path_marks_idle(&marks));
        give_way(&marks, 100, rows[row].second_marked, 3 * NS_PER_S);
        assert_int_equal(path_marks_idle(&marks), rows[row].idle);
    }
    /* Believed again when a round has few. */
    struct path_marks marks;
    path_marks_init(&marks, NS_PER_S);
    give_way(&marks, 100, 100, 2 * NS_PER_S);
    give_way(&marks, 100, 100, 3 * NS_PER_S);
    assert_int_equal(share_of(&marks, 1000, 1000, 4 * NS_PER_S), 0);
    assert_int_equal(share_of(&marks, 1000, 600, 5 * NS_PER_S), 0);
    assert_int_equal(share_of(&marks, 1000, 400, 6 * NS_PER_S), 400000);
    /* Too few packets tell nothing. */
    path_marks_init(&marks, NS_PER_S);
    give_way(&marks, 4, 4, 2 * NS_PER_S);
    give_way(&marks, 4, 4, 3 * NS_PER_S);
    assert_false(path_marks_idle(&marks));
}

static const struct bql_heed_span span = {.least_ns = 20 * NS_PER_US, .most_ns = 2500 * NS_PER_US};

static uint64_t target_after(struct bql_heed *heed, uint32_t share_ppm, unsigned rounds, uint64_t rate_bps,
                             uint64_t *now_ns)
{
    const struct path_marks_round round = {.share_ppm = share_ppm, .duration_ns = ROUND_NS};
    for (unsigned index = 0; index < rounds; index++) {
        *now_ns += ROUND_NS;
        bql_heed_on_round(heed, &round, rate_bps, &span, *now_ns);
    }
    return bql_heed_target_ns(heed, rate_bps, &span);
}

/* 20 % less for any mark, 50 % for all; 2 % more for none, at 1 Gbit/s; a quarter at twice the rate. */
static void bql_heed__the_cap_falls_with_marks_and_grows_without(void **state)
{
    (void)state;
    struct bql_heed heed;
    uint64_t now_ns = NS_PER_S, rate_bps = 1000000000;
    bql_heed_init(&heed, now_ns);
    assert_int_equal(target_after(&heed, 0, 10, rate_bps, &now_ns), 2500000);
    assert_int_equal(target_after(&heed, 1, 1, rate_bps, &now_ns), 2000000);
    assert_int_equal(target_after(&heed, 1000000, 1, rate_bps, &now_ns), 1000000);
    assert_in_range(bql_heed_target_ns(&heed, 2 * rate_bps, &span), 249000, 250000);
    assert_int_equal(bql_heed_target_ns(&heed, rate_bps / 2, &span), span.most_ns);
    assert_in_range(target_after(&heed, 0, 1, rate_bps, &now_ns), 1019000, 1020000);
    assert_int_equal(target_after(&heed, 0, 100, rate_bps, &now_ns), span.most_ns);
    assert_int_equal(target_after(&heed, 1000000, 20, rate_bps, &now_ns), span.least_ns);
    /* Lower rates grow faster, by the root: 8 % at a sixteenth. */
    bql_heed_init(&heed, now_ns);
    target_after(&heed, 1000000, 1, rate_bps / 16, &now_ns);
    assert_in_range(target_after(&heed, 0, 1, rate_bps / 16, &now_ns), 1349000, 1350000);
}

/* Asked for after 1 s at the least cap, then after 2, 4, … s; not while marks leave off. */
static void bql_heed__doubts(void **state)
{
    (void)state;
    struct bql_heed heed;
    uint64_t now_ns = NS_PER_S, rate_bps = 1000000000;
    bql_heed_init(&heed, now_ns);
    assert_int_equal(target_after(&heed, 1000000, 8, rate_bps, &now_ns), span.least_ns);
    uint64_t from_ns = heed.stuck_from_ns;
    assert_false(bql_heed_doubts(&heed, from_ns + NS_PER_S));
    assert_true(bql_heed_doubts(&heed, from_ns + NS_PER_S + 1));
    bql_heed_try(&heed, now_ns, now_ns + 200 * NS_PER_MS);
    assert_false(bql_heed_doubts(&heed, now_ns + 2 * NS_PER_S));
    assert_true(bql_heed_doubts(&heed, now_ns + 2 * NS_PER_S + 1));
    target_after(&heed, 400000, 1, rate_bps, &now_ns);
    assert_false(bql_heed_doubts(&heed, now_ns + NS_PER_S));
    /* Two trials in which all are marked: no marks, and q* as if there were none. */
    for (unsigned trial = 0; trial < 2; trial++)
        give_way(&heed.marks, 100, 100, now_ns + trial * NS_PER_S);
    assert_true(path_marks_idle(&heed.marks));
    assert_int_equal(target_after(&heed, 0, 1, rate_bps, &now_ns), span.most_ns);
}

/* Acks tell of one and a half packets each, and of few marks; the receiver stands still now and then, so that most points
 * of the rate are too unsure to be taken. Each packet counts once all the same, and each mark. */
static void bql_path__counts_each_packet_once(void **state)
{
    (void)state;
    for (uint64_t half_packets = 1; half_packets <= 31; half_packets += 2) {
        struct bql_path path;
        bql_path_init(&path, 1500, NS_PER_S, true, NS_PER_S);
        for (uint64_t turn = 1; turn <= 90; turn++) {
            const struct congestion_sample sample = {.now_ns = NS_PER_S + turn * 10 * NS_PER_MS,
                                                     .rtt_min_ns = NS_PER_S,
                                                     .rtt_smoothed_ns = NS_PER_S,
                                                     .delivered_bytes = turn * half_packets * 750,
                                                     .delivered_ns = turn * 10 * NS_PER_MS,
                                                     .wait_ns = turn % 8 == 1 ? 0 : 100 * NS_PER_MS,
                                                     .newest_sent_ns = turn * 10 * NS_PER_MS,
                                                     .ce_count = turn % 2 == 1 ? (half_packets + 1) / 2 : 0,
                                                     .limited = EDGE_LIMIT_congestion};
            bql_path_on_sample(&path, &sample, 1000000);
        }
        assert_int_equal(path.heed.marks.packets, 45 * half_packets);
        assert_int_equal(path.heed.marks.marked, 45 * ((half_packets + 1) / 2));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(path_marks__rounds),
        cmocka_unit_test(path_marks__that_stay_say_nothing),
        cmocka_unit_test(bql_heed__the_cap_falls_with_marks_and_grows_without),
        cmocka_unit_test(bql_heed__doubts),
        cmocka_unit_test(bql_path__counts_each_packet_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
