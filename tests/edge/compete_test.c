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

/* Once there has been no queue for max(1 s, 10 RTT), nobody is there to compete with. */
static void compete__ends_where_there_is_no_queue(void **state)
{
    (void)state;
    static const struct {
        uint64_t rtt_ms, queue_ms;
        uint64_t again_ms; /* so often there is a long one for a moment; 0: never */
        uint64_t least_ms, most_ms;
    } rows[] = {
        {50, 3, 0, 1000, 1010}, {200, 3, 0, 2000, 2010},  {50, 0, 0, 1000, 1010},
        {50, 6, 0, 9999, 9999}, {50, 3, 900, 9999, 9999}, {50, 3, 1100, 1000, 1010},
    };
    for (size_t index = 0; index < sizeof(rows) / sizeof(rows[0]); index++) {
        const struct bql_contest found = {.own_most_bps = SHARE_BPS};
        struct contest contest;
        begin(&contest, rows[index].queue_ms * NS_PER_MS);
        contest.view.rtt_ns = rows[index].rtt_ms * NS_PER_MS;
        contest.view.little_ns = 5 * NS_PER_MS;
        bql_compete_begin(&contest.compete, &found, &contest.path, &contest.view, SHARE_BPS);
        uint64_t ended_ms = 9999;
        for (uint64_t ms = 5; ms <= 9000 && ended_ms == 9999; ms += 5) {
            bool again = rows[index].again_ms > 0 && ms % rows[index].again_ms == 0;
            contest.view.now_ns = NS_PER_S + ms * NS_PER_MS;
            contest.view.queue_ns = (again ? 20 : rows[index].queue_ms) * NS_PER_MS;
            const struct congestion_sample sample = {.acked_bytes = 1538, .now_ns = contest.view.now_ns};
            if (bql_compete_step(&contest.compete, &contest.path, &contest.view, &sample).enters)
                ended_ms = ms;
        }
        assert_in_range(ended_ms, rows[index].least_ms, rows[index].most_ms);
    }
}

/* Once half of the usual time has passed a buffer that overflows is the moment, for all who compete see it. */
static void compete__gives_way_when_others_do(void **state)
{
    (void)state;
    static const struct {
        uint64_t after_ms, queue_ms; /* when packets are lost, and the queue then: that of before is 90 ms */
        uint64_t lost;
        bool fell; /* it gave way once, and the queue fell: it waits for its second time */
        bool gives;
    } rows[] = {
        {4000, 90, 3, false, false}, {6000, 90, 3, false, true}, {6000, 90, 0, false, false},
        {6000, 70, 3, false, false}, {6000, 90, 3, true, false},
    };
    for (size_t index = 0; index < sizeof(rows) / sizeof(rows[0]); index++) {
        struct contest contest;
        begin(&contest, 90 * NS_PER_MS);
        assert_false(passes(&contest, rows[index].after_ms * NS_PER_MS, 0));
        contest.compete.drain_fell = rows[index].fell;
        contest.view.queue_ns = rows[index].queue_ms * NS_PER_MS;
        const struct congestion_sample sample = {.lost_packets = rows[index].lost,
                                                 .now_ns = contest.view.now_ns};
        bql_compete_step(&contest.compete, &contest.path, &contest.view, &sample);
        assert_int_equal(contest.compete.draining_ns > 0, rows[index].gives);
    }
}

/* Half of the most of late, not more than 16 times the rate of now, and never less than that. */
static void compete__begins_with_what_is_left_of_its_share(void **state)
{
    (void)state;
    static const struct {
        uint64_t rate_mbps, most_mbps, begins_mbps;
    } rows[] = {{100, 0, 100}, {100, 150, 100}, {100, 300, 150}, {10, 300, 150}, {5, 300, 80}, {1, 900, 16}};
    for (size_t index = 0; index < sizeof(rows) / sizeof(rows[0]); index++) {
        const struct bql_contest found = {.own_most_bps = rows[index].most_mbps * 1000000};
        struct contest contest;
        begin(&contest, 50 * NS_PER_MS);
        bql_compete_begin(&contest.compete, &found, &contest.path, &contest.view,
                          rows[index].rate_mbps * 1000000);
        assert_int_equal(contest.compete.window.bytes,
                         bytes_within(rows[index].begins_mbps * 1000000, RTT_NS + 50 * NS_PER_MS));
    }
}

/* Of so many packets a round, each tenth of a second, so much is lost: when the others are taken for its like. */
static void compete__takes_those_that_lose_much_for_its_like(void **state)
{
    (void)state;
    static const struct {
        uint64_t mbps, packets;
        uint32_t loss_ppm, chance_ppm;
        uint64_t rtt_ms, alike_ms; /* 0: never */
    } rows[] = {
        {100, 800, 100000, 0, 50, 2000}, {100, 800, 100000, 0, 300, 6000},
        {100, 800, 70000, 0, 50, 0},     {100, 800, 100000, 30000, 50, 0},
        {100, 7, 142857, 0, 50, 2900},   {1, 10, 100000, 0, 50, 2000}, /* 20 rounds have 200 packets */
        {1, 40, 100000, 0, 300, 500},    {1, 40, 70000, 0, 300, 0},
    };
    for (size_t index = 0; index < sizeof(rows) / sizeof(rows[0]); index++) {
        struct bql_contest found = {
            .own_bps = 20000000, .own_most_bps = SHARE_BPS, .own_most_now_bps = SHARE_BPS};
        struct contest contest;
        begin(&contest, 50 * NS_PER_MS);
        contest.path.delivered_bps = rows[index].mbps * 1000000;
        contest.path.chance.base_ppm = rows[index].chance_ppm;
        contest.path.rtt_ns = rows[index].rtt_ms * NS_PER_MS;
        const struct bql_round round = {.packets = rows[index].packets,
                                        .loss.loss_ppm = rows[index].loss_ppm};
        uint64_t alike_ms = 0;
        for (uint64_t ms = 100; ms <= 20000 && alike_ms == 0; ms += 100) {
            contest.view.now_ns = NS_PER_S + ms * NS_PER_MS;
            contest.path.now_ns = contest.view.now_ns;
            struct bql_move move =
                bql_compete_on_round(&contest.compete, &found, &contest.path, &contest.view, &round, false);
            if (move.enters)
                alike_ms = ms;
        }
        assert_int_equal(alike_ms, rows[index].alike_ms);
        /* What it had at the cost of its like it does not ask back. */
        assert_int_equal(found.own_most_bps, alike_ms > 0 ? found.own_bps : SHARE_BPS);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(compete__is_alone_when_the_queue_falls_twice),
        cmocka_unit_test(compete__looks_again_soon),
        cmocka_unit_test(compete__ends_where_there_is_no_queue),
        cmocka_unit_test(compete__gives_way_when_others_do),
        cmocka_unit_test(compete__begins_with_what_is_left_of_its_share),
        cmocka_unit_test(compete__takes_those_that_lose_much_for_its_like),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
