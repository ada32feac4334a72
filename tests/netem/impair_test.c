/* Policer, loss in bursts, marking, and the least that a queue holds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/units.h"
#include "netem/link.h"

#define MBPS           1000000ULL
#define GBPS           1000000000ULL
#define PPB_OF_PERCENT 10000000ULL
#define PACKET         1538u

static struct netem_link link_of(const struct netem_config *config)
{
    struct netem_link link;
    netem_init(&link, config, 1, NULL, 0);
    return link;
}

/* Packets of `bytes`, one each `gap_ns`, offered from time 0 until `end_ns`: how many pass. */
static uint64_t taken_of(struct netem_bucket *bucket, uint32_t bytes, uint64_t gap_ns, uint64_t end_ns)
{
    uint64_t taken = 0;
    for (uint64_t now_ns = 0; now_ns < end_ns; now_ns += gap_ns)
        taken += netem_bucket_take(bucket, bytes, now_ns);
    return taken;
}

/* The formula of the header: at any overload, depth + rate * time bytes pass, to the last whole packet. */
static void netem_bucket_take__passes_depth_and_rate(void **state)
{
    (void)state;
    const struct {
        uint64_t rate_bps, depth_bytes;
        uint32_t bytes;
        uint64_t gap_ns;
    } cases[] = {
        {300 * MBPS, 200000, PACKET, 10000},
        {300 * MBPS, 20000, PACKET, 1230},
        {GBPS, 2000000, 9038, 3000},
        {999999937, 1538, 84, 100},
        {7, 1000, 100, 1000000},
        {100 * GBPS, 5000, PACKET, 50},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct netem_bucket bucket;
        netem_bucket_init(&bucket, cases[i].rate_bps, cases[i].depth_bytes);
        uint64_t end_ns = 100000 * cases[i].gap_ns;
        uint64_t bytes = taken_of(&bucket, cases[i].bytes, cases[i].gap_ns, end_ns) * cases[i].bytes;
        uint64_t allowed = cases[i].depth_bytes + bytes_within(cases[i].rate_bps, end_ns - cases[i].gap_ns);
        assert_in_range(bytes, allowed - cases[i].bytes, allowed);
    }
}

static void netem_bucket_take__at_the_rate_drops_nothing(void **state)
{
    (void)state;
    struct netem_bucket bucket;
    netem_bucket_init(&bucket, 10 * MBPS, 1250);
    assert_int_equal(taken_of(&bucket, 1250, NS_PER_MS, 10 * NS_PER_S), 10000);
    netem_bucket_init(&bucket, 10 * MBPS, 1250);
    assert_int_equal(taken_of(&bucket, 1250, NS_PER_MS - 1, 10 * NS_PER_S), 5001);
}

static void netem_bucket_take__refusal_takes_nothing(void **state)
{
    (void)state;
    struct netem_bucket bucket;
    netem_bucket_init(&bucket, 8 * MBPS, 3000); /* a byte a microsecond */
    assert_true(netem_bucket_take(&bucket, 2000, 0));
    for (int attempt = 0; attempt < 100; attempt++)
        assert_false(netem_bucket_take(&bucket, 1001, 0));
    assert_true(netem_bucket_take(&bucket, 1000, 0));
    assert_false(netem_bucket_take(&bucket, 1000, 999999));
    assert_true(netem_bucket_take(&bucket, 1000, 1000000));
    /* Full again after 3 ms, and no fuller after an hour. */
    assert_true(netem_bucket_take(&bucket, 3000, 3600 * NS_PER_S));
    assert_false(netem_bucket_take(&bucket, 1, 3600 * NS_PER_S));
}

