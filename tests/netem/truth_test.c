/* What a link records of its cross traffic against lists of every packet. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/units.h"
#include "netem/link.h"
#include "netem/truth.h"

#define GBPS   1000000000ULL
#define BLOCKS 400
#define LISTED 100000

struct listed {
    uint64_t at_ns, left_ns;
    uint32_t bytes;
    bool refused;
};

struct bench {
    struct netem_link link, list_link, alone; /* watched; sent all; sent the cross traffic alone */
    struct netem_truth truth;
    struct netem_truth_block blocks[BLOCKS];
    struct netem_background joined, stepped;
    struct netem_onoff onoff[2];
    struct listed list[LISTED];
    uint32_t count;
    uint64_t own_ns_max;
};

static void bench_init(struct bench *bench, struct netem_config config, const struct netem_load *load,
                       uint32_t blocks)
{
    bool onoff = load->kind == NETEM_LOAD_ONOFF;
    netem_init(&bench->link, &config, 1, NULL, 0);
    netem_init(&bench->list_link, &config, 1, NULL, 0);
    netem_init(&bench->alone, &config, 1, NULL, 0);
    netem_background_of(&bench->joined, load, 5, onoff ? &bench->onoff[0] : NULL);
    netem_background_of(&bench->stepped, load, 5, onoff ? &bench->onoff[1] : NULL);
    netem_join(&bench->link, &bench->joined);
    netem_truth_init(&bench->truth, bench->blocks, blocks);
    netem_watch(&bench->link, &bench->truth);
    bench->count = 0;
    bench->own_ns_max = 0;
}

static void list_until(struct bench *bench, uint64_t now_ns)
{
    for (; bench->stepped.next_ns <= now_ns; netem_background_step(&bench->stepped)) {
        uint64_t at_ns = bench->stepped.next_ns;
        uint32_t bytes = bench->stepped.bytes[bench->stepped.next_size];
        struct netem_decision decision = netem_send(&bench->list_link, bytes, bytes - 38, at_ns);
        netem_send(&bench->alone, bytes, bytes - 38, at_ns);
        assert_true(bench->count < LISTED);
        bench->list[bench->count++] =
            (struct listed){at_ns, decision.depart_ns, bytes, decision.verdict != NETEM_PASS};
    }
}

static void send_own(struct bench *bench, uint32_t bytes, uint64_t now_ns)
{
    list_until(bench, now_ns);
    netem_send(&bench->link, bytes, bytes - 38, now_ns);
    if (netem_send(&bench->list_link, bytes, bytes - 38, now_ns).verdict != NETEM_PASS)
        return;
    uint64_t own_ns =
        elapsed_ns(netem_queue_ns(&bench->list_link, now_ns), netem_queue_ns(&bench->alone, now_ns));
    bench->own_ns_max = MAX(bench->own_ns_max, own_ns);
}

enum question { JOINED, REFUSED, SERVED };

static uint64_t listed_bits(const struct bench *bench, uint64_t from_ns, uint64_t until_ns,
                            enum question question)
{
    uint64_t bits = 0;
    for (uint32_t index = 0; index < bench->count; index++) {
        const struct listed *packet = &bench->list[index];
        uint64_t at_ns = question == SERVED ? packet->left_ns : packet->at_ns;
        if (at_ns > from_ns && at_ns <= until_ns && packet->refused == (question == REFUSED))
            bits += packet->bytes * 8ULL;
    }
    return bits;
}

static void assert_window(const struct bench *bench, uint64_t from_ns, uint64_t until_ns)
{
    assert_int_equal(netem_truth_cross_bits(&bench->truth, from_ns, until_ns),
                     listed_bits(bench, from_ns, until_ns, JOINED));
    assert_int_equal(netem_truth_refused_bits(&bench->truth, from_ns, until_ns),
                     listed_bits(bench, from_ns, until_ns, REFUSED));
    assert_int_equal(netem_truth_served_bits(&bench->truth, from_ns, until_ns),
                     listed_bits(bench, from_ns, until_ns, SERVED));
}

