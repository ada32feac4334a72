/* Ports whose device departs frames at times, stamps those that arrive, computes checksums, or takes no frames of
 * several parts: ports joined by rings, in front of which this program stands in for such a device. It adds to what the
 * driver says of itself, has the clock, and sees all bursts. */
#define ALLOW_EXPERIMENTAL_API

#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "dpdk/port.h"

#include <rte_ethdev.h>

#include "base/units.h"
#include "eal_fixture.h"

#define T0         (10 * NS_PER_S)
#define TICKS0     987654321000ULL
#define GAP_NS     1000
#define FRAMES_MAX 64

static struct port left, right;
static struct tsc_clock clock_of_ports;
static struct net_address addresses[2];
static uint8_t body[2048];

/* ---- the device ---- */

static struct {
    bool has_clock;
    uint64_t lacks, offers; /* of transmit capabilities */
    uint16_t refuses;       /* bursts yet to be refused */
    uint16_t sent, received;
    bool timed[FRAMES_MAX];
    uint64_t departs[FRAMES_MAX]; /* ticks */
    bool stamped[FRAMES_MAX];
    uint64_t arrived[FRAMES_MAX];
    int place;
    uint64_t tx_flag, rx_flag;
    eth_tx_burst_t send;
    eth_rx_burst_t receive;
} device;

int rte_eth_dev_info_get(uint16_t port_id, struct rte_eth_dev_info *info)
{
    static int (*of_driver)(uint16_t, struct rte_eth_dev_info *);
    if (of_driver == NULL)
        *(void **)&of_driver = dlsym(RTLD_NEXT, "rte_eth_dev_info_get");
    int status = of_driver(port_id, info);
    info->tx_offload_capa |= RTE_ETH_TX_OFFLOAD_SEND_ON_TIMESTAMP | device.offers;
    info->tx_offload_capa &= ~device.lacks;
    info->rx_offload_capa |= RTE_ETH_RX_OFFLOAD_TIMESTAMP;
    return status;
}

/* Half as fast again as the counter that our time is made of. */
int rte_eth_read_clock(uint16_t port_id, uint64_t *ticks)
{
    (void)port_id;
    uint64_t now = rte_rdtsc();
    *ticks = now + now / 2;
    return device.has_clock ? 0 : -ENOTSUP;
}

static uint16_t device_send(void *queue, struct rte_mbuf **mbufs, uint16_t count)
{
    if (device.refuses > 0) {
        device.refuses--;
        return 0;
    }
    for (uint16_t index = 0; index < count; index++) {
        assert_true(device.sent < FRAMES_MAX);
        device.timed[device.sent] = (mbufs[index]->ol_flags & device.tx_flag) != 0;
        device.departs[device.sent++] =
            *RTE_MBUF_DYNFIELD(mbufs[index], device.place, const rte_mbuf_timestamp_t *);
    }
    return device.send(queue, mbufs, count);
}

static uint16_t device_receive(void *queue, struct rte_mbuf **mbufs, uint16_t room)
{
    uint16_t count = device.receive(queue, mbufs, room);
    for (uint16_t index = 0; index < count; index++, device.received++) {
        *RTE_MBUF_DYNFIELD(mbufs[index], device.place, rte_mbuf_timestamp_t *) =
            device.arrived[device.received];
        mbufs[index]->ol_flags |= device.stamped[device.received] ? device.rx_flag : 0;
    }
    return count;
}

static uint64_t ticks_of(uint64_t ns)
{
    return TICKS0 + (uint64_t)((int64_t)(ns - T0) * 5 / 4);
}

/* ---- the ports ---- */

