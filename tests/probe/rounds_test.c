/* Rounds of measurements: what they may take, and when there is none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "probe/gather.h"
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
        {{600000000, 60 * NS_PER_S, 0, 0, false, 5}, 6000000, 2400 * NS_PER_MS},
        {{60000000, 6 * NS_PER_S, 0, 0, false, 5}, 600000, 240 * NS_PER_MS},
        {{UINT64_C(1000000000000), 100000 * NS_PER_S, 0, 0, false, 5}, UINT64_C(10000000000), 10 * NS_PER_S},
        {{1000, NS_PER_MS, 0, 3 * NS_PER_S, false, 5}, UINT64_MAX, 3 * NS_PER_S},
    };
    (void)state;
    for (size_t row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
        assert_int_equal(rounds_bytes(&rows[row].goal), rows[row].bytes);
        assert_int_equal(rounds_time_ns(&rows[row].goal), rows[row].time_ns);
    }
}

/* Five rounds of five paths, of which one leaves each site: no port sends or gets more than 1 % in all of them. */
static void rounds__stay_within_the_object(void **state)
{
    (void)state;
    struct rounds_goal goal = {.size_bytes = 600000000, .plan_ns = 60 * NS_PER_S};
    uint64_t now_ns = NS_PER_S;
    rounds_init(&rounds);
    for (unsigned round = 1; round <= 5; round++) {
        rounds_end(&rounds);
        for (uint16_t from = 0; from < 5; from++)
            add(from, (uint16_t)((from + round) % 6));
        assert_true(rounds_begin(&rounds, &goal, now_ns));
        assert_int_equal(rounds.count, round);
        assert_int_equal(rounds.edge_count, 5);
        assert_true(rounds.end_ns > now_ns && rounds.end_ns <= NS_PER_S + rounds_time_ns(&goal));
        now_ns += 200 * NS_PER_MS;
    }
    for (uint16_t site = 0; site < 6; site++) {
        assert_true(rounds.out_bytes[site] <= 6000000);
        assert_true(rounds.in_bytes[site] <= 6000000);
    }
    rounds_end(&rounds);
    add(5, 1);
    assert_false(rounds_begin(&rounds, &goal, now_ns + 3 * NS_PER_S));
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

/* Where the plan is likely to take longer a round may take half of that, until all have taken as long as the plan. */
static void rounds__go_on_where_paths_may_be_slow(void **state)
{
    (void)state;
    static const struct {
        uint64_t plan_ms, likely_ms, passed_ms;
        bool more;
    } rows[] = {
        {4000, 4000, 150, false}, /* what is left of a twentieth, 50 ms, is too little */
        {4000, 4100, 150, false}, /* so is half of the risk */
        {4000, 6000, 150, true},    {4000, 6000, 3500, true},
        {4000, 60000, 3900, false}, /* all rounds together would take longer than the plan */
    };
    for (size_t row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
        struct rounds_goal goal = {.size_bytes = 600000000,
                                   .plan_ns = rows[row].plan_ms * NS_PER_MS,
                                   .likely_ns = rows[row].plan_ms * NS_PER_MS};
        rounds_init(&rounds);
        rounds_add(&rounds, &(struct round_edge){.to = 1, .rtt_ns = 20 * NS_PER_MS, .port_bps = GBIT});
        assert_true(rounds_begin(&rounds, &goal, NS_PER_S));
        rounds_end(&rounds);
        goal.likely_ns = rows[row].likely_ms * NS_PER_MS;
        add(1, 2);
        assert_int_equal(rounds_begin(&rounds, &goal, NS_PER_S + rows[row].passed_ms * NS_PER_MS),
                         rows[row].more);
    }
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
    assert_true(rounds_has_asked(&rounds, 0, 2) && rounds_has_asked(&rounds, 1, 2));
    assert_false(rounds_has_asked(&rounds, 2, 0) || rounds_has_asked(&rounds, 0, 1));
    add(1, 2);
    assert_int_equal(rounds.edge_count, 0);
    assert_false(rounds_begin(&rounds, &goal, NS_PER_S));
}

static void add_line(uint16_t site, bool look)
{
    struct round_edge line = {.from = site,
                              .to = site,
                              .rtt_ns = 60 * NS_PER_MS,
                              .asker_ns = site == 0 ? 0 : 60 * NS_PER_MS,
                              .port_bps = GBIT,
                              .look = look};
    rounds_add(&rounds, &line);
}

static bool begin(uint64_t size_bytes, uint64_t plan_ms, uint64_t now_ns)
{
    struct rounds_goal goal = {.size_bytes = size_bytes, .plan_ns = plan_ms * NS_PER_MS};
    return rounds_begin(&rounds, &goal, now_ns);
}

/* While nothing is known lines are looked at, by one train each, as many as there is time for. */
static void rounds__look_first(void **state)
{
    (void)state;
    static const struct {
        uint64_t size_bytes, plan_ms;
        bool own;        /* that of who asks is among them */
        unsigned looks;  /* 0: no look … */
        unsigned others; /* … but so many others */
    } rows[] = {
        {UINT64_C(1000000000), 9000, true, 5, 0}, /* in no time */
        {100000000, 900, true, 5, 0},             /* nothing else fits */
        {100000000, 300, true, 1, 0},             /* nor do others' */
        {100000000, 900, false, 0, 0},            /* what one plan rests on is not known by others' */
        {10000000, 900, true, 0, 0},              /* too few bytes */
        {UINT64_C(10000000000), 90000, false, 0, 1},
    };
    for (size_t row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
        rounds_init(&rounds);
        add(1, 2);
        for (uint16_t site = rows[row].own ? 0 : 1; site < 5; site++)
            add_line(site, site > 0);
        bool any = rows[row].looks + rows[row].others > 0;
        assert_int_equal(begin(rows[row].size_bytes, rows[row].plan_ms, 0), any);
        if (!any)
            continue;
        assert_int_equal(rounds.edge_count, rows[row].looks + rows[row].others);
        for (uint16_t place = 0; place < rounds.edge_count && rows[row].looks > 0; place++) {
            assert_int_equal(rounds.edges[place].from, place);
            assert_int_equal(rounds.edges[place].to, place);
            assert_int_equal(rounds.edges[place].trains, 1);
            assert_true(place == 0 || rounds.edges[place].wait_ns > rounds.edges[place - 1].wait_ns);
        }
        rounds_end(&rounds);
        add(1, 2);
        assert_int_equal(rounds.edge_count, rows[row].looks > 0); /* it was not in that round */
    }
}

/* A look has sprints to as many peers as there are, and sixteen at most, where its packets in turn are as many as may be. */
static void rounds__look_with_sprints(void **state)
{
    (void)state;
    static const struct {
        uint16_t peers;
        uint64_t size_bytes;
        uint32_t bytes;
    } rows[] = {{4, 100000000, 400000 + 4 * 12400},
                {15, 100000000, 400000 + 15 * 12400},
                {40, 100000000, 400000 + 16 * 12400},
                {15, 58000000, 250000},
                {4, 80000000, 360000}};
    for (size_t row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
        struct rounds_goal goal = {
            .size_bytes = rows[row].size_bytes, .plan_ns = NS_PER_S, .peers = rows[row].peers};
        rounds_init(&rounds);
        add_line(0, false);
        add_line(1, true);
        assert_true(rounds_begin(&rounds, &goal, 0));
        assert_int_equal(rounds.edge_count, 2);
        assert_int_equal(rounds.edges[1].bytes, rows[row].bytes);
        assert_true(rounds.out_bytes[1] <= rounds_bytes(&goal));
    }
}

/* Later that of who asks comes before edges, others' behind all. */
static void rounds__lines_by_themselves(void **state)
{
    (void)state;
    rounds_init(&rounds);
    add(1, 2);
    assert_true(begin(UINT64_C(10000000000), 90000, 0));
    rounds_end(&rounds);
    add_line(2, false);
    add(3, 4);
    add_line(1, false);
    add_line(0, false);
    assert_true(begin(UINT64_C(10000000000), 90000, NS_PER_S));
    static const uint16_t from[] = {0, 3, 2, 1}, to[] = {0, 4, 2, 1};
    assert_int_equal(rounds.edge_count, 4);
    for (uint16_t place = 0; place < 4; place++) {
        assert_int_equal(rounds.edges[place].from, from[place]);
        assert_int_equal(rounds.edges[place].to, to[place]);
        assert_true(rounds.edges[place].trains > 1);
        assert_true(place == 0 ||
                    rounds.edges[place].wait_ns >= rounds.edges[place - 1].wait_ns + 60 * NS_PER_MS);
    }
    assert_int_equal(rounds.in_bytes[1], 0);
}

/* One of which nothing came is asked for once more, and no more. */
static void rounds__again_once(void **state)
{
    (void)state;
    rounds_init(&rounds);
    for (unsigned turn = 0; turn < 3; turn++) {
        rounds_end(&rounds);
        add(0, 1);
        add(0, 2);
        assert_int_equal(begin(UINT64_C(10000000000), 90000, turn * NS_PER_S), turn < 2);
        assert_int_equal(rounds.edge_count, turn == 0 ? 2 : turn == 1);
        rounds_silent(&rounds, 0, 1);
        assert_int_equal(rounds_has_asked(&rounds, 0, 1), turn > 0);
    }
}

/* Where slow paths were found and no look was, the next round is one, and there is only one. */
static void rounds__look_once_paths_are_slow(void **state)
{
    (void)state;
    struct rounds_goal goal = {.size_bytes = 1000000000, .plan_ns = 9 * NS_PER_S, .likely_ns = 9 * NS_PER_S};
    rounds_init(&rounds);
    add(0, 1);
    assert_true(rounds_begin(&rounds, &goal, NS_PER_S));
    assert_false(rounds_may_look(&rounds, &goal));
    goal.likely_ns = 90 * NS_PER_S;
    for (unsigned round = 0; round < 2; round++) {
        assert_int_equal(rounds_may_look(&rounds, &goal), round == 0);
        rounds_end(&rounds);
        add(1, 2);
        for (uint16_t site = 0; site < 5; site++)
            add_line(site, true);
        assert_true(rounds_begin(&rounds, &goal, (2 + round) * NS_PER_S));
        assert_int_equal(rounds.edge_count, round == 0 ? 5 : 1);
        assert_int_equal(rounds.edges[0].trains, round == 0 ? 1 : ROUNDS_TRAINS);
    }
}

/* A path was a surprise after a first round without a look: one may take a tenth of the plan's time, from the first round's begin on;
 * but never more than the operator says. */
static void rounds__look_where_a_path_is_a_surprise(void **state)
{
    (void)state;
    static const struct {
        uint64_t plan_ms, second_ms, time_ms; /* the second round begins so long after the first */
        bool surprised, looks;
    } rows[] = {
        {9000, 100, 0, true, true}, {9000, 100, 0, false, false},  {9000, 880, 0, true, false},
        {1000, 50, 0, true, false}, {9000, 100, 120, true, false},
    };
    for (size_t row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
        uint64_t plan_ns = rows[row].plan_ms * NS_PER_MS;
        struct rounds_goal goal = {.size_bytes = 1000000000, .plan_ns = plan_ns, .likely_ns = plan_ns};
        rounds_init(&rounds);
        goal.time_ns = rows[row].time_ms * NS_PER_MS;
        add(0, 1);
        rounds_begin(&rounds, &goal, NS_PER_S);
        rounds_end(&rounds);
        goal.surprised = rows[row].surprised;
        for (uint16_t site = 0; site < 5; site++)
            add_line(site, true);
        rounds_begin(&rounds, &goal, NS_PER_S + rows[row].second_ms * NS_PER_MS);
        assert_int_equal(rounds.looked, rows[row].looks);
    }
}

static void add_line_in(uint16_t site)
{
    struct round_edge line = {.from = ROUNDS_ANY,
                              .to = site,
                              .rtt_ns = 60 * NS_PER_MS,
                              .asker_ns = 60 * NS_PER_MS,
                              .port_bps = GBIT,
                              .in = true};
    rounds_add(&rounds, &line);
}

/* Lines in are looked at once, side by side, before edges that were added with them: by what their receivers have left. */
static void rounds__look_at_lines_in(void **state)
{
    (void)state;
    static const struct {
        uint64_t size_bytes, plan_ms;
        unsigned looks; /* 0: nothing of these */
    } rows[] = {
        {100000000, 9000, 4},
        {100000000, 1800, 2}, /* a tenth of the time; each begins later than the one before */
        {100000000, 1000, 0},
        {10000000, 9000, 0}, /* too few bytes */
    };
    for (size_t row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
        rounds_init(&rounds);
        add(1, 2);
        for (uint16_t site = 1; site <= 4; site++)
            add_line_in(site);
        bool any = begin(rows[row].size_bytes, rows[row].plan_ms, 0);
        if (rows[row].looks == 0) {
            assert_false(rounds.looked_in);
            continue;
        }
        assert_true(any && rounds.looked_in);
        assert_int_equal(rounds.edge_count, rows[row].looks);
        for (uint16_t place = 0; place < rounds.edge_count; place++) {
            assert_true(rounds.edges[place].in);
            assert_int_equal(rounds.edges[place].to, place + 1);
            uint64_t train_ns = gather_train_ns(GBIT, rounds.edges[place].bytes);
            assert_int_equal(rounds.edges[place].wait_ns, place * (train_ns + train_ns / 2));
            assert_true(rounds_has_asked(&rounds, ROUNDS_ANY, (uint16_t)(place + 1)));
        }
        rounds_silent(&rounds, ROUNDS_ANY, 1);
        rounds_end(&rounds);
        add(1, 2);
        add_line_in(1);
        assert_int_equal(rounds.edge_count,
                         2); /* the path was not in that round, and nothing came of the line */
        assert_int_equal(begin(rows[row].size_bytes, 20 * rows[row].plan_ms, NS_PER_S), true);
        assert_int_equal(rounds.edge_count, 1);
        assert_false(rounds.edges[0].in);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rounds__budget),
        cmocka_unit_test(rounds__stay_within_the_object),
        cmocka_unit_test(rounds__too_small),
        cmocka_unit_test(rounds__what_fits),
        cmocka_unit_test(rounds__go_on_where_paths_may_be_slow),
        cmocka_unit_test(rounds__look_once_paths_are_slow),
        cmocka_unit_test(rounds__look_where_a_path_is_a_surprise),
        cmocka_unit_test(rounds__ask_once_and_in_turn),
        cmocka_unit_test(rounds__look_first),
        cmocka_unit_test(rounds__look_with_sprints),
        cmocka_unit_test(rounds__lines_by_themselves),
        cmocka_unit_test(rounds__again_once),
        cmocka_unit_test(rounds__look_at_lines_in),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
