#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/units.h"
#include "probe/rotation.h"

#define TRAINS_MAX 20000
#define TRAIN_NS   (400 * NS_PER_US)
#define GUARD_NS   (100 * NS_PER_US)

static struct rotation rotation;
static struct rotation_train trains[TRAINS_MAX];
static unsigned train_count;

static struct rotation_goal goal_of(uint16_t count, uint32_t passes)
{
    struct rotation_goal goal = {.node_count = count,
                                 .passes = passes,
                                 .train_ns = TRAIN_NS,
                                 .train_bytes = 500000,
                                 .train_bps = 10000000000,
                                 .guard_ns = GUARD_NS,
                                 .timeout_ns = NS_PER_S};
    for (uint16_t node = 0; node < count; node++)
        goal.group_of[node] = node;
    return goal;
}

static void set_sites(struct rotation_goal *goal, uint16_t hosts, uint64_t egress_bps)
{
    for (uint16_t node = 0; node < goal->node_count; node++) {
        goal->group_of[node] = node / hosts;
        goal->group_bps[node] = egress_bps;
    }
}

static void begin(const struct rotation_goal *goal)
{
    struct err err;
    train_count = 0;
    if (!rotation_init(&rotation, goal, 1000, &err))
        fail_msg("%s", err.text);
}

/* Sends all; each is answered a round trip later unless an end of it is dead; then it is given up after the timeout.
 * The driver asks only when there is something to do, as a node does. Returns when the last answer was in. */
static uint64_t drive(uint64_t rtt_ns, uint64_t dead)
{
    static struct {
        uint64_t at_ns;
        uint16_t from, to;
        bool answered;
    } answers[TRAINS_MAX];
    unsigned due = 0, count = 0;
    uint64_t now_ns = 1000, last_ns = now_ns;
    for (;;) {
        struct rotation_train train;
        enum rotation_step step = rotation_next(&rotation, now_ns, &train);
        if (step == ROTATION_DONE)
            return last_ns;
        if (step == ROTATION_PASS)
            continue;
        if (step == ROTATION_TRAIN) {
            assert_true(train_count < TRAINS_MAX && train.at_ns >= now_ns);
            trains[train_count++] = train;
            bool answered = (dead >> train.from & 1) == 0 && (dead >> train.to & 1) == 0;
            answers[count].answered = answered;
            answers[count].at_ns = train.at_ns + TRAIN_NS + (answered ? rtt_ns : rotation.goal.timeout_ns);
            answers[count].from = train.from;
            answers[count++].to = train.to;
            now_ns = train.at_ns;
        }
        /* Answers by now; at WAIT the next one. */
        for (unsigned first = due; first < count; first++) {
            bool waits = step == ROTATION_WAIT && answers[first].at_ns != 0;
            if (answers[first].at_ns == 0 || (answers[first].at_ns > now_ns && !waits))
                continue;
            if (waits)
                for (unsigned other = first; other < count; other++)
                    if (answers[other].at_ns != 0 && answers[other].at_ns < answers[first].at_ns)
                        first = other;
            now_ns = now_ns > answers[first].at_ns ? now_ns : answers[first].at_ns;
            last_ns = now_ns;
            rotation_take(&rotation, answers[first].from, answers[first].to, answers[first].answered);
            answers[first].at_ns = 0;
            if (step == ROTATION_WAIT)
                break;
        }
        while (due < count && answers[due].at_ns == 0)
            due++;
    }
}

/* No node sends two at once, or receives two; of each group no more leave than may. */
static void expect_apart(const struct rotation_goal *goal)
{
    for (unsigned one = 0; one < train_count; one++) {
        uint16_t leave = 0;
        uint16_t group = goal->group_of[trains[one].from];
        for (unsigned other = one > 200 ? one - 200 : 0; other < train_count && other < one + 200; other++) {
            uint64_t apart_ns = trains[one].at_ns > trains[other].at_ns
                                    ? trains[one].at_ns - trains[other].at_ns
                                    : trains[other].at_ns - trains[one].at_ns;
            if (apart_ns >= TRAIN_NS + GUARD_NS)
                continue;
            assert_true(one == other || trains[one].from != trains[other].from);
            assert_true(one == other || trains[one].to != trains[other].to);
            leave += goal->group_of[trains[other].from] == group && goal->group_of[trains[other].to] != group;
        }
        assert_true(leave <= rotation_group_most(goal, group));
    }
}

static void expect_each(uint16_t count, uint32_t times)
{
    static uint32_t seen[ROTATION_NODES_MAX][ROTATION_NODES_MAX];
    memset(seen, 0, sizeof(seen));
    for (unsigned train = 0; train < train_count; train++)
        seen[trains[train].from][trains[train].to]++;
    for (uint16_t from = 0; from < count; from++)
        for (uint16_t to = 0; to < count; to++)
            assert_int_equal(seen[from][to], from == to ? 0 : times);
}

