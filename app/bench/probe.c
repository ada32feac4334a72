/* Available bandwidth in real time: whole nodes n0 and n1 over net_ring, and between them a link of the link model with
 * evenly spaced cross traffic (wire.h). One lcore drives the sender n0 alone, the other the link and the receiver; the
 * link goes by the sender's clock, the receiver has one of its own. Measurements follow each other as operators would
 * ask for them; each one's figures stand beside what the link truly had left from the first departure that went into
 * the estimate to the last. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/bench/bench.h"
#include "app/bench/seen.h"
#include "app/bench/site.h"
#include "app/bench/wire.h"
#include "dpdk/memory.h"
#include "dpdk/resident.h"

#include <rte_launch.h>
#include <rte_lcore.h>

#include "base/units.h"

#define SENDER       0
#define RECEIVER     1
#define RING_PLACES  4096
#define BUFFER_BYTES (16ULL << 20)
#define PORT_BPS_MAX 10000000000ULL
#define QUEUE_NS     (5 * NS_PER_MS)
#define SETTLE_NS    NS_PER_S /* the nodes find each other, and know their round trip */
#define WAIT_NS      (20 * NS_PER_S)
#define LIMIT_PARTS  4 /* a measurement may last so many times what it was asked to */
#define RUNS_MAX     200

struct run {
    struct estimate estimate;
    uint64_t took_ns, gap_ns_max, wire_gap_ns_max;
    uint64_t left_bps, error_ppm; /* of capacity; UINT64_MAX: no value */
    bool ended;
};

static struct site sites[WIRE_ENDS];
static struct wire wire;
static struct tsc_clock wire_clock;
static struct seen seen;
static struct run runs[RUNS_MAX];
static uint64_t wire_gap_ns; /* atomic: the longest since the main thread last took it */
static bool stop;            /* atomic */

/* ---- start ---- */

static struct wire_config wire_config_of(const struct bench_options *options)
{
    uint64_t all_ns = SETTLE_NS + WAIT_NS + options->runs * (options->duration_ns * LIMIT_PARTS + WAIT_NS);
    return (struct wire_config){.capacity_bps = options->capacity_bps,
                                .cross_bps = options->cross_bps,
                                .port_bps = MIN(options->rate_bps, PORT_BPS_MAX),
                                .delay_ns = options->delay_ns,
                                .queue_ns = QUEUE_NS,
                                .truth_ns = MIN(all_ns, 200 * NS_PER_S)};
}

static struct port_config port_config_of(const struct bench_options *options, uint16_t number,
                                         const char *device)
{
    struct wire_config wire_config = wire_config_of(options);
    return (struct port_config){
        .device = device,
        .frame_bytes_max = options->mtu + ETHERNET_HEADER_BYTES,
        .rate_bps = MIN(options->rate_bps, PORT_BPS_MAX),
        .extra_mbufs = 2 * RING_PLACES + 2 * wire_packets(&wire_config),
        .address = site_address(number),
        .prefix_length = 24,
        .no_chains = true, /* one piece, as from a NIC */
        .static_mac = true,
        .gateway_mac = {2, 0, 0, 0, 0, 1},
    };
}

static struct rte_ring *ring_make(const char *name)
{
    struct rte_ring *ring =
        rte_ring_create(name, RING_PLACES, (int)rte_socket_id(), RING_F_SP_ENQ | RING_F_SC_DEQ);
    CHECK(ring != NULL);
    return ring;
}

static void open_site(const struct bench_options *options, uint16_t number, struct rte_ring *into,
                      struct rte_ring *out_of)
{
    struct err err;
    struct port_config port = port_config_of(options, number, number == SENDER ? "net_ring_0" : "net_ring_1");
    if (!port_open_rings(&sites[number].port, &port, into, out_of, &err))
        bench_fail("port", &err);
    struct site_config config = {
        .number = number,
        .count = WIRE_ENDS,
        .mtu = options->mtu,
        .rate_bps = port.rate_bps,
        .buffer_bytes = BUFFER_BYTES,
        .blocks_max = 64,
        .discard = true,
        .idle = IDLE_MODE_POLL,
        .hugepages = options->hugepages,
        .estimator = number == SENDER ? seen_around(estimator_kind(options->estimator), &seen) : NULL,
        .probe_ns = options->duration_ns,
    };
    if (!site_start(&sites[number], &config, &err))
        bench_fail("site", &err);
}

