/* Strategies by name, and the one that does nothing; the others are in bql_test.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/units.h"
#include "edge/congestion.h"

#define MS     NS_PER_MS
#define RTT_NS (100 * MS)
#define MBIT   1000000ULL

static void congestion__found_by_name(void **state)
{
    (void)state;
    assert_ptr_equal(congestion_find("fixed"), &congestion_fixed_type);
    assert_ptr_equal(congestion_find("bql"), &congestion_bql_type);
    assert_ptr_equal(congestion_find("scavenger"), &congestion_scavenger_type);
    assert_null(congestion_find("delay"));
    assert_null(congestion_find("reno"));
}

static void fixed__never_changes_its_rate(void **state)
{
    (void)state;
    const struct congestion_type *type = &congestion_fixed_type;
    struct congestion congestion = {.type = type, .packet_bytes = 1538};
    type->init(&congestion, 2000 * MBIT, true, RTT_NS, 0);
    for (uint64_t rtt_ns = RTT_NS; rtt_ns <= 5 * RTT_NS; rtt_ns += RTT_NS) {
        const struct congestion_sample sample = {.now_ns = 10 * rtt_ns,
                                                 .rtt_ns = rtt_ns,
                                                 .rtt_min_ns = RTT_NS,
                                                 .rtt_smoothed_ns = rtt_ns,
                                                 .lost_packets = 1,
                                                 .limited = EDGE_LIMIT_congestion};
        type->on_ack(&congestion, &sample);
        type->on_timeout(&congestion, 10 * rtt_ns);
        assert_int_equal(congestion.rate_bps, 2000 * MBIT);
        assert_int_equal(congestion.in_flight_max_bytes, 2 * bytes_within(2000 * MBIT, rtt_ns + 50 * MS));
    }
}

/* 100 Mbit/s all the time but while the sender stood still for two round trips; a little queue then. */
static void scavenger__a_sender_that_stood_still_is_no_slow_path(void **state)
{
    (void)state;
    const struct congestion_type *type = &congestion_scavenger_type;
    struct congestion congestion = {.type = type, .packet_bytes = 1250};
    type->init(&congestion, 1600 * MBIT, true, RTT_NS, MS);
    for (uint64_t turn = 1; turn <= 800; turn++) {
        bool later = turn > 400;
        uint64_t now_ns = turn * MS + (turn >= 450 ? 2 * RTT_NS : 0);
        const struct congestion_sample sample = {.now_ns = now_ns,
                                                 .rtt_ns = RTT_NS,
                                                 .rtt_min_ns = RTT_NS,
                                                 .rtt_smoothed_ns = RTT_NS,
                                                 .owd_ns = later ? 51 * (int64_t)MS : 50 * (int64_t)MS,
                                                 .owd_known = true,
                                                 .hole_ns = turn == 450 ? 2 * RTT_NS : 0,
                                                 .delivered_bytes = turn * 12500,
                                                 .delivered_ns = now_ns,
                                                 .acked_bytes = 12500,
                                                 .acked_packets = 10,
                                                 .newest_sent_ns = elapsed_ns(now_ns, RTT_NS),
                                                 .limited = later ? EDGE_LIMIT_congestion : EDGE_LIMIT_cap};
        type->on_ack(&congestion, &sample);
        assert_in_range(congestion.rate_bps, 96 * MBIT, 100 * MBIT);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(congestion__found_by_name),
        cmocka_unit_test(fixed__never_changes_its_rate),
        cmocka_unit_test(scavenger__a_sender_that_stood_still_is_no_slow_path),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
