/* Part (c): how far departures are from their schedule. The edge's pacer makes the times, the port's lane
 * keeps them, net_ring takes the packets. The time is cut into windows of 1 ms; those in which the loop was
 * away for more than 10 us (ticks, other processes) are counted apart, since software can only measure what
 * it is scheduled for. */
#include <stdio.h>
#include <string.h>

#include "app/bench/bench.h"
#include "app/bench/company.h"
#include "dpdk/port.h"

#include <rte_launch.h>
#include <rte_lcore.h>

#include "base/units.h"
#include "dpdk/tsc.h"
#include "edge/pacer.h"

#define RING_PLACES  4096
#define MEMORY_BYTES (256ULL << 20)
#define WINDOW_NS    NS_PER_MS
#define GAP_NS       10000
#define AHEAD        16 /* packets in the lane */
#define FRAME_BYTES  (MTU_DEFAULT + ETHERNET_HEADER_BYTES)
#define WIRE_BYTES   (FRAME_BYTES + ETHERNET_OVERHEAD_BYTES)
#define BURST_BYTES  (8 * WIRE_BYTES)

static struct port ports[2];
static bool stop; /* atomic */
static struct histogram all, clean;

static int drain_loop(void *unused)
{
    (void)unused;
    while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
        struct rte_mbuf *burst[PORT_BURST];
        uint16_t count = port_rx_burst(&ports[1], burst, PORT_BURST);
        rte_pktmbuf_free_bulk(burst, count);
    }
    return 0;
}

/* Adds what `now` has more than `before`. */
static void histogram_gain(struct histogram *sum, const struct histogram *now, const struct histogram *before)
{
    for (uint32_t bucket = 0; bucket < HISTOGRAM_BUCKETS; bucket++)
        sum->buckets[bucket] += now->buckets[bucket] - before->buckets[bucket];
    sum->count += now->count - before->count;
}

static void open_ports(const struct tsc_clock *clock)
{
    struct err err;
    struct rte_ring *rings[2];
    for (int number = 0; number < 2; number++) {
        char name[16];
        snprintf(name, sizeof(name), "ring%d", number);
        rings[number] =
            rte_ring_create(name, RING_PLACES, (int)rte_socket_id(), RING_F_SP_ENQ | RING_F_SC_DEQ);
        CHECK(rings[number] != NULL);
    }
    for (int number = 0; number < 2; number++) {
        struct port_config config = {.device = number == 0 ? "net_ring_a" : "net_ring_b",
                                     .frame_bytes_max = FRAME_BYTES,
                                     .extra_mbufs = RING_PLACES};
        if (!port_open_rings(&ports[number], &config, rings[number], rings[1 - number], &err))
            bench_fail("port", &err);
        port_start(&ports[number], tsc_now_ns(clock));
    }
}

static void fill_lane(struct lane *lane, struct pacer *pacer, bool sealed, uint64_t now_ns)
{
    while (lane_count(lane) < AHEAD) {
        struct rte_mbuf *mbuf = rte_pktmbuf_alloc(ports[0].pool);
        if (mbuf == NULL)
            return;
        mbuf->data_len = (uint16_t)(mbuf->pkt_len = FRAME_BYTES);
        if (sealed)
            company_seal();
        uint64_t depart_ns = MAX(pacer_next_ns(pacer), now_ns);
        lane_push(lane, &(struct lane_item){.packet = mbuf, .cookie = TX_COOKIE_NONE, .asked_ns = depart_ns});
        pacer_on_sent(pacer, WIRE_BYTES, depart_ns);
    }
}

static void flush_lane(struct lane *lane, uint64_t now_ns)
{
    struct rte_mbuf *burst[PORT_BURST];
    uint16_t due = (uint16_t)lane_due(lane, now_ns, PORT_BURST);
    for (uint16_t index = 0; index < due; index++)
        burst[index] = lane_item(lane, index)->packet;
    if (due > 0)
        lane_pop(lane, port_tx_burst(&ports[0], burst, due), now_ns);
}

static void report_errors(struct report *report)
{
    static const struct {
        const char *name;
        uint32_t per_million;
    } percentiles[] = {{"p50", 500000}, {"p90", 900000}, {"p99", 990000}, {"p999", 999000}};
    for (int which = 0; which < 2; which++) {
        report_object(report, which == 0 ? "all_ns" : "clean_ns");
        for (size_t index = 0; index < sizeof(percentiles) / sizeof(percentiles[0]); index++)
            report_u64(report, percentiles[index].name,
                       histogram_percentile(which == 0 ? &all : &clean, percentiles[index].per_million));
        report_object_end(report);
    }
}

int bench_pacer(const struct bench_options *options)
{
    static struct tsc_clock clock;
    static struct lane lane;
    static struct histogram before;
    static struct bench_print print;
    struct pacer pacer;
    bench_eal(options, "sluice-bench", 2, MEMORY_BYTES);
    tsc_clock_start(&clock);
    open_ports(&clock);
    if (options->sealed)
        company_start(bench_primitives(), options->duration_ns, tsc_now_ns(&clock));
    rte_eal_remote_launch(drain_loop, NULL, rte_get_next_lcore(-1, 1, 0));
    uint64_t begin_ns = tsc_now_ns(&clock), last_ns = begin_ns, window_ns = begin_ns + WINDOW_NS;
    uint64_t gap_ns_max = 0, gap_in_window_ns = 0, windows = 0, windows_clean = 0;
    lane_init(&lane, 0);
    pacer_init(&pacer, options->rate_bps, BURST_BYTES, begin_ns + NS_PER_US);
    while (elapsed_ns(last_ns, begin_ns) < options->duration_ns) {
        uint64_t now_ns = tsc_now_ns(&clock);
        gap_in_window_ns = MAX(gap_in_window_ns, elapsed_ns(now_ns, last_ns));
        last_ns = now_ns;
        flush_lane(&lane, now_ns);
        fill_lane(&lane, &pacer, options->sealed, now_ns);
        if (options->sealed)
            company_turn(now_ns);
        if (now_ns < window_ns)
            continue;
        windows++;
        histogram_gain(&all, &lane.error_ns, &before);
        if (gap_in_window_ns <= GAP_NS) {
            windows_clean++;
            histogram_gain(&clean, &lane.error_ns, &before);
        }
        before = lane.error_ns;
        gap_ns_max = MAX(gap_ns_max, gap_in_window_ns);
        gap_in_window_ns = 0;
        last_ns = tsc_now_ns(&clock); /* the accounting above is no gap of the loop */
        window_ns = last_ns + WINDOW_NS;
    }
    __atomic_store_n(&stop, true, __ATOMIC_RELAXED);
    rte_eal_mp_wait_lcore();
    bench_print_begin(&print, options);
    struct report *report = &print.report;
    report_u64(report, "rate_bps", options->rate_bps);
    report_bool(report, "sealed", options->sealed);
    report_u64(report, "handshakes", options->sealed ? company_handshakes() : 0);
    report_u64(report, "packets", lane.error_ns.count);
    report_u64(report, "achieved_bps",
               muldiv64(lane.error_ns.count * WIRE_BYTES * 8, NS_PER_S, last_ns - begin_ns));
    report_u64(report, "windows", windows);
    report_u64(report, "windows_clean", windows_clean);
    report_errors(report);
    report_u64(report, "reanchored", lane.reanchored);
    report_u64(report, "gap_us_max", gap_ns_max / NS_PER_US);
    bench_print_end(&print);
    return 0;
}
