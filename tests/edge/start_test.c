/* Starts of edges whose application has nothing to send meanwhile, as that of a relay which waits for its parent. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/units.h"
#include "lab.h"

#define MBPS(n)   ((uint64_t)(n)*1000000)
#define BUFFER_NS (50 * NS_PER_MS)

static struct lab_result result;

/* The application has so many packets until until_ms, then all that it likes; the edge is judged in the second after. */
struct hold {
    uint64_t rate_mbps, rtt_ms, packets, until_ms;
    uint32_t share_permille_min;
};

static struct lab_config config_of(const struct hold *hold)
{
    uint64_t until_ns = hold->until_ms * NS_PER_MS;
    struct lab_config config = {.edge_count = 1,
                                .end_ns = until_ns + NS_PER_S,
                                .measure_from_ns = until_ns,
                                .measure_to_ns = until_ns + NS_PER_S,
                                .seed = 1};
    config.bottleneck.rate_bps = MBPS(hold->rate_mbps);
    config.bottleneck.queue_unit = NETEM_QUEUE_BYTES;
    config.bottleneck.queue_limit = bytes_within(MBPS(hold->rate_mbps), BUFFER_NS);
    config.edges[0] = (struct lab_edge){.type = congestion_find("bql"),
                                        .rtt_ns = hold->rtt_ms * NS_PER_MS,
                                        .initial_bps = MBPS(10),
                                        .hold_packets = hold->packets,
                                        .hold_until_ns = until_ns,
                                        .packet_bytes = LAB_PACKET_BYTES};
    return config;
}

/* What does not come in a pause says nothing of the path: a start that ended in one went on at the rate of a packet in
 * that pause, and needed seconds to come back. */
static void start__takes_a_pause_for_no_slow_path(void **state)
{
    (void)state;
    static const struct hold holds[] = {
        {100, 60, 20, 1000, 800}, {100, 60, 30, 500, 700},  {100, 60, 40, 1000, 700},
        {100, 60, 80, 1000, 700}, {20, 60, 40, 1000, 800},  {500, 20, 120, 1000, 700},
        {100, 10, 40, 1000, 900}, {50, 150, 60, 2000, 300},
    };
    for (size_t index = 0; index < sizeof(holds) / sizeof(holds[0]); index++) {
        struct lab_config config = config_of(&holds[index]);
        lab_run(&config, &result);
        uint64_t got_bps = result.edges[0].new_packets * LAB_PACKET_BYTES * 8;
        print_message("%" PRIu64 " packets, %" PRIu64 " Mbit/s, RTT %" PRIu64 " ms: %" PRIu64 " permille\n",
                      holds[index].packets, holds[index].rate_mbps, holds[index].rtt_ms,
                      got_bps / (holds[index].rate_mbps * 1000));
        assert_true(got_bps >= holds[index].share_permille_min * holds[index].rate_mbps * 1000);
        assert_true(result.queue_drops <= result.offered / 50);
    }
}

/* The path becomes a twentieth in a pause in which a packet leaves now and then: a start that went on then would be at a rate of
 * long ago. Little is lost, and what the path takes is found. */
static void start__ends_in_a_pause(void **state)
{
    (void)state;
    struct lab_config config = config_of(&(struct hold){100, 60, 40, 2000, 0});
    config.step_count = 1;
    config.steps[0] = (struct lab_step){.at_ns = NS_PER_S, .rate_bps = MBPS(5)};
    config.edges[0].trickle_ns = 400 * NS_PER_MS;
    lab_run(&config, &result);
    assert_true(result.queue_drops <= result.offered / 20);
    assert_true(result.edges[0].new_packets * LAB_PACKET_BYTES * 8 >= MBPS(4));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(start__ends_in_a_pause),
        cmocka_unit_test(start__takes_a_pause_for_no_slow_path),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
