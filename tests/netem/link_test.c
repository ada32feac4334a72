#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/units.h"
#include "netem/link.h"

#define MBPS           1000000ULL
#define GBPS           1000000000ULL
#define PPB_OF_PERCENT 10000000ULL

static struct netem_link link_of(const struct netem_config *config)
{
    struct netem_link link;
    netem_init(&link, config, 1, NULL, 0);
    return link;
}

static void netem_send__passes_unchanged_without_impairments(void **state)
{
    (void)state;
    struct netem_link link = link_of(&(struct netem_config){.delay_ns = 40 * NS_PER_MS});
    struct netem_decision decision = netem_send(&link, 1538, 1500, 7);
    assert_int_equal(decision.verdict, NETEM_PASS);
    assert_int_equal(decision.depart_ns, 7);
    assert_int_equal(decision.arrive_ns, 7 + 40 * NS_PER_MS);
    assert_false(decision.duplicated);
    assert_false(decision.corrupted);
}

/* A backlogged link passes exactly rate * time: the last of n packets leaves at floor(n * bits / rate). */
static void netem_send__rate_is_exact(void **state)
{
    (void)state;
    const struct {
        uint64_t rate_bps;
        uint32_t wire_bytes, packets;
    } cases[] = {
        {10 * GBPS, 1538, 1000000}, {GBPS, 1538, 100000}, {3, 84, 3},
        {999999937, 1538, 100003},  {100 * GBPS, 84, 77}, {64000, 9038, 1000},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct netem_link link = link_of(&(struct netem_config){.rate_bps = cases[i].rate_bps});
        struct netem_decision decision = {0};
        for (uint32_t packet = 0; packet < cases[i].packets; packet++)
            decision = netem_send(&link, cases[i].wire_bytes, 46, 1000);
        uint64_t bytes = (uint64_t)cases[i].packets * cases[i].wire_bytes;
        assert_int_equal(decision.depart_ns, 1000 + transmit_ns(bytes, cases[i].rate_bps));
    }
}

static void netem_send__idle_link_starts_at_once(void **state)
{
    (void)state;
    struct netem_link link = link_of(&(struct netem_config){.rate_bps = 10 * GBPS});
    assert_int_equal(netem_send(&link, 1538, 1500, 0).depart_ns, 1230);
    assert_int_equal(netem_send(&link, 1538, 1500, 5000).depart_ns, 6230);
    assert_int_equal(netem_send(&link, 1538, 1500, 5000).depart_ns, 7460);
    assert_int_equal(netem_queue_ns(&link, 5000), 2460);
    assert_int_equal(netem_queue_ns(&link, 9000), 0);
}

/* Packets of 1250 bytes at 10 Mbit/s last 1 ms each; a burst at time 0 shows how many the queue takes. */
static void netem_send__queue_limit_in_all_units(void **state)
{
    (void)state;
    const struct {
        uint8_t unit;
        uint64_t limit;
        uint32_t accepted; /* of 100 at once */
        uint64_t free_ns;  /* when one more fits */
    } cases[] = {
        {NETEM_QUEUE_NONE, 0, 100, 0},         {NETEM_QUEUE_NS, 0, 1, 1000000},
        {NETEM_QUEUE_NS, 4000000, 5, 1000000}, {NETEM_QUEUE_NS, 3999999, 4, 1},
        {NETEM_QUEUE_BYTES, 0, 1, 1000000},    {NETEM_QUEUE_BYTES, 5000, 5, 1000000},
        {NETEM_QUEUE_BYTES, 4999, 4, 800},     {NETEM_QUEUE_PACKETS, 0, 1, 1000000},
        {NETEM_QUEUE_PACKETS, 4, 5, 1000000},  {NETEM_QUEUE_PACKETS, 15, 16, 1000000},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct netem_config config = {
            .rate_bps = 10 * MBPS, .queue_unit = cases[i].unit, .queue_limit = cases[i].limit};
        uint64_t departures[16];
        struct netem_link link;
        netem_init(&link, &config, 1, departures, 16);
        uint32_t accepted = 0;
        for (int packet = 0; packet < 100; packet++)
            accepted += netem_send(&link, 1250, 1212, 0).verdict == NETEM_PASS;
        assert_int_equal(accepted, cases[i].accepted);
        assert_int_equal(link.counters.queue_drops, 100 - accepted);
        assert_int_equal(link.counters.packets, 100);
        if (accepted == 100)
            continue;
        assert_int_equal(netem_send(&link, 1250, 1212, cases[i].free_ns - 1).verdict, NETEM_QUEUE_DROP);
        assert_int_equal(netem_send(&link, 1250, 1212, cases[i].free_ns).verdict, NETEM_PASS);
        assert_int_equal(netem_send(&link, 1250, 1212, cases[i].free_ns).verdict, NETEM_QUEUE_DROP);
    }
}