static void rotation__every_pair_once_a_pass(void **state)
{
    (void)state;
    const struct {
        uint16_t nodes, hosts;
        uint64_t egress_bps;
        uint32_t share_ppm;
        bool one;
        uint16_t slots; /* of a pass */
    } cases[] = {
        {2, 1, 0, 0, false, 1},
        {3, 1, 0, 0, false, 2},
        {20, 1, 0, 0, false, 19},
        {64, 1, 0, 0, false, 63},
        {20, 5, 0, 0, false, 19},
        /* Of each round as many slots as the most that leave one site need: 1, 2, 3, 4, 5 … 5, 4, 3, 2, 1 of them. */
        {20, 5, 40000000000, 0, false, 8 + 2 * 11},
        {20, 5, 40000000000, 500000, false, 2 * (1 + 1 + 2 + 2) + 3 * 11},
        {20, 5, 40000000000, 250000, false, 2 * (1 + 2 + 3 + 4) + 5 * 11},
        {20, 5, 40000000000, 0, true, 2 * (1 + 2 + 3 + 4) + 5 * 11},
        {20, 5, 0, 0, true, 2 * (1 + 2 + 3 + 4) + 5 * 11},
    };
    for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct rotation_goal goal = goal_of(cases[i].nodes, 3);
        set_sites(&goal, cases[i].hosts, cases[i].egress_bps);
        goal.share_ppm = cases[i].share_ppm;
        goal.one_per_group = cases[i].one;
        struct rotation_cost cost = rotation_cost(&goal);
        begin(&goal);
        uint64_t end_ns = drive(150 * NS_PER_MS, 0);
        uint32_t pairs = (uint32_t)cases[i].nodes * (cases[i].nodes - 1u);
        expect_each(cases[i].nodes, 3);
        expect_apart(&goal);
        /* What was said before is what it cost. Round trips overlap: but for one they cost nothing. */
        assert_int_equal(cost.pairs, pairs);
        assert_int_equal(cost.trains, train_count);
        assert_int_equal(cost.bytes, train_count * UINT64_C(500000));
        assert_int_equal(cost.node_bytes * cases[i].nodes, cost.bytes);
        uint64_t sending_ns = 3 * (uint64_t)cases[i].slots * (TRAIN_NS + GUARD_NS);
        assert_int_equal(cost.duration_ns, sending_ns + goal.timeout_ns);
        assert_int_equal(end_ns - 1000, sending_ns - GUARD_NS + 150 * NS_PER_MS);
    }
}

static void rotation__silent_nodes_cost_one_timeout(void **state)
{
    (void)state;
    const struct {
        uint16_t nodes;
        uint32_t passes;
        uint64_t dead;
    } cases[] = {{20, 40, 0x1}, {20, 40, 0x80001}, {5, 300, 0x6}, {2, 900, 0x2}, {20, 2, 0x10}};
    for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct rotation_goal goal = goal_of(cases[i].nodes, cases[i].passes);
        goal.timeout_ns = 50 * NS_PER_MS;
        unsigned alive = cases[i].nodes - (unsigned)__builtin_popcountll(cases[i].dead);
        begin(&goal);
        uint64_t end_ns = drive(20 * NS_PER_MS, cases[i].dead) - 1000;
        struct rotation_progress progress = rotation_progress(&rotation);
        /* Those who answer have had all of theirs; who talks only to the dead can't be told from them. */
        assert_int_equal(progress.silent & ~cases[i].dead, cases[i].nodes == 2 ? 1 : 0);
        assert_int_equal(progress.silent & cases[i].dead, cases[i].dead);
        assert_int_equal(progress.answered, alive * (alive - 1) * cases[i].passes);
        /* Trains with a dead end: those of one timeout, and of the slots until it was noticed. */
        uint64_t slots = goal.timeout_ns / (TRAIN_NS + GUARD_NS) + 5;
        assert_true(progress.missed + 0u <= 2 * slots * (unsigned)__builtin_popcountll(cases[i].dead));
        uint64_t whole_ns = rotation_cost(&goal).duration_ns;
        assert_true(end_ns <= whole_ns + goal.train_ns);
    }
}

static void rotation__loss_makes_nobody_silent(void **state)
{
    (void)state;
    struct rotation_goal goal = goal_of(4, 2);
    struct rotation_train train;
    begin(&goal);
    unsigned sent = 0;
    for (enum rotation_step step; (step = rotation_next(&rotation, 1000, &train)) != ROTATION_DONE;)
        if (step == ROTATION_TRAIN)
            rotation_take(&rotation, train.from, train.to, ++sent % 3 != 0);
    struct rotation_progress progress = rotation_progress(&rotation);
    assert_int_equal(progress.silent, 0);
    assert_int_equal(progress.answered, 16);
    assert_int_equal(progress.missed, 8);
}

