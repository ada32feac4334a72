/* The token bucket behind the queue: what passes, against the law and against a reckoning in floating
 * point. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/units.h"
#include "netem/link.h"

#define MBPS    1000000ULL
#define GBPS    1000000000ULL
#define PACKETS 3000

static const struct netem_config shaped = {
    .rate_bps = 10 * GBPS, .shaper_bps = 1 * GBPS, .shaper_depth_bytes = 200000};

/* Back to back from an idle link: the depth, and what of it is refilled meanwhile, at 10 Gbit/s; then 1
 * Gbit/s. */
static void netem_send__depth_then_rate(void **state)
{
    (void)state;
    struct netem_link link;
    netem_init(&link, &shaped, 1, NULL, 0);
    uint64_t before_ns = 0, fast = 0, slow_from_ns = 0;
    for (unsigned packet = 0; packet < 1000; packet++) {
        struct netem_decision decision = netem_send(&link, 1538, 1500, NS_PER_MS);
        assert_int_equal(decision.verdict, NETEM_PASS);
        uint64_t gap_ns = decision.depart_ns - before_ns;
        before_ns = decision.depart_ns;
        if (packet == 0)
            assert_int_equal(decision.depart_ns, NS_PER_MS + 1230);
        else if (fast == packet && gap_ns <= 1231)
            assert_in_range(gap_ns, 1230, 1231);
        else if (fast + 1 < packet)
            assert_in_range(gap_ns, 12304, 12304);
        if (gap_ns <= 1231 || packet == 0)
            fast = packet + 1;
        else if (slow_from_ns == 0)
            slow_from_ns = before_ns;
    }
    /* 200000 / (1 - 1 / 10) bytes, and the packet that overdraws. */
    assert_in_range(fast * 1538, 222222, 222222 + 2 * 1538);
    assert_int_equal(before_ns - slow_from_ns, (1000 - fast - 1) * 12304);
}

/* The reckoning: a packet begins when line and packet are there and the bucket is not overdrawn. */
struct reckoning {
    double tokens, tokens_ns, free_ns; /* bytes at tokens_ns */
};

static double reckon(struct reckoning *reckoning, const struct netem_config *config, uint32_t bytes,
                     double at_ns)
{
    double token_ns = 8e9 / (double)config->shaper_bps, depth = (double)config->shaper_depth_bytes;
    double begin_ns = at_ns > reckoning->free_ns ? at_ns : reckoning->free_ns;
    double tokens = reckoning->tokens + (begin_ns - reckoning->tokens_ns) / token_ns;
    if (tokens < 0) {
        begin_ns -= tokens * token_ns;
        tokens = 0;
    }
    reckoning->tokens = (tokens > depth ? depth : tokens) - bytes;
    reckoning->tokens_ns = begin_ns;
    reckoning->free_ns = begin_ns + (config->rate_bps == 0 ? 0 : bytes * 8e9 / (double)config->rate_bps);
    return reckoning->free_ns;
}

/* Over any time no more than depth + rate * time + one packet. */
static void assert_law(const struct netem_config *config, const uint64_t *begin_ns, const uint32_t *bytes)
{
    for (unsigned first = 0; first < PACKETS; first += 37) {
        uint64_t sum = 0;
        for (unsigned last = first; last < PACKETS; last++) {
            sum += bytes[last];
            uint64_t refilled = bytes_within(config->shaper_bps, begin_ns[last] - begin_ns[first] + 2) + 1;
            assert_true(sum <= config->shaper_depth_bytes + refilled + bytes[last]);
        }
    }
}

static void netem_send__shaper_conserves(void **state)
{
    (void)state;
    const struct netem_config configs[] = {
        shaped,
        {.rate_bps = 10 * GBPS, .shaper_bps = 2999999937, .shaper_depth_bytes = 20000},
        {.rate_bps = 0, .shaper_bps = GBPS, .shaper_depth_bytes = 50000},
        {.rate_bps = 2 * GBPS, .shaper_bps = 700 * MBPS, .shaper_depth_bytes = 0},
        {.rate_bps = GBPS, .shaper_bps = 5 * GBPS, .shaper_depth_bytes = 3000},
    };
    const uint64_t pauses_ns[] = {400, 4000, 14000, 60000};
    static uint64_t begin_ns[PACKETS];
    static uint32_t bytes[PACKETS];
    for (size_t row = 0; row < sizeof(configs) / sizeof(configs[0]); row++)
        for (size_t pause = 0; pause < sizeof(pauses_ns) / sizeof(pauses_ns[0]); pause++) {
            const struct netem_config *config = &configs[row];
            struct reckoning reckoning = {.tokens = (double)config->shaper_depth_bytes};
            struct netem_link link;
            struct rng rng;
            uint64_t now_ns = 0;
            netem_init(&link, config, 1, NULL, 0);
            rng_init(&rng, 5);
            for (unsigned packet = 0; packet < PACKETS; packet++) {
                now_ns += rng_below(&rng, 2 * pauses_ns[pause]);
                if (rng_below(&rng, 300) == 0)
                    now_ns += rng_below(&rng, 3 * NS_PER_MS);
                bytes[packet] = 84 + (uint32_t)rng_below(&rng, 1455);
                struct netem_decision decision = netem_send(&link, bytes[packet], bytes[packet] - 38, now_ns);
                double expected_ns = reckon(&reckoning, config, bytes[packet], (double)now_ns);
                double off_ns = (double)decision.depart_ns - expected_ns;
                assert_int_equal(decision.verdict, NETEM_PASS);
                assert_true(off_ns > -3 && off_ns < 3);
                begin_ns[packet] = decision.depart_ns -
                                   (config->rate_bps == 0 ? 0 : transmit_ns(bytes[packet], config->rate_bps));
            }
            assert_law(config, begin_ns, bytes);
        }
}

