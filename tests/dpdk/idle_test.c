#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/units.h"
#include "dpdk/idle.h"

#define GATHER_NS NS_PER_MS

static enum idle_action next(struct idle *idle, bool worked, uint64_t now_ns, uint64_t next_ns,
                             uint64_t gather_ns)
{
    struct idle_turn turn = {
        .worked = worked, .begin_ns = now_ns, .now_ns = now_ns, .next_ns = next_ns, .gather_ns = gather_ns};
    return idle_next(idle, &turn);
}

static void idle__actions(void **state)
{
    (void)state;
    const struct {
        uint8_t mode;
        uint64_t idle_for_ns;
        int64_t due_in_ns; /* INT64_MAX: never */
        uint64_t gather_ns;
        enum idle_action action;
    } rows[] = {
        {IDLE_MODE_POLL, NS_PER_S, INT64_MAX, GATHER_NS, IDLE_SPIN},
        {IDLE_MODE_YIELD, NS_PER_S, INT64_MAX, GATHER_NS, IDLE_YIELD},
        {IDLE_MODE_YIELD, NS_PER_S, 0, GATHER_NS, IDLE_SPIN},
        {IDLE_MODE_SLEEP, NS_PER_S, INT64_MAX, GATHER_NS, IDLE_ANNOUNCE},
        {IDLE_MODE_SLEEP, 2000, 2000, GATHER_NS, IDLE_ANNOUNCE},
        {IDLE_MODE_SLEEP, 2000, -50000, GATHER_NS, IDLE_ANNOUNCE}, /* overdue: a full device */
        /* nothing may wait */
        {IDLE_MODE_SLEEP, NS_PER_S, INT64_MAX, 0, IDLE_ANNOUNCE},
        {IDLE_MODE_SLEEP, 2000, INT64_MAX, 0, IDLE_SPIN},   /* just worked */
        {IDLE_MODE_SLEEP, 50000, INT64_MAX, 0, IDLE_YIELD}, /* patience */
        {IDLE_MODE_SLEEP, NS_PER_S, 200000, 0, IDLE_YIELD}, /* the horizon */
        {IDLE_MODE_SLEEP, NS_PER_S, 200001, 0, IDLE_ANNOUNCE},
        {IDLE_MODE_SLEEP, NS_PER_S, 200000, IDLE_GATHER_NS_MIN - 1, IDLE_YIELD},
        {IDLE_MODE_SLEEP, NS_PER_S, 3000, 0, IDLE_SPIN},
        {IDLE_MODE_SLEEP, NS_PER_S, -2000, 0, IDLE_SPIN},
        {IDLE_MODE_SLEEP, NS_PER_S, -50000, 0, IDLE_YIELD},
    };
    for (size_t row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
        struct idle idle;
        uint64_t now_ns = 10 * NS_PER_S;
        idle_init(&idle, rows[row].mode, false, now_ns - rows[row].idle_for_ns);
        uint64_t next_ns =
            rows[row].due_in_ns == INT64_MAX ? TIME_NEVER : now_ns + (uint64_t)rows[row].due_in_ns;
        if (next(&idle, false, now_ns, next_ns, rows[row].gather_ns) != rows[row].action)
            fail_msg("row %zu", row);
        assert_int_equal(next(&idle, true, now_ns, next_ns, rows[row].gather_ns), IDLE_SPIN);
    }
}

/* Where the CPU stays away for long it is not given away with work due sooner than it would be back. */
static void idle__dear_yields(void **state)
{
    (void)state;
    static const struct {
        uint64_t cost_ns, due_in_ns;
        enum idle_action action;
    } rows[] = {
        {1000, 60000, IDLE_YIELD},          {50000, 60000, IDLE_YIELD},    {70000, 60000, IDLE_SPIN},
        {10000000, 60000, IDLE_SPIN},       {10000000, 200000, IDLE_SPIN}, {10000000, 200001, IDLE_ANNOUNCE},
        {10000000, 2000000, IDLE_ANNOUNCE},
    };
    for (size_t row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
        struct idle idle;
        uint64_t now_ns = NS_PER_S;
        idle_init(&idle, IDLE_MODE_SLEEP, false, 0);
        assert_int_equal(next(&idle, false, now_ns, now_ns + 100000, 0), IDLE_YIELD);
        now_ns += rows[row].cost_ns;
        assert_int_equal(next(&idle, false, now_ns, now_ns + rows[row].due_in_ns, 0), rows[row].action);
        /* It is forgotten where yields cost little again. */
        idle.mode = IDLE_MODE_YIELD;
        for (unsigned turn = 0; turn < 1000; turn++, now_ns += 1000)
            assert_int_equal(next(&idle, false, now_ns, TIME_NEVER, 0), IDLE_YIELD);
        assert_int_equal(next(&idle, false, now_ns, now_ns + 60000, 0), IDLE_YIELD);
    }
}

#define TURN_NS 1000
#define WAKE_NS 50000

struct day {
    uint64_t rests, late_ns_max;
};

/* Something comes, or is due (`known`), every gap_ns for a second. A turn takes TURN_NS, a rest WAKE_NS more than it was
 * asked for. */
