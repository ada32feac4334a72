/* Whether others have what an edge gives way to. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/units.h"
#include "edge/bql/compete.h"

#define BEGIN_NS (100 * NS_PER_S)
#define STEP_NS  (10 * NS_PER_MS)
#define MOST_BPS 500000000ULL /* q* of it is 3.5 ms */
#define NEVER_MS 99999ULL

/* What the edge has, of late at most MOST_BPS, and the queue that it sees. */
struct beside {
    struct bql_path path;
    struct bql_contest contest;
    struct bql_view view;
};

static void has(struct beside *beside, uint64_t own_bps)
{
    beside->path.delivered_bps = own_bps;
    const struct congestion_sample sample = {.own_rate_bps = own_bps, .now_ns = beside->view.now_ns};
    bql_contest_on_sample(&beside->contest, &beside->path, &sample);
}

static void begin(struct beside *beside, uint64_t rtt_ms, uint64_t target_ms)
{
    *beside = (struct beside){.view = {.now_ns = BEGIN_NS, .rtt_ns = rtt_ms * NS_PER_MS}};
    beside->view.target_ns = target_ms * NS_PER_MS;
    beside->view.usual_target_ns = target_ms * NS_PER_MS;
    bql_path_init(&beside->path, 1538, rtt_ms * NS_PER_MS, true, BEGIN_NS);
    has(beside, MOST_BPS);
    assert_false(bql_contest_found(&beside->contest, &beside->path, &beside->view));
}

/* For so long it has so much, under that queue; when it is a contest, or NEVER_MS. */
static uint64_t found_ms(struct beside *beside, uint64_t lasts_ms, uint64_t own_mbps, uint64_t queue_ms)
{
    uint64_t from_ns = beside->view.now_ns;
    beside->view.queue_ns = queue_ms * NS_PER_MS;
    while (beside->view.now_ns < from_ns + lasts_ms * NS_PER_MS) {
        beside->view.now_ns += STEP_NS;
        has(beside, own_mbps * 1000000);
        if (bql_contest_found(&beside->contest, &beside->path, &beside->view))
            return (beside->view.now_ns - from_ns) / NS_PER_MS;
    }
    return NEVER_MS;
}

static void contest__is_a_long_queue_that_stays_while_the_edge_has_less(void **state)
{
    (void)state;
    static const struct {
        uint64_t rtt_ms, target_ms, own_mbps, queue_ms;
        uint64_t least_ms, most_ms;
    } rows[] = {
        {50, 4, 420, 60, 1500, 1550},         /* max(1.5 s … */
        {200, 4, 420, 60, 3000, 3050},        /* … 15 RTT) */
        {50, 4, 430, 60, NEVER_MS, NEVER_MS}, /* 86 % of the most of late */
        {50, 4, 400, 11, 1500, 1550},         /* 2.5 q* … */
        {50, 4, 400, 9, NEVER_MS, NEVER_MS},
        {50, 20, 400, 31, 1500, 1550}, /* … or 30 ms, if that is less */
        {50, 20, 400, 29, NEVER_MS, NEVER_MS},
    };
    for (size_t index = 0; index < sizeof(rows) / sizeof(rows[0]); index++) {
        struct beside beside;
        begin(&beside, rows[index].rtt_ms, rows[index].target_ms);
        assert_in_range(found_ms(&beside, 9000, rows[index].own_mbps, rows[index].queue_ms),
                        rows[index].least_ms, rows[index].most_ms);
    }
}

/* Newcomers take a queue for packets that wait for their predecessors, where jitter keeps the order, and fill the buffer
 * for a second or two until they know better. */
static void contest__waits_for_newcomers_where_order_is_kept(void **state)
{
    (void)state;
    static const struct {
        uint64_t rtt_ms;
        uint64_t jump_ms; /* of packets that are 1 ms apart: they wait for a quarter of its square */
        uint64_t least_ms, most_ms;
    } rows[] = {{50, 8, 4500, 4550}, {200, 8, 9000, 9050}, {50, 7, 1500, 1550}};
    for (size_t index = 0; index < sizeof(rows) / sizeof(rows[0]); index++) {
        struct beside beside;
        begin(&beside, rows[index].rtt_ms, 4);
        beside.path.kept_jitter_ns = NS_PER_MS;
        path_wait_on_jump(&beside.path.wait, rows[index].jump_ms * NS_PER_MS, NS_PER_MS, BEGIN_NS);
        assert_in_range(found_ms(&beside, 20000, 400, 60), rows[index].least_ms, rows[index].most_ms);
    }
}

/* While the queue gets shorter, or the edge has less and less, giving way may be all that it takes. */
static void contest__begins_anew_where_something_changes(void **state)
{
    (void)state;
    static const struct {
        uint64_t own_mbps, queue_ms; /* after a second of 400 Mbit/s at 60 ms */
        uint64_t least_ms, most_ms;
    } rows[] = {
        {400, 60, 500, 550},   {400, 52, 500, 550}, /* the queue shakes */
        {400, 50, 1500, 1550}, {330, 60, 500, 550}, /* so does its share */
        {310, 60, 1500, 1550},
    };
    for (size_t index = 0; index < sizeof(rows) / sizeof(rows[0]); index++) {
        struct beside beside;
        begin(&beside, 50, 4);
        assert_int_equal(found_ms(&beside, 1000, 400, 60), NEVER_MS);
        assert_in_range(found_ms(&beside, 9000, rows[index].own_mbps, rows[index].queue_ms),
                        rows[index].least_ms, rows[index].most_ms);
    }
}

/* What it had a minute ago is no more what it could have. */
static void contest__forgets_what_it_had(void **state)
{
    (void)state;
    static const struct {
        uint64_t ago_ms;
        bool found;
    } rows[] = {{20000, true}, {70000, false}};
    for (size_t index = 0; index < sizeof(rows) / sizeof(rows[0]); index++) {
        struct beside beside;
        begin(&beside, 50, 4);
        assert_int_equal(found_ms(&beside, rows[index].ago_ms, 400, 0), NEVER_MS);
        assert_int_equal(found_ms(&beside, 5000, 400, 60) != NEVER_MS, rows[index].found);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(contest__is_a_long_queue_that_stays_while_the_edge_has_less),
        cmocka_unit_test(contest__waits_for_newcomers_where_order_is_kept),
        cmocka_unit_test(contest__begins_anew_where_something_changes),
        cmocka_unit_test(contest__forgets_what_it_had),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