/* 10^6 packets at once take the tokens' time to a packet: no remainder is lost. */
static void netem_send__shaper_keeps_its_rate(void **state)
{
    (void)state;
    struct netem_config config = shaped;
    struct netem_link link;
    struct netem_decision decision = {0};
    config.shaper_bps = 999999937;
    netem_init(&link, &config, 1, NULL, 0);
    for (unsigned packet = 0; packet < 1000000; packet++)
        decision = netem_send(&link, 1538, 1500, 0);
    uint64_t tokens_ns = transmit_ns(1000000 * 1538ULL - 200000 - 1538, config.shaper_bps);
    assert_in_range(decision.depart_ns, tokens_ns, tokens_ns + 1232);
}

/* The queue's limits hold: in time, and in bytes at the tokens' rate. */
static void netem_send__queue_of_a_shaper(void **state)
{
    (void)state;
    const struct netem_config limits[] = {{.queue_unit = NETEM_QUEUE_NS, .queue_limit = 1230400},
                                          {.queue_unit = NETEM_QUEUE_BYTES, .queue_limit = 153800}};
    for (size_t row = 0; row < 2; row++) {
        struct netem_config config = limits[row];
        struct netem_link link;
        config.rate_bps = shaped.rate_bps;
        config.shaper_bps = shaped.shaper_bps;
        config.shaper_depth_bytes = shaped.shaper_depth_bytes;
        netem_init(&link, &config, 1, NULL, 0);
        for (unsigned packet = 0; packet < 1000; packet++)
            netem_send(&link, 1538, 1500, 0);
        /* What passes by the time that the limit says: the depth, and what is refilled. */
        uint64_t passed = 1000 - link.counters.queue_drops;
        assert_in_range(passed * 1538, 200000 + 153800, 200000 + 153800 + 2 * 1538);
        assert_int_equal(netem_config_wait_ns(&config, 1538), 1230400);
    }
}

/* A change of the shaper fills it; the same values leave it as it is; without one the line's rate holds. */
static void netem_set__shaper(void **state)
{
    (void)state;
    struct netem_config config = shaped, set = {.shaper_bps = 0};
    struct netem_link link;
    netem_init(&link, &config, 1, NULL, 0);
    while (netem_queue_ns(&link, 0) < NS_PER_MS)
        netem_send(&link, 1538, 1500, 0);
    uint64_t later = NS_PER_S / 1000 * 2;
    netem_set(&link, &config);
    netem_send(&link, 1538, 1500, later);
    assert_in_range(link.shaper.bucket.full_ns, later, later + 1600000); /* what 1 ms has not refilled */
    assert_true(link.shaper.bucket.full_ns > later + 400000);
    netem_config_change(&config, &set, NETEM_CHANGE_SHAPER);
    netem_set(&link, &config);
    uint64_t first_ns = netem_send(&link, 1538, 1500, 2 * later).depart_ns, last_ns = first_ns;
    for (unsigned packet = 0; packet < 1000; packet++)
        last_ns = netem_send(&link, 1538, 1500, 2 * later).depart_ns;
    assert_int_equal(last_ns - first_ns, 1230400);
    netem_config_change(&config, &shaped, NETEM_CHANGE_SHAPER);
    netem_set(&link, &config);
    assert_int_equal(link.shaper.bucket.full_ns, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(netem_send__depth_then_rate),
        cmocka_unit_test(netem_send__shaper_conserves),
        cmocka_unit_test(netem_send__shaper_keeps_its_rate),
        cmocka_unit_test(netem_send__queue_of_a_shaper),
        cmocka_unit_test(netem_set__shaper),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