static void open_one(struct port *port, uint16_t index, struct rte_ring *rx, struct rte_ring *tx)
{
    static struct err err;
    char name[32];
    static unsigned serial;
    snprintf(name, sizeof(name), "net_ring_end%u", serial++);
    struct port_config config = {.device = name,
                                 .index = index,
                                 .frame_bytes_max = 1514,
                                 .clock = &clock_of_ports,
                                 .address = addresses[index],
                                 .prefix_length = 24,
                                 .static_mac = true,
                                 .gateway_mac = {2, 0, 0, 0, 0, 1}};
    assert_true(port_open_rings(port, &config, rx, tx, &err));
    assert_true(port_add_peer(port, 0, &addresses[1 - index], &err));
}

/* `known`: the device's clock runs at 5/4 of ours, and two looks at it were taken. */
static void know_clock(struct port *port, bool known)
{
    if (!known)
        return;
    device_clock_look(&port->stamps.clock, ticks_of(T0 - NS_PER_S), T0 - NS_PER_S);
    device_clock_look(&port->stamps.clock, ticks_of(T0), T0);
    port->lane.lead_ns = stamps_depart(&port->stamps) ? LANE_LEAD_NS : 0;
}

static void open_pair_with(bool known, uint64_t offers, uint64_t lacks)
{
    struct rte_ring *rings[2];
    static unsigned serial;
    for (int index = 0; index < 2; index++) {
        char name[32];
        snprintf(name, sizeof(name), "ring%u", serial++);
        rings[index] = rte_ring_create(name, 1024, 0, RING_F_SP_ENQ | RING_F_SC_DEQ);
        assert_non_null(rings[index]);
    }
    memset(&device, 0, sizeof(device));
    device.offers = offers;
    device.lacks = lacks;
    open_one(&left, 0, rings[1], rings[0]);
    open_one(&right, 1, rings[0], rings[1]);
    assert_true(left.stamps.departures && left.stamps.arrivals);
    assert_true(port_start(&left, T0) && port_start(&right, T0));
    assert_false(stamps_depart(&left.stamps) || stamps_arrive(&right.stamps)); /* no clock as yet */
    assert_int_equal(rte_mbuf_dyn_tx_timestamp_register(&device.place, &device.tx_flag), 0);
    assert_int_equal(rte_mbuf_dyn_rx_timestamp_register(&device.place, &device.rx_flag), 0);
    device.send = rte_eth_fp_ops[left.id].tx_pkt_burst;
    device.receive = rte_eth_fp_ops[right.id].rx_pkt_burst;
    rte_eth_fp_ops[left.id].tx_pkt_burst = device_send;
    rte_eth_fp_ops[right.id].rx_pkt_burst = device_receive;
    know_clock(&left, known);
    know_clock(&right, known);
}

static void open_pair(bool known)
{
    open_pair_with(known, 0, 0);
}

static void close_pair(void)
{
    port_close(&left);
    port_close(&right);
}

/* Frames that are to depart from first_ns on. */
static void send_frames(uint16_t count, uint64_t first_ns, uint64_t gap_ns)
{
    static struct tx_packet packets[FRAMES_MAX];
    for (uint16_t index = 0; index < count; index++)
        packets[index] = (struct tx_packet){.head_bytes = 64,
                                            .body_bytes = 1000,
                                            .body = body,
                                            .depart_ns = first_ns + index * gap_ns,
                                            .cookie = index,
                                            .to = addresses[1]};
    port_send(&left, packets, count, T0);
}

/* ---- cases ---- */

