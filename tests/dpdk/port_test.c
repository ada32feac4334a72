/* Two ports joined by rings inside this process: frames and datagrams cross, what is too long never does,
 * counters account for everything. */
#include "port_pair.h"

#include <rte_ethdev.h>

#include "dpdk/tsc.h"

static struct tx_packet outgoing[64];
static uint8_t body[8192];

static void fill(struct tx_packet *packet, uint64_t cookie, uint16_t body_bytes, uint64_t depart_ns)
{
    *packet = (struct tx_packet){
        .head_bytes = 64,
        .body_bytes = body_bytes,
        .body = body,
        .depart_ns = depart_ns,
        .cookie = cookie,
        .to = right.config.address,
    };
    memset(packet->head, (int)cookie, packet->head_bytes);
}

/* Sends `count` datagrams left → right at one instant and checks what arrives. Copied bodies are told as sent. */
static void cross(uint16_t count, uint16_t body_bytes, uint64_t now_ns)
{
    uint16_t frames, given;
    struct tx_report reports[64];
    for (uint16_t index = 0; index < count; index++)
        fill(&outgoing[index], index + 1u, body_bytes, now_ns);
    port_send(&left, outgoing, count, now_ns);
    assert_int_equal(port_flush(&left, now_ns), count);
    given = port_receive(&right, incoming, PORT_RECEIVE_MAX, &frames, now_ns + 5);
    assert_int_equal(given, count);
    for (uint16_t index = 0; index < given; index++) {
        assert_int_equal(incoming[index].length, 64 + body_bytes);
        assert_int_equal(incoming[index].port, 1);
        assert_int_equal(incoming[index].data[0], index + 1);
        assert_memory_equal(incoming[index].data + 64, body, body_bytes);
        assert_true(address_equal(&incoming[index].from, &left.config.address));
    }
    port_receive_done(&right);
    bool chained = left.chains && body_bytes >= CHAIN_BYTES_MIN;
    assert_int_equal(port_reports(&left, reports, 64), chained ? 0 : count);
    for (uint16_t index = 0; index < count && !chained; index++) {
        assert_int_equal(reports[index].status, TX_SENT);
        assert_int_equal(reports[index].released, 1);
        assert_int_equal(reports[index].cookie, index + 1);
        assert_int_equal(reports[index].sent_ns, now_ns);
    }
}

static void port__datagrams_cross_copied(void **state)
{
    (void)state;
    const char *pairs[][2] = {{"10.0.0.1", "10.0.0.2"}, {"fd00::1", "fd00::2"}};
    for (int pair = 0; pair < 2; pair++) {
        open_pair(pairs[pair][0], pairs[pair][1], false);
        uint64_t now_ns = settle(T0);
        cross(32, 1000, now_ns);
        cross(7, 0, now_ns + 1);
        assert_int_equal(left.counters.tx_chained, 0);
        assert_int_equal(right.counters.rx_datagrams, 39);
        close_pair();
    }
}

static void port__chained_bodies_are_released(void **state)
{
    (void)state;
    open_pair("10.0.0.1", "10.0.0.2", true);
    uint64_t now_ns = settle(T0);
    assert_true(left.chains);
    cross(20, 1000, now_ns);
    assert_int_equal(left.counters.tx_chained, 20);
    struct tx_report reports[64];
    port_flush(&left, now_ns + 1);
    assert_int_equal(port_reports(&left, reports, 64), 1); /* one body, one record of all its frames */
    assert_int_equal(reports[0].status, TX_RELEASED);
    assert_int_equal(reports[0].released, 20);
    assert_int_equal(chain_in_use(&left.chain), 0);
    cross(3, 100, now_ns + 2); /* short bodies are copied */
    assert_int_equal(left.counters.tx_chained, 20);
    close_pair();
}

/* Whose departures are asked for is copied, whatever its length, and each is told with its time. */
static void port__timed_packets_are_told_one_by_one(void **state)
{
    (void)state;
    open_pair("10.0.0.1", "10.0.0.2", true);
    uint64_t now_ns = settle(T0);
    uint16_t frames, told = 0;
    struct tx_report reports[8];
    for (uint16_t index = 0; index < 4; index++)
        fill(&outgoing[index], TX_COOKIE_TIMED | index, 1000, now_ns + 1000u * index);
    port_send(&left, outgoing, 4, now_ns);
    for (uint16_t index = 0; index < 4; index++)
        assert_int_equal(port_flush(&left, now_ns + 1000u * index), 1);
    assert_int_equal(left.counters.tx_chained, 0);
    told = port_reports(&left, reports, 8);
    assert_int_equal(told, 4);
    for (uint16_t index = 0; index < told; index++) {
        assert_true(reports[index].cookie == (TX_COOKIE_TIMED | index));
        assert_int_equal(reports[index].status, TX_SENT);
        assert_int_equal(reports[index].sent_ns, now_ns + 1000u * index);
    }
    assert_int_equal(port_receive(&right, incoming, 8, &frames, now_ns + 5000), 4);
    assert_memory_equal(incoming[3].data + 64, body, 1000);
    port_receive_done(&right);
    close_pair();
}