static void start_all(const struct bench_options *options)
{
    struct port_config port = port_config_of(options, SENDER, "net_ring_0");
    struct wire_config config = wire_config_of(options);
    bench_eal(options, "sluice-bench", 2,
              2 * MEMORY_OVERHEAD_BYTES + WIRE_ENDS * port_eal_bytes(&port, options->hugepages));
    struct rte_ring *into[WIRE_ENDS] = {ring_make("into0"), ring_make("into1")};
    struct rte_ring *out_of[WIRE_ENDS] = {ring_make("out0"), ring_make("out1")};
    for (uint16_t number = 0; number < WIRE_ENDS; number++)
        open_site(options, number, into[number], out_of[number]);
    wire_clock = sites[SENDER].clock;
    const uint16_t port_ids[WIRE_ENDS] = {sites[SENDER].port.id, sites[RECEIVER].port.id};
    wire_start(&wire, &config, out_of, into, port_ids, &wire_clock);
}

/* ---- the other lcore ---- */

static int wire_loop(void *unused)
{
    (void)unused;
    resident_stack();
    uint64_t last_ns = tsc_now_ns(&wire_clock);
    while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
        uint64_t now_ns = tsc_now_ns(&wire_clock), gap_ns = now_ns - last_ns;
        last_ns = now_ns;
        if (gap_ns > __atomic_load_n(&wire_gap_ns, __ATOMIC_RELAXED))
            __atomic_store_n(&wire_gap_ns, gap_ns, __ATOMIC_RELAXED);
        wire_turn(&wire, now_ns);
        site_turn(&sites[RECEIVER]);
    }
    return 0;
}

/* ---- measurements ---- */

static void turn_for(struct site *site, uint64_t duration_ns)
{
    uint64_t begin_ns = site->now_ns;
    while (elapsed_ns(site->now_ns, begin_ns) < duration_ns)
        site_turn(site);
}

static void wait_for_receiver(struct site *sender)
{
    struct node_edge_view edge = {.up = false};
    for (uint64_t begin_ns = sender->now_ns; !edge.up; site_turn(sender)) {
        CHECK(node_edge_view(sender->node, 0, &edge));
        if (elapsed_ns(sender->now_ns, begin_ns) > WAIT_NS) {
            fputs("sluice-bench: the nodes did not find each other\n", stderr);
            exit(1);
        }
    }
    turn_for(sender, SETTLE_NS);
}

static void measure(const struct bench_options *options, struct run *run)
{
    struct site *sender = &sites[SENDER];
    struct err err;
    uint64_t limit_ns = options->duration_ns * LIMIT_PARTS + WAIT_NS, begin_ns = sender->now_ns;
    seen_next(&seen);
    sender->gap_ns_max = 0;
    __atomic_store_n(&wire_gap_ns, 0, __ATOMIC_RELAXED);
    if (!site_probe(sender, RECEIVER, &err))
        bench_fail("probe", &err);
    while (!seen.ended && elapsed_ns(sender->now_ns, begin_ns) < limit_ns)
        site_turn(sender);
    *run = (struct run){.estimate = seen.estimate,
                        .took_ns = elapsed_ns(sender->now_ns, begin_ns),
                        .gap_ns_max = sender->gap_ns_max,
                        .wire_gap_ns_max = __atomic_load_n(&wire_gap_ns, __ATOMIC_RELAXED),
                        .ended = seen.ended};
}

