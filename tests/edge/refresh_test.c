/* When the base is looked for anew, and what makes another of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/units.h"
#include "edge/bql/refresh.h"

#define BEGIN_NS  (100 * NS_PER_S)
#define STEP_MS   10ULL
#define STEP_NS   (STEP_MS * NS_PER_MS)
#define NEVER_MS  20000ULL
#define RATE_BPS  500000000ULL
#define TARGET_NS (10 * NS_PER_MS)
#define QUEUE_NS  (12 * NS_PER_MS) /* stands all the time */

/* An edge under a queue that stands, its base seen at BEGIN_NS. */
struct edge {
    struct bql_path path;
    struct bql_rounds rounds;
    struct bql_refresh refresh;
    struct bql_view view;
};

static void begin(struct edge *edge, uint64_t rtt_ms)
{
    *edge = (struct edge){.view = {.now_ns = BEGIN_NS, .rtt_ns = rtt_ms * NS_PER_MS}};
    edge->view.target_ns = TARGET_NS;
    edge->view.usual_target_ns = TARGET_NS;
    edge->view.queue_ns = QUEUE_NS;
    edge->view.predicted_ns = QUEUE_NS;
    edge->rounds.queue_peak_ns = QUEUE_NS;
    bql_path_init(&edge->path, 1538, rtt_ms * NS_PER_MS, true, BEGIN_NS);
    edge->path.loop_ns = rtt_ms * NS_PER_MS;
    edge->path.delay.base_seen_ns = BEGIN_NS;
    edge->path.standing_ns = BEGIN_NS;
}

/* One sample later; others: C shows them. */
static bool is_due(struct edge *edge, bool others, uint64_t rate_bps)
{
    edge->view.now_ns += STEP_NS;
    edge->path.now_ns = edge->view.now_ns;
    edge->path.delivered_ns = edge->view.now_ns;
    bool odd = (edge->view.now_ns / STEP_NS & 1) > 0;
    edge->path.capacity_bps = others && odd ? RATE_BPS / 10 * 7 : RATE_BPS;
    return bql_refresh_due(&edge->refresh, &edge->path, &edge->rounds, &edge->view, rate_bps);
}

static void refresh__is_due_by_time_and_among_others_sooner(void **state)
{
    (void)state;
    static const struct {
        uint64_t rtt_ms;
        uint64_t others_ms; /* C shows them from then on */
        uint32_t count;     /* of refreshes before */
        uint64_t falls_ms;  /* from then on the queue is gone; 0: it stands */
        uint64_t peak_ms;   /* of it before */
        uint64_t due_ms;
        enum bql_refresh_why why;
    } rows[] = {
        {50, NEVER_MS, 0, 0, 12, 10000, BQL_REFRESH_NEEDED},
        {600, NEVER_MS, 0, 0, 12, 12000, BQL_REFRESH_NEEDED}, /* 20 RTT */
        {50, NEVER_MS, 0, 100, 12, 5000, BQL_REFRESH_NEEDED}, /* another one's */
        {50, 0, 0, 0, 12, 250, BQL_REFRESH_EARLY},            /* a fortieth, and twice that each time */
        {50, 0, 1, 0, 12, 500, BQL_REFRESH_EARLY},
        {50, 0, 4, 0, 12, 4000, BQL_REFRESH_EARLY},
        {50, 0, 5, 0, 12, 8000, BQL_REFRESH_NEEDED},
        {50, 0, 6, 0, 12, 10000, BQL_REFRESH_NEEDED},
        {50, 3000, 0, 0, 12, 3110, BQL_REFRESH_EARLY}, /* was it the path that changed? two loops will tell */
        {50, 0, 6, 200, 12, 2500, BQL_REFRESH_EARLY}, /* among its like it joins others after a quarter … */
        {50, 0, 6, 200, 15, 2500, BQL_REFRESH_EARLY},
        {50, 0, 6, 200, 16, 5000, BQL_REFRESH_NEEDED}, /* … but above 1.5 q* they may be unlike it */
    };
    for (size_t index = 0; index < sizeof(rows) / sizeof(rows[0]); index++) {
        struct edge edge;
        begin(&edge, rows[index].rtt_ms);
        edge.refresh.count = rows[index].count;
        edge.rounds.queue_peak_ns = rows[index].peak_ms * NS_PER_MS;
        uint64_t ms = STEP_MS;
        while (ms < NEVER_MS && !is_due(&edge, ms >= rows[index].others_ms, RATE_BPS)) {
            if (rows[index].falls_ms > 0 && ms >= rows[index].falls_ms)
                edge.view.queue_ns = NS_PER_MS;
            ms += STEP_MS;
        }
        assert_int_equal(ms, rows[index].due_ms);
        assert_int_equal(edge.refresh.next, rows[index].why);
    }
}