/* Taken by fours, all come in order, with the time of the call that took them from the device. */
static void port__received_by_fours(void **state)
{
    (void)state;
    open_pair("10.0.0.1", "10.0.0.2", false);
    uint64_t now_ns = settle(T0);
    uint16_t frames;
    for (uint16_t index = 0; index < 10; index++)
        fill(&outgoing[index], index + 1u, 600u + index, now_ns);
    port_send(&left, outgoing, 10, now_ns);
    assert_int_equal(port_flush(&left, now_ns), 10);
    uint64_t packets = right.counters.rx_packets;
    for (uint16_t taken = 0; taken < 10; taken += frames) {
        uint16_t count = port_receive(&right, incoming, 4, &frames, now_ns + taken);
        assert_int_equal(frames, MIN(4, 10 - taken));
        assert_int_equal(count, frames);
        for (uint16_t index = 0; index < count; index++) {
            assert_int_equal(incoming[index].length,
                             outgoing[taken + index].head_bytes + 600u + taken + index);
            assert_true(incoming[index].rx_ns == now_ns);
        }
        port_receive_done(&right);
        assert_int_equal(right.counters.rx_packets - packets, taken + frames);
    }
    assert_int_equal(port_receive(&right, incoming, 4, &frames, now_ns + 20), 0);
    assert_int_equal(frames, 0);
    close_pair();
}

/* More stood there than was taken at once: what came next may have come with it, for as long as that is so. And since the
 * device was last seen empty any of them may have come. */
static void port__says_what_waited(void **state)
{
    (void)state;
    open_pair("10.0.0.1", "10.0.0.2", false);
    uint64_t now_ns = settle(T0);
    uint16_t frames;
    assert_int_equal(port_receive(&right, incoming, 32, &frames, now_ns), 0);
    const uint64_t seen_empty_ns = now_ns;
    now_ns += 5 * NS_PER_MS;
    for (int half = 0; half < 2; half++) {
        for (uint16_t index = 0; index < 35; index++)
            fill(&outgoing[index], index + 1u, 600u, now_ns);
        port_send(&left, outgoing, 35, now_ns);
        while (port_flush(&left, now_ns) > 0)
            continue;
    }
    for (uint16_t taken = 0; taken < 70; taken += frames) {
        uint16_t count = port_receive(&right, incoming, 32, &frames, now_ns + taken);
        assert_true(count > 0);
        for (uint16_t index = 0; index < count; index++) {
            assert_int_equal(incoming[index].waited, taken + index >= PORT_RECEIVE_MAX);
            assert_int_equal(incoming[index].wait_ns, incoming[index].rx_ns - seen_empty_ns);
        }
        port_receive_done(&right);
    }
    now_ns += 100;
    fill(&outgoing[0], 1, 600, now_ns);
    port_send(&left, outgoing, 1, now_ns);
    port_flush(&left, now_ns);
    assert_int_equal(port_receive(&right, incoming, 32, &frames, now_ns), 1);
    assert_false(incoming[0].waited);
    assert_in_range(incoming[0].wait_ns, 1, 200);
    port_receive_done(&right);
    close_pair();
}

/* Frames of one body go away one by one: it is released with the last of them, and each body by itself. */
static void port__bodies_of_a_burst(void **state)
{
    (void)state;
    open_pair("10.0.0.1", "10.0.0.2", true);
    uint64_t now_ns = settle(T0);
    static uint8_t other[1000];
    uint16_t frames;
    struct tx_report reports[8];
    for (uint16_t index = 0; index < 5; index++)
        fill(&outgoing[index], index + 1u, 1000, now_ns);
    outgoing[2].body = outgoing[3].body = other;
    port_send(&left, outgoing, 5, now_ns);
    assert_int_equal(chain_in_use(&left.chain), 3); /* body, other, body again */
    assert_int_equal(port_flush(&left, now_ns), 5);
    assert_int_equal(port_receive(&right, incoming, 1, &frames, now_ns), 1);
    port_receive_done(&right);
    port_flush(&left, now_ns);
    assert_int_equal(port_reports(&left, reports, 8), 0);
    assert_int_equal(port_receive(&right, incoming, 8, &frames, now_ns), 4);
    port_receive_done(&right);
    port_flush(&left, now_ns);
    assert_int_equal(port_reports(&left, reports, 8), 3);
    unsigned released = 0;
    for (int index = 0; index < 3; index++) {
        assert_int_equal(reports[index].status, TX_RELEASED);
        released += reports[index].released;
    }
    assert_int_equal(released, 5);
    assert_int_equal(chain_in_use(&left.chain), 0);
    close_pair();
}

