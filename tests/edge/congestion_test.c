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
                                                 .lost_bytes = 1538,
                                                 .lost_packets = 1,
                                                 .limited = EDGE_LIMIT_congestion};
        type->on_ack(&congestion, &sample);
        type->on_timeout(&congestion, 10 * rtt_ns);
        assert_int_equal(congestion.rate_bps, 2000 * MBIT);
        assert_int_equal(congestion.in_flight_max_bytes, 2 * bytes_within(2000 * MBIT, rtt_ns + 50 * MS));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(congestion__found_by_name),
        cmocka_unit_test(fixed__never_changes_its_rate),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