static const struct netem_load loads[] = {
    {.kind = NETEM_LOAD_CBR, .rate_bps = 9 * GBPS, .wire_bytes = 1538},
    {.kind = NETEM_LOAD_POISSON, .rate_bps = 5 * GBPS, .wire_bytes = 1538},
    {.kind = NETEM_LOAD_POISSON, .rate_bps = 4 * GBPS, .trimodal = true},
    {.kind = NETEM_LOAD_ONOFF,
     .rate_bps = GBPS,
     .wire_bytes = 1538,
     .sources = 20,
     .on_ns = NS_PER_MS,
     .off_ns = 3 * NS_PER_MS,
     .alpha_milli = 1500},
};

/* Trains of 40 packets at 10 Gbit/s and pauses; a queue that they overflow now and then. */
static uint64_t run_trains(struct bench *bench, struct rng *rng, unsigned trains)
{
    uint64_t now_ns = 0;
    for (unsigned train = 0; train < trains; train++) {
        now_ns += rng_below(rng, 400 * NS_PER_US);
        for (unsigned packet = 0; packet < 40; packet++)
            send_own(bench, 1538, now_ns += rng_below(rng, 2461));
    }
    netem_catch_up(&bench->link, now_ns);
    list_until(bench, now_ns);
    return now_ns;
}

static void netem_truth__as_the_list_of_all_packets(void **state)
{
    struct bench *bench = *state;
    const struct netem_config configs[] = {
        {.rate_bps = 10 * GBPS},
        {.rate_bps = 10 * GBPS, .queue_unit = NETEM_QUEUE_BYTES, .queue_limit = 20000},
        {.rate_bps = 10 * GBPS,
         .shaper_bps = 7 * GBPS,
         .shaper_depth_bytes = 50000,
         .queue_unit = NETEM_QUEUE_NS,
         .queue_limit = 100 * NS_PER_US},
    };
    for (size_t config = 0; config < sizeof(configs) / sizeof(configs[0]); config++)
        for (size_t load = 0; load < sizeof(loads) / sizeof(loads[0]); load++) {
            struct rng rng;
            rng_init(&rng, 17);
            bench_init(bench, configs[config], &loads[load], BLOCKS);
            uint64_t end_ns = run_trains(bench, &rng, 40);
            const struct netem_counters *counters = &bench->link.counters;
            assert_window(bench, 0, end_ns);
            for (unsigned window = 0; window < 60; window++) {
                uint64_t from_ns = bench->list[rng_below(&rng, bench->count)].at_ns - rng_below(&rng, 2);
                assert_window(bench, from_ns, MIN(end_ns, from_ns + rng_below(&rng, 500 * NS_PER_US)));
            }
            assert_int_equal(bench->truth.packets, bench->count);
            assert_int_equal(bench->truth.refused, counters->background_drops);
            assert_int_equal(bench->truth.refused_alone, bench->alone.counters.queue_drops);
            assert_int_equal(bench->truth.own_queue_ns_max, bench->own_ns_max);
            assert_true(bench->own_ns_max > 0);
        }
}