static void port__too_long_is_refused_and_counted(void **state)
{
    (void)state;
    open_pair("10.0.0.1", "10.0.0.2", true);
    uint64_t now_ns = settle(T0);
    uint16_t frames;
    struct tx_report reports[4];
    fill(&outgoing[0], 1, FRAME_MAX - 42 - 64, now_ns);
    fill(&outgoing[1], 2, FRAME_MAX - 42 - 64 + 1, now_ns);
    port_send(&left, outgoing, 2, now_ns);
    assert_int_equal(port_flush(&left, now_ns), 1);
    assert_int_equal(left.counters.tx_drop_too_long, 1);
    assert_int_equal(port_reports(&left, reports, 4), 1);
    assert_int_equal(reports[0].status, TX_REFUSED);
    assert_int_equal(reports[0].cookie, 2);
    assert_int_equal(reports[0].released, 1);
    assert_int_equal(port_receive(&right, incoming, 8, &frames, now_ns), 1);
    port_receive_done(&right);
    close_pair();
}

static struct rte_mbuf *raw_frame(struct port *port, uint16_t length)
{
    struct rte_mbuf *mbuf = rte_pktmbuf_alloc(port->pool);
    assert_non_null(mbuf);
    memset(rte_pktmbuf_append(mbuf, length), 0xab, length);
    return mbuf;
}

static void port__raw_frames_and_their_refusals(void **state)
{
    (void)state;
    open_pair("10.0.0.1", "10.0.0.2", false);
    const uint16_t lengths[] = {60, 1514, 1515, 13, 1514, 2000};
    struct rte_mbuf *mbufs[PORT_BURST];
    for (int index = 0; index < 6; index++)
        mbufs[index] = raw_frame(&left, lengths[index]);
    assert_int_equal(port_tx_burst(&left, mbufs, 6), 6);
    assert_int_equal(left.counters.tx_packets, 3);
    assert_int_equal(left.counters.tx_drop_too_long, 2);
    assert_int_equal(left.counters.tx_drop_too_short, 1);
    assert_int_equal(port_rx_burst(&right, mbufs, PORT_BURST), 3);
    for (int index = 0; index < 3; index++)
        assert_int_equal(mbufs[index]->port, 1);
    rte_pktmbuf_free_bulk(mbufs, 3);
    close_pair();
}

/* A frame of `count` parts of the given size, the first of them from `first` (a pool of the test's, or the port's). */
static struct rte_mbuf *frame_in_parts(struct rte_mempool *first, const uint8_t *frame, uint16_t length,
                                       uint16_t size)
{
    struct rte_mbuf *whole = NULL;
    for (uint16_t at = 0; at < length; at += size) {
        uint16_t bytes = MIN(size, (uint16_t)(length - at));
        struct rte_mbuf *part = rte_pktmbuf_alloc(whole == NULL ? first : left.pool);
        assert_non_null(part);
        memcpy(rte_pktmbuf_append(part, bytes), frame + at, bytes);
        if (whole == NULL)
            whole = part;
        else
            assert_int_equal(rte_pktmbuf_chain(whole, part), 0);
    }
    return whole;
}

