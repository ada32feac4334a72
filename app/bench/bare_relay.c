/* The floor under `relay`: one lcore receives full bursts over net_ring, copies each body once into a ring of buffers and
 * sends it to every child, with a header of its own and the body chained. No protocol, no checksum, no state: nobody who
 * keeps the bodies and sends them from there does with less. The other lcore makes the frames, in one piece as a NIC
 * delivers them, out of a ring as large, and frees what comes out. */
#include <stdio.h>

#include "app/bench/bench.h"
#include "app/bench/tally.h"
#include "dpdk/memory.h"
#include "dpdk/port.h"
#include "dpdk/tsc.h"

#include <rte_launch.h>
#include <rte_lcore.h>

#include "base/units.h"

#define RING_PLACES  8192
#define BUFFER_BYTES (96ULL << 20)
#define MEMORY_BYTES (768ULL << 20)
#define HEAD_BYTES   (ETHERNET_HEADER_BYTES + BENCH_HEAD_BYTES)
#define SLOT_BYTES   64 /* bodies begin on cache lines */

struct slots {
    uint8_t *bodies;
    struct rte_mbuf_ext_shared_info *shared;
    uint32_t count, body_bytes, stride, next;
};

static struct port source, relay; /* `source` only sends: what the relay sends is taken from the ring */
static struct rte_ring *into, *out_of;
static struct slots made, kept;
static struct tally tally;
static uint32_t children;
static uint64_t packets_wanted, first_pass;
static bool stop; /* atomic */

static void body_left(void *address, void *unused)
{
    (void)address;
    (void)unused; /* the ring comes round long after all frames are gone */
}

static void slots_make(struct slots *slots, const struct bench_options *options)
{
    slots->body_bytes = options->mtu + ETHERNET_HEADER_BYTES - HEAD_BYTES;
    slots->stride = (slots->body_bytes + SLOT_BYTES - 1) / SLOT_BYTES * SLOT_BYTES;
    slots->count = (uint32_t)(BUFFER_BYTES / slots->stride);
    slots->bodies = memory_take(BUFFER_BYTES, options->hugepages);
    slots->shared = memory_take(slots->count * sizeof(slots->shared[0]), options->hugepages);
    CHECK(slots->bodies != NULL && slots->shared != NULL);
    memset(slots->bodies, 0x5a, BUFFER_BYTES);
    for (uint32_t index = 0; index < slots->count; index++)
        slots->shared[index] = (struct rte_mbuf_ext_shared_info){.free_cb = body_left};
}

static uint32_t slots_next(struct slots *slots)
{
    uint32_t index = slots->next;
    slots->next = index + 1 == slots->count ? 0 : index + 1;
    return index;
}

/* ---- the relay's lcore ---- */

static void chain(struct rte_mbuf *head, struct rte_mbuf *body, const uint8_t *header, uint32_t slot)
{
    memcpy(rte_pktmbuf_mtod(head, uint8_t *), header, HEAD_BYTES);
    uint8_t *address = kept.bodies + (size_t)slot * kept.stride;
    rte_pktmbuf_attach_extbuf(body, address, (rte_iova_t)(uintptr_t)address, (uint16_t)kept.body_bytes,
                              &kept.shared[slot]);
    body->data_off = 0;
    body->data_len = (uint16_t)kept.body_bytes;
    head->data_len = HEAD_BYTES;
    head->pkt_len = HEAD_BYTES + kept.body_bytes;
    head->next = body;
    head->nb_segs = 2;
}

/* One burst in, a burst out for each child. */
static void relay_burst(void)
{
    struct rte_mbuf *in[PORT_BURST], *heads[PORT_BURST], *bodies[PORT_BURST];
    uint32_t slots[PORT_BURST];
    uint16_t count = port_rx_burst(&relay, in, PORT_BURST);
    for (uint16_t index = 0; index < count; index++)
        rte_prefetch0(rte_pktmbuf_mtod(in[index], uint8_t *));
    for (uint16_t index = 0; index < count; index++) {
        slots[index] = slots_next(&kept);
        memcpy(kept.bodies + (size_t)slots[index] * kept.stride,
               rte_pktmbuf_mtod(in[index], uint8_t *) + HEAD_BYTES, kept.body_bytes);
        rte_mbuf_ext_refcnt_set(&kept.shared[slots[index]], (uint16_t)children);
    }
    for (uint32_t child = 0; child < children; child++) {
        CHECK(rte_pktmbuf_alloc_bulk(relay.pool, heads, count) == 0 &&
              rte_pktmbuf_alloc_bulk(relay.pool, bodies, count) == 0);
        for (uint16_t index = 0; index < count; index++)
            chain(heads[index], bodies[index], rte_pktmbuf_mtod(in[index], uint8_t *), slots[index]);
        CHECK(port_tx_burst(&relay, heads, count) == count);
    }
    rte_pktmbuf_free_bulk(in, count);
}

