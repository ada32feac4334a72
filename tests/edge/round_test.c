/* bql/round.h: when a round has told enough. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/units.h"
#include "edge/bql/round.h"

#define RTT_NS       (100 * NS_PER_US)
#define PACKET_BYTES 1538
#define KNOWN_BPS    7000000000ULL

/* A path on which so much was delivered, by the receiver's clock, when `now_ns` it was. */
static void show(struct bql_path *path, uint64_t now_ns, uint64_t delivered_ns, uint64_t bytes)
{
    path->now_ns = now_ns;
    path->delivered_ns = delivered_ns;
    path->rate.bytes = bytes;
}

/* A round in which no count of the receiver was sure enough has not measured what was delivered: once that was taken
 * for nothing, and the rate that followed was 16 kbit/s. */
static void rounds__end_when_deliveries_are_known(void **state)
{
    (void)state;
    static const struct {
        uint64_t lasts_ns, told_ns; /* of the receiver's time */
        uint64_t acked, lost;
        bool ends;
    } rows[] = {{2 * RTT_NS, 0, 100, 300, false},        {100 * RTT_NS, 0, 100, 300, false},
                {NS_PER_S / 2, 0, 100, 300, true},       {2 * RTT_NS, 2 * RTT_NS, 100, 300, true},
                {2 * RTT_NS, 2 * RTT_NS, 10, 10, false}, {RTT_NS / 2, RTT_NS / 2, 100, 300, false}};
    for (size_t row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
        struct bql_path path;
        struct bql_rounds rounds = {.start_ns = 0};
        struct bql_round round;
        bql_path_init(&path, PACKET_BYTES, RTT_NS, true, NS_PER_S);
        show(&path, NS_PER_S, 5 * NS_PER_S, 1000);
        bql_rounds_start(&rounds, &path, NS_PER_S);
        path.delivered_bps = KNOWN_BPS;
        rounds.acked = rows[row].acked;
        rounds.lost = rows[row].lost;
        uint64_t bytes = rows[row].told_ns > 0 ? rows[row].acked * PACKET_BYTES : 0;
        show(&path, NS_PER_S + rows[row].lasts_ns, 5 * NS_PER_S + rows[row].told_ns, 1000 + bytes);
        assert_int_equal(bql_rounds_end(&rounds, &path, &round), rows[row].ends);
        if (rows[row].ends && rows[row].told_ns > 0)
            assert_int_equal(round.loss.delivered_bps, muldiv64(bytes, 8 * NS_PER_S, rows[row].told_ns));
        else if (rows[row].ends) /* what was known before */
            assert_int_equal(round.loss.delivered_bps, KNOWN_BPS);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rounds__end_when_deliveries_are_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