/* As mergeable receive buffers give them: the first part's buffer holds the rest, or it does not. */
static void port__frames_of_several_parts(void **state)
{
    (void)state;
    static uint8_t frame[FRAME_MAX + 1];
    struct rte_mempool *small =
        rte_pktmbuf_pool_create("small", 63, 0, 0, RTE_PKTMBUF_HEADROOM + 300, (int)rte_socket_id());
    assert_non_null(small);
    open_pair("10.0.0.1", "10.0.0.2", false);
    for (size_t index = 0; index < sizeof(frame); index++)
        frame[index] = (uint8_t)(index * 13);
    const struct {
        struct rte_mempool *first;
        uint16_t length, size;
        bool good;
    } rows[] = {
        {left.pool, FRAME_MAX, 300, true},
        {small, FRAME_MAX, 300, true},
        {small, 301, 300, true},
        {small, FRAME_MAX, 17, true},
        {left.pool, FRAME_MAX + 1, 300, false},
        {small, FRAME_MAX + 1, 300, false},
    };
    for (size_t row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
        uint64_t too_long = right.counters.rx_drop_too_long;
        struct rte_mbuf *mbuf = frame_in_parts(rows[row].first, frame, rows[row].length, rows[row].size);
        assert_int_equal(rte_eth_tx_burst(left.id, 0, &mbuf, 1), 1);
        assert_int_equal(port_rx_burst(&right, &mbuf, 1), rows[row].good);
        assert_int_equal(right.counters.rx_drop_too_long - too_long, !rows[row].good);
        if (!rows[row].good)
            continue;
        assert_int_equal(mbuf->nb_segs, 1);
        assert_int_equal(mbuf->port, 1);
        assert_int_equal(mbuf->pkt_len, rows[row].length);
        assert_memory_equal(rte_pktmbuf_mtod(mbuf, uint8_t *), frame, rows[row].length);
        rte_pktmbuf_free(mbuf);
    }
    assert_int_equal(right.counters.rx_drop_segments + right.counters.rx_drop_no_mbuf, 0);
    assert_int_equal(rte_mempool_avail_count(small), 63);
    close_pair();
    rte_mempool_free(small);
}

/* Frames as a device marks them: with a checksum that it found right or wrong, or that none was computed. */
static void port__checksums_of_the_device(void **state)
{
    (void)state;
    const struct {
        uint64_t flag;
        bool right, taken, known;
    } rows[] = {
        {RTE_MBUF_F_RX_L4_CKSUM_UNKNOWN, true, true, true},
        {RTE_MBUF_F_RX_L4_CKSUM_UNKNOWN, false, false, false},
        {RTE_MBUF_F_RX_L4_CKSUM_GOOD, true, true, true},
        {RTE_MBUF_F_RX_L4_CKSUM_NONE, false, true, false},
        {RTE_MBUF_F_RX_L4_CKSUM_BAD, false, false, false},
    };
    open_pair("10.0.0.1", "10.0.0.2", false);
    uint64_t now_ns = settle(T0);
    for (size_t row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
        uint16_t frames;
        struct rte_mbuf *mbuf;
        uint64_t bad = right.counters.rx_drop_bad_udp;
        fill(&outgoing[0], 1, 1000, now_ns);
        port_send(&left, outgoing, 1, now_ns);
        mbuf = lane_item(&left.lane, 0)->packet;
        mbuf->ol_flags |= rows[row].flag;
        rte_pktmbuf_mtod(mbuf, uint8_t *)[40] ^= !rows[row].right;
        assert_int_equal(port_flush(&left, now_ns), 1);
        assert_int_equal(port_receive(&right, incoming, 8, &frames, now_ns), rows[row].taken);
        assert_int_equal(right.counters.rx_drop_bad_udp - bad, !rows[row].taken);
        if (rows[row].taken)
            assert_int_equal(incoming[0].data_sum,
                             rows[row].known ? checksum_of(incoming[0].data, incoming[0].length) : 0);
        port_receive_done(&right);
    }
    close_pair();
}

static void port__full_device_pushes_back(void **state)
{
    (void)state;
    open_pair("10.0.0.1", "10.0.0.2", false);
    uint64_t now_ns = settle(T0);
    uint32_t sent = 0;
    for (int round = 0; round < 100; round++) {
        uint16_t count = MIN(port_send_room(&left), (uint16_t)32);
        for (uint16_t index = 0; index < count; index++)
            fill(&outgoing[index], 1, 10, now_ns);
        port_send(&left, outgoing, count, now_ns);
        sent += port_flush(&left, now_ns);
    }
    assert_int_equal(sent, 1023);
    assert_int_equal(port_send_room(&left), 0); /* the lane is full of what waits */
    assert_true(left.counters.tx_full > 0);
    assert_int_equal(lane_count(&left.lane), LANE_PLACES);
    port_flush(&left, now_ns + PORT_STUCK_NS);
    port_flush(&left, now_ns + 2 * PORT_STUCK_NS);
    assert_int_equal(left.counters.tx_drop_stuck, LANE_PLACES);
    close_pair();
}

static void port__unresolved_peer_is_counted(void **state)
{
    (void)state;
    open_pair("10.0.0.1", "10.0.0.2", false);
    struct tx_report reports[4];
    fill(&outgoing[0], 9, 10, T0);
    port_send(&left, outgoing, 1, T0);
    assert_int_equal(left.counters.tx_drop_unresolved, 1);
    assert_int_equal(port_reports(&left, reports, 4), 1);
    assert_int_equal(reports[0].status, TX_REFUSED);
    close_pair();
}

