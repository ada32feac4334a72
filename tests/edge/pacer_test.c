#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/rng.h"
#include "base/units.h"
#include "edge/pacer.h"

static void pacer__departs_at_the_formula(void **state)
{
    (void)state;
    static const struct {
        uint64_t rate_bps;
        uint32_t bytes_min, bytes_max;
    } cases[] = {
        {10 * NS_PER_S, 1538, 1538},
        {10 * NS_PER_S, 84, 9038},
        {1000000007, 84, 1538},
        {100000, 1538, 1538},
        {7, 84, 84},
        {400 * NS_PER_S, 64, 9038},
        {8 * NS_PER_S / 3, 101, 103},
    };
    for (size_t index = 0; index < sizeof(cases) / sizeof(cases[0]); index++) {
        struct pacer pacer;
        struct rng rng;
        rng_init(&rng, index);
        pacer_init(&pacer, cases[index].rate_bps, 8 * cases[index].bytes_max, 1000);
        uint64_t bytes = 0;
        for (int packet = 0; packet < 100000; packet++) {
            uint64_t due_ns = 1000 + muldiv64(bytes, 8 * NS_PER_S, cases[index].rate_bps);
            assert_int_equal(pacer_next_ns(&pacer), due_ns);
            uint32_t wire_bytes =
                cases[index].bytes_min +
                (uint32_t)rng_below(&rng, cases[index].bytes_max - cases[index].bytes_min + 1);
            pacer_on_sent(&pacer, wire_bytes, due_ns);
            bytes += wire_bytes;
        }
    }
}

#define PACKETS 3000

struct departure {
    uint64_t at_ns;
    uint64_t bytes_before;
};

/* A sender that looks at random times, sends what it may, and stalls now and then. */
static void depart(struct departure *departures, uint64_t rate_bps, uint32_t burst_bytes, struct rng *rng)
{
    struct pacer pacer;
    uint64_t now_ns = 0, bytes = 0;
    pacer_init(&pacer, rate_bps, burst_bytes, 0);
    for (int packet = 0; packet < PACKETS; packet++) {
        if (rng_below(rng, 20) == 0)
            now_ns += rng_below(rng, 500000);
        if (pacer_next_ns(&pacer) > now_ns)
            now_ns = pacer_next_ns(&pacer) + (rng_below(rng, 3) == 0 ? rng_below(rng, 5000) : 0);
        uint32_t wire_bytes = 84 + (uint32_t)rng_below(rng, 1455);
        departures[packet] = (struct departure){now_ns, bytes};
        pacer_on_sent(&pacer, wire_bytes, now_ns);
        bytes += wire_bytes;
    }
    departures[PACKETS] = (struct departure){TIME_NEVER, bytes};
}

static void pacer__no_window_holds_more_than_stated(void **state)
{
    (void)state;
    static struct departure departures[PACKETS + 1];
    const uint64_t rates_bps[] = {10000000, 999999937, 10 * NS_PER_S};
    for (uint64_t seed = 0; seed < 6; seed++) {
        uint64_t rate_bps = rates_bps[seed % 3];
        uint32_t burst_bytes = seed < 3 ? 8 * 1538 : 0;
        struct rng rng;
        rng_init(&rng, seed);
        depart(departures, rate_bps, burst_bytes, &rng);
        for (int first = 0; first < PACKETS; first++)
            for (int last = first; last < PACKETS && last < first + 300; last++) {
                uint64_t window_ns = departures[last].at_ns - departures[first].at_ns;
                uint64_t bytes = departures[last].bytes_before - departures[first].bytes_before;
                /* without the last packet: "plus one packet" */
                assert_true(bytes <= muldiv64_up(rate_bps, window_ns + 1, 8 * NS_PER_S) + burst_bytes);
            }
    }
}

static void pacer__stall_is_caught_up_but_no_more(void **state)
{
    (void)state;
    struct pacer pacer;
    pacer_init(&pacer, 8 * NS_PER_S, 4000, 0); /* a byte a ns */
    pacer_on_sent(&pacer, 1000, 0);
    assert_int_equal(pacer_next_ns(&pacer), 1000);
    uint64_t now_ns = 1000000;
    int sent = 0;
    for (; pacer_next_ns(&pacer) <= now_ns; sent++)
        pacer_on_sent(&pacer, 1000, now_ns);
    assert_int_equal(sent, 5); /* 4000 bytes and one packet */
    assert_int_equal(pacer_next_ns(&pacer), now_ns + 1000);
}