static int relay_loop(void *argument)
{
    const struct tsc_clock *clock = argument;
    for (uint64_t done = 0; done < packets_wanted;) {
        if (rte_ring_count(into) < PORT_BURST || rte_ring_free_count(out_of) < PORT_BURST * children)
            continue;
        uint64_t begin_ns = tsc_now_ns(clock);
        relay_burst();
        uint64_t spent_ns = elapsed_ns(tsc_now_ns(clock), begin_ns);
        done += PORT_BURST;
        if (done > first_pass)
            tally_turn(&tally, spent_ns, PORT_BURST, PORT_BURST);
    }
    __atomic_store_n(&stop, true, __ATOMIC_RELEASE);
    return 0;
}

/* ---- the other one ---- */

static void source_burst(void)
{
    struct rte_mbuf *burst[PORT_BURST];
    if (rte_ring_free_count(into) < PORT_BURST || rte_pktmbuf_alloc_bulk(source.pool, burst, PORT_BURST) != 0)
        return;
    for (uint16_t index = 0; index < PORT_BURST; index++) {
        uint8_t *frame = rte_pktmbuf_mtod(burst[index], uint8_t *);
        memset(frame, 0, HEAD_BYTES);
        memcpy(frame + HEAD_BYTES, made.bodies + (size_t)slots_next(&made) * made.stride, made.body_bytes);
        burst[index]->data_len = (uint16_t)(burst[index]->pkt_len = HEAD_BYTES + made.body_bytes);
    }
    CHECK(port_tx_burst(&source, burst, PORT_BURST) == PORT_BURST);
}

static void sink_burst(void)
{
    void *burst[PORT_BURST];
    unsigned count = rte_ring_sc_dequeue_burst(out_of, burst, PORT_BURST, NULL);
    rte_pktmbuf_free_bulk((struct rte_mbuf **)burst, count);
}

static void open_port(struct port *port, const struct bench_options *options, const char *device,
                      struct rte_ring *rx, struct rte_ring *tx, const struct tsc_clock *clock)
{
    struct err err;
    struct port_config config = {.device = device,
                                 .frame_bytes_max = options->mtu + ETHERNET_HEADER_BYTES,
                                 .extra_mbufs = 2 * RING_PLACES,
                                 .promiscuous = true};
    if (!port_open_rings(port, &config, rx, tx, &err))
        bench_fail("port", &err);
    port_start(port, tsc_now_ns(clock));
}

int bench_bare_relay(const struct bench_options *options)
{
    static struct tsc_clock clock;
    static struct bench_print print;
    children = options->children;
    bench_eal(options, "sluice-bench", 2, MEMORY_BYTES);
    unsigned flags = RING_F_SP_ENQ | RING_F_SC_DEQ;
    into = rte_ring_create("into", RING_PLACES, (int)rte_socket_id(), flags);
    out_of = rte_ring_create("out", RING_PLACES, (int)rte_socket_id(), flags);
    CHECK(into != NULL && out_of != NULL);
    tsc_clock_start(&clock);
    open_port(&source, options, "net_ring_source", rte_ring_create("none", 64, (int)rte_socket_id(), flags),
              into, &clock);
    open_port(&relay, options, "net_ring_relay", into, out_of, &clock);
    slots_make(&made, options);
    slots_make(&kept, options);
    first_pass = kept.count;
    packets_wanted = first_pass + options->object_bytes / kept.body_bytes;
    rte_eal_remote_launch(relay_loop, &clock, rte_get_next_lcore(-1, 1, 0));
    while (!__atomic_load_n(&stop, __ATOMIC_ACQUIRE)) {
        source_burst();
        for (uint32_t child = 0; child < children; child++)
            sink_burst();
    }
    rte_eal_mp_wait_lcore();
    bench_print_begin(&print, options);
    report_u64(&print.report, "children", children);
    report_u64(&print.report, "mtu", options->mtu);
    report_bool(&print.report, "hugepages", options->hugepages);
    tally_report(&tally, &print.report);
    bench_print_end(&print);
    return 0;
}