static void device_clock__follows(void **state)
{
    (void)state;
    const struct {
        uint64_t ticks_per_s, first;
    } rows[] = {{1000000000, 0}, {156250000, 1ULL << 60}, {24000000, 5}, {3000000000, UINT64_MAX / 2}};
    for (size_t row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
        static struct device_clock clock;
        clock = (struct device_clock){0};
        uint64_t tick_ns = NS_PER_S / rows[row].ticks_per_s + 1;
        for (uint64_t ns = 0; ns <= 5 * NS_PER_S; ns += 100 * NS_PER_MS) {
            device_clock_look(&clock, rows[row].first + muldiv64(ns, rows[row].ticks_per_s, NS_PER_S),
                              T0 + ns);
            assert_int_equal(device_clock_known(&clock), ns > 0);
            for (int64_t off_ns = -50000000; ns > 0 && off_ns <= 50000000; off_ns += 9999999) {
                uint64_t there_ns = ns + (uint64_t)off_ns;
                uint64_t ticks = rows[row].first + muldiv64(there_ns, rows[row].ticks_per_s, NS_PER_S);
                int64_t back_ns = (int64_t)(device_clock_ns(&clock, ticks) - T0 - there_ns);
                int64_t wrong = (int64_t)(device_clock_ticks(&clock, T0 + there_ns) - ticks);
                assert_true(back_ns >= -2 * (int64_t)tick_ns && back_ns <= 2 * (int64_t)tick_ns);
                assert_true(wrong >= -5 && wrong <= 5);
            }
        }
        assert_int_equal(clock.jumps, 0);
    }
}

/* One that was set is not believed until it was looked at anew. */
static void device_clock__jumps(void **state)
{
    (void)state;
    for (int back = 0; back < 2; back++) {
        struct device_clock clock = {0};
        device_clock_look(&clock, 1000000000, T0);
        device_clock_look(&clock, 1000000000 + DEVICE_CLOCK_BASE_NS - 1, T0 + DEVICE_CLOCK_BASE_NS - 1);
        assert_false(device_clock_known(&clock));
        device_clock_look(&clock, 1100000000, T0 + 100000000);
        assert_true(device_clock_known(&clock));
        uint64_t set = back ? 1150000000 : 1200000000 + DEVICE_CLOCK_JUMP_NS + 1;
        device_clock_look(&clock, set, T0 + 200000000);
        assert_false(device_clock_known(&clock));
        assert_int_equal(clock.jumps, 1);
        device_clock_look(&clock, set + 100000000, T0 + 300000000);
        assert_true(device_clock_known(&clock));
        assert_int_equal(device_clock_ns(&clock, set + 50000000), T0 + 250000000);
    }
}

static void departures__are_the_devices(void **state)
{
    (void)state;
    struct tx_report reports[FRAMES_MAX];
    open_pair(true);
    /* Up to 61 us ahead: one is due, the lane keeps the last six. */
    send_frames(32, T0 - GAP_NS, 2 * GAP_NS);
    assert_int_equal(port_next_ns(&left), T0 - GAP_NS - LANE_LEAD_NS);
    assert_int_equal(port_flush(&left, T0), 26);
    assert_int_equal(device.sent, 26);
    for (uint16_t index = 0; index < 26; index++) {
        assert_int_equal(device.timed[index], index > 0);
        if (index > 0)
            assert_in_range(device.departs[index] + 2 - ticks_of(T0 - GAP_NS + index * 2 * GAP_NS), 0, 4);
    }
    assert_int_equal(left.counters.tx_timed, 26);
    assert_int_equal(port_next_ns(&left), T0 + 51 * GAP_NS - LANE_LEAD_NS);
    assert_int_equal(port_flush(&left, T0 + 20 * GAP_NS), 6);
    assert_true(device.timed[31]);
    /* Chained: told when the other end has freed them. */
    assert_int_equal(port_reports(&left, reports, FRAMES_MAX), 0);
    close_pair();
}

static void departures__reported_when_they_will_be(void **state)
{
    (void)state;
    struct tx_report reports[FRAMES_MAX];
    for (int known = 0; known < 2; known++) {
        open_pair(known);
        left.chains = false;
        send_frames(8, T0, GAP_NS);
        for (uint64_t now_ns = T0; lane_count(&left.lane) > 0; now_ns += GAP_NS)
            port_flush(&left, now_ns);
        assert_int_equal(port_reports(&left, reports, FRAMES_MAX), 8);
        for (uint16_t index = 0; index < 8; index++) {
            assert_int_equal(reports[index].sent_ns, T0 + index * GAP_NS);
            assert_int_equal(reports[index].stamp_kind, known ? STAMP_HARDWARE : STAMP_SOFTWARE);
            assert_int_equal(device.timed[index], known && index > 0);
        }
        assert_int_equal(left.counters.tx_timed, known ? 8 : 0);
        close_pair();
    }
}

