/* Whole transfers over a bad path, in virtual time: nothing hangs, repairs stay near what the path lost, time
 * near what the path allows. Figures in a row are bounds; figures of one run are exact for its seed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/units.h"
#include "path.h"

#define MS      NS_PER_MS
#define MBIT    1000000ULL
#define PERCENT 10000000ULL /* in parts per 10^9 */

struct expectation {
    struct path_config path;
    uint32_t steady_permille; /* of rate * (1 - loss); 0: not looked at */
    uint64_t tail_ns_max;     /* from the last new symbol's departure to completion */
    uint64_t spurious_max;
    uint64_t own_loss_permille; /* of sent packets, dropped by the full buffer */
};

static void run(struct expectation *expect, struct path_result *result)
{
    struct path_config *path = &expect->path;
    path->limit_ns = 400 * NS_PER_S;
    path->window_packets = path->window_packets ? path->window_packets : 1u << 17;
    path->type = path->type ? path->type : &congestion_fixed_type;
    path->initial_bps = path->initial_bps ? path->initial_bps : path->rate_bps;
    path->buffer_ns = path->buffer_ns ? path->buffer_ns : 100 * MS;
    uint64_t rtt_ns = 2 * path->delay_ns;
    path_run(path, 12 * rtt_ns, result);
    assert_true(result->completed);
    /* Repairs: only what the path dropped, and what was repeated or asked for at the tail. */
    uint64_t trip = result->in_flight_max; /* more than leaves in a round trip */
    uint64_t small = trip / 200 + MIN(result->link_lost, trip / REPEAT_TRIP_LOSSY) * 11 / 10;
    uint64_t tail = MAX((uint64_t)SENDER_REPEATS_SMALL, small) + 8;
    assert_true(result->repairs <= result->link_lost + result->link_lost / 50 + result->sent / 500 + tail);
    assert_true(result->spurious <= expect->spurious_max);
    assert_true(result->buffer_drops * 1000 <= result->sent * expect->own_loss_permille);
    assert_true(result->complete_ns - result->last_new_ns <= expect->tail_ns_max);
    if (expect->steady_permille > 0) {
        uint64_t possible = bytes_within(path->rate_bps, result->steady_ns);
        possible = muldiv64(possible, NS_PER_S - path->loss_ppb, NS_PER_S);
        assert_true(result->steady_ns >= 10 * rtt_ns);
        assert_true(result->steady_bytes * 1000 >= possible * expect->steady_permille);
    }
}

/* Where a path draws nothing all seeds are one. */
static uint64_t seeds_of(const struct path_config *path)
{
    bool draws = path->jitter_ns > 0 || path->loss_ppb > 0 || path->loss_back_ppb > 0 ||
                 path->duplicate_ppb > 0 || path->delay_some_ppb > 0;
    return draws ? 3 : 1;
}

static void run_all(const struct expectation *cases, size_t count)
{
    for (size_t index = 0; index < count; index++)
        for (uint64_t seed = 1; seed <= seeds_of(&cases[index].path); seed++) {
            struct expectation expect = cases[index];
            struct path_result result;
            expect.path.seed = seed;
            run(&expect, &result);
        }
}

#define RUN_ALL(cases) run_all(cases, sizeof(cases) / sizeof(cases[0]))