/* In front of the queue: what it drops moves nothing, what the queue drops has used tokens. */
static void netem_send__policer_counts_apart(void **state)
{
    (void)state;
    struct netem_config config = {.rate_bps = 10 * MBPS,
                                  .queue_unit = NETEM_QUEUE_NS,
                                  .queue_limit = 2 * NS_PER_MS,
                                  .policer_bps = 5 * MBPS,
                                  .policer_depth_bytes = 12500};
    struct netem_link link = link_of(&config);
    for (int packet = 0; packet < 20; packet++) {
        enum netem_verdict expected = packet < 3    ? NETEM_PASS
                                      : packet < 10 ? NETEM_QUEUE_DROP
                                                    : NETEM_POLICED;
        assert_int_equal(netem_send(&link, 1250, 1212, 0).verdict, expected);
    }
    assert_int_equal(link.counters.queue_drops, 7);
    assert_int_equal(link.counters.policer_drops, 10);
    assert_int_equal(link.counters.lost, 0);
    assert_int_equal(link.shaper.busy_until_ns, 3 * NS_PER_MS);
}

static void netem_set__policer_restarts_only_when_changed(void **state)
{
    (void)state;
    struct netem_config config = {.policer_bps = 8 * MBPS, .policer_depth_bytes = 2000};
    struct netem_link link = link_of(&config);
    assert_int_equal(netem_send(&link, 2000, 1962, 0).verdict, NETEM_PASS);
    config.delay_ns = NS_PER_MS;
    netem_set(&link, &config);
    assert_int_equal(netem_send(&link, 2000, 1962, 0).verdict, NETEM_POLICED);
    config.policer_depth_bytes = 4000;
    netem_set(&link, &config);
    assert_int_equal(netem_send(&link, 4000, 3962, 0).verdict, NETEM_PASS);
    config.policer_bps = 0;
    netem_set(&link, &config);
    assert_int_equal(netem_send(&link, 4000, 3962, 0).verdict, NETEM_PASS);
}

/* Loss in all p / (p + r), runs of losses geometric with mean 1 / r. Cases are long enough that the bounds
 * are four standard deviations or more: n packets have about n * p * r / (p + r) bursts, each of mean 1 / r.
 */
static void netem_send__bursts_as_the_model_says(void **state)
{
    (void)state;
    const struct {
        uint64_t enter_ppb, leave_ppb;
        uint64_t lost_min, lost_max; /* of 10^7 packets */
        uint64_t mean_min, mean_max; /* hundredths of packets a run */
    } cases[] = {
        {202000, 20000000, 91000, 109000, 4600, 5400}, /* 1 %, bursts of 50: 1980 of them */
        {10000000, 500000000, 194000, 198200, 198, 202},
        {50000000, 50000000, 4960000, 5040000, 1980, 2020},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct netem_link link = link_of(&(struct netem_config){
            .burst = {cases[i].enter_ppb, cases[i].leave_ppb, 100 * PPB_OF_PERCENT, 0}});
        uint64_t runs = 0;
        bool before = false;
        for (int packet = 0; packet < 10000000; packet++) {
            bool lost = netem_send(&link, PACKET, 1500, 0).verdict == NETEM_LOST;
            runs += lost && !before;
            before = lost;
        }
        assert_in_range(link.counters.lost, cases[i].lost_min, cases[i].lost_max);
        assert_in_range(100 * link.counters.lost / runs, cases[i].mean_min, cases[i].mean_max);
        assert_int_equal(link.counters.lost, link.counters.lost_burst);
    }
}

/* h and k: half lost in the bad state, 1 % in the good one, which holds three quarters of the time. */
static void netem_send__loss_of_both_states(void **state)
{
    (void)state;
    struct netem_link link = link_of(&(struct netem_config){.burst = {.enter_ppb = PPB_OF_PERCENT,
                                                                      .leave_ppb = 3 * PPB_OF_PERCENT,
                                                                      .loss_ppb = 50 * PPB_OF_PERCENT,
                                                                      .gap_loss_ppb = PPB_OF_PERCENT}});
    for (int packet = 0; packet < 4000000; packet++)
        netem_send(&link, PACKET, 1500, 0);
    assert_in_range(link.counters.lost, 4000000 / 1000 * 130, 4000000 / 1000 * 135); /* 13.25 % */
}