/* A queue that was taken for packets that wait is looked at after a second; a rate that fell to less than half under a
 * queue that stays, after two. */
static void refresh__is_due_where_the_base_is_questionable(void **state)
{
    (void)state;
    static const struct {
        bool supposed;
        uint64_t rate_bps;
        uint64_t due_ms;
    } rows[] = {{true, RATE_BPS, 1000}, {false, RATE_BPS / 10 * 4, 2000}, {false, RATE_BPS / 10 * 6, 10000}};
    for (size_t index = 0; index < sizeof(rows) / sizeof(rows[0]); index++) {
        struct edge edge;
        begin(&edge, 50);
        edge.path.supposed_ns = rows[index].supposed ? BEGIN_NS : 0;
        edge.refresh.seen_bps = RATE_BPS;
        edge.refresh.fed_ns = BEGIN_NS;
        uint64_t ms = STEP_MS;
        while (ms < NEVER_MS && !is_due(&edge, false, rows[index].rate_bps))
            ms += STEP_MS;
        assert_int_equal(ms, rows[index].due_ms);
        assert_int_equal(edge.refresh.next, BQL_REFRESH_NEEDED);
    }
}

/* For so long, samples with that least delay. */
static void sees(struct edge *edge, uint64_t lasts_ms, uint64_t owd_ms, bool lasts)
{
    for (uint64_t ms = 0; ms < lasts_ms; ms += STEP_MS) {
        edge->view.now_ns += STEP_NS;
        edge->path.now_ns = edge->view.now_ns;
        edge->view.newest_sent_ns = edge->view.now_ns;
        const struct congestion_sample sample = {
            .owd_known = true, .owd_ns = (int64_t)(owd_ms * NS_PER_MS), .now_ns = edge->view.now_ns};
        path_delay_on_sample(&edge->path.delay, sample.owd_ns, 100, edge->view.rtt_ns, NS_PER_MS,
                             edge->view.now_ns);
        bql_refresh_judge(&edge->refresh, &edge->path, &edge->view, &sample, lasts);
    }
}

static void refreshes(struct edge *edge, enum bql_refresh_why why, uint64_t before_ms, uint64_t least_ms)
{
    sees(edge, 2000, before_ms, false);
    edge->refresh.next = why;
    bql_refresh_begin(&edge->refresh, &edge->path, &edge->view, RATE_BPS);
    sees(edge, 200, least_ms, true);
    sees(edge, 50, before_ms, false);
    assert_int_equal(edge->refresh.start_ns, 0);
}

/* Two in a row that never saw less than that, above an empty path's 5 ms. */
static void refresh__two_that_never_saw_it_renew_the_base(void **state)
{
    (void)state;
    static const struct {
        enum bql_refresh_why why;
        uint64_t before_ms, least_ms;
        bool renews;
    } rows[] = {
        {BQL_REFRESH_NEEDED, 40, 30, true},
        {BQL_REFRESH_EARLY, 40, 30, false},  /* the others' queue does not end for one alone */
        {BQL_REFRESH_NEEDED, 40, 14, false}, /* within q* */
        {BQL_REFRESH_NEEDED, 90, 30, false}, /* its own, which takes longer to be gone */
    };
    for (size_t index = 0; index < sizeof(rows) / sizeof(rows[0]); index++) {
        struct edge edge;
        begin(&edge, 50);
        edge.refresh.seen_bps = RATE_BPS;
        sees(&edge, 100, 5, false);
        refreshes(&edge, rows[index].why, rows[index].before_ms, rows[index].least_ms);
        assert_int_equal(path_delay_empty_ns(&edge.path.delay), 5 * NS_PER_MS);
        refreshes(&edge, rows[index].why, rows[index].before_ms, rows[index].least_ms);
        assert_int_equal(path_delay_empty_ns(&edge.path.delay),
                         (rows[index].renews ? rows[index].least_ms : 5) * NS_PER_MS);
    }
}

/* The path steps from 5 to 35 ms, and a try sees no less than that. */
static struct bql_move tries_step(struct edge *edge, uint64_t rate_now_bps, uint64_t least_ms)
{
    sees(edge, 100, 35, false);
    edge->path.step.known = (struct path_known){RATE_BPS, RATE_BPS, NS_PER_MS};
    edge->refresh.next = BQL_REFRESH_STEP;
    assert_int_equal(bql_refresh_begin(&edge->refresh, &edge->path, &edge->view, rate_now_bps),
                     rate_now_bps / 2);
    /* One that opens meanwhile knows of half the rate. */
    edge->path.step.known = (struct path_known){rate_now_bps / 2, rate_now_bps / 2, NS_PER_MS};
    sees(edge, 200, least_ms, true);
    edge->view.newest_sent_ns = edge->refresh.end_ns;
    const struct congestion_sample sample = {.now_ns = edge->view.now_ns};
    return bql_refresh_judge(&edge->refresh, &edge->path, &edge->view, &sample, false);
}

