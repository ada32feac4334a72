/* Trains that a host spoilt, and the next one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/units.h"
#include "edge/bql/train.h"

#define RTT_NS       (60 * NS_PER_MS)
#define PACKET_BYTES 1538ULL

/* An ack: so many packets came in all, so many are under way; how long packets stood at the receiver, how much longer the
 * newest was under way than the quickest. */
struct ack {
    uint32_t packets, after;
    uint64_t at_ms, wait_us, spread_us;
};

static struct bql_train_verdict hear(struct bql_train *train, const struct ack *ack)
{
    const struct bql_path path = {
        .packet_bytes = PACKET_BYTES, .rtt_ns = RTT_NS, .now_ns = ack->at_ms * NS_PER_MS};
    const struct congestion_sample sample = {.now_ns = ack->at_ms * NS_PER_MS,
                                             .rtt_ns = RTT_NS + ack->spread_us * NS_PER_US,
                                             .delivered_bytes = ack->packets * PACKET_BYTES,
                                             .delivered_ns = (ack->at_ms - 30) * NS_PER_MS,
                                             .after_bytes = ack->after * PACKET_BYTES,
                                             .wait_ns = ack->wait_us * NS_PER_US,
                                             .spread_ns = ack->spread_us * NS_PER_US};
    return bql_train_on_sample(train, &path, &sample);
}

/* The receiver stood still for 5 ms: 16 packets of the first train came at once, then its last four. */
static void train__is_whole_after_a_spoilt_one(void **state)
{
    (void)state;
    struct bql_train train = {.rtt_ns = RTT_NS};
    assert_false(hear(&train, &(struct ack){16, 4, 60, 5000, 19}).known);
    assert_true(train.clears); /* nothing leaves as these acks come … */
    assert_false(hear(&train, &(struct ack){18, 2, 65, 0, 3}).known);
    assert_true(train.clears);
    assert_false(hear(&train, &(struct ack){20, 0, 85, 0, 3}).known);
    assert_false(train.clears); /* … until all have come */
    struct bql_train_verdict verdict = hear(&train, &(struct ack){36, 4, 145, 0, 184});
    assert_true(verdict.known && verdict.tells && !verdict.slow);
    assert_in_range(verdict.spread_bps, 1000000000, 1100000000);
}

/* Of the second train an ack tells of the first packet alone, and one 8 ms later of all others. */
static void train__an_ack_of_most_packets_tells_by_itself(void **state)
{
    (void)state;
    struct bql_train train = {.rtt_ns = RTT_NS};
    assert_false(hear(&train, &(struct ack){20, 0, 60, 5000, 19}).known);
    assert_false(train.clears);
    assert_false(hear(&train, &(struct ack){21, 19, 120, 0, 0}).known);
    struct bql_train_verdict verdict = hear(&train, &(struct ack){40, 0, 128, 0, 218});
    assert_true(verdict.known);
    assert_in_range(verdict.spread_bps, 1000000000, 1100000000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(train__is_whole_after_a_spoilt_one),
        cmocka_unit_test(train__an_ack_of_most_packets_tells_by_itself),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
