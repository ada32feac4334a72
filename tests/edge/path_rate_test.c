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
        bool taken = path_rate_on_delivered(&rate, bytes, now_ns, behind ? 8 * NS_PER_MS : 0, RTT_NS);
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
        taken += path_rate_on_delivered(&rate, bytes_at(now_ns), now_ns, 5 * NS_PER_MS, RTT_NS);
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
            path_rate_on_delivered(&rate, bytes, now_ns, 0, RTT_NS);
            usual_bps = path_rate_over(&rate, RTT_NS, 0);
            if (now_ns > 100 * NS_PER_MS)
                assert_in_range(usual_bps, RATE_BPS - RATE_BPS / 20, RATE_BPS + RATE_BPS / 20);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(path_rate__counts_that_are_behind),
        cmocka_unit_test(path_rate__nothing_but_unsure_points),
        cmocka_unit_test(path_rate__holes_do_not_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