/* Binomial: n = 10^6, p = 1 %: standard deviation 99.5, so ± 400 is four of them. */
static void netem_send__loss_share(void **state)
{
    (void)state;
    struct netem_link link = link_of(&(struct netem_config){.loss_ppb = PPB_OF_PERCENT});
    uint64_t pairs = 0;
    bool before = false;
    for (int packet = 0; packet < 1000000; packet++) {
        bool lost = netem_send(&link, 1538, 1500, 0).verdict == NETEM_LOST;
        pairs += lost && before;
        before = lost;
    }
    assert_in_range(link.counters.lost, 9600, 10400);
    assert_in_range(pairs, 60, 140); /* independent: 100 expected */
}

static void netem_send__same_seed_same_decisions(void **state)
{
    (void)state;
    struct netem_config config = {.rate_bps = GBPS,
                                  .delay_ns = NS_PER_MS,
                                  .jitter_ns = NS_PER_MS,
                                  .reorder = true,
                                  .loss_ppb = 100 * PPB_OF_PERCENT / 7,
                                  .duplicate_ppb = 3 * PPB_OF_PERCENT,
                                  .corrupt_ppb = 3 * PPB_OF_PERCENT,
                                  .delay_some_ppb = 10 * PPB_OF_PERCENT,
                                  .delay_some_ns = 5};
    struct netem_link first, second, other;
    netem_init(&first, &config, 42, NULL, 0);
    netem_init(&second, &config, 42, NULL, 0);
    netem_init(&other, &config, 43, NULL, 0);
    int differing = 0;
    for (uint64_t packet = 0; packet < 10000; packet++) {
        struct netem_decision a = netem_send(&first, 1538, 1500, packet * 1000);
        struct netem_decision b = netem_send(&second, 1538, 1500, packet * 1000);
        struct netem_decision c = netem_send(&other, 1538, 1500, packet * 1000);
        assert_int_equal(a.verdict, b.verdict);
        assert_int_equal(a.arrive_ns, b.arrive_ns);
        assert_int_equal(a.duplicate_ns, b.duplicate_ns);
        assert_int_equal(a.corrupt_bit, b.corrupt_bit);
        differing += a.verdict != c.verdict;
    }
    assert_memory_equal(&first.counters, &second.counters, sizeof(first.counters));
    assert_true(differing > 1000);
}

static void netem_send__jitter_keeps_order_and_bounds(void **state)
{
    (void)state;
    struct netem_link link =
        link_of(&(struct netem_config){.delay_ns = 10 * NS_PER_MS, .jitter_ns = 2 * NS_PER_MS});
    uint64_t previous_ns = 0, latest_ns = 0;
    for (uint64_t packet = 0; packet < 20000; packet++) {
        uint64_t now_ns = packet * 10 * NS_PER_US;
        struct netem_decision decision = netem_send(&link, 1538, 1500, now_ns);
        assert_true(decision.arrive_ns >= previous_ns);
        assert_in_range(decision.arrive_ns - now_ns, 10 * NS_PER_MS, 12 * NS_PER_MS);
        previous_ns = decision.arrive_ns;
        latest_ns = MAX(latest_ns, decision.arrive_ns - now_ns);
    }
    assert_int_equal(link.counters.reordered, 0);
    assert_true(latest_ns > 11900 * NS_PER_US);
}

static void netem_send__reorder_is_uniform_and_counted(void **state)
{
    (void)state;
    struct netem_link link = link_of(
        &(struct netem_config){.delay_ns = 10 * NS_PER_MS, .jitter_ns = 2 * NS_PER_MS, .reorder = true});
    uint64_t newest_ns = 0, overtaking = 0, sum_ns = 0;
    for (uint64_t packet = 0; packet < 100000; packet++) {
        uint64_t now_ns = packet * 100 * NS_PER_US;
        uint64_t arrive_ns = netem_send(&link, 1538, 1500, now_ns).arrive_ns;
        assert_in_range(arrive_ns - now_ns, 10 * NS_PER_MS, 12 * NS_PER_MS);
        overtaking += arrive_ns < newest_ns;
        newest_ns = MAX(newest_ns, arrive_ns);
        sum_ns += arrive_ns - now_ns;
    }
    assert_int_equal(link.counters.reordered, overtaking);
    assert_true(overtaking > 10000);
    /* Mean 11 ms; standard error of the mean 577 us / sqrt(10^5) = 1.8 us. */
    assert_in_range(sum_ns / 100000, 11 * NS_PER_MS - 8 * NS_PER_US, 11 * NS_PER_MS + 8 * NS_PER_US);
}