static void netem_send__both_models_are_counted_apart(void **state)
{
    (void)state;
    struct netem_config config = {.loss_ppb = 10 * PPB_OF_PERCENT,
                                  .burst = {PPB_OF_PERCENT, 9 * PPB_OF_PERCENT, 100 * PPB_OF_PERCENT, 0}};
    struct netem_link link = link_of(&config);
    for (int packet = 0; packet < 1000000; packet++)
        netem_send(&link, PACKET, 1500, 0);
    assert_in_range(link.counters.lost, 186000, 194000); /* 10 % of what the other's 10 % leaves, and those */
    assert_in_range(link.counters.lost_burst, 86000, 94000);
    config.burst = (struct netem_burst){0};
    config.loss_ppb = 0;
    netem_set(&link, &config);
    uint64_t lost = link.counters.lost;
    for (int packet = 0; packet < 1000; packet++)
        netem_send(&link, PACKET, 1500, 0);
    assert_int_equal(link.counters.lost, lost);
}

/* Packets last 1 ms, marked beyond 2 ms of waiting: the fourth of a burst is the first to wait longer. */
static void netem_mark__only_who_waits_and_can(void **state)
{
    (void)state;
    struct netem_link link = link_of(&(struct netem_config){.rate_bps = 10 * MBPS, .ecn_ns = 2 * NS_PER_MS});
    for (unsigned packet = 0; packet < 10; packet++) {
        struct netem_decision decision = netem_send(&link, 1250, 1212, 0);
        assert_int_equal(decision.verdict, NETEM_PASS);
        assert_int_equal(decision.congested, packet > 2);
        for (uint8_t ecn = 0; ecn < 4; ecn++)
            assert_int_equal(netem_mark(&link, &decision, ecn), packet > 2 && ecn != 0 ? 3 : ecn);
    }
    assert_int_equal(link.counters.marked, 7 * 2);
    assert_false(netem_send(&link, 1250, 1212, 8 * NS_PER_MS).congested);
    struct netem_link plain = link_of(&(struct netem_config){.rate_bps = 10 * MBPS});
    netem_send(&plain, 1250, 1212, 0);
    assert_false(netem_send(&plain, 1250, 1212, 0).congested);
}

/* Packets that wait for 1 to 9 ms, a thousand times each: the threshold is 2 ms, from 6 ms on all are marked. */
static void netem_send__marks_by_chance_on_a_ramp(void **state)
{
    (void)state;
    struct netem_link link = link_of(
        &(struct netem_config){.rate_bps = 10 * MBPS, .ecn_ns = 2 * NS_PER_MS, .ecn_ramp_ns = 4 * NS_PER_MS});
    unsigned marked[10] = {0};
    for (uint64_t burst = 0; burst < 1000; burst++)
        for (unsigned packet = 0; packet < 10; packet++)
            marked[packet] += netem_send(&link, 1250, 1212, burst * NS_PER_S).congested;
    for (unsigned packet = 0; packet < 10; packet++) {
        unsigned hoped = packet <= 2 ? 0 : packet >= 6 ? 1000 : (packet - 2) * 250;
        assert_in_range(marked[packet], hoped - MIN(hoped, 60u) * (hoped < 1000), hoped + 60 * (hoped > 0));
    }
}

/* What broken middleboxes do, whatever waits. */
static void netem_mark__fields_rewritten(void **state)
{
    (void)state;
    static const struct {
        uint8_t field;
        uint8_t becomes[4];
    } cases[] = {
        {NETEM_ECN_KEPT, {0, 1, 2, 3}}, {NETEM_ECN_CLEARED, {0, 0, 0, 0}}, {NETEM_ECN_MARKED, {0, 3, 3, 3}}};
    for (size_t index = 0; index < sizeof(cases) / sizeof(cases[0]); index++) {
        struct netem_link link =
            link_of(&(struct netem_config){.rate_bps = 10 * MBPS, .ecn_field = cases[index].field});
        struct netem_decision decision = netem_send(&link, 1250, 1212, 0);
        for (uint8_t ecn = 0; ecn < 4; ecn++)
            assert_int_equal(netem_mark(&link, &decision, ecn), cases[index].becomes[ecn]);
        assert_int_equal(link.counters.marked, cases[index].field == NETEM_ECN_MARKED ? 2 : 0);
    }
}

