/* Rounds of measurements: what they may take, and when there is none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "probe/rounds.h"

#define GBIT UINT64_C(1000000000)

static struct rounds rounds;

static void add(uint16_t from, uint16_t to)
{
    struct round_edge edge = {
        .from = from, .to = to, .rtt_ns = 40 * NS_PER_MS, .asker_ns = 40 * NS_PER_MS, .port_bps = GBIT / 10};
    rounds_add(&rounds, &edge);
}

static void rounds__budget(void **state)
{
    (void)state;
    static const struct {
        struct rounds_goal goal;
        uint64_t bytes, time_ns;
    } rows[] = {
        {{600000000, 60 * NS_PER_S, 0}, 6000000, 3 * NS_PER_S},
        {{60000000, 6 * NS_PER_S, 0}, 600000, 300 * NS_PER_MS},
        {{UINT64_C(1000000000000), 100000 * NS_PER_S, 0}, UINT64_C(10000000000), 10 * NS_PER_S},
        {{1000, NS_PER_MS, 3 * NS_PER_S}, UINT64_MAX, 3 * NS_PER_S},
    };
    (void)state;
    for (size_t row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
        assert_int_equal(rounds_bytes(&rows[row].goal), rows[row].bytes);
        assert_int_equal(rounds_time_ns(&rows[row].goal), rows[row].time_ns);
    }
}

/* Three rounds of five paths, of which one leaves each site: no port sends or gets more than 1 % in all of them. */
static void rounds__stay_within_the_object(void **state)
{
    (void)state;
    struct rounds_goal goal = {.size_bytes = 600000000, .plan_ns = 60 * NS_PER_S};
    uint64_t now_ns = NS_PER_S;
    rounds_init(&rounds);
    for (unsigned round = 1; round <= ROUNDS_MOST; round++) {
        rounds_end(&rounds);
        for (uint16_t from = 0; from < 5; from++)
            add(from, (uint16_t)((from + round) % 6));
        assert_true(rounds_begin(&rounds, &goal, now_ns));
        assert_int_equal(rounds.count, round);
        assert_int_equal(rounds.edge_count, 5);
        assert_true(rounds.end_ns > now_ns && rounds.end_ns <= NS_PER_S + rounds_time_ns(&goal));
        now_ns += 300 * NS_PER_MS;
    }
    for (uint16_t site = 0; site < 6; site++) {
        assert_true(rounds.out_bytes[site] <= 6000000);
        assert_true(rounds.in_bytes[site] <= 6000000);
    }
    rounds_end(&rounds);
    add(5, 1);
    assert_false(rounds_begin(&rounds, &goal, now_ns));
}

/* What nothing of goes into bytes or time is no round, nor is there a later one. */
static void rounds__too_small(void **state)
{
    (void)state;
    struct rounds_goal goal = {.size_bytes = 1000000, .plan_ns = 80 * NS_PER_MS};
    rounds_init(&rounds);
    add(0, 1);
    assert_false(rounds_begin(&rounds, &goal, 0));
    assert_int_equal(rounds.count, 0);
    rounds_end(&rounds);
    goal = (struct rounds_goal){.size_bytes = 60000000, .plan_ns = 20 * NS_PER_S};
    add(0, 2);
    assert_false(rounds_begin(&rounds, &goal, 0));
    /* Nor where the paths are longer than the time. */
    rounds_init(&rounds);
    struct round_edge far = {.to = 1, .rtt_ns = 400 * NS_PER_MS, .port_bps = GBIT};
    rounds_add(&rounds, &far);
    assert_false(rounds_begin(&rounds, &goal, 0));
}

/* What fits is measured, the nearest first; the rest by a later round, once what was found makes the job longer. */
static void rounds__what_fits(void **state)
{
    (void)state;
    struct rounds_goal goal = {.size_bytes = 1000000000, .plan_ns = 8 * NS_PER_S};
    rounds_init(&rounds);
    for (unsigned turn = 0; turn < 2; turn++) {
        for (uint16_t to = 1; to <= 3; to++) {
            struct round_edge edge = {.to = to, .rtt_ns = (400 - to * 100) * NS_PER_MS, .port_bps = GBIT};
            edge.rtt_ns = to == 3 ? 20 * NS_PER_MS : edge.rtt_ns;
            rounds_add(&rounds, &edge);
        }
        assert_true(rounds_begin(&rounds, &goal, turn * 200 * NS_PER_MS));
        assert_int_equal(rounds.edge_count, turn == 0 ? 1 : 2);
        assert_int_equal(rounds.edges[0].to, turn == 0 ? 3 : 2);
        rounds_end(&rounds);
        goal.plan_ns = 80 * NS_PER_S;
    }
    for (uint16_t to = 1; to <= 3; to++)
        rounds_add(&rounds, &(struct round_edge){.to = to, .port_bps = GBIT});
    assert_int_equal(rounds.edge_count, 0); /* all were in a round */
}

/* One path is asked for once, whatever plans follow; paths into one site wait for each other. */
static void rounds__ask_once_and_in_turn(void **state)
{
    (void)state;
    struct rounds_goal goal = {.size_bytes = 600000000, .plan_ns = 60 * NS_PER_S};
    rounds_init(&rounds);
    add(0, 2);
    add(0, 2);
    add(1, 2);
    assert_int_equal(rounds.edge_count, 2);
    assert_true(rounds_begin(&rounds, &goal, 0));
    assert_int_equal(rounds.edges[0].wait_ns, 0);
    assert_true(rounds.edges[1].wait_ns > 3 * 40 * NS_PER_MS);
    rounds_end(&rounds);
    add(1, 2);
    assert_int_equal(rounds.edge_count, 0);
    assert_false(rounds_begin(&rounds, &goal, NS_PER_S));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rounds__budget),
        cmocka_unit_test(rounds__stay_within_the_object),
        cmocka_unit_test(rounds__too_small),
        cmocka_unit_test(rounds__what_fits),
        cmocka_unit_test(rounds__ask_once_and_in_turn),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