static void transfer__loss_jitter_and_duplicates_cost_only_their_own(void **state)
{
    (void)state;
    static const struct expectation cases[] = {
        {{.rate_bps = 1000 * MBIT, .delay_ns = 50 * MS, .symbols = 300000}, 990, 60 * MS, 0, 0},
        {{.rate_bps = 1000 * MBIT, .delay_ns = 50 * MS, .loss_ppb = PERCENT, .symbols = 300000},
         985,
         500 * MS,
         0,
         0},
        {{.rate_bps = 1000 * MBIT,
          .delay_ns = 30 * MS,
          .jitter_ns = 9 * MS,
          .loss_ppb = PERCENT * 7 / 10,
          .symbols = 200000},
         980,
         400 * MS,
         100,
         0},
        {{.rate_bps = 1000 * MBIT,
          .delay_ns = 50 * MS,
          .jitter_ns = 10 * MS,
          .loss_ppb = 10 * PERCENT,
          .loss_back_ppb = 10 * PERCENT,
          .duplicate_ppb = PERCENT,
          .symbols = 300000},
         980,
         1500 * MS,
         100,
         0},
        {{.rate_bps = 1000 * MBIT,
          .delay_ns = 50 * MS,
          .loss_ppb = 30 * PERCENT,
          .loss_back_ppb = 30 * PERCENT,
          .symbols = 300000},
         970,
         3500 * MS,
         0,
         0},
        {{.rate_bps = 10000 * MBIT, .delay_ns = 100000, .loss_ppb = PERCENT / 10, .symbols = 300000},
         980,
         200 * MS,
         0,
         0},
        {{.rate_bps = 20 * MBIT,
          .delay_ns = 20 * MS,
          .jitter_ns = 3 * MS,
          .loss_ppb = 2 * PERCENT,
          .symbols = 6000},
         960,
         500 * MS,
         12,
         0},
    };
    RUN_ALL(cases);
}

static void transfer__packets_delayed_more_are_not_taken_for_lost(void **state)
{
    (void)state;
    static const struct expectation cases[] = {
        {{.rate_bps = 1000 * MBIT,
          .delay_ns = 98 * MS,
          .delay_some_ppb = 25 * PERCENT,
          .delay_some_ns = 5 * MS,
          .symbols = 400000},
         980,
         110 * MS,
         200,
         0},
        {{.rate_bps = 1000 * MBIT,
          .delay_ns = 98 * MS,
          .delay_some_ppb = PERCENT / 100,
          .delay_some_ns = 40 * MS,
          .loss_ppb = PERCENT,
          .symbols = 400000},
         970,
         1000 * MS,
         600,
         0},
    };
    RUN_ALL(cases);
}

static void transfer__dark_path_is_survived(void **state)
{
    (void)state;
    static const struct expectation cases[] = {
        {{.rate_bps = 1000 * MBIT,
          .delay_ns = 50 * MS,
          .black_from_ns = NS_PER_S,
          .black_to_ns = 6 * NS_PER_S,
          .symbols = 200000},
         0,
         200 * MS,
         0,
         0},
        /* from the very start */
        {{.rate_bps = 100 * MBIT,
          .delay_ns = 50 * MS,
          .black_from_ns = 0,
          .black_to_ns = 3 * NS_PER_S,
          .symbols = 20000},
         0,
         3000 * MS,
         0,
         0},
        /* over the tail */
        {{.rate_bps = 100 * MBIT,
          .delay_ns = 50 * MS,
          .black_from_ns = 200 * MS,
          .black_to_ns = 3 * NS_PER_S,
          .symbols = 2000},
         0,
         6000 * MS,
         0,
         0},
        {{.rate_bps = 1000 * MBIT,
          .delay_ns = 50 * MS,
          .black_from_ns = 2 * NS_PER_S,
          .black_to_ns = 4 * NS_PER_S,
          .type = &congestion_bql_type,
          .known = true,
          .initial_bps = 950 * MBIT,
          .cap_bps = 950 * MBIT,
          .symbols = 400000},
         0,
         200 * MS,
         0,
         10},
    };
    RUN_ALL(cases);
}

/* Next to nothing leaves while it is dark, whatever the window and the in-flight limit; full rate soon after.
 */
