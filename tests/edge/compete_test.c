/* COMPETE: when others are taken to be gone. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/units.h"
#include "edge/bql/compete.h"

#define RTT_NS    (100 * NS_PER_MS)
#define SHARE_BPS 300000000ULL

/* An edge that competes, and the queue that it sees. */
struct contest {
    struct bql_path path;
    struct bql_compete compete;
    struct bql_view view;
    uint64_t queue_ns;
};

static void begin(struct contest *contest, uint64_t queue_ns)
{
    const struct bql_contest found = {.own_most_bps = SHARE_BPS};
    *contest = (struct contest){.queue_ns = queue_ns};
    bql_path_init(&contest->path, 1538, RTT_NS, true, NS_PER_S);
    contest->path.delivered_bps = SHARE_BPS;
    contest->view = (struct bql_view){.now_ns = NS_PER_S, .rtt_ns = RTT_NS, .queue_ns = queue_ns};
    bql_compete_begin(&contest->compete, &found, &contest->path, &contest->view, SHARE_BPS);
}

/* For that long, a sample each 5 ms, the queue falling by so much within two round trips. True: it found itself
 * alone. */
static bool passes(struct contest *contest, uint64_t lasts_ns, uint64_t falls_ns)
{
    uint64_t until_ns = contest->view.now_ns + lasts_ns, from_ns = contest->view.now_ns;
    while (contest->view.now_ns < until_ns) {
        contest->view.now_ns += 5 * NS_PER_MS;
        contest->view.newest_sent_ns = contest->view.now_ns - RTT_NS - contest->queue_ns;
        uint64_t fell_ns = muldiv64(falls_ns, MIN(contest->view.now_ns - from_ns, 2 * RTT_NS), 2 * RTT_NS);
        contest->view.queue_ns = contest->queue_ns - MIN(fell_ns, contest->queue_ns);
        const struct congestion_sample sample = {.acked_bytes = 1538, .now_ns = contest->view.now_ns};
        struct bql_move move = bql_compete_step(&contest->compete, &contest->path, &contest->view, &sample);
        if (move.enters)
            return true;
    }
    contest->queue_ns = contest->view.queue_ns;
    return false;
}

/* To the next time at which it gives way. */
static void comes_to_drain(struct contest *contest)
{
    for (uint32_t step = 0; step < 4000 && contest->compete.draining_ns == 0; step++)
        assert_false(passes(contest, 5 * NS_PER_MS, 0));
    assert_true(contest->compete.draining_ns > 0);
}

/* Two times of giving way, the queue falling by so much in each, of the 60 ms that it could if it were the edge's own. */
static void compete__is_alone_when_the_queue_falls_twice(void **state)
{
    (void)state;
    static const struct {
        uint64_t queue_ms, first_ms, second_ms;
        bool alone;
    } rows[] = {
        {90, 70, 70, true},  /* all of it was its own */
        {90, 70, 10, false}, /* others answered a loss, just then */
        {90, 10, 70, false}, /* … or then */
        {90, 20, 20, false}, /* a third of the link is its own */
        {90, 70, 7, false},  /* what they left is 20 ms: a third of that */
        {100, 70, 30, true}, /* … all of it */
        {0, 0, 0, false},    /* no queue: nothing to see, TRACK would not help either */
    };
    for (size_t index = 0; index < sizeof(rows) / sizeof(rows[0]); index++) {
        struct contest contest;
        begin(&contest, rows[index].queue_ms * NS_PER_MS);
        comes_to_drain(&contest);
        assert_false(passes(&contest, 5 * RTT_NS, rows[index].first_ms * NS_PER_MS));
        comes_to_drain(&contest);
        assert_int_equal(passes(&contest, 5 * RTT_NS, rows[index].second_ms * NS_PER_MS), rows[index].alone);
    }
}

/* The second time comes soon, others as seldom as before. */
static void compete__looks_again_soon(void **state)
{
    (void)state;
    for (uint32_t falls = 0; falls < 2; falls++) {
        struct contest contest;
        begin(&contest, 90 * NS_PER_MS);
        comes_to_drain(&contest);
        assert_false(passes(&contest, 5 * RTT_NS, falls * 70 * NS_PER_MS));
        uint64_t from_ns = contest.view.now_ns;
        comes_to_drain(&contest);
        uint64_t waited_ns = contest.view.now_ns - from_ns;
        assert_in_range(waited_ns, falls ? 0 : 9 * NS_PER_S, falls ? 8 * RTT_NS : 11 * NS_PER_S);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(compete__is_alone_when_the_queue_falls_twice),
        cmocka_unit_test(compete__looks_again_soon),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