/* A burst at time 0 into a queue whose limit alone would hold less: N packets wait besides the one sent. */
static void netem_send__queue_min(void **state)
{
    (void)state;
    const struct {
        uint8_t unit;
        uint64_t limit;
        uint32_t min, bytes, accepted;
    } cases[] = {
        {NETEM_QUEUE_NS, 100000, 0, 1250, 1},    {NETEM_QUEUE_NS, 100000, 4, 1250, 5},
        {NETEM_QUEUE_NS, 100000, 4, 9038, 5},    {NETEM_QUEUE_NS, 20000000, 4, 1250, 21},
        {NETEM_QUEUE_BYTES, 1000, 10, 1250, 11}, {NETEM_QUEUE_BYTES, 125000, 10, 1250, 100},
        {NETEM_QUEUE_PACKETS, 2, 10, 1250, 3},   {NETEM_QUEUE_NONE, 0, 4, 1250, 100},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        uint64_t departures[128];
        struct netem_config config = {.rate_bps = 10 * MBPS,
                                      .queue_unit = cases[i].unit,
                                      .queue_limit = cases[i].limit,
                                      .queue_min_packets = cases[i].min};
        struct netem_link link;
        netem_init(&link, &config, 1, departures, 128);
        uint32_t accepted = 0;
        for (int packet = 0; packet < 100; packet++)
            accepted += netem_send(&link, cases[i].bytes, cases[i].bytes - 38, 0).verdict == NETEM_PASS;
        assert_int_equal(accepted, cases[i].accepted);
        uint64_t wait_ns = netem_config_wait_ns(&config, cases[i].bytes);
        if (cases[i].unit != NETEM_QUEUE_NONE) /* the last one accepted waited no longer than that */
            assert_in_range((accepted - 1) * transmit_ns(cases[i].bytes, config.rate_bps), 0, wait_ns);
        else
            assert_true(wait_ns == UINT64_MAX);
    }
}

static void netem_config_change__takes_what_the_mask_names(void **state)
{
    (void)state;
    const struct netem_config set = {.rate_bps = 1,
                                     .queue_unit = NETEM_QUEUE_NS,
                                     .queue_limit = 2,
                                     .queue_min_packets = 3,
                                     .ecn_ns = 4,
                                     .policer_bps = 5,
                                     .policer_depth_bytes = 6,
                                     .delay_ns = 7,
                                     .jitter_ns = 8,
                                     .loss_ppb = 9,
                                     .burst = {10, 11, 12, 13}};
    const uint32_t all = NETEM_CHANGE_RATE | NETEM_CHANGE_DELAY | NETEM_CHANGE_JITTER | NETEM_CHANGE_LOSS |
                         NETEM_CHANGE_QUEUE | NETEM_CHANGE_QUEUE_MIN | NETEM_CHANGE_ECN |
                         NETEM_CHANGE_POLICER | NETEM_CHANGE_BURST;
    struct netem_config config = {.mtu = 14};
    netem_config_change(&config, &set, 0);
    assert_memory_equal(&config, &((struct netem_config){.mtu = 14}), sizeof(config));
    netem_config_change(&config, &set, all & ~(uint32_t)NETEM_CHANGE_POLICER);
    assert_int_equal(config.policer_bps, 0);
    netem_config_change(&config, &set, NETEM_CHANGE_POLICER);
    struct netem_config expected = set;
    expected.mtu = 14;
    assert_memory_equal(&config, &expected, sizeof(config));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(netem_bucket_take__passes_depth_and_rate),
        cmocka_unit_test(netem_bucket_take__at_the_rate_drops_nothing),
        cmocka_unit_test(netem_bucket_take__refusal_takes_nothing),
        cmocka_unit_test(netem_send__policer_counts_apart),
        cmocka_unit_test(netem_set__policer_restarts_only_when_changed),
        cmocka_unit_test(netem_send__bursts_as_the_model_says),
        cmocka_unit_test(netem_send__loss_of_both_states),
        cmocka_unit_test(netem_send__both_models_are_counted_apart),
        cmocka_unit_test(netem_mark__only_who_waits_and_can),
        cmocka_unit_test(netem_send__marks_by_chance_on_a_ramp),
        cmocka_unit_test(netem_mark__fields_rewritten),
        cmocka_unit_test(netem_send__queue_min),
        cmocka_unit_test(netem_config_change__takes_what_the_mask_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
