/* Part (b): what a relay spends on one packet. n0 → n1 → n2 … over net_ring: the relay n1 has a lcore of its
 * own, the other one drives source, children and a small switch that moves frames by destination address. The
 * figure is the time of the relay's turns that did something, by the data packets it received. */
#include <stdio.h>
#include <stdlib.h>

#include "app/bench/site.h"
#include "app/bench/bench.h"

#include <rte_launch.h>
#include <rte_lcore.h>

#include "base/units.h"

#define SITES_MAX    10
#define RELAY        1
#define RING_PLACES  4096
#define BUFFER_BYTES (96ULL << 20)
#define MEMORY_BYTES (512ULL << 20)
#define LIMIT_NS     (120 * NS_PER_S)

static struct site sites[SITES_MAX];
static struct rte_ring *into[SITES_MAX], *out_of[SITES_MAX];
static uint16_t site_count;
static bool stop; /* atomic */

/* Frames that do not fit the receiver's ring stay where they are: back-pressure, not loss. */
static void switch_turn(void)
{
    for (uint16_t from = 0; from < site_count; from++) {
        void *frames[SITE_BURST];
        unsigned room = UINT32_MAX;
        for (uint16_t to = 0; to < site_count; to++)
            room = MIN(room, rte_ring_free_count(into[to]));
        unsigned count =
            rte_ring_sc_dequeue_burst(out_of[from], frames, MIN(room, (unsigned)SITE_BURST), NULL);
        for (unsigned index = 0; index < count; index++) {
            const uint8_t *frame = rte_pktmbuf_mtod((struct rte_mbuf *)frames[index], const uint8_t *);
            uint16_t to = (uint16_t)(frame[33] - 1); /* last byte of the IPv4 destination */
            CHECK(to < site_count && rte_ring_sp_enqueue(into[to], frames[index]) == 0);
        }
    }
}

static int relay_loop(void *unused)
{
    (void)unused;
    while (!__atomic_load_n(&stop, __ATOMIC_RELAXED))
        site_turn(&sites[RELAY]);
    return 0;
}

static void open_site(const struct bench_options *options, uint16_t number)
{
    static char names[SITES_MAX][3][24];
    struct err err;
    snprintf(names[number][0], sizeof(names[number][0]), "net_ring_%u", number);
    snprintf(names[number][1], sizeof(names[number][1]), "into%u", number);
    snprintf(names[number][2], sizeof(names[number][2]), "out%u", number);
    unsigned flags = RING_F_SP_ENQ | RING_F_SC_DEQ;
    into[number] = rte_ring_create(names[number][1], RING_PLACES, (int)rte_socket_id(), flags);
    out_of[number] = rte_ring_create(names[number][2], RING_PLACES, (int)rte_socket_id(), flags);
    CHECK(into[number] != NULL && out_of[number] != NULL);
    struct port_config port = {
        .device = names[number][0],
        .frame_bytes_max = options->mtu + ETHERNET_HEADER_BYTES,
        .rate_bps = options->rate_bps,
        .extra_mbufs = 2 * RING_PLACES,
        .address = site_address(number),
        .prefix_length = 24,
        .static_mac = true,
        .gateway_mac = {2, 0, 0, 0, 0, 1},
    };
    if (!port_open_rings(&sites[number].port, &port, into[number], out_of[number], &err))
        bench_fail("port", &err);
    struct site_config config = {
        .number = number,
        .count = site_count,
        .mtu = options->mtu,
        .rate_bps = options->rate_bps,
        .buffer_bytes = BUFFER_BYTES,
        .blocks_max = (options->object_bytes >> 20) * 2 + 64,
        .object_bytes = options->object_bytes,
        .discard = true,
        .idle = IDLE_MODE_POLL,
    };
    if (!site_start(&sites[number], &config, &err))
        bench_fail("site", &err);
}

static void others_turn(void)
{
    for (uint16_t number = 0; number < site_count; number++)
        if (number != RELAY)
            site_turn(&sites[number]);
    switch_turn();
}

/* Until the source has heard from all others; then the job to its end. */
static void run_job(const struct bench_options *options, struct node_job_view *view)
{
    struct site *source = &sites[0];
    struct err err;
    struct node_edge_view edge;
    uint64_t limit_ns = source->now_ns + LIMIT_NS;
    for (uint32_t peer = 0; peer + 1u < site_count && source->now_ns < limit_ns;) {
        others_turn();
        CHECK(node_edge_view(source->node, peer, &edge));
        peer += edge.up;
    }
    struct job_spec spec = bench_job(options, site_count, true);
    if (!site_run_job(source, &spec, &err))
        bench_fail("job", &err);
    do {
        for (int turns = 0; turns < 100; turns++)
            others_turn();
        CHECK(node_job_view(source->node, 0, view));
    } while (view->state < JOB_DONE && source->now_ns < limit_ns);
    if (view->state != JOB_DONE) {
        fprintf(stderr, "sluice-bench: the job ended as %s: %s\n", job_state_name(view->state), view->text);
        exit(1);
    }
}

int bench_relay(const struct bench_options *options)
{
    static struct node_job_view view;
    static struct bench_print print;
    site_count = (uint16_t)(options->children + 2);
    bench_eal(options, "sluice-bench", 2, MEMORY_BYTES);
    for (uint16_t number = 0; number < site_count; number++)
        open_site(options, number);
    rte_eal_remote_launch(relay_loop, NULL, rte_get_next_lcore(-1, 1, 0));
    run_job(options, &view);
    __atomic_store_n(&stop, true, __ATOMIC_RELAXED);
    rte_eal_mp_wait_lcore();
    const struct site *relay = &sites[RELAY];
    uint64_t packets = MAX(site_counter(relay, "rx_data"), (uint64_t)1);
    uint64_t running_ns = MAX(view.ended_ns - view.running_ns, (uint64_t)1);
    bench_print_begin(&print, options);
    struct report *report = &print.report;
    report_u64(report, "children", options->children);
    report_u64(report, "mtu", options->mtu);
    report_u64(report, "packets", packets);
    report_u64(report, "ns_per_packet", relay->busy_ns / packets);
    report_bool(report, "chained", relay->port.chains);
    report_u64(report, "goodput_bps", muldiv64(view.size_bytes * 8, NS_PER_S, running_ns));
    report_u64(report, "gap_us_max", relay->gap_ns_max / NS_PER_US);
    bench_print_end(&print);
    return 0;
}