/* What the device did not take is given to it again, and when its time is over by then, without one. */
static void departures__tried_again(void **state)
{
    (void)state;
    open_pair(true);
    device.refuses = 1;
    send_frames(4, T0 + GAP_NS, 10 * GAP_NS);
    assert_int_equal(port_flush(&left, T0), 0);
    assert_int_equal(port_flush(&left, T0 + 5 * GAP_NS), 4);
    const bool timed[] = {false, true, true, true};
    assert_memory_equal(device.timed, timed, sizeof(timed));
    close_pair();
}

/* The core was away for 0.2 ms: a few leave at once, the others at times of their own distance, not as a burst. */
static void departures__after_a_stall(void **state)
{
    (void)state;
    open_pair(true);
    uint64_t now_ns = T0 + 200 * NS_PER_US;
    send_frames(24, T0, GAP_NS);
    assert_int_equal(port_flush(&left, now_ns), 24);
    assert_int_equal(left.lane.reanchored, 1);
    for (uint16_t index = 0; index < 24; index++)
        assert_int_equal(device.timed[index], index >= LANE_CATCH_UP);
    for (uint16_t index = LANE_CATCH_UP; index < 24; index++)
        assert_in_range(device.departs[index] + 2 - ticks_of(now_ns + (index - LANE_CATCH_UP + 1u) * GAP_NS),
                        0, 4);
    close_pair();
}

static void arrivals__are_the_devices(void **state)
{
    (void)state;
    const struct {
        bool known, stamped;
        int64_t arrived_ns; /* from the time at which they are taken */
        int64_t rx_ns;
        enum stamp_kind kind;
    } rows[] = {
        {true, true, -3000, -3000, STAMP_HARDWARE},  {true, true, -50000000, -50000000, STAMP_HARDWARE},
        {true, true, 300, 0, STAMP_HARDWARE}, /* never in the node's future */
        {true, true, -200000000, 0, STAMP_SOFTWARE}, {true, true, 200000000, 0, STAMP_SOFTWARE},
        {true, false, -3000, 0, STAMP_SOFTWARE},     {false, true, -3000, 0, STAMP_SOFTWARE},
    };
    for (size_t row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
        struct rx_packet packet;
        uint16_t frames;
        uint64_t now_ns = T0 + NS_PER_MS;
        open_pair(rows[row].known);
        send_frames(1, T0, 0);
        assert_int_equal(port_flush(&left, T0), 1);
        device.stamped[0] = rows[row].stamped;
        device.arrived[0] = ticks_of(now_ns) + (uint64_t)(rows[row].arrived_ns * 5 / 4);
        assert_int_equal(port_receive(&right, &packet, 1, &frames, now_ns), 1);
        assert_int_equal(packet.stamp_kind, rows[row].kind);
        int64_t wrong_ns = (int64_t)(packet.rx_ns - now_ns) - rows[row].rx_ns;
        assert_true(wrong_ns >= -2 && wrong_ns <= 2 && packet.rx_ns <= now_ns);
        assert_int_equal(right.counters.rx_stamped, rows[row].kind == STAMP_HARDWARE);
        port_receive_done(&right);
        close_pair();
    }
}