static void netem_send__delay_some_lets_others_pass(void **state)
{
    (void)state;
    struct netem_link link = link_of(&(struct netem_config){
        .delay_ns = 10 * NS_PER_MS, .delay_some_ppb = 25 * PPB_OF_PERCENT, .delay_some_ns = 5 * NS_PER_MS});
    int delayed = 0;
    for (uint64_t packet = 0; packet < 10000; packet++) {
        uint64_t extra_ns =
            netem_send(&link, 1538, 1500, packet * NS_PER_MS).arrive_ns - packet * NS_PER_MS - 10 * NS_PER_MS;
        assert_true(extra_ns == 0 || extra_ns == 5 * NS_PER_MS);
        delayed += extra_ns != 0;
    }
    assert_in_range(delayed, 2300, 2700);
    assert_true(link.counters.reordered > 0);
}

static void netem_send__duplicates_and_corrupts(void **state)
{
    (void)state;
    struct netem_link link = link_of(&(struct netem_config){.rate_bps = GBPS,
                                                            .delay_ns = 1000,
                                                            .duplicate_ppb = 10 * PPB_OF_PERCENT,
                                                            .corrupt_ppb = 10 * PPB_OF_PERCENT});
    uint64_t duplicated = 0, corrupted = 0, high_bits = 0;
    for (int packet = 0; packet < 10000; packet++) {
        struct netem_decision decision = netem_send(&link, 1538, 1500, 0);
        duplicated += decision.duplicated;
        corrupted += decision.corrupted;
        assert_true(decision.corrupt_bit < 12000);
        high_bits += decision.corrupt_bit >= 6000;
        if (decision.duplicated)
            assert_int_equal(decision.duplicate_ns, decision.arrive_ns);
    }
    assert_in_range(duplicated, 880, 1120);
    assert_in_range(corrupted, 880, 1120);
    assert_in_range(high_bits, corrupted / 2 - 100, corrupted / 2 + 100);
    assert_int_equal(link.counters.duplicated, duplicated);
    assert_int_equal(link.counters.corrupted, corrupted);
    /* Copies take no time on the link. */
    assert_int_equal(link.shaper.busy_until_ns, transmit_ns(10000 * 1538ULL, GBPS));
}

static void netem_down__drops_until_up(void **state)
{
    (void)state;
    struct netem_link link = link_of(&(struct netem_config){.delay_ns = 100});
    netem_down(&link, false, 5000);
    assert_int_equal(netem_send(&link, 100, 62, 4999).verdict, NETEM_DOWN);
    assert_int_equal(netem_send(&link, 100, 62, 5000).verdict, NETEM_PASS);
    assert_int_equal(link.counters.down_drops, 1);
    netem_down(&link, false, TIME_NEVER);
    assert_int_equal(netem_send(&link, 100, 62, 1ULL << 60).verdict, NETEM_DOWN);
}

static void netem_down__hold_releases_at_the_rate(void **state)
{
    (void)state;
    struct netem_link link = link_of(&(struct netem_config){
        .rate_bps = 10 * MBPS, .delay_ns = 100, .queue_unit = NETEM_QUEUE_NS, .queue_limit = 2 * NS_PER_MS});
    netem_down(&link, true, 50 * NS_PER_MS);
    assert_int_equal(netem_send(&link, 1250, 1212, 0).arrive_ns, 51 * NS_PER_MS + 100);
    assert_int_equal(netem_send(&link, 1250, 1212, 10).arrive_ns, 52 * NS_PER_MS + 100);
    assert_int_equal(netem_send(&link, 1250, 1212, 20).arrive_ns, 53 * NS_PER_MS + 100);
    assert_int_equal(netem_send(&link, 1250, 1212, 30).verdict, NETEM_QUEUE_DROP);
    assert_int_equal(netem_send(&link, 1250, 1212, 60 * NS_PER_MS).arrive_ns, 61 * NS_PER_MS + 100);
    netem_down(&link, true, UINT64_MAX); /* for good: what waits has a time all the same */
    assert_int_equal(netem_send(&link, 1250, 1212, NS_PER_S).arrive_ns, (1ULL << 60) + NS_PER_MS + 100);
}

static void netem_set__applies_from_now_on_in_order(void **state)
{
    (void)state;
    struct netem_link link = link_of(&(struct netem_config){.rate_bps = 10 * MBPS, .delay_ns = NS_PER_S});
    uint64_t before_ns = netem_send(&link, 1250, 1212, 0).arrive_ns;
    assert_int_equal(before_ns, NS_PER_S + NS_PER_MS);
    netem_set(&link, &(struct netem_config){.rate_bps = 5 * MBPS, .delay_ns = 10 * NS_PER_MS});
    struct netem_decision decision = netem_send(&link, 1250, 1212, 0);
    assert_int_equal(decision.depart_ns, 3 * NS_PER_MS); /* 1 ms of backlog stays as decided, then 2 ms */
    assert_int_equal(decision.arrive_ns, before_ns);     /* does not overtake */
    assert_int_equal(netem_send(&link, 1250, 1212, 2 * NS_PER_S).arrive_ns, 2 * NS_PER_S + 12 * NS_PER_MS);
}