/* The link changes its rate and its shaper meanwhile: all of it goes on to agree. */
static void netem_truth__through_changes(void **state)
{
    struct bench *bench = *state;
    const struct netem_config sets[] = {
        {.rate_bps = 7 * GBPS},
        {.rate_bps = 2999999937, .shaper_bps = 2 * GBPS, .shaper_depth_bytes = 30000},
        {.rate_bps = 10 * GBPS}};
    struct rng rng;
    rng_init(&rng, 5);
    bench_init(
        bench,
        (struct netem_config){.rate_bps = 8 * GBPS, .queue_unit = NETEM_QUEUE_NS, .queue_limit = 90000},
        &loads[1], BLOCKS);
    uint64_t now_ns = 0;
    for (unsigned packet = 0; packet < 3000; packet++) {
        send_own(bench, 1538, now_ns += rng_below(&rng, 8000));
        if (packet % 700 != 699)
            continue;
        struct netem_config config = bench->list_link.config;
        netem_config_change(&config, &sets[packet / 700 % 3], NETEM_CHANGE_RATE | NETEM_CHANGE_SHAPER);
        netem_set(&bench->link, &config);
        netem_set(&bench->list_link, &config);
        netem_set(&bench->alone, &config);
    }
    assert_window(bench, 0, now_ns);
    assert_window(bench, now_ns / 3, now_ns / 2);
    assert_true(bench->truth.refused > 0);
    assert_int_equal(bench->truth.refused_alone, bench->alone.counters.queue_drops);
    assert_int_equal(bench->truth.own_queue_ns_max, bench->own_ns_max);
}

/* Between two sent packets of one busy time the link serves what came between them, and no more. */
static void netem_truth__what_is_served_between_two_packets(void **state)
{
    struct bench *bench = *state;
    for (size_t load = 0; load < sizeof(loads) / sizeof(loads[0]); load++) {
        bench_init(bench, (struct netem_config){.rate_bps = 10 * GBPS}, &loads[load], BLOCKS);
        struct netem_decision first = netem_send(&bench->link, 1538, 1500, NS_PER_MS), last = first;
        uint64_t at_ns = NS_PER_MS;
        for (unsigned packet = 1; packet < 200; packet++)
            last = netem_send(&bench->link, 1538, 1500, at_ns += 1230);
        uint64_t cross_bits = netem_truth_cross_bits(&bench->truth, NS_PER_MS, at_ns);
        uint64_t served_bits = (last.depart_ns - first.depart_ns) * 10;
        assert_in_range(cross_bits + 199 * 12304, served_bits - 10, served_bits + 10);
    }
}

static void netem_truth__forgets_the_oldest(void **state)
{
    struct bench *bench = *state;
    bench_init(bench, (struct netem_config){.rate_bps = 10 * GBPS}, &loads[1], 4);
    netem_catch_up(&bench->link, 10 * NS_PER_MS);
    list_until(bench, 10 * NS_PER_MS);
    uint64_t kept_ns = bench->list[bench->count - 192].at_ns;
    assert_false(netem_truth_covers(&bench->truth, 0));
    assert_true(netem_truth_covers(&bench->truth, kept_ns));
    assert_window(bench, kept_ns, 10 * NS_PER_MS);
    assert_window(bench, kept_ns + 5000, 9999 * NS_PER_US);
}

/* A packet a day: more than a block's times can tell. */
static void netem_truth__long_pauses(void **state)
{
    struct bench *bench = *state;
    const struct netem_load slow = {.kind = NETEM_LOAD_CBR, .rate_bps = 1, .wire_bytes = 1538};
    bench_init(bench, (struct netem_config){.rate_bps = GBPS}, &slow, BLOCKS);
    uint64_t end_ns = 1000000 * NS_PER_S;
    netem_catch_up(&bench->link, end_ns);
    list_until(bench, end_ns);
    assert_in_range(bench->count, 81, 82);
    assert_window(bench, 0, end_ns);
    assert_window(bench, 100000 * NS_PER_S, 900000 * NS_PER_S);
}

static int setup(void **state)
{
    *state = calloc(1, sizeof(struct bench));
    return *state == NULL;
}

static int teardown(void **state)
{
    free(*state);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(netem_truth__as_the_list_of_all_packets),
        cmocka_unit_test(netem_truth__through_changes),
        cmocka_unit_test(netem_truth__what_is_served_between_two_packets),
        cmocka_unit_test(netem_truth__forgets_the_oldest),
        cmocka_unit_test(netem_truth__long_pauses),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