static void transfer__silence_sends_little_and_ends_at_once(void **state)
{
    (void)state;
    static const struct {
        uint64_t rate_mbit, rtt_ms, loss_ppb;
        uint32_t window;
        uint64_t dark_s, relit_percent;
    } cases[] = {
        {1000, 100, 0, 0, 5, 95},   {1000, 100, PERCENT, 0, 5, 95},  {1000, 10, 0, 0, 5, 95},
        {10, 100, 0, 0, 5, 95},     {1000, 100, 0, 1 << 14, 20, 60}, /* a window that is full all the time */
        {1000, 1000, 0, 0, 20, 95}, {20, 300, 0, 0, 30, 95},
    };
    for (size_t index = 0; index < sizeof(cases) / sizeof(cases[0]); index++) {
        uint64_t rate_bps = cases[index].rate_mbit * MBIT;
        uint64_t rtt_ns = cases[index].rtt_ms * MS;
        uint64_t dark_ns = cases[index].dark_s * NS_PER_S;
        struct expectation expect = {.path = {.rate_bps = rate_bps,
                                              .delay_ns = rtt_ns / 2,
                                              .loss_ppb = cases[index].loss_ppb,
                                              .black_from_ns = 4 * NS_PER_S,
                                              .black_to_ns = 4 * NS_PER_S + dark_ns,
                                              .symbols = rate_bps / 1538,
                                              .window_packets = cases[index].window,
                                              .seed = 1},
                                     .tail_ns_max = 2 * NS_PER_S + 3 * rtt_ns};
        struct path_result result;
        run(&expect, &result);
        uint64_t one_a_turn = 5 * (dark_ns / MAX(rtt_ns, 10 * MS) + 1) * PATH_PACKET_BYTES;
        assert_in_range(result.dark_sent, (dark_ns - NS_PER_S - 5 * rtt_ns) / rtt_ns * PATH_PACKET_BYTES / 2,
                        MAX(bytes_within(rate_bps, dark_ns) / 100, one_a_turn));
        uint64_t full = muldiv64(bytes_within(rate_bps, rtt_ns), NS_PER_S - cases[index].loss_ppb, NS_PER_S);
        assert_true(result.relit_bytes * 100 >= full * cases[index].relit_percent);
    }
}

static void transfer__million_packets_in_flight(void **state)
{
    (void)state;
    static const struct {
        uint64_t loss_ppb;
        uint32_t window, receiver_window;
    } cases[] = {{0, 1u << 20, 0}, {5 * PERCENT, 1u << 21, 0}, {30 * PERCENT, 1u << 20, 1u << 22}};
    for (size_t index = 0; index < sizeof(cases) / sizeof(cases[0]); index++) {
        struct expectation expect = {.path = {.rate_bps = 12600 * MBIT, /* 1,024,000 packets a second */
                                              .delay_ns = 500 * MS,
                                              .loss_ppb = cases[index].loss_ppb,
                                              .loss_back_ppb = cases[index].loss_ppb / 5,
                                              .symbols = 1500000,
                                              .window_packets = cases[index].window,
                                              .receiver_window = cases[index].receiver_window,
                                              .seed = 1},
                                     .tail_ns_max = 20 * NS_PER_S};
        struct path_result result;
        run(&expect, &result);
        assert_true(result.in_flight_max >= 1000000);
        assert_true(result.floor_lag_max <= cases[index].window);
        assert_true(result.feedback_bytes * 200 <= result.data_bytes);
    }
}

static void transfer__floor_never_stands_longer_than_needed(void **state)
{
    (void)state;
    struct expectation expect = {.path = {.rate_bps = 1000 * MBIT,
                                          .delay_ns = 50 * MS,
                                          .jitter_ns = 5 * MS,
                                          .loss_ppb = 5 * PERCENT,
                                          .symbols = 300000,
                                          .seed = 2},
                                 .tail_ns_max = 1500 * MS,
                                 .spurious_max = 100};
    struct path_result result;
    run(&expect, &result);
    /* A lost packet is found after RTT + allowance + ack interval, and of interest for another RTT. */
    assert_true(result.floor_still_ns <= 400 * MS);
    assert_true(result.floor_lag_max * PATH_PACKET_BYTES <= bytes_within(1000 * MBIT, 300 * MS));
    assert_true(result.feedback_bytes * 200 <= result.data_bytes);
}

static void transfer__tiny_objects_arrive(void **state)
{
    (void)state;
    for (uint64_t symbols = 1; symbols <= 20; symbols++)
        for (uint64_t seed = 1; seed <= 20; seed++) {
            struct expectation expect = {.path = {.rate_bps = 100 * MBIT,
                                                  .delay_ns = 50 * MS,
                                                  .loss_ppb = 10 * PERCENT,
                                                  .loss_back_ppb = 10 * PERCENT,
                                                  .symbols = symbols,
                                                  .seed = seed},
                                         .tail_ns_max = 3000 * MS};
            struct path_result result;
            struct path_result clean;
            run(&expect, &result);
            expect.path.loss_ppb = expect.path.loss_back_ppb = 0;
            run(&expect, &clean);
            assert_true(clean.complete_ns <= 53 * MS);
            assert_int_equal(clean.sent, symbols);
        }
}