/* Once the other lcore has ended. */
static void judge(const struct bench_options *options, struct run *run)
{
    const struct estimate *estimate = &run->estimate;
    run->error_ppm = UINT64_MAX;
    if (estimate->kind != ESTIMATE_VALUE || estimate->until_ns <= estimate->from_ns)
        return;
    run->left_bps = wire_left_bps(&wire, estimate->from_ns, estimate->until_ns);
    uint64_t off_bps =
        elapsed_ns(run->left_bps, estimate->avail_bps) + elapsed_ns(estimate->avail_bps, run->left_bps);
    run->error_ppm = muldiv64(off_bps, 1000000, options->capacity_bps);
}

/* ---- figures ---- */

static int by_error(const void *one, const void *other)
{
    uint64_t left = ((const struct run *)one)->error_ppm, right = ((const struct run *)other)->error_ppm;
    return (left > right) - (left < right);
}

static void report_run(struct report *report, const struct run *run)
{
    const struct estimate *estimate = &run->estimate;
    bool value = run->error_ppm != UINT64_MAX;
    report_row(report);
    report_text(report, "kind", estimate_kind_word(estimate->kind));
    report_text(report, "reason", run->ended ? estimate_reason_word(estimate->reason) : "did-not-end");
    report_u64(report, "avail_bps", estimate->avail_bps);
    report_u64(report, "low_bps", estimate->low_bps);
    report_u64(report, "high_bps", estimate->high_bps);
    report_u64(report, "capacity_bps", estimate->capacity_bps);
    report_u64(report, "left_bps", run->left_bps);
    if (value)
        report_fixed(report, "error_percent", run->error_ppm / 100, 2);
    report_bool(report, "holds",
                value && run->left_bps >= estimate->low_bps && run->left_bps <= estimate->high_bps);
    report_u64(report, "flags", estimate->flags);
    report_u64(report, "trains", estimate->trains);
    report_u64(report, "discarded", estimate->discarded);
    report_u64(report, "bytes", estimate->bytes);
    report_u64(report, "took_ms", run->took_ns / NS_PER_MS);
    report_u64(report, "gap_us_max", run->gap_ns_max / NS_PER_US);
    report_u64(report, "wire_gap_us_max", run->wire_gap_ns_max / NS_PER_US);
    report_row_end(report);
}

static void report_all(const struct bench_options *options, struct report *report)
{
    uint64_t values = 0, hold = 0;
    report_table(report, "runs");
    for (uint32_t index = 0; index < options->runs; index++) {
        const struct run *run = &runs[index];
        bool value = run->error_ppm != UINT64_MAX;
        report_run(report, run);
        values += value;
        hold += value && run->left_bps >= run->estimate.low_bps && run->left_bps <= run->estimate.high_bps;
    }
    report_table_end(report);
    report_u64(report, "values", values);
    report_u64(report, "hold", hold);
    qsort(runs, options->runs, sizeof(runs[0]), by_error);
    uint64_t median_ppm = runs[options->runs / 2].error_ppm; /* the worse of two */
    if (median_ppm != UINT64_MAX)
        report_fixed(report, "median_error_percent", median_ppm / 100, 2);
}

int bench_probe(const struct bench_options *options)
{
    static struct bench_print print;
    start_all(options);
    resident_process();
    rte_eal_remote_launch(wire_loop, NULL, rte_get_next_lcore(-1, 1, 0));
    wait_for_receiver(&sites[SENDER]);
    for (uint32_t index = 0; index < options->runs; index++)
        measure(options, &runs[index]);
    __atomic_store_n(&stop, true, __ATOMIC_RELAXED);
    rte_eal_mp_wait_lcore();
    for (uint32_t index = 0; index < options->runs; index++)
        judge(options, &runs[index]);
    bench_print_begin(&print, options);
    struct report *report = &print.report;
    report_text(report, "estimator", options->estimator);
    report_u64(report, "capacity_bps", options->capacity_bps);
    report_u64(report, "cross_bps", options->cross_bps);
    seen_report(&seen, report);
    report_all(options, report);
    bench_print_end(&print);
    return 0;
}
