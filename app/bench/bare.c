/* What net_ring itself does: one lcore takes buffers and sends them, the other receives and frees them. */
#include <stdio.h>

#include "app/bench/bench.h"
#include "dpdk/port.h"

#include <rte_launch.h>
#include <rte_lcore.h>

#include "base/units.h"
#include "dpdk/tsc.h"

#define RING_PLACES  4096
#define MEMORY_BYTES (256ULL << 20)

static struct port ports[2];
static bool stop; /* atomic */
static uint64_t received;

static int receive_loop(void *unused)
{
    (void)unused;
    while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
        struct rte_mbuf *burst[PORT_BURST];
        uint16_t count = port_rx_burst(&ports[1], burst, PORT_BURST);
        rte_pktmbuf_free_bulk(burst, count);
        received += count;
    }
    return 0;
}

static void send_burst(uint32_t frame_bytes)
{
    struct rte_mbuf *burst[PORT_BURST];
    if (rte_pktmbuf_alloc_bulk(ports[0].pool, burst, PORT_BURST) != 0)
        return;
    for (uint16_t index = 0; index < PORT_BURST; index++)
        burst[index]->data_len = (uint16_t)(burst[index]->pkt_len = frame_bytes);
    uint16_t sent = port_tx_burst(&ports[0], burst, PORT_BURST);
    rte_pktmbuf_free_bulk(burst + sent, PORT_BURST - sent);
}

int bench_bare(const struct bench_options *options)
{
    static struct tsc_clock clock;
    static struct bench_print print;
    struct err err;
    uint32_t frame_bytes = options->mtu + ETHERNET_HEADER_BYTES;
    bench_eal(options, "sluice-bench", 2, MEMORY_BYTES);
    struct rte_ring *ring =
        rte_ring_create("there", RING_PLACES, (int)rte_socket_id(), RING_F_SP_ENQ | RING_F_SC_DEQ);
    struct rte_ring *back =
        rte_ring_create("back", RING_PLACES, (int)rte_socket_id(), RING_F_SP_ENQ | RING_F_SC_DEQ);
    CHECK(ring != NULL && back != NULL);
    tsc_clock_start(&clock);
    for (int number = 0; number < 2; number++) {
        struct port_config config = {.device = number == 0 ? "net_ring_a" : "net_ring_b",
                                     .frame_bytes_max = frame_bytes,
                                     .extra_mbufs = RING_PLACES};
        if (!port_open_rings(&ports[number], &config, number == 0 ? back : ring, number == 0 ? ring : back,
                             &err))
            bench_fail("port", &err);
        port_start(&ports[number], tsc_now_ns(&clock));
    }
    rte_eal_remote_launch(receive_loop, NULL, rte_get_next_lcore(-1, 1, 0));
    uint64_t begin_ns = tsc_now_ns(&clock), now_ns = begin_ns;
    while (elapsed_ns(now_ns, begin_ns) < options->duration_ns) {
        for (int bursts = 0; bursts < 64; bursts++)
            send_burst(frame_bytes);
        now_ns = tsc_now_ns(&clock);
    }
    __atomic_store_n(&stop, true, __ATOMIC_RELAXED);
    rte_eal_mp_wait_lcore();
    bench_print_begin(&print, options);
    report_u64(&print.report, "mtu", options->mtu);
    report_u64(&print.report, "packets_per_s", muldiv64(received, NS_PER_S, now_ns - begin_ns));
    bench_print_end(&print);
    return 0;
}
