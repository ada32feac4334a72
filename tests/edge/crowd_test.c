/* Crowds: edges that share one bottleneck with their like, in virtual time: shares, queue and losses of all. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/units.h"
#include "lab.h"

/* Alike but for when they begin, a group after the other. What they share, and when it is measured. */
struct crowd {
    uint32_t edges, group; /* so many begin at once */
    uint64_t apart_ms, rate_kbps, rtt_ms, buffer_ms;
    uint32_t jitter_ms;
    bool overtakes;
    uint32_t loss_percent;
    uint64_t from_ms, to_ms;
    /* What it may show; 0: any. */
    uint32_t jain_permille_min;
    uint64_t queue_p50_ms_max;
    uint32_t lost_permille_max; /* in the queue */
};

static struct lab_result result;

static void check(const struct crowd *crowd)
{
    struct lab_config config = {.edge_count = crowd->edges,
                                .end_ns = crowd->to_ms * NS_PER_MS,
                                .measure_from_ns = crowd->from_ms * NS_PER_MS,
                                .measure_to_ns = crowd->to_ms * NS_PER_MS,
                                .seed = 1};
    config.bottleneck.rate_bps = crowd->rate_kbps * 1000;
    config.bottleneck.queue_unit = NETEM_QUEUE_BYTES;
    config.bottleneck.queue_limit = bytes_within(config.bottleneck.rate_bps, crowd->buffer_ms * NS_PER_MS);
    for (uint32_t edge = 0; edge < config.edge_count; edge++)
        config.edges[edge] = (struct lab_edge){.type = congestion_find("bql"),
                                               .rtt_ns = crowd->rtt_ms * NS_PER_MS,
                                               .jitter_ns = crowd->jitter_ms * NS_PER_MS,
                                               .reorder = crowd->overtakes,
                                               .loss_ppb = crowd->loss_percent * 10000000,
                                               .start_ns = edge / crowd->group * crowd->apart_ms * NS_PER_MS,
                                               .initial_bps = 10000000,
                                               .packet_bytes = LAB_PACKET_BYTES};
    lab_run(&config, &result);
    print_message("crowd of %u: Jain %llu per mille, queue p50 %llu us, drops %llu of %llu\n", crowd->edges,
                  (unsigned long long)lab_jain_permille(&result, crowd->edges),
                  (unsigned long long)(result.queue_p50_ns / NS_PER_US),
                  (unsigned long long)result.queue_drops, (unsigned long long)result.offered);
    assert_in_range(lab_jain_permille(&result, crowd->edges), crowd->jain_permille_min, 1000);
    if (crowd->queue_p50_ms_max > 0)
        assert_in_range(result.queue_p50_ns, 0, crowd->queue_p50_ms_max * NS_PER_MS);
    assert_in_range(result.queue_drops, 0, result.offered * crowd->lost_permille_max / 1000);
}

static void check_all(const struct crowd *crowds, size_t count)
{
    for (size_t index = 0; index < count; index++)
        check(&crowds[index]);
}

/* Edges that come to a queue of others take it for a part of the way, and where packets wait for their
 * predecessors for those. Twenty that came half a second apart lost 61 % for good. Fifty whose packets overtake each
 * other settled over the least RTT, which is half of their loop, and swung until they filled the buffer; so did fifty
 * without jitter, until one took what they all wanted for a contest. Those of fifty 0.4 s apart
 * that came just as others refreshed took their queue for packets that wait, and most of the path: half was lost for good. */
static void crowd__finds_the_empty_path_together(void **state)
{
    (void)state;
    static const struct crowd crowds[] = {
        {10, 1, 2000, 1000000, 60, 100, 0, false, 0, 21000, 27000, 900, 15, 5},
        {2, 1, 2000, 1000000, 60, 100, 20, false, 0, 18000, 26000, 900, 40, 5},
        {10, 1, 0, 1000000, 60, 100, 20, false, 0, 40000, 50000, 900, 40, 5},
        {50, 1, 0, 1000000, 60, 100, 20, false, 0, 20000, 30000, 900, 40, 5},
        {20, 1, 500, 1000000, 60, 100, 20, false, 0, 14000, 20000, 900, 40, 5},
        {50, 1, 100, 1000000, 60, 100, 0, false, 0, 9000, 25000, 900, 25, 5},
        {10, 1, 2000, 1000000, 60, 100, 20, true, 0, 20000, 30000, 900, 40, 5},
        {50, 1, 0, 1000000, 60, 100, 20, true, 0, 12000, 30000, 900, 40, 5},
        {50, 1, 400, 1000000, 60, 100, 20, false, 0, 30000, 40000, 600, 0, 5},
    };
    check_all(crowds, sizeof(crowds) / sizeof(crowds[0]));
}

/* A newcomer's start overfills the buffer, all the others lose for a while whatever they send, and each took it for
 * chance: 53 % were lost for good. */
static void crowd__takes_no_overflow_for_chance(void **state)
{
    (void)state;
    static const struct crowd crowds[] = {
        {50, 5, 2000, 1000000, 60, 50, 20, false, 0, 25000, 35000, 500, 0, 5},
    };
    check_all(crowds, sizeof(crowds) / sizeof(crowds[0]));
}

/* Jitter keeps the order: a train of which the first packet came last once started at 2.9 Gbit/s, and 50 edges
 * lost 73 % in their first second. */
static void crowd__starts_among_others_that_start(void **state)
{
    (void)state;
    static const struct crowd crowds[] = {
        {50, 1, 0, 1000000, 60, 100, 20, false, 0, 0, 1000, 0, 0, 20},
        {10, 1, 0, 1000000, 60, 100, 20, false, 0, 0, 1000, 0, 0, 20},
        {10, 1, 1, 1000000, 60, 100, 20, false, 0, 0, 1000, 0, 0, 20},
    };
    check_all(crowds, sizeof(crowds) / sizeof(crowds[0]));
}

/* A few packets in a round trip each. Each came to a queue of others, took it for part of the way and what the full
 * buffer dropped for chance, competed with its like, deaf to losses, and sent as much more: in order 13, 11 and 20 %
 * were lost for as long as they sent. */
static void crowd__finds_that_its_loss_is_no_chance(void **state)
{
    (void)state;
    static const struct crowd crowds[] = {
        {2, 1, 3000, 1000, 80, 200, 0, false, 0, 40000, 120000, 0, 0, 10},
        {6, 1, 1, 6000, 120, 250, 0, false, 0, 40000, 120000, 0, 0, 40},
        {3, 1, 5000, 1500, 300, 400, 0, false, 6, 40000, 120000, 0, 0, 40},
    };
    check_all(crowds, sizeof(crowds) / sizeof(crowds[0]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(crowd__finds_the_empty_path_together),
        cmocka_unit_test(crowd__takes_no_overflow_for_chance),
        cmocka_unit_test(crowd__starts_among_others_that_start),
        cmocka_unit_test(crowd__finds_that_its_loss_is_no_chance),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