/* Found silent in the middle, and back by an answer that came late. */
static void rotation__back_by_an_answer(void **state)
{
    (void)state;
    struct rotation_goal goal = goal_of(3, 8);
    struct rotation_train train, late = {0};
    begin(&goal);
    for (enum rotation_step step; (step = rotation_next(&rotation, 1000, &train)) != ROTATION_DONE;) {
        if (step != ROTATION_TRAIN)
            continue;
        if (train.to != 2 && train.from != 2)
            rotation_take(&rotation, train.from, train.to, true);
        else if (train.pass == 0 && late.at_ns == 0)
            late = train;
        else
            rotation_take(&rotation, train.from, train.to, train.pass >= 4);
        if (train.pass == 4 && rotation_progress(&rotation).silent != 0) {
            assert_int_equal(rotation_progress(&rotation).silent, 4);
            rotation_take(&rotation, late.from, late.to, true);
        }
    }
    assert_int_equal(rotation_progress(&rotation).silent, 0);
    assert_true(rotation_progress(&rotation).answered >= 2 * 8 + 4 * 3);
}

static void rotation__wanted_pairs_alone(void **state)
{
    (void)state;
    struct rotation_goal goal = goal_of(10, 4);
    struct rotation_train train;
    begin(&goal);
    for (uint16_t from = 1; from < 10; from++)
        rotation_want(&rotation, from, 0);
    rotation_want(&rotation, 0, 0xffff); /* itself and nodes that are not there don't count */
    uint32_t by_pass[4] = {0};
    uint64_t last_ns = 0;
    for (enum rotation_step step; (step = rotation_next(&rotation, 1000, &train)) != ROTATION_DONE;) {
        if (step == ROTATION_PASS) {
            rotation_want(&rotation, 0, by_pass[1] > 0 ? 0x2 : 0x6);
            continue;
        }
        by_pass[train.pass]++;
        last_ns = train.at_ns;
        rotation_take(&rotation, train.from, train.to, true);
    }
    assert_int_equal(by_pass[0], 9);
    assert_int_equal(by_pass[1], 2);
    assert_int_equal(by_pass[2], 1);
    assert_int_equal(by_pass[3], 1);
    /* Rounds in which nobody is wanted take no time. */
    assert_int_equal(last_ns, 1000 + 12 * (TRAIN_NS + GUARD_NS));
}

static void rotation_progress__counts_down(void **state)
{
    (void)state;
    struct rotation_goal goal = goal_of(20, 5);
    set_sites(&goal, 5, 40000000000);
    struct rotation_train train;
    begin(&goal);
    struct rotation_progress before = rotation_progress(&rotation), now;
    assert_int_equal(before.trains, 380 * 5);
    assert_int_equal(before.left_ns, rotation_cost(&goal).duration_ns);
    for (enum rotation_step step; (step = rotation_next(&rotation, 1000, &train)) != ROTATION_DONE;
         before = now) {
        if (step == ROTATION_TRAIN)
            rotation_take(&rotation, train.from, train.to, true);
        now = rotation_progress(&rotation);
        assert_int_equal(now.trains, 380 * 5);
        assert_true(now.left_ns <= before.left_ns && now.pairs_answered >= before.pairs_answered);
    }
    before = rotation_progress(&rotation);
    assert_int_equal(before.left_ns, 0);
    assert_int_equal(before.pairs_answered, 380);
    assert_int_equal(before.bytes, 380 * 5 * UINT64_C(500000));
}

static void rotation_init__contradictions(void **state)
{
    (void)state;
    struct err err;
    struct rotation_goal goal = goal_of(1, 1);
    assert_false(rotation_init(&rotation, &goal, 0, &err));
    goal = goal_of(4, 0);
    assert_false(rotation_init(&rotation, &goal, 0, &err));
    goal = goal_of(4, 1);
    goal.group_of[2] = 4;
    assert_false(rotation_init(&rotation, &goal, 0, &err));
    goal = goal_of(4, 1);
    set_sites(&goal, 2, 40000000000);
    goal.share_ppm = 249999;
    assert_false(rotation_init(&rotation, &goal, 0, &err));
    assert_non_null(strstr(err.text, "group 0"));
    goal.share_ppm = 250000;
    assert_true(rotation_init(&rotation, &goal, 0, &err));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rotation__every_pair_once_a_pass),
        cmocka_unit_test(rotation__silent_nodes_cost_one_timeout),
        cmocka_unit_test(rotation__loss_makes_nobody_silent),
        cmocka_unit_test(rotation__back_by_an_answer),
        cmocka_unit_test(rotation__wanted_pairs_alone),
        cmocka_unit_test(rotation_progress__counts_down),
        cmocka_unit_test(rotation_init__contradictions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
