/* Delivery rates where a host stands still: points of a receiver that is behind, holes of a sender. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/units.h"
#include "edge/path_rate.h"

#define RTT_NS   (64 * NS_PER_MS)
#define RATE_BPS (800 * 1000 * 1000ULL) /* 100 bytes a us */

static uint64_t bytes_at(uint64_t now_ns)
{
    return now_ns / 10;
}

/* Each 40 ms the receiver stands still for 8 ms; the first ack after it has counted only a little of what came. */
static void path_rate__counts_that_are_behind(void **state)
{
    (void)state;
    struct path_rate rate;
    path_rate_init(&rate);
    for (uint64_t now_ns = NS_PER_MS; now_ns < NS_PER_S; now_ns += 2 * NS_PER_MS) {
        uint64_t phase_ns = now_ns % (40 * NS_PER_MS);
        if (phase_ns < 8 * NS_PER_MS)
            continue;
        bool behind = phase_ns < 10 * NS_PER_MS;
        uint64_t bytes = behind ? bytes_at(now_ns - 7 * NS_PER_MS) : bytes_at(now_ns);
        bool taken = path_rate_on_delivered(&rate, bytes, now_ns, behind ? 8 * NS_PER_MS : 0, RTT_NS, 0);
        assert_int_equal(taken, !behind || now_ns < 10 * NS_PER_MS);
        if (now_ns > 100 * NS_PER_MS)
            assert_in_range(path_rate_over(&rate, RTT_NS, 0), RATE_BPS - RATE_BPS / 100,
                            RATE_BPS + RATE_BPS / 100);
    }
}

/* Where all points are unsure they are better than none, half a round trip apart. */
static void path_rate__nothing_but_unsure_points(void **state)
{
    (void)state;
    struct path_rate rate;
    uint32_t taken = 0;
    path_rate_init(&rate);
    for (uint64_t now_ns = NS_PER_MS; now_ns < NS_PER_S; now_ns += 5 * NS_PER_MS)
        taken += path_rate_on_delivered(&rate, bytes_at(now_ns), now_ns, 5 * NS_PER_MS, RTT_NS, 0);
    assert_in_range(taken, 25, 31);
    assert_in_range(path_rate_over(&rate, RTT_NS, 0), RATE_BPS - RATE_BPS / 100, RATE_BPS + RATE_BPS / 100);
}

/* A sender that is away for a third of the time: the rate is that of the time in between, whatever the queue hid. */
static void path_rate__holes_do_not_count(void **state)
{
    (void)state;
    static const uint64_t hidden_ns[] = {0, 3 * NS_PER_MS, 20 * NS_PER_MS};
    for (size_t row = 0; row < 3; row++) {
        struct path_rate rate;
        uint64_t bytes = 0, usual_bps = 0;
        path_rate_init(&rate);
        for (uint64_t now_ns = NS_PER_MS; now_ns < NS_PER_S; now_ns += 2 * NS_PER_MS) {
            uint64_t phase_ns = now_ns % (60 * NS_PER_MS);
            if (phase_ns >= hidden_ns[row] && phase_ns < 20 * NS_PER_MS)
                continue;
            bytes += bytes_at(2 * NS_PER_MS);
            if (phase_ns >= 20 * NS_PER_MS && phase_ns < 22 * NS_PER_MS)
                path_rate_skip(&rate, bytes, now_ns, 20 * NS_PER_MS, usual_bps);
            path_rate_on_delivered(&rate, bytes, now_ns, 0, RTT_NS, usual_bps);
            usual_bps = path_rate_over(&rate, RTT_NS, 0);
            if (now_ns > 100 * NS_PER_MS)
                assert_in_range(usual_bps, RATE_BPS - RATE_BPS / 20, RATE_BPS + RATE_BPS / 20);
        }
    }
}

/* Each 300 ms the receiver stands still for 50 ms, and its ring holds what comes in 3 ms: what it counts right after tells
 * nothing of the path, but that less gets through in all the other time does. A host that is late all the time, by as much
 * as its turns last, stands nowhere. */