static struct day live(uint64_t gap_ns, uint64_t gather_ns, bool known, bool looks)
{
    struct day day = {0};
    struct idle idle;
    uint64_t now_ns = NS_PER_S, next_ns = now_ns;
    idle_init(&idle, IDLE_MODE_SLEEP, looks, now_ns);
    while (now_ns < 2 * NS_PER_S) {
        uint64_t begin_ns = now_ns;
        bool worked = next_ns <= begin_ns;
        for (; next_ns <= begin_ns; next_ns += gap_ns)
            day.late_ns_max = MAX(day.late_ns_max, begin_ns - next_ns);
        now_ns += TURN_NS;
        struct idle_turn turn = {.worked = worked,
                                 .begin_ns = begin_ns,
                                 .now_ns = now_ns,
                                 .next_ns = known ? next_ns : TIME_NEVER,
                                 .gather_ns = gather_ns};
        enum idle_action action = idle_next(&idle, &turn);
        uint64_t end_ns = now_ns + idle.rest_ns;
        if (action == IDLE_WAIT && !looks && !known)
            end_ns = MIN(end_ns, MAX(next_ns, now_ns));
        if (idle_rests(action))
            now_ns = end_ns + WAKE_NS;
        day.rests += idle_rests(action);
    }
    return day;
}

static void idle__rests_are_few_and_short(void **state)
{
    (void)state;
    static const struct {
        uint64_t gap_ns, gather_ns;
        bool looks;
        uint64_t rests_max, late_ns_max;
    } rows[] = {
        {120000, NS_PER_MS, false, 1000, NS_PER_MS + WAKE_NS + 2 * TURN_NS},  /* 100 Mbit/s */
        {12000, 312000, false, 3300, 312000 + WAKE_NS + 2 * TURN_NS},         /* 1 Gbit/s */
        {1200, 99000, false, 7000, 99000 + WAKE_NS + 2 * TURN_NS},            /* 10 Gbit/s */
        {5000000, NS_PER_MS, false, 202, WAKE_NS + 2 * TURN_NS},              /* rare: dealt with at once */
        {100000000, NS_PER_MS, false, 22, WAKE_NS + 2 * TURN_NS},             /* next to nothing */
        {120000, NS_PER_MS, true, 1000, NS_PER_MS + WAKE_NS + 2 * TURN_NS},   /* looked at */
        {100000000, NS_PER_MS, true, 1200, NS_PER_MS + WAKE_NS + 2 * TURN_NS} /* the same */
    };
    for (size_t row = 0; row < sizeof(rows) / sizeof(rows[0]); row++)
        for (int known = 0; known < 2; known++) {
            struct day day = live(rows[row].gap_ns, rows[row].gather_ns, known != 0, rows[row].looks);
            if (day.rests > rows[row].rests_max || day.late_ns_max > rows[row].late_ns_max)
                fail_msg("row %zu, %s: %llu rests, late by %llu ns", row, known != 0 ? "due" : "came",
                         (unsigned long long)day.rests, (unsigned long long)day.late_ns_max);
        }
}

/* With work, then nothing; returns how the wait goes. */
static uint64_t wait_ns(struct idle *idle, uint64_t now_ns, uint64_t next_ns)
{
    enum idle_action action = next(idle, false, now_ns, next_ns, GATHER_NS);
    if (action == IDLE_ANNOUNCE)
        action = next(idle, false, now_ns, next_ns, GATHER_NS);
    assert_true(idle_rests(action));
    return idle->rest_ns;
}

static void idle__looks_are_ever_rarer_until_there_is_work(void **state)
{
    (void)state;
    static const uint64_t lengths_ns[] = {100000, 200000, 400000, 800000, 1000000, 1000000};
    struct idle idle;
    uint64_t now_ns = NS_PER_S;
    idle_init(&idle, IDLE_MODE_SLEEP, true, 0);
    for (int round = 0; round < 2; round++) {
        for (int step = 0; step < 6; step++, now_ns += NS_PER_S)
            assert_int_equal(wait_ns(&idle, now_ns, TIME_NEVER), lengths_ns[step]);
        next(&idle, true, now_ns, TIME_NEVER, GATHER_NS);
    }
    assert_int_equal(idle.sleeps, 12);
    /* What is due in between is not missed. */
    idle_init(&idle, IDLE_MODE_SLEEP, true, 0);
    assert_int_equal(wait_ns(&idle, now_ns, now_ns + 70000), 70000);
    /* What is overdue is looked at as a port. */
    idle_init(&idle, IDLE_MODE_SLEEP, false, 0);
    assert_int_equal(wait_ns(&idle, now_ns, now_ns - 70000), 100000);
    assert_int_equal(wait_ns(&idle, now_ns + NS_PER_S, now_ns - 70000), 200000);
}

/* A descriptor that is always ready must not make a busy loop. */
static void idle__waits_that_end_for_nothing_become_looks(void **state)
{
    (void)state;
    struct idle idle;
    uint64_t now_ns = NS_PER_S;
    idle_init(&idle, IDLE_MODE_SLEEP, false, 0);
    assert_int_equal(wait_ns(&idle, now_ns, TIME_NEVER), IDLE_WAIT_NS_MAX);
    assert_int_equal(next(&idle, false, now_ns + 1000, TIME_NEVER, GATHER_NS), IDLE_REST);
    assert_int_equal(idle.rest_ns, IDLE_LOOK_NS_MIN);
    /* … and one that told the truth stays a wait. */
    now_ns += NS_PER_S;
    assert_int_equal(wait_ns(&idle, now_ns, TIME_NEVER), IDLE_WAIT_NS_MAX);
    assert_int_equal(next(&idle, true, now_ns + 1000, TIME_NEVER, GATHER_NS), IDLE_SPIN);
    assert_int_equal(next(&idle, false, now_ns + 2000, TIME_NEVER, GATHER_NS), IDLE_ANNOUNCE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(idle__actions),
        cmocka_unit_test(idle__dear_yields),
        cmocka_unit_test(idle__rests_are_few_and_short),
        cmocka_unit_test(idle__looks_are_ever_rarer_until_there_is_work),
        cmocka_unit_test(idle__waits_that_end_for_nothing_become_looks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