/* One look is enough for a step: what stays of it is the path's, and the rate of before comes back. */
static void refresh__one_look_tells_a_step(void **state)
{
    (void)state;
    static const struct {
        uint64_t least_ms;
        bool longer;
    } rows[] = {
        {35, true}, {32, true}, {30, false}, /* more went than an edge keeps */
        {5, false},                          /* all of it */
        {60, true},                          /* the path is slower as well */
    };
    for (size_t index = 0; index < sizeof(rows) / sizeof(rows[0]); index++) {
        struct edge edge;
        begin(&edge, 50);
        sees(&edge, 100, 5, false);
        struct bql_move move = tries_step(&edge, RATE_BPS / 10 * 8, rows[index].least_ms);
        assert_int_equal(move.enters, rows[index].longer);
        assert_int_equal(move.rate_bps, rows[index].longer ? RATE_BPS : 0);
        assert_int_equal(path_delay_empty_ns(&edge.path.delay),
                         (rows[index].longer ? rows[index].least_ms : 5) * NS_PER_MS);
        /* One in vain is not followed by the next at once. */
        assert_int_equal(edge.path.step.rests_ns > edge.view.now_ns, !rows[index].longer);
        assert_false(edge.path.step.stepped);
    }
}

/* Where C showed others a step waits until it has shown none for 10 s. What C does once a step is open may be its own
 * doing, if it showed none for 2 s before; else the step is that of others, and none any more. */
static void refresh__tries_no_step_beside_others(void **state)
{
    (void)state;
    static const struct {
        uint64_t open_ms;
        uint64_t others_ms, again_ms; /* C shows others until then; and for half a second from then on */
        uint64_t due_ms;
    } rows[] = {
        {0, 0, NEVER_MS, 10020},      {3000, 2000, NEVER_MS, 12000}, {15000, 3000, NEVER_MS, 15000},
        {3900, 2000, 4000, NEVER_MS}, {4100, 2000, 4200, 12000},     {5100, 0, 8000, 10020},
        {1000, 0, 2000, 10020},
    };
    for (size_t index = 0; index < sizeof(rows) / sizeof(rows[0]); index++) {
        struct edge edge;
        begin(&edge, 50);
        uint64_t ms = 0;
        while (ms < NEVER_MS && edge.refresh.next != BQL_REFRESH_STEP) {
            ms += STEP_MS;
            edge.path.step.stepped |= ms == MAX(rows[index].open_ms, STEP_MS);
            if (edge.path.step.stepped && edge.path.step.since_ns == 0)
                edge.path.step.since_ns = edge.view.now_ns;
            if (ms == rows[index].others_ms || ms == rows[index].again_ms + 500)
                edge.path.delay.base_seen_ns = edge.view.now_ns + STEP_NS;
            bool again = ms >= rows[index].again_ms && ms < rows[index].again_ms + 500;
            is_due(&edge, ms < rows[index].others_ms || again, RATE_BPS);
        }
        assert_in_range(ms, rows[index].due_ms, rows[index].due_ms + 2 * STEP_MS);
        assert_int_equal(edge.path.step.stepped, rows[index].due_ms < NEVER_MS);
    }
}

/* Among senders that fill the buffer what a try saw is their queue. */
static void refresh__has_no_verdict_on_a_step_beside_others(void **state)
{
    (void)state;
    for (int contested = 0; contested < 2; contested++) {
        struct edge edge;
        begin(&edge, 50);
        sees(&edge, 100, 5, false);
        sees(&edge, 100, 35, false);
        edge.path.step.known = (struct path_known){RATE_BPS, RATE_BPS, NS_PER_MS};
        edge.refresh.next = BQL_REFRESH_STEP;
        bql_refresh_begin(&edge.refresh, &edge.path, &edge.view, RATE_BPS);
        sees(&edge, 200, 35, true);
        if (contested)
            bql_refresh_on_contest(&edge.refresh, &edge.path);
        sees(&edge, 100, 35, false);
        assert_int_equal(path_delay_empty_ns(&edge.path.delay), (contested ? 5 : 35) * NS_PER_MS);
    }
}