/* Ten packets per millisecond into a link for one per millisecond, 50 % lost, queue of 2 ms: the order of
 * impairments shows in who pays. Departures are back to back although half of the packets are lost (they took
 * their turn), and refused packets moved nothing. */
static void netem_send__order_of_impairments(void **state)
{
    (void)state;
    struct netem_config config = {.rate_bps = 10 * MBPS,
                                  .queue_unit = NETEM_QUEUE_NS,
                                  .queue_limit = 2 * NS_PER_MS,
                                  .delay_ns = 30 * NS_PER_MS,
                                  .loss_ppb = 50 * PPB_OF_PERCENT,
                                  .mtu = 1300};
    struct netem_link link = link_of(&config);
    uint64_t taken = 0, next_ns = NS_PER_MS;
    for (uint64_t packet = 0; packet < 10000; packet++) {
        struct netem_decision decision = netem_send(&link, 1250, 1212, packet * 100 * NS_PER_US);
        if (decision.verdict == NETEM_QUEUE_DROP)
            continue;
        taken++;
        assert_int_equal(decision.depart_ns, next_ns);
        next_ns += NS_PER_MS;
        if (decision.verdict == NETEM_PASS)
            assert_int_equal(decision.arrive_ns, decision.depart_ns + 30 * NS_PER_MS);
    }
    assert_in_range(taken, 1000, 1003);
    assert_in_range(link.counters.lost, taken / 2 - 70, taken / 2 + 70);
    assert_int_equal(link.counters.queue_drops, 10000 - taken);
    /* Too long comes before the queue: it takes neither link nor queue. */
    assert_int_equal(netem_send(&link, 1339, 1301, NS_PER_S).verdict, NETEM_TOO_LONG);
    assert_int_equal(link.shaper.busy_until_ns, next_ns - NS_PER_MS);
}

/* The exact outcome of a small mixed run: a change of the order of draws or impairments shows here. */
static void netem_send__golden(void **state)
{
    (void)state;
    struct netem_config config = {.rate_bps = 100 * MBPS,
                                  .queue_unit = NETEM_QUEUE_BYTES,
                                  .queue_limit = 6000,
                                  .delay_ns = NS_PER_MS,
                                  .jitter_ns = 200 * NS_PER_US,
                                  .loss_ppb = 20 * PPB_OF_PERCENT,
                                  .duplicate_ppb = 10 * PPB_OF_PERCENT,
                                  .corrupt_ppb = 10 * PPB_OF_PERCENT};
    struct netem_link link;
    netem_init(&link, &config, 7, NULL, 0);
    char seen[101] = {0};
    uint64_t sum_ns = 0;
    for (uint64_t packet = 0; packet < 100; packet++) {
        struct netem_decision decision = netem_send(&link, 1538, 1500, packet * 110 * NS_PER_US);
        seen[packet] = decision.verdict != NETEM_PASS ? "PLQTDB"[decision.verdict]
                       : decision.corrupted           ? 'c'
                       : decision.duplicated          ? '2'
                                                      : '.';
        sum_ns += decision.arrive_ns + decision.duplicate_ns;
    }
    assert_string_equal(seen, "c....L.L.L.L.2.2....L...LL.ccc.....L.Q.....L..cQ..Lc....QL..L..L..QLc.c..L.Q2."
                              ".cL.cLQ..2...L..Q..2L.");
    assert_int_equal(sum_ns, 0x221ec6ed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(netem_send__passes_unchanged_without_impairments),
        cmocka_unit_test(netem_send__rate_is_exact),
        cmocka_unit_test(netem_send__idle_link_starts_at_once),
        cmocka_unit_test(netem_send__queue_limit_in_all_units),
        cmocka_unit_test(netem_send__loss_share),
        cmocka_unit_test(netem_send__same_seed_same_decisions),
        cmocka_unit_test(netem_send__jitter_keeps_order_and_bounds),
        cmocka_unit_test(netem_send__reorder_is_uniform_and_counted),
        cmocka_unit_test(netem_send__delay_some_lets_others_pass),
        cmocka_unit_test(netem_send__duplicates_and_corrupts),
        cmocka_unit_test(netem_down__drops_until_up),
        cmocka_unit_test(netem_down__hold_releases_at_the_rate),
        cmocka_unit_test(netem_set__applies_from_now_on_in_order),
        cmocka_unit_test(netem_send__order_of_impairments),
        cmocka_unit_test(netem_send__golden),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
