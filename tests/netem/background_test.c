/* The background of a link against the same packets sent one by one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/units.h"
#include "netem/link.h"

#define MBPS    1000000ULL
#define PLACES  256
#define PACKETS 20000

#define STREAMS (1 + NETEM_LOADS_MAX)

struct pair {
    struct netem_link model, sent; /* the second is sent what the first makes up */
    uint64_t model_places[PLACES], sent_places[PLACES];
    struct netem_background joined[NETEM_LOADS_MAX], backgrounds[STREAMS]; /* the arrivals for the second */
    struct netem_onoff onoffs[NETEM_LOADS_MAX][2];
    uint64_t refused, refused_bytes, bytes;
};

static struct netem_onoff *storage(struct netem_onoff *onoff, const struct netem_load *load)
{
    return load->kind == NETEM_LOAD_ONOFF ? onoff : NULL;
}

static void pair_init(struct pair *pair, struct netem_config config)
{
    *pair = (struct pair){0};
    netem_init(&pair->model, &config, 7, pair->model_places, PLACES);
    netem_background_init(&pair->backgrounds[0], config.background_bps, 7);
    for (unsigned load = 0; load < NETEM_LOADS_MAX; load++) {
        const struct netem_load *each = &config.loads[load];
        netem_background_init(&pair->backgrounds[1 + load], 0, 7);
        if (load >= config.load_count)
            continue;
        netem_background_of(&pair->joined[load], each, 9 + load, storage(&pair->onoffs[load][0], each));
        netem_background_of(&pair->backgrounds[1 + load], each, 9 + load,
                            storage(&pair->onoffs[load][1], each));
        netem_join(&pair->model, &pair->joined[load]);
    }
    config.background_bps = 0;
    netem_init(&pair->sent, &config, 7, pair->sent_places, PLACES);
}

static void pair_until(struct pair *pair, uint64_t now_ns)
{
    for (;;) {
        struct netem_background *first = &pair->backgrounds[0];
        for (unsigned stream = 1; stream < STREAMS; stream++)
            if (pair->backgrounds[stream].next_ns < first->next_ns)
                first = &pair->backgrounds[stream];
        if (first->next_ns > now_ns)
            return;
        uint32_t bytes = first->bytes[first->next_size];
        struct netem_decision decision = netem_send(&pair->sent, bytes, bytes - 38, first->next_ns);
        pair->bytes += bytes;
        pair->refused += decision.verdict != NETEM_PASS;
        pair->refused_bytes += decision.verdict != NETEM_PASS ? bytes : 0;
        netem_background_step(first);
    }
}

static void pair_change(struct pair *pair, const struct netem_config *set, uint64_t now_ns)
{
    pair_until(pair, now_ns);
    netem_catch_up(&pair->model, now_ns);
    struct netem_config config = pair->sent.config;
    netem_config_change(&config, set, NETEM_CHANGE_RATE);
    netem_set(&pair->sent, &config);
    config.background_bps = pair->model.config.background_bps;
    netem_set(&pair->model, &config);
}

static void pair_down(struct pair *pair, bool holds, uint64_t now_ns, uint64_t up_ns)
{
    pair_until(pair, now_ns);
    netem_catch_up(&pair->model, now_ns);
    netem_down(&pair->sent, holds, up_ns);
    netem_down(&pair->model, holds, up_ns);
}

static void assert_same(struct pair *pair, uint32_t wire_bytes, uint64_t now_ns)
{
    pair_until(pair, now_ns);
    assert_int_equal(netem_queue_ns(&pair->model, now_ns), netem_queue_ns(&pair->sent, now_ns));
    struct netem_decision model = netem_send(&pair->model, wire_bytes, wire_bytes - 38, now_ns);
    struct netem_decision sent = netem_send(&pair->sent, wire_bytes, wire_bytes - 38, now_ns);
    assert_int_equal(model.verdict, sent.verdict);
    assert_int_equal(model.depart_ns, sent.depart_ns);
    assert_int_equal(model.arrive_ns, sent.arrive_ns);
    assert_int_equal(model.congested, sent.congested);
}