static void port__wrong_destinations_have_their_counters(void **state)
{
    (void)state;
    open_pair("10.0.0.1", "10.0.0.2", false);
    uint64_t now_ns = settle(T0);
    uint16_t frames;
    struct rte_mbuf *mbufs[3];
    fill(&outgoing[0], 1, 10, now_ns);
    outgoing[0].to.udp_port++;
    port_send(&left, outgoing, 1, now_ns);
    port_flush(&left, now_ns);
    mbufs[0] = raw_frame(&left, 60); /* ethertype 0xabab */
    mbufs[1] = raw_frame(&left, 14);
    mbufs[2] = raw_frame(&left, 200);
    uint8_t *bad = rte_pktmbuf_mtod(mbufs[2], uint8_t *);
    bad[12] = 0x08, bad[13] = 0x00, bad[14] = 0x41; /* IPv4 with a header of 4 bytes */
    assert_int_equal(port_tx_burst(&left, mbufs, 3), 3);
    uint64_t before = right.counters.rx_packets, not_ip = right.counters.rx_drop_not_ip; /* probes */
    assert_int_equal(port_receive(&right, incoming, 8, &frames, now_ns), 0);
    assert_int_equal(frames, 4);
    port_receive_done(&right);
    assert_int_equal(right.counters.rx_packets - before, 4);
    assert_int_equal(right.counters.rx_drop_not_ours, 1);
    assert_int_equal(right.counters.rx_drop_bad_ip, 1);
    assert_int_equal(right.counters.rx_drop_not_ip - not_ip + right.counters.rx_drop_too_short, 2);
    close_pair();
}

/* Real time: printed, because what this machine does meanwhile decides it. */
static void port__departure_error_is_measured(void **state)
{
    (void)state;
    open_pair("10.0.0.1", "10.0.0.2", false);
    uint64_t now_ns = settle(T0);
    struct tsc_clock clock;
    struct tx_report reports[64];
    tsc_clock_start(&clock);
    clock.base_ns += now_ns; /* the ports have seen times up to here */
    uint64_t depart_ns = tsc_now_ns(&clock) + 50000;
    for (uint32_t sent = 0, made = 0; sent < 4000;) {
        struct rte_mbuf *mbufs[PORT_BURST];
        if (made < 4000 && lane_count(&left.lane) < 32) {
            fill(&outgoing[0], 1, 1400, depart_ns);
            port_send(&left, outgoing, 1, tsc_now_ns(&clock));
            depart_ns += 2460;
            made++;
        }
        sent += port_flush(&left, tsc_now_ns(&clock));
        port_reports(&left, reports, 64);
        rte_pktmbuf_free_bulk(mbufs, port_rx_burst(&right, mbufs, PORT_BURST));
    }
    const struct histogram *error = &left.lane.error_ns;
    printf("departure error at 5 Gbit/s: p50 %lu ns, p99 %lu ns, p99.9 %lu ns, max %lu ns, stalls %lu\n",
           histogram_percentile(error, 500000), histogram_percentile(error, 990000),
           histogram_percentile(error, 999000), error->largest, left.lane.reanchored);
    assert_int_equal(error->count, 4000);
    assert_int_equal(left.counters.tx_packets - left.counters.tx_asked - left.counters.rx_answered, 4000);
    close_pair();
}

int main(void)
{
    if (!fixture_eal_start("port_test"))
        return 1;
    for (size_t index = 0; index < sizeof(body); index++)
        body[index] = (uint8_t)(index * 7);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(port__datagrams_cross_copied),
        cmocka_unit_test(port__chained_bodies_are_released),
        cmocka_unit_test(port__timed_packets_are_told_one_by_one),
        cmocka_unit_test(port__bodies_of_a_burst),
        cmocka_unit_test(port__received_by_fours),
        cmocka_unit_test(port__says_what_waited),
        cmocka_unit_test(port__too_long_is_refused_and_counted),
        cmocka_unit_test(port__raw_frames_and_their_refusals),
        cmocka_unit_test(port__frames_of_several_parts),
        cmocka_unit_test(port__checksums_of_the_device),
        cmocka_unit_test(port__full_device_pushes_back),
        cmocka_unit_test(port__unresolved_peer_is_counted),
        cmocka_unit_test(port__wrong_destinations_have_their_counters),
        cmocka_unit_test(port__departure_error_is_measured),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
