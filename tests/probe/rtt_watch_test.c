#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/units.h"
#include "probe/rtt_watch.h"

#define INTERVAL_NS NS_PER_S

/* Sends the probe that is due and answers it after rtt_ns, 3 ms of them spent in the peer. */
static bool ask(struct rtt_watch *watch, uint64_t now_ns, uint64_t rtt_ns, struct wire_probe *reply)
{
    if (!rtt_watch_next(watch, INTERVAL_NS, now_ns, reply))
        return false;
    reply->t2_ns = 77;
    reply->t3_ns = reply->t2_ns + 3 * NS_PER_MS;
    return rtt_watch_on_reply(watch, reply, WIRE_PROBE_BYTES, now_ns + rtt_ns + 3 * NS_PER_MS);
}

static void rtt_watch_next__one_per_interval(void **state)
{
    (void)state;
    struct rtt_watch watch = {0};
    struct wire_probe probe;
    unsigned sent = 0;
    for (uint64_t now_ns = 0; now_ns < 10 * NS_PER_S; now_ns += NS_PER_MS)
        sent += rtt_watch_next(&watch, INTERVAL_NS, now_ns, &probe);
    assert_int_equal(sent, 10);
    assert_int_equal(watch.next_ns, 10 * NS_PER_S);
    assert_int_equal(rtt_watch_min_ns(&watch), 0);
    assert_false(rtt_watch_fresh(&watch, TIME_NEVER, 0));
}

/* A lower RTT counts at once, a higher one when the windows that knew the lower are over. */
static void rtt_watch_min__forgets_after_two_windows(void **state)
{
    (void)state;
    struct rtt_watch watch = {0};
    struct wire_probe reply;
    uint64_t now_ns = 100 * NS_PER_S;
    for (int second = 0; second < 10; second++, now_ns += NS_PER_S)
        assert_true(ask(&watch, now_ns, 50 * NS_PER_MS, &reply));
    assert_true(ask(&watch, now_ns, 40 * NS_PER_MS, &reply));
    assert_int_equal(rtt_watch_min_ns(&watch), 40 * NS_PER_MS);
    unsigned seconds = 0;
    do {
        now_ns += NS_PER_S;
        assert_true(ask(&watch, now_ns, 90 * NS_PER_MS, &reply));
        seconds++;
    } while (rtt_watch_min_ns(&watch) == 40 * NS_PER_MS && seconds < 100);
    assert_in_range(seconds, 10, 21);
    assert_int_equal(rtt_watch_min_ns(&watch), 90 * NS_PER_MS);
    /* After a long silence nothing old is left. */
    now_ns += 100 * NS_PER_S;
    assert_true(ask(&watch, now_ns, 120 * NS_PER_MS, &reply));
    assert_int_equal(rtt_watch_min_ns(&watch), 120 * NS_PER_MS);
}

static void rtt_watch_fresh__by_the_newest_sample(void **state)
{
    (void)state;
    struct rtt_watch watch = {0};
    struct wire_probe reply;
    assert_true(ask(&watch, NS_PER_S, 50 * NS_PER_MS, &reply));
    uint64_t came_ns = NS_PER_S + 53 * NS_PER_MS;
    assert_true(rtt_watch_fresh(&watch, 5 * NS_PER_S, came_ns + 5 * NS_PER_S));
    assert_false(rtt_watch_fresh(&watch, 5 * NS_PER_S, came_ns + 5 * NS_PER_S + 1));
}

static void rtt_watch_on_reply__refuses(void **state)
{
    (void)state;
    struct rtt_watch watch = {0};
    struct wire_probe first, reply;
    assert_true(rtt_watch_next(&watch, INTERVAL_NS, 0, &first));
    uint64_t t4_ns = 50 * NS_PER_MS;
    reply = first;
    reply.id &= ~RTT_WATCH_ID_BIT; /* that is an id of rtt_probe */
    assert_false(rtt_watch_on_reply(&watch, &reply, WIRE_PROBE_BYTES, t4_ns));
    reply = first;
    reply.id++; /* never sent */
    assert_false(rtt_watch_on_reply(&watch, &reply, WIRE_PROBE_BYTES, t4_ns));
    assert_false(rtt_watch_on_reply(&watch, &first, WIRE_PROBE_BYTES + 1, t4_ns));
    reply = first;
    reply.t3_ns = 60 * NS_PER_MS; /* longer in the peer than on the way */
    assert_false(rtt_watch_on_reply(&watch, &reply, WIRE_PROBE_BYTES, t4_ns));
    reply.t2_ns = 70 * NS_PER_MS;
    assert_false(rtt_watch_on_reply(&watch, &reply, WIRE_PROBE_BYTES, t4_ns));
    assert_true(rtt_watch_on_reply(&watch, &first, WIRE_PROBE_BYTES, t4_ns));
    assert_false(rtt_watch_on_reply(&watch, &first, WIRE_PROBE_BYTES, t4_ns));
    for (uint64_t second = 1; second <= RTT_WATCH_OUTSTANDING + 1; second++) {
        struct wire_probe probe;
        assert_true(rtt_watch_next(&watch, INTERVAL_NS, second * NS_PER_S, &probe));
        if (second == 1)
            first = probe;
    }
    assert_false(rtt_watch_on_reply(&watch, &first, WIRE_PROBE_BYTES, 20 * NS_PER_S));
    assert_int_equal(rtt_watch_min_ns(&watch), 50 * NS_PER_MS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rtt_watch_next__one_per_interval),
        cmocka_unit_test(rtt_watch_min__forgets_after_two_windows),
        cmocka_unit_test(rtt_watch_fresh__by_the_newest_sample),
        cmocka_unit_test(rtt_watch_on_reply__refuses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