/* Bursts of packets and pauses of up to a second; the link changes its rate and goes down twice. */
static void compare(const struct netem_config *config)
{
    struct pair pair;
    struct rng rng;
    uint64_t now_ns = 0;
    pair_init(&pair, *config);
    rng_init(&rng, 3);
    for (int packet = 0; packet < PACKETS; packet++) {
        now_ns += rng_below(&rng, 40) == 0 ? rng_below(&rng, NS_PER_S) : rng_below(&rng, NS_PER_MS);
        assert_same(&pair, 84 + (uint32_t)rng_below(&rng, 1455), now_ns);
        if (packet == PACKETS / 4)
            pair_down(&pair, false, now_ns, now_ns + 30 * NS_PER_MS);
        if (packet == PACKETS / 2)
            pair_down(&pair, true, now_ns, now_ns + 30 * NS_PER_MS);
        if (packet == PACKETS * 3 / 4)
            pair_change(&pair, &(struct netem_config){.rate_bps = 7 * MBPS}, now_ns);
    }
    netem_catch_up(&pair.model, now_ns);
    const struct netem_counters *counters = &pair.model.counters;
    assert_int_equal(counters->background_packets + counters->packets, pair.sent.counters.packets);
    assert_int_equal(counters->background_drops, pair.refused);
    assert_int_equal(counters->background_bytes, pair.bytes - pair.refused_bytes);
    assert_int_equal(counters->queue_drops + counters->down_drops + pair.refused,
                     pair.sent.counters.queue_drops + pair.sent.counters.down_drops);
}

static void netem_catch_up__as_if_each_were_sent(void **state)
{
    (void)state;
    const struct netem_config configs[] = {
        {.queue_unit = NETEM_QUEUE_NS, .queue_limit = 20 * NS_PER_MS},
        {.queue_unit = NETEM_QUEUE_BYTES, .queue_limit = 30000},
        {.queue_unit = NETEM_QUEUE_PACKETS, .queue_limit = 50},
        {.queue_unit = NETEM_QUEUE_NS, .queue_limit = NS_PER_US, .queue_min_packets = 4},
        {.queue_unit = NETEM_QUEUE_NONE},
    };
    const uint64_t rates[] = {10 * MBPS, 100 * MBPS, 0};
    const uint64_t backgrounds[] = {1, 5 * MBPS, 9990001, 10 * MBPS, 11 * MBPS, 77777777};
    for (size_t index = 0; index < sizeof(configs) / sizeof(configs[0]); index++)
        for (size_t rate = 0; rate < sizeof(rates) / sizeof(rates[0]); rate++)
            for (size_t other = 0; other < sizeof(backgrounds) / sizeof(backgrounds[0]); other++) {
                struct netem_config config = configs[index];
                if (config.queue_unit == NETEM_QUEUE_NONE && backgrounds[other] >= 10 * MBPS)
                    continue; /* it would grow for ever */
                config.rate_bps = rates[rate];
                config.delay_ns = NS_PER_MS;
                config.ecn_ns = 2 * NS_PER_MS;
                config.background_bps = backgrounds[other];
                compare(&config);
            }
}

/* Other kinds, several together, a shaper: the same. */
static void netem_join__as_if_each_were_sent(void **state)
{
    (void)state;
    const struct netem_load loads[] = {
        {.kind = NETEM_LOAD_POISSON, .rate_bps = 5 * MBPS, .wire_bytes = 1538},
        {.kind = NETEM_LOAD_POISSON, .rate_bps = 9 * MBPS, .trimodal = true},
        {.kind = NETEM_LOAD_CBR, .rate_bps = 3 * MBPS, .trimodal = true},
        {.kind = NETEM_LOAD_ONOFF,
         .rate_bps = 2 * MBPS,
         .wire_bytes = 700,
         .sources = 20,
         .on_ns = 50 * NS_PER_MS,
         .off_ns = 150 * NS_PER_MS,
         .alpha_milli = 1500},
    };
    const struct netem_config configs[] = {
        {.queue_unit = NETEM_QUEUE_NS, .queue_limit = 20 * NS_PER_MS},
        {.queue_unit = NETEM_QUEUE_PACKETS, .queue_limit = 50},
        {.queue_unit = NETEM_QUEUE_BYTES, .queue_limit = 30000, .background_bps = 2 * MBPS},
        {.queue_unit = NETEM_QUEUE_BYTES,
         .queue_limit = 30000,
         .shaper_bps = 8 * MBPS,
         .shaper_depth_bytes = 20000},
    };
    for (size_t index = 0; index < sizeof(configs) / sizeof(configs[0]); index++)
        for (size_t load = 0; load < sizeof(loads) / sizeof(loads[0]); load++) {
            struct netem_config config = configs[index];
            config.rate_bps = 10 * MBPS;
            config.load_count = 2;
            config.loads[0] = loads[load];
            config.loads[1] = loads[(load + 1) % 4];
            compare(&config);
        }
}