/* Half the rate; a doubt alone asks for so much less that the queue and what is doubted run dry within the round trip. */
static void refresh__halves_the_rate_but_for_a_doubt(void **state)
{
    (void)state;
    static const struct {
        enum bql_refresh_why why;
        uint64_t rtt_ms, queue_ms;
        uint64_t rate_mbps;
    } rows[] = {
        {BQL_REFRESH_NEEDED, 100, 5, 250}, {BQL_REFRESH_EARLY, 100, 5, 250},
        {BQL_REFRESH_CHANCE, 100, 5, 250}, {BQL_REFRESH_DOUBT, 100, 5, 425}, /* 5 + 2.5 ms of 50 */
        {BQL_REFRESH_DOUBT, 100, 50, 250}, /* it takes all of the round trip */
    };
    for (size_t index = 0; index < sizeof(rows) / sizeof(rows[0]); index++) {
        struct edge edge;
        begin(&edge, rows[index].rtt_ms);
        edge.path.now_ns = BEGIN_NS;
        edge.view.queue_ns = rows[index].queue_ms * NS_PER_MS;
        edge.view.predicted_ns = edge.view.queue_ns;
        edge.refresh.next = rows[index].why;
        assert_int_equal(bql_refresh_begin(&edge.refresh, &edge.path, &edge.view, RATE_BPS),
                         rows[index].rate_mbps * 1000000);
    }
}

/* Half the rate is an experiment, which takes no more than two windows of the law of liveness (edge/liveness.h), and the
 * rate of before follows. */
static void refresh__lasts_two_windows_at_most(void **state)
{
    (void)state;
    static const struct {
        uint64_t rtt_ms, rate_bps;
    } rows[] = {{1, 10000000000}, {1, 1000000},    {1, 64000},        {50, 500000000},
                {300, 64000},     {1200, 2000000}, {1200, 1000000000}};
    for (size_t index = 0; index < sizeof(rows) / sizeof(rows[0]); index++) {
        struct edge edge;
        uint64_t rtt_ns = rows[index].rtt_ms * NS_PER_MS;
        begin(&edge, rows[index].rtt_ms);
        edge.path.now_ns = BEGIN_NS;
        edge.path.capacity_bps = rows[index].rate_bps;
        edge.refresh.next = BQL_REFRESH_NEEDED;
        bql_refresh_begin(&edge.refresh, &edge.path, &edge.view, rows[index].rate_bps);
        uint64_t packets_ns = transmit_ns(32 * edge.path.packet_bytes, rows[index].rate_bps);
        uint64_t window_ns = MAX(8 * rtt_ns, packets_ns);
        window_ns = MAX(window_ns, 100 * NS_PER_MS);
        edge.view.now_ns = BEGIN_NS + 2 * window_ns;
        struct bql_move move = bql_refresh_step(&edge.refresh, &edge.path, &edge.view);
        assert_true(move.enters);
        assert_int_equal(move.rate_bps, rows[index].rate_bps);
    }
}

/* Where the path has no jitter C moves by others alone: a tenth says so; else a quarter does. */
static void refresh__takes_what_c_moves_by_for_others(void **state)
{
    (void)state;
    static const struct {
        uint64_t jitter_ns, percent; /* of C that is left */
        bool others;
    } rows[] = {{0, 91, false},
                {0, 89, true},
                {4 * NS_PER_MS, 89, false},
                {4 * NS_PER_MS, 76, false},
                {4 * NS_PER_MS, 74, true}};
    for (size_t index = 0; index < sizeof(rows) / sizeof(rows[0]); index++) {
        struct edge edge;
        begin(&edge, 50);
        edge.path.delay.jump_ns = rows[index].jitter_ns;
        for (uint64_t ms = 0; ms < 1000; ms += STEP_MS) {
            is_due(&edge, false, RATE_BPS);
            edge.path.capacity_bps = RATE_BPS / 100 * rows[index].percent;
            bql_refresh_due(&edge.refresh, &edge.path, &edge.rounds, &edge.view, RATE_BPS);
        }
        assert_int_equal(edge.refresh.crowd_ns > 0, rows[index].others);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refresh__is_due_by_time_and_among_others_sooner),
        cmocka_unit_test(refresh__is_due_where_the_base_is_questionable),
        cmocka_unit_test(refresh__two_that_never_saw_it_renew_the_base),
        cmocka_unit_test(refresh__one_look_tells_a_step),
        cmocka_unit_test(refresh__tries_no_step_beside_others),
        cmocka_unit_test(refresh__takes_what_c_moves_by_for_others),
        cmocka_unit_test(refresh__has_no_verdict_on_a_step_beside_others),
        cmocka_unit_test(refresh__halves_the_rate_but_for_a_doubt),
        cmocka_unit_test(refresh__lasts_two_windows_at_most),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
