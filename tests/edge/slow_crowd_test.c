/* Crowds of edges that have a few packets in a round trip each, over a bottleneck in virtual time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/units.h"
#include "lab.h"

static struct lab_result result;

/* Each came to a queue of others, took it for part of the way and what the full buffer dropped for chance,
 * competed with its like, deaf to losses, and sent as much more: in order 13, 11 and 20 % were lost for as long
 * as they sent. */
static void slow_crowd__finds_that_its_loss_is_no_chance(void **state)
{
    (void)state;
    static const struct {
        uint32_t edges;
        uint64_t apart_ms, rate_kbps, rtt_ms, buffer_ms, loss_percent;
        uint32_t lost_percent_max;
    } crowds[] = {
        {2, 3000, 1000, 80, 200, 0, 1}, {6, 1, 6000, 120, 250, 0, 4}, {3, 5000, 1500, 300, 400, 6, 4}};
    for (size_t index = 0; index < sizeof(crowds) / sizeof(crowds[0]); index++) {
        struct lab_config config = {.edge_count = crowds[index].edges,
                                    .end_ns = 120 * NS_PER_S,
                                    .measure_from_ns = 40 * NS_PER_S,
                                    .measure_to_ns = 120 * NS_PER_S,
                                    .seed = 1};
        config.bottleneck.rate_bps = crowds[index].rate_kbps * 1000;
        config.bottleneck.queue_unit = NETEM_QUEUE_BYTES;
        config.bottleneck.queue_limit =
            bytes_within(config.bottleneck.rate_bps, crowds[index].buffer_ms * NS_PER_MS);
        for (uint32_t edge = 0; edge < config.edge_count; edge++)
            config.edges[edge] = (struct lab_edge){.type = congestion_find("bql"),
                                                   .rtt_ns = crowds[index].rtt_ms * NS_PER_MS,
                                                   .loss_ppb = crowds[index].loss_percent * 10000000,
                                                   .start_ns = edge * crowds[index].apart_ms * NS_PER_MS,
                                                   .initial_bps = 10000000,
                                                   .packet_bytes = LAB_PACKET_BYTES};
        lab_run(&config, &result);
        print_message("%u edges: %llu of %llu dropped, queue p50 %llu ms\n", config.edge_count,
                      (unsigned long long)result.queue_drops, (unsigned long long)result.offered,
                      (unsigned long long)(result.queue_p50_ns / NS_PER_MS));
        assert_in_range(result.queue_drops, 0, result.offered * crowds[index].lost_percent_max / 100);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slow_crowd__finds_that_its_loss_is_no_chance),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