/* What the frame has in its UDP header, summed on by the device, is right; and without one it is right at once. */
static void checksums__by_the_device(void **state)
{
    (void)state;
    for (int offered = 0; offered < 2; offered++) {
        struct frame_view view;
        struct rte_mbuf *mbuf;
        open_pair_with(false, offered ? RTE_ETH_TX_OFFLOAD_UDP_CKSUM : 0, 0);
        send_frames(1, T0, 0);
        assert_int_equal(left.checksums, offered);
        mbuf = lane_item(&left.lane, 0)->packet;
        const uint64_t asked = RTE_MBUF_F_TX_UDP_CKSUM | RTE_MBUF_F_TX_IPV4;
        assert_int_equal(mbuf->ol_flags & (asked | RTE_MBUF_F_TX_IP_CKSUM), offered ? asked : 0);
        assert_int_equal(mbuf->l2_len, offered ? 14 : 0);
        assert_int_equal(mbuf->l3_len, offered ? IPV4_BYTES : 0);
        assert_int_equal(port_flush(&left, T0), 1);
        assert_int_equal(port_rx_burst(&right, &mbuf, 1), 1);
        uint8_t *frame = rte_pktmbuf_mtod(mbuf, uint8_t *), *udp = frame + 14 + IPV4_BYTES;
        assert_int_equal(frame_parse(frame, mbuf->pkt_len, true, &view), offered ? FRAME_BAD_UDP : FRAME_OK);
        if (offered)
            store_be16(udp + 6, checksum_fold(checksum_add(0, udp, mbuf->pkt_len - 14 - IPV4_BYTES)));
        assert_int_equal(frame_parse(frame, mbuf->pkt_len, true, &view), FRAME_OK);
        rte_pktmbuf_free(mbuf);
        close_pair();
    }
}

/* Whether bodies are chained is the driver's word. */
static void bodies__copied_without_multi_segs(void **state)
{
    (void)state;
    for (int lacking = 0; lacking < 2; lacking++) {
        open_pair_with(false, 0, lacking ? RTE_ETH_TX_OFFLOAD_MULTI_SEGS : 0);
        assert_int_equal(left.chains, !lacking);
        assert_int_equal(strncmp(left.bodies_text, "copied: ", 8) == 0, lacking);
        send_frames(3, T0, 0);
        assert_int_equal(port_flush(&left, T0), 3);
        assert_int_equal(left.counters.tx_chained, lacking ? 0 : 3);
        close_pair();
    }
}

/* The port looks itself: it knows the clock after some 20 ms, and forgets one that cannot be read any more. */
static void clock__is_looked_at(void **state)
{
    (void)state;
    open_pair(false);
    device.has_clock = true;
    uint64_t now_ns = T0, begin_ns = tsc_now_ns(&clock_of_ports);
    while (!stamps_depart(&left.stamps) && tsc_now_ns(&clock_of_ports) - begin_ns < 10 * NS_PER_S)
        port_service(&left, now_ns += PORT_LINK_POLL_NS);
    assert_true(stamps_depart(&left.stamps));
    assert_int_equal(left.lane.lead_ns, LANE_LEAD_NS);
    double ticks_per_ns = 1.5 * (double)tsc_clock_hz(&clock_of_ports) / 1e9;
    double measured = (double)left.stamps.clock.ticks_per_ns / 4294967296.0;
    assert_true(measured > 0.9 * ticks_per_ns && measured < 1.1 * ticks_per_ns);
    device.has_clock = false;
    port_service(&left, now_ns += PORT_LINK_POLL_NS);
    assert_false(stamps_depart(&left.stamps));
    assert_int_equal(left.lane.lead_ns, 0);
    close_pair();
}

int main(void)
{
    if (!fixture_eal_start("offloads_test"))
        return 1;
    tsc_clock_start(&clock_of_ports);
    for (int index = 0; index < 2; index++) {
        addresses[index].udp_port = NODE_UDP_PORT;
        assert_true(address_parse(index == 0 ? "10.0.0.1" : "10.0.0.2", &addresses[index]));
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(device_clock__follows),
        cmocka_unit_test(device_clock__jumps),
        cmocka_unit_test(departures__are_the_devices),
        cmocka_unit_test(departures__reported_when_they_will_be),
        cmocka_unit_test(departures__tried_again),
        cmocka_unit_test(departures__after_a_stall),
        cmocka_unit_test(arrivals__are_the_devices),
        cmocka_unit_test(clock__is_looked_at),
        cmocka_unit_test(checksums__by_the_device),
        cmocka_unit_test(bodies__copied_without_multi_segs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