static void transfer__small_window_still_completes(void **state)
{
    (void)state;
    struct expectation expect = {.path = {.rate_bps = 1000 * MBIT,
                                          .delay_ns = 50 * MS,
                                          .jitter_ns = 5 * MS,
                                          .loss_ppb = 10 * PERCENT,
                                          .loss_back_ppb = 10 * PERCENT,
                                          .symbols = 5000,
                                          .window_packets = SENDER_WINDOW_MIN,
                                          .seed = 1},
                                 .tail_ns_max = 3000 * MS,
                                 .spurious_max = 50};
    struct path_result result;
    run(&expect, &result);
    assert_true(result.floor_lag_max <= SENDER_WINDOW_MIN);
}

static void transfer__bql_fills_the_path(void **state)
{
    (void)state;
    static const struct expectation cases[] = {
#define PATH_1G .type = &congestion_bql_type, .known = true, .rate_bps = 1000 * MBIT, .delay_ns = 50 * MS
        {{PATH_1G, .loss_ppb = PERCENT, .buffer_ns = 50 * MS, .symbols = 600000}, 960, 1000 * MS, 2500, 15},
        {{PATH_1G, .loss_ppb = PERCENT, .jitter_ns = 10 * MS, .buffer_ns = 50 * MS, .symbols = 600000},
         955,
         1000 * MS,
         2500,
         15},
        {{PATH_1G, .loss_ppb = PERCENT, .jitter_ns = 10 * MS, .buffer_ns = 100 * MS, .symbols = 600000},
         955,
         1000 * MS,
         2500,
         5},
        {{PATH_1G, .loss_ppb = PERCENT, .jitter_ns = 10 * MS, .cap_bps = 990 * MBIT, .symbols = 600000},
         970,
         1000 * MS,
         2500,
         0},
        {{PATH_1G, .loss_ppb = 30 * PERCENT, .jitter_ns = 10 * MS, .symbols = 600000},
         940,
         3000 * MS,
         2500,
         5},
        {{PATH_1G, .loss_ppb = 0, .buffer_ns = 2 * MS, .initial_bps = 900 * MBIT, .symbols = 600000},
         950,
         500 * MS,
         500,
         20},
#undef PATH_1G
    };
    RUN_ALL(cases);
}

static void transfer__same_seed_same_run(void **state)
{
    (void)state;
    struct expectation expect = {.path = {.rate_bps = 500 * MBIT,
                                          .delay_ns = 40 * MS,
                                          .jitter_ns = 6 * MS,
                                          .loss_ppb = 3 * PERCENT,
                                          .loss_back_ppb = 3 * PERCENT,
                                          .type = &congestion_bql_type,
                                          .known = false,
                                          .initial_bps = 20 * MBIT,
                                          .symbols = 50000,
                                          .seed = 7},
                                 .tail_ns_max = 3000 * MS,
                                 .spurious_max = 1000,
                                 .own_loss_permille = 200};
    struct path_result first, second;
    run(&expect, &first);
    run(&expect, &second);
    assert_memory_equal(&first, &second, sizeof(first));
    expect.path.seed = 8;
    run(&expect, &second);
    assert_int_not_equal(first.complete_ns, second.complete_ns);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(transfer__loss_jitter_and_duplicates_cost_only_their_own),
        cmocka_unit_test(transfer__packets_delayed_more_are_not_taken_for_lost),
        cmocka_unit_test(transfer__dark_path_is_survived),
        cmocka_unit_test(transfer__silence_sends_little_and_ends_at_once),
        cmocka_unit_test(transfer__million_packets_in_flight),
        cmocka_unit_test(transfer__floor_never_stands_longer_than_needed),
        cmocka_unit_test(transfer__tiny_objects_arrive),
        cmocka_unit_test(transfer__small_window_still_completes),
        cmocka_unit_test(transfer__bql_fills_the_path),
        cmocka_unit_test(transfer__same_seed_same_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
