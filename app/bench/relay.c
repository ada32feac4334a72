/* What a relay spends on one packet. n0 → n1 → n2 … over net_ring: the relay n1 has a lcore of its own, the other
 * one drives source, children and a small switch that moves frames by destination address. The figure is the time of
 * the relay's turns that did something, by the data packets it received.
 *
 * Fair to `bare-relay`, which is the floor: the source sends in one piece, as a NIC delivers; all memory was touched
 * before; the first pass through the relay's buffer does not count; and as the other lcore is slower than the relay, a
 * turn waits, outside of what is counted, until a burst has come in, unless the turn before left something to send. */
#include <stdio.h>
#include <stdlib.h>

#include "app/bench/site.h"
#include "app/bench/bench.h"
#include "app/bench/guests.h"
#include "app/bench/pass.h"
#include "app/bench/tally.h"
#include "app/exit_usage.h"
#include "dpdk/memory.h"
#include "dpdk/resident.h"

#include <rte_launch.h>
#include <rte_lcore.h>

#include "base/units.h"

#define SITES_MAX    10
#define RELAY        1
#define RING_PLACES  4096
#define BUFFER_BYTES (96ULL << 20)
#define LIMIT_NS     (120 * NS_PER_S)
#define WAIT_NS      (200 * NS_PER_US) /* for a whole burst */

static struct site sites[SITES_MAX];
static struct rte_ring *into[SITES_MAX], *out_of[SITES_MAX];
static uint16_t site_count, guest_count;
static struct tally tally;
static struct tally port_tally; /* of the relay's port, where another worker drives it */
static struct pass pass;
static bool passes;         /* the buffer is large, and what both ways through it cost is counted */
static uint64_t first_pass; /* data packets */
static bool stop;           /* atomic */

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
            if (to >= site_count)
                guests_take(frames[index], to);
            else
                CHECK(rte_ring_sp_enqueue(into[to], frames[index]) == 0);
        }
    }
}

static uint32_t waiting(const struct site *relay)
{
    return relay->crossing != NULL ? spsc_waiting(&relay->crossing->received) : rte_ring_count(into[RELAY]);
}

static void wait_for_burst(const struct site *relay)
{
    uint64_t begin_ns = tsc_now_ns(&relay->clock);
    while (waiting(relay) < SITE_BURST && elapsed_ns(tsc_now_ns(&relay->clock), begin_ns) < WAIT_NS &&
           !__atomic_load_n(&stop, __ATOMIC_RELAXED))
        continue;
}

static int relay_loop(void *unused)
{
    (void)unused;
    struct site *relay = &sites[RELAY];
    uint32_t data = site_counter_index(relay, "rx_data"), all = site_counter_index(relay, "rx_datagrams");
    uint64_t packets = 0, frames = 0;
    resident_stack();
    if (passes)
        pass_begin(&pass, relay->config.mtu - BENCH_HEAD_BYTES);
    while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
        if (relay->sent < SITE_BURST)
            wait_for_burst(relay);
        uint64_t busy_ns = relay->busy_ns, packets_before = packets, frames_before = frames;
        bool worked = site_turn(relay);
        node_counter(relay->node, data, &packets);
        node_counter(relay->node, all, &frames);
        uint64_t spent_ns = relay->busy_ns - busy_ns;
        bool counts = worked && packets_before >= first_pass;
        stages_end(&relay->stages, counts && spent_ns <= TALLY_LONG_NS);
        if (worked)
            pass_turn(&pass, spent_ns, packets);
        if (counts)
            tally_turn(&tally, spent_ns, packets - packets_before, frames - frames_before);
    }
    return 0;
}

static struct port_config port_config_of(const struct bench_options *options, uint16_t number,
                                         const char *device)
{
    return (struct port_config){
        .device = device,
        .frame_bytes_max = options->mtu + ETHERNET_HEADER_BYTES,
        .rate_bps = options->rate_bps,
        .extra_mbufs = 2 * RING_PLACES + CROSSING_RECEIVED,
        .address = site_address(number),
        .prefix_length = 24,
        .no_chains = number == 0, /* one piece, as from a NIC */
        .static_mac = true,
        .gateway_mac = {2, 0, 0, 0, 0, 1},
    };
}