/* Passing over a million packets lands where stepping does. */
static void netem_background_skip__as_many_steps(void **state)
{
    (void)state;
    const uint64_t rates[] = {1, 3, 999999937, 10000000000ULL, 64000, NETEM_BACKGROUND_BPS_MAX};
    for (size_t rate = 0; rate < sizeof(rates) / sizeof(rates[0]); rate++) {
        struct netem_background stepped, skipped;
        netem_background_init(&stepped, rates[rate], 1);
        skipped = stepped;
        for (int step = 0; step < 1000000; step++)
            netem_background_step(&stepped);
        assert_int_equal(netem_background_skip(&skipped, stepped.next_ns + stepped.pace.interval_ns - 1),
                         1000000);
        assert_int_equal(skipped.next_ns, stepped.next_ns);
        assert_int_equal(skipped.remainder, stepped.remainder);
        assert_int_equal(netem_background_skip(&skipped, stepped.next_ns), 0);
    }
}

/* A hundred years without a packet cost one. */
static void netem_catch_up__a_long_pause(void **state)
{
    (void)state;
    const uint64_t years_ns = 100ULL * 365 * 86400 * NS_PER_S;
    struct netem_link link;
    netem_init(&link, &(struct netem_config){.rate_bps = 100 * MBPS, .background_bps = 60 * MBPS}, 1, NULL,
               0);
    netem_catch_up(&link, years_ns);
    uint64_t expected = muldiv64(years_ns, 60 * MBPS, FULL_PACKET_WIRE_BYTES * 8 * NS_PER_S);
    assert_in_range(link.counters.background_packets, expected, expected + 1);
    assert_int_equal(link.counters.background_drops, 0);
}

/* 100 Mbit/s come at random times into a link of 100 Mbit/s: the queue refuses both about alike, and stays
 * full. */
static void netem_send__shares_with_the_background(void **state)
{
    (void)state;
    const uint64_t backgrounds[] = {30 * MBPS, 60 * MBPS};
    for (size_t row = 0; row < sizeof(backgrounds) / sizeof(backgrounds[0]); row++) {
        struct netem_config config = {.rate_bps = 100 * MBPS,
                                      .queue_unit = NETEM_QUEUE_NS,
                                      .queue_limit = 10 * NS_PER_MS,
                                      .background_bps = backgrounds[row]};
        struct netem_link link;
        struct rng rng;
        uint64_t passed = 0, now_ns = 0;
        netem_init(&link, &config, 1, NULL, 0);
        rng_init(&rng, 1);
        for (uint64_t packet = 0; packet < 80000; packet++) {
            now_ns += rng_below(&rng, 2 * 123040);
            passed += netem_send(&link, 1538, 1500, now_ns).verdict == NETEM_PASS;
        }
        uint64_t background = link.counters.background_packets - link.counters.background_drops;
        uint64_t capacity = now_ns / 123040,
                 fair = muldiv64(capacity, 100 * MBPS, 100 * MBPS + backgrounds[row]);
        assert_in_range(passed, fair * 93 / 100, fair * 107 / 100);
        assert_in_range(passed + background, capacity - 20, capacity + 84);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(netem_catch_up__as_if_each_were_sent),
        cmocka_unit_test(netem_join__as_if_each_were_sent),
        cmocka_unit_test(netem_background_skip__as_many_steps),
        cmocka_unit_test(netem_catch_up__a_long_pause),
        cmocka_unit_test(netem_send__shares_with_the_background),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