/* A sender that is called once in turn_ns and sends all that it may by then: nothing of the rate is lost. */
static void pacer__makes_up_for_turns_that_are_always_long(void **state)
{
    (void)state;
    static const struct {
        uint64_t rate_bps, turn_ns, catch_up_ns;
        uint64_t share_ppm; /* of what the rate gives */
    } rows[] = {
        {10 * NS_PER_S, NS_PER_MS, 0, 11000}, /* 9 packets of 812 */
        {10 * NS_PER_S, NS_PER_MS, NS_PER_MS, 1000000},
        {NS_PER_S, 300000, 300000, 1000000},
        {100000000, 300000, 0, 1000000}, /* 8 packets are longer than a turn */
    };
    for (size_t row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
        struct pacer pacer;
        uint64_t bytes = 0, end_ns = 1000 * rows[row].turn_ns;
        pacer_init(&pacer, rows[row].rate_bps, 8 * 1538, 0);
        pacer_set_catch_up(&pacer, rows[row].catch_up_ns);
        for (uint64_t now_ns = rows[row].turn_ns; now_ns <= end_ns; now_ns += rows[row].turn_ns)
            for (; pacer_next_ns(&pacer) <= now_ns; bytes += 1538)
                pacer_on_sent(&pacer, 1538, now_ns);
        uint64_t share_ppm = muldiv64(bytes, 8000000 * NS_PER_S / rows[row].rate_bps, end_ns);
        if (share_ppm > rows[row].share_ppm + 1000 || share_ppm + 1000 < rows[row].share_ppm)
            fail_msg("row %zu: %llu ppm", row, (unsigned long long)share_ppm);
    }
}

static void pacer__skips_what_was_not_sent(void **state)
{
    (void)state;
    struct pacer pacer;
    pacer_init(&pacer, 8 * NS_PER_S, 4000, 0); /* a byte a ns */
    pacer_on_sent(&pacer, 1000, 0);
    pacer_skip(&pacer, 500); /* it does not depart before its time */
    assert_int_equal(pacer_next_ns(&pacer), 1000);
    pacer_skip(&pacer, 1000000);
    assert_int_equal(pacer_next_ns(&pacer), 1000000);
    pacer_on_sent(&pacer, 1000, 1000000);
    assert_int_equal(pacer_next_ns(&pacer), 1001000);
}

static void pacer__new_rate_counts_from_the_next_departure(void **state)
{
    (void)state;
    struct pacer pacer;
    pacer_init(&pacer, 3 * NS_PER_S, 0, 0);
    pacer_on_sent(&pacer, 1, 0); /* 2 2/3 ns */
    assert_int_equal(pacer_next_ns(&pacer), 2);
    pacer_set_rate(&pacer, 6 * NS_PER_S);
    assert_int_equal(pacer_next_ns(&pacer), 2);
    pacer_on_sent(&pacer, 1, 2); /* 1 1/3 ns more: exactly 4 */
    assert_int_equal(pacer_next_ns(&pacer), 4);
    for (uint64_t turn = 0; turn < 999; turn++) {
        pacer_set_rate(&pacer, turn % 2 == 0 ? 3 * NS_PER_S : 6 * NS_PER_S);
        pacer_on_sent(&pacer, 3, pacer_next_ns(&pacer));
    }
    /* 500 * 8 ns and 499 * 4 ns, however often the rate changed */
    assert_int_equal(pacer_next_ns(&pacer), 4 + 500 * 8 + 499 * 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pacer__departs_at_the_formula),
        cmocka_unit_test(pacer__no_window_holds_more_than_stated),
        cmocka_unit_test(pacer__stall_is_caught_up_but_no_more),
        cmocka_unit_test(pacer__makes_up_for_turns_that_are_always_long),
        cmocka_unit_test(pacer__skips_what_was_not_sent),
        cmocka_unit_test(pacer__new_rate_counts_from_the_next_departure),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