/* What DPDK allocates: packet buffers of all ports. */
static uint64_t memory_bytes(const struct bench_options *options)
{
    struct port_config port = port_config_of(options, 0, "net_ring_0");
    return 2 * MEMORY_OVERHEAD_BYTES + (guest_count > 0 ? GUESTS_BYTES : 0) +
           site_count * port_eal_bytes(&port, options->hugepages);
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
    struct port_config port = port_config_of(options, number, names[number][0]);
    if (!port_open_rings(&sites[number].port, &port, into[number], out_of[number], &err))
        bench_fail("port", &err);
    struct site_config config = {
        .number = number,
        .count = site_count,
        .guests = number == RELAY ? guest_count : 0,
        .mtu = options->mtu,
        .rate_bps = options->rate_bps,
        .buffer_bytes = number == RELAY && passes ? PASS_BUFFER_BYTES : BUFFER_BYTES,
        .blocks_max = (options->object_bytes >> 20) * 2 + 64,
        .object_bytes = options->object_bytes / options->jobs,
        .stripes = (uint8_t)options->stripes,
        .hugepages = options->hugepages,
        .primitives = options->sealed ? bench_primitives() : NULL,
        .discard = true,
        .idle = IDLE_MODE_POLL,
    };
    if (!site_start(&sites[number], &config, &err))
        bench_fail("site", &err);
    if (number == RELAY && options->workers == 2) {
        sites[number].crossing = memory_take(sizeof(struct crossing), options->hugepages);
        CHECK(sites[number].crossing != NULL);
        crossing_init(sites[number].crossing);
    }
}

/* The relay's port, of which the node does the rest on the other lcore. */
static void relay_port_turn(struct site *relay)
{
    const struct port_counters *counters = &relay->port.counters;
    const struct datagram_port port = port_datagrams(&relay->port);
    uint64_t begin_ns = tsc_now_ns(&relay->clock), before = counters->rx_datagrams;
    if (crossing_turn(relay->crossing, &port, &relay->clock) && before >= first_pass)
        tally_turn(&port_tally, tsc_now_ns(&relay->clock) - begin_ns, counters->rx_datagrams - before,
                   counters->rx_datagrams - before);
}

static void others_turn(void)
{
    for (uint16_t number = 0; number < site_count; number++)
        if (number != RELAY)
            site_turn(&sites[number]);
    guests_turn();
    if (sites[RELAY].crossing != NULL)
        relay_port_turn(&sites[RELAY]);
    switch_turn();
}

static void start_guests(const struct bench_options *options)
{
    struct err err;
    struct guests_config config = {.relay = RELAY,
                                   .first = site_count,
                                   .count = guest_count,
                                   .interval_ns = options->interval_ns,
                                   .into = into[RELAY]};
    if (guest_count > 0 && !guests_start(&config, &sites[0].clock, &err))
        bench_fail("guests", &err);
}

static bool is_measured(const struct site *site, uint32_t peer)
{
    struct node_edge_view edge;
    CHECK(node_edge_view(site->node, peer, &edge));
    return edge.up && edge.rtt_min_ns > 0;
}

/* Until the source has heard from all others, and the relay from everybody; a busy machine takes longer for an RTT than the
 * job waits for it. */
static void wait_for_others(struct site *source, uint64_t limit_ns)
{
    for (uint32_t peer = 0; peer + 1u < site_count && source->now_ns < limit_ns;
         peer += is_measured(source, peer))
        others_turn();
    for (uint16_t child = RELAY + 1; child < site_count && source->now_ns < limit_ns;
         child += is_measured(&sites[child], RELAY))
        others_turn();
    while (!guests_up() && source->now_ns < limit_ns)
        others_turn();
}

static void start_jobs(const struct bench_options *options, struct site *source)
{
    struct err err;
    for (uint32_t number = 0; number < options->jobs; number++) {
        struct job_spec spec = bench_job(options, site_count, true, number);
        if (!site_run_job(source, &spec, &err))
            bench_fail("job", &err);
    }
}

