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
 * newest was under way than the quickest; the newest left so long after the oldest that was open; so many are lost. */
struct ack {
    uint32_t packets, after;
    uint64_t at_ms, wait_us, spread_us, departs_ms;
    uint32_t lost;
};

/* The train's RTT is that of the path. */
static struct bql_train_verdict hear(struct bql_train *train, const struct ack *ack)
{
    const struct bql_path path = {
        .packet_bytes = PACKET_BYTES, .rtt_ns = train->rtt_ns, .now_ns = ack->at_ms * NS_PER_MS};
    const struct congestion_sample sample = {.now_ns = ack->at_ms * NS_PER_MS,
                                             .rtt_ns = train->rtt_ns + ack->spread_us * NS_PER_US,
                                             .delivered_bytes = ack->packets * PACKET_BYTES,
                                             .delivered_ns = ack->at_ms * NS_PER_MS - train->rtt_ns / 2,
                                             .newest_sent_ns = ack->departs_ms * NS_PER_MS,
                                             .lost_packets = ack->lost,
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
    assert_false(hear(&train, &(struct ack){16, 4, 60, 5000, 19, 0, 0}).known);
    assert_true(train.clears); /* nothing leaves as these acks come … */
    assert_false(hear(&train, &(struct ack){18, 2, 65, 0, 3, 0, 0}).known);
    assert_true(train.clears);
    assert_false(hear(&train, &(struct ack){20, 0, 85, 0, 3, 0, 0}).known);
    assert_false(train.clears); /* … until all have come */
    struct bql_train_verdict verdict = hear(&train, &(struct ack){36, 4, 145, 0, 184, 0, 0});
    assert_true(verdict.known && verdict.tells && !verdict.slow);
    assert_in_range(verdict.spread_bps, 1000000000, 1100000000);
}

/* Of the second train an ack tells of the first packet alone, and one 8 ms later of all others. */
static void train__an_ack_of_most_packets_tells_by_itself(void **state)
{
    (void)state;
    struct bql_train train = {.rtt_ns = RTT_NS};
    assert_false(hear(&train, &(struct ack){20, 0, 60, 5000, 19, 0, 0}).known);
    assert_false(train.clears);
    assert_false(hear(&train, &(struct ack){21, 19, 120, 0, 0, 0, 0}).known);
    struct bql_train_verdict verdict = hear(&train, &(struct ack){40, 0, 128, 0, 218, 0, 0});
    assert_true(verdict.known);
    assert_in_range(verdict.spread_bps, 1000000000, 1100000000);
}

/* An ack tells of the first packets, the next is lost, and one of repairs tells of all others, which on a short path come
 * sooner than what tells of tail probes. Taken for the train's dispersion that made a path of 9 Gbit/s one of 17 Mbit/s.
 * Where a small buffer lost most of the train the path is slow: one of 5 Mbit/s lost 31 % in its first two seconds. */
static void train__repairs_are_none_of_it(void **state)
{
    (void)state;
    static const struct {
        uint64_t rtt_ms, departs_ms;
        uint32_t lost;
        bool known, tells;
    } rows[] = {{12, 5, 2, true, true},    {12, 7, 2, true, false}, {12, 13, 2, true, false},
                {3, 2, 2, true, true},     {60, 24, 2, true, true}, {60, 26, 2, false, false},
                {12, 13, 10, true, false}, {12, 13, 11, true, true}};
    for (size_t index = 0; index < sizeof(rows) / sizeof(rows[0]); index++) {
        struct bql_train train = {.rtt_ns = rows[index].rtt_ms * NS_PER_MS};
        assert_false(hear(&train, &(struct ack){6, 14, rows[index].rtt_ms, 0, 5, 0, 0}).known);
        struct ack late = {18,
                           0,
                           rows[index].rtt_ms + rows[index].departs_ms,
                           0,
                           20,
                           rows[index].departs_ms,
                           rows[index].lost};
        struct bql_train_verdict verdict = hear(&train, &late);
        assert_int_equal(verdict.known, rows[index].known);
        assert_int_equal(verdict.tells, rows[index].tells);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(train__is_whole_after_a_spoilt_one),
        cmocka_unit_test(train__an_ack_of_most_packets_tells_by_itself),
        cmocka_unit_test(train__repairs_are_none_of_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