static void path_rate__what_a_ring_loses_is_not_the_paths(void **state)
{
    (void)state;
    static const struct {
        uint64_t stands_ns, turn_ns;
    } rows[] = {
        {50 * NS_PER_MS, 50 * NS_PER_US}, {50 * NS_PER_MS, NS_PER_MS}, {0, NS_PER_MS}, {0, 3 * NS_PER_MS}};
    for (size_t row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
        struct path_rate rate;
        uint64_t bytes = 0, usual_bps = 0, looked_ns = 0, rtt_ns = NS_PER_MS / 2;
        path_rate_init(&rate);
        for (uint64_t now_ns = NS_PER_MS; now_ns < 4 * NS_PER_S; now_ns += rows[row].turn_ns) {
            uint64_t speed = now_ns < 2 * NS_PER_S ? 1 : 2; /* from then on the path takes half */
            uint64_t away_ns = now_ns - looked_ns;
            if (now_ns % (300 * NS_PER_MS) < rows[row].stands_ns)
                continue;
            bytes += bytes_at(MIN(away_ns, 3 * NS_PER_MS)) / speed;
            path_rate_on_delivered(&rate, bytes, now_ns, away_ns, rtt_ns, usual_bps);
            usual_bps = path_rate_over(&rate, rtt_ns, 0);
            looked_ns = now_ns;
            bool settled = now_ns % (2 * NS_PER_S) > 500 * NS_PER_MS;
            if (settled)
                assert_in_range(usual_bps, RATE_BPS / speed / 100 * 95, RATE_BPS / speed / 100 * 105);
        }
    }
}

/* A count that makes no point, as a sender's hole may lie in front of it, still tells that the receiver stood still. */
static void path_rate__a_standstill_told_without_a_point(void **state)
{
    (void)state;
    struct path_rate rate;
    path_rate_init(&rate);
    for (uint64_t now_ns = NS_PER_MS; now_ns <= 100 * NS_PER_MS; now_ns += NS_PER_MS / 10)
        path_rate_on_delivered(&rate, bytes_at(now_ns), now_ns, 0, NS_PER_MS, RATE_BPS);
    uint64_t after_ns = 130 * NS_PER_MS, held = bytes_at(3 * NS_PER_MS);
    path_rate_on_wait(&rate, 30 * NS_PER_MS);
    assert_true(
        path_rate_on_delivered(&rate, bytes_at(100 * NS_PER_MS) + held, after_ns, 0, NS_PER_MS, RATE_BPS));
    assert_in_range(path_rate_over(&rate, NS_PER_MS, 0), RATE_BPS - RATE_BPS / 30, RATE_BPS + RATE_BPS / 100);
}

/* Whatever it says that it stood still for, each quarter of a second makes a point, and a path that takes less shows. */
static void path_rate__a_host_that_never_catches_up(void **state)
{
    (void)state;
    struct path_rate rate;
    uint64_t bytes = 0, usual_bps = 0;
    uint32_t taken = 0;
    path_rate_init(&rate);
    for (uint64_t now_ns = NS_PER_MS; now_ns <= 60 * NS_PER_S; now_ns += NS_PER_MS) {
        bytes += bytes_at(NS_PER_MS) / (now_ns < 20 * NS_PER_S ? 1 : 4);
        taken += path_rate_on_delivered(&rate, bytes, now_ns, now_ns, NS_PER_MS, usual_bps);
        usual_bps = path_rate_over(&rate, NS_PER_MS, 0);
    }
    assert_in_range(taken, 200, 241);
    assert_in_range(usual_bps, RATE_BPS / 4 - RATE_BPS / 40, RATE_BPS / 4 + RATE_BPS / 40);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(path_rate__counts_that_are_behind),
        cmocka_unit_test(path_rate__nothing_but_unsure_points),
        cmocka_unit_test(path_rate__holes_do_not_count),
        cmocka_unit_test(path_rate__what_a_ring_loses_is_not_the_paths),
        cmocka_unit_test(path_rate__a_standstill_told_without_a_point),
        cmocka_unit_test(path_rate__a_host_that_never_catches_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