/* All jobs to their end; `view` is that of the one which ended last. */
static void run_jobs(const struct bench_options *options, struct node_job_view *view)
{
    struct site *source = &sites[0];
    uint64_t limit_ns = source->now_ns + LIMIT_NS;
    wait_for_others(source, limit_ns);
    start_jobs(options, source);
    for (uint32_t number = 0; number < options->jobs && source->now_ns < limit_ns;) {
        for (int turns = 0; turns < 100; turns++)
            others_turn();
        CHECK(node_job_view(source->node, number, view));
        number += view->state >= JOB_DONE;
        if (view->state > JOB_DONE)
            break;
    }
    if (view->state != JOB_DONE) {
        fprintf(stderr, "sluice-bench: job %s ended as %s: %s\n", view->name, job_state_name(view->state),
                view->text);
        exit(1);
    }
}

/* Its time, too, by the data packets: acks and what else it takes in are their cost. */
static void report_port(const struct site *relay, struct report *report)
{
    uint64_t datagrams = MAX(port_tally.packets, (uint64_t)1);
    uint64_t data = MAX(site_counter(relay, "rx_data"), (uint64_t)1);
    report_fixed(report, "port_ns_per_packet",
                 muldiv64(port_tally.ns * 10 / datagrams, relay->port.counters.rx_datagrams, data), 1);
    report_u64(report, "port_turns", port_tally.turns);
    report_u64(report, "port_turns_long", port_tally.long_turns);
    report_u64(report, "node_behind", relay->crossing->node_behind);
}

int bench_relay(const struct bench_options *asked)
{
    struct bench_options larger = *asked, *options = &larger;
    if (options->first_pass)
        options->object_bytes = MAX(options->object_bytes, PASS_OBJECT_BYTES);
    passes = options->first_pass;
    options->sha256 |= options->sealed; /* what is sealed must be known by its hash */
    if (options->object_bytes <= BUFFER_BYTES) {
        fputs("sluice-bench: relay: nothing would count, --size must be more than 96MiB\n", stderr);
        return EXIT_USAGE;
    }
    static struct node_job_view view;
    static struct bench_print print;
    site_count = (uint16_t)(options->children + 2);
    guest_count = (uint16_t)(options->peers - MIN(options->peers, site_count - 1u));
    if (options->sealed && guest_count > 0) {
        fputs("sluice-bench: relay: --sealed goes without further --peers, which have no keys\n", stderr);
        return EXIT_USAGE;
    }
    bench_eal(options, "sluice-bench", 2, memory_bytes(options));
    for (uint16_t number = 0; number < site_count; number++)
        open_site(options, number);
    start_guests(options);
    first_pass = BUFFER_BYTES / (options->mtu - BENCH_HEAD_BYTES);
    sites[RELAY].stages.on = options->stages;
    resident_process();
    rte_eal_remote_launch(relay_loop, NULL, rte_get_next_lcore(-1, 1, 0));
    run_jobs(options, &view);
    __atomic_store_n(&stop, true, __ATOMIC_RELAXED);
    rte_eal_mp_wait_lcore();
    const struct site *relay = &sites[RELAY];
    uint64_t running_ns = MAX(view.ended_ns - view.running_ns, (uint64_t)1);
    bench_print_begin(&print, options);
    struct report *report = &print.report;
    report_u64(report, "children", options->children);
    report_u64(report, "mtu", options->mtu);
    report_u64(report, "stripes", options->stripes);
    report_u64(report, "jobs", options->jobs);
    report_u64(report, "peers", site_count - 1u + guest_count);
    report_u64(report, "workers", options->workers);
    report_bool(report, "hugepages", options->hugepages);
    report_bool(report, "sealed", options->sealed);
    report_u64(report, "packets", site_counter(relay, "rx_data"));
    tally_report(&tally, report);
    if (options->stages)
        stages_report(&relay->stages, tally.packets, report);
    if (passes)
        pass_report(&pass, report);
    if (relay->crossing != NULL)
        report_port(relay, report);
    report_bool(report, "chained", relay->port.chains);
    report_u64(report, "goodput_bps", muldiv64(view.size_bytes * options->jobs * 8, NS_PER_S, running_ns));
    report_u64(report, "gap_us_max", relay->gap_ns_max / NS_PER_US);
    bench_print_end(&print);
    return 0;
}
