/* The simulated network without nodes: what a packet's way costs, and in which order packets come out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/units.h"
#include "sim/net.h"

#define GBPS 1000000000ULL
#define WIRE 66 /* 28 of IP and UDP, 14 of Ethernet, 24 of the line */

struct fixture {
    struct scenario scenario;
    struct event_heap heap;
    struct digest digest;
    struct net net;
};

static struct fixture *fixture_new(void)
{
    struct fixture *fixture = calloc(1, sizeof(*fixture));
    assert_non_null(fixture);
    fixture->scenario.node_count = 3;
    for (int from = 0; from < 3; from++)
        for (int to = 0; to < 3; to++)
            fixture->scenario.links[from][to] = (struct netem_config){.delay_ns = NS_PER_MS};
    event_heap_init(&fixture->heap);
    digest_init(&fixture->digest);
    return fixture;
}

static void fixture_start(struct fixture *fixture)
{
    net_init(&fixture->net, &fixture->scenario, 1, &fixture->heap, &fixture->digest);
}

static void fixture_end(struct fixture *fixture)
{
    net_free(&fixture->net);
    event_heap_free(&fixture->heap);
    free(fixture);
}

static uint64_t send(struct fixture *fixture, uint16_t from, uint8_t mark, uint16_t bytes, uint64_t depart_ns)
{
    static const uint8_t zeros[9000];
    struct tx_packet packet = {.head_bytes = 1,
                               .body_bytes = (uint16_t)(bytes - 1),
                               .body = zeros,
                               .to = {.family = ADDRESS_IPV4},
                               .head = {mark}};
    return net_send(&fixture->net, from, 2, &packet, depart_ns);
}

/* Runs until host 2 gets a packet; returns its mark, or -1 when nothing is left. */
static int next_arrival(struct fixture *fixture, uint64_t *when_ns)
{
    struct event event;
    while (event_pop(&fixture->heap, &event)) {
        *when_ns = event.time_ns;
        if (event.kind == EVENT_LINK)
            net_on_link(&fixture->net, event.index, event.time_ns);
        if (event.kind == EVENT_SHARED)
            net_on_shared(&fixture->net, event.index, event.time_ns);
        if (event.kind == EVENT_STRAY)
            net_on_stray(&fixture->net, event.object, event.time_ns);
        if (event.kind != EVENT_PORT)
            continue;
        struct sim_packet *packet = net_take(&fixture->net, 2, event.time_ns);
        net_on_port(&fixture->net, 2, event.time_ns);
        if (packet == NULL)
            continue;
        *when_ns = packet->time_ns; /* the host may take it a turn later */
        int mark = packet->data[0];
        net_done(&fixture->net, packet);
        return mark;
    }
    return -1;
}

static void net_send__three_shapers_in_a_row(void **state)
{
    (void)state;
    struct fixture *fixture = fixture_new();
    fixture->scenario.nodes[0].uplink.rate_bps = GBPS;
    fixture->scenario.links[0][2].rate_bps = GBPS / 2;
    fixture->scenario.nodes[2].downlink.rate_bps = GBPS / 4;
    fixture_start(fixture);
    assert_int_equal(send(fixture, 0, 1, 1000 - WIRE, 500), 500);
    assert_int_equal(send(fixture, 0, 2, 1000 - WIRE, 500), 500);
    uint64_t when_ns;
    assert_int_equal(next_arrival(fixture, &when_ns), 1);
    assert_int_equal(when_ns, 500 + 8000 + 16000 + NS_PER_MS + 32000);
    assert_int_equal(next_arrival(fixture, &when_ns), 2);
    assert_int_equal(when_ns, 500 + 8000 + 16000 + NS_PER_MS + 64000);
    assert_int_equal(next_arrival(fixture, &when_ns), -1);
    assert_int_equal(fixture->net.pool.stream, 0);
    fixture_end(fixture);
}

/* A host that takes batches: each packet's time is its batch's. */
static void net_take__batches(void **state)
{
    (void)state;
    const uint64_t departs_ns[] = {0, 10000, 20000, 30000, 200000, 210000, 900000};
    const uint64_t stamps_ns[] = {20000, 20000, 20000, 80000, 250000, 250000, 950000};
    struct fixture *fixture = fixture_new();
    fixture->scenario.nodes[2].stamping = (struct netem_stamping){.batch = 3, .batch_ns = 50000};
    fixture_start(fixture);
    for (uint8_t mark = 0; mark < 7; mark++)
        send(fixture, 0, mark, 1000 - WIRE, departs_ns[mark]);
    uint64_t when_ns;
    for (int mark = 0; mark < 7; mark++) {
        assert_int_equal(next_arrival(fixture, &when_ns), mark);
        assert_int_equal(when_ns, NS_PER_MS + stamps_ns[mark]);
    }
    assert_int_equal(next_arrival(fixture, &when_ns), -1);
    fixture_end(fixture);
}

/* What waits for a host that takes nothing: as much as its ring holds, the first to come. */
static void net_take__ring_overflows(void **state)
{
    (void)state;
    static const struct {
        uint64_t ring_bytes;
        uint32_t ring_packets, taken;
    } rows[] = {{0, 0, 20}, {0, 4, 4}, {5000, 0, 5}, {4999, 0, 4}, {5000, 3, 3}, {20000, 20, 20}};
    for (size_t row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
        struct fixture *fixture = fixture_new();
        fixture->scenario.nodes[2].ring_bytes = rows[row].ring_bytes;
        fixture->scenario.nodes[2].ring_packets = rows[row].ring_packets;
        fixture_start(fixture);
        for (unsigned round = 0; round < 2; round++) {
            uint64_t start_ns = round * 10 * NS_PER_MS;
            struct event event;
            for (uint8_t mark = 0; mark < 20; mark++)
                send(fixture, 0, mark, 1000 - WIRE, start_ns + mark * 10000ULL);
            while (event_pop(&fixture->heap, &event))
                if (event.kind == EVENT_LINK)
                    net_on_link(&fixture->net, event.index, event.time_ns);
            uint32_t taken = 0;
            struct sim_packet *packet;
            while ((packet = net_take(&fixture->net, 2, start_ns + 5 * NS_PER_MS)) != NULL) {
                assert_int_equal(packet->data[0], taken++);
                net_done(&fixture->net, packet);
            }
            assert_int_equal(taken, rows[row].taken);
            assert_int_equal(fixture->net.counters.ring_drops, (20 - taken) * (round + 1));
            assert_int_equal(fixture->net.counters.delivered, taken * (round + 1));
        }
        fixture_end(fixture);
    }
}

/* The truth of a watched downlink: as much as was asked for, to a packet, beside what was sent; a link
 * that is watched decides alike. */
static void net_truth__of_a_downlink(void **state)
{
    (void)state;
    const struct netem_load half = {.kind = NETEM_LOAD_POISSON, .rate_bps = GBPS / 2, .wire_bytes = 1538};
    uint64_t last_ns[2] = {0};
    for (unsigned watched = 0; watched < 2; watched++) {
        struct fixture *fixture = fixture_new();
        struct scenario_node *node = &fixture->scenario.nodes[2];
        node->downlink = (struct netem_config){.rate_bps = GBPS, .load_count = 1, .loads = {half}};
        node->watch_ns = watched * 20 * NS_PER_MS;
        fixture_start(fixture);
        for (unsigned sent = 0; sent < 100; sent++)
            send(fixture, 0, 1, 1000 - WIRE, sent * 8000);
        while (next_arrival(fixture, &last_ns[watched]) == 1)
            ;
        const struct netem_truth *truth = net_truth(&fixture->net, 2, 30 * NS_PER_MS);
        if (watched != 0) {
            const struct netem_counters *counters = &fixture->net.ports[2].downlink.counters;
            assert_true(netem_truth_covers(truth, 10 * NS_PER_MS));
            assert_int_equal(netem_truth_cross_bits(truth, 0, 30 * NS_PER_MS),
                             counters->background_bytes * 8);
            assert_in_range(truth->own_queue_bytes_max, 1000, 100000);
        } else {
            assert_null(truth);
        }
        fixture_end(fixture);
    }
    assert_int_equal(last_ns[0], last_ns[1]);
}

/* A departure that lies before the predecessor's goes out behind it. */
static void net_send__uplink_keeps_order(void **state)
{
    (void)state;
    struct fixture *fixture = fixture_new();
    fixture_start(fixture);
    assert_int_equal(send(fixture, 0, 1, 100, 50000), 50000);
    assert_int_equal(send(fixture, 0, 2, 100, 10000), 50000);
    uint64_t when_ns;
    assert_int_equal(next_arrival(fixture, &when_ns), 1);
    assert_int_equal(next_arrival(fixture, &when_ns), 2);
    fixture_end(fixture);
}

static void net_send__senders_share_the_downlink(void **state)
{
    (void)state;
    struct fixture *fixture = fixture_new();
    fixture->scenario.nodes[2].downlink.rate_bps = GBPS;
    fixture->scenario.links[1][2].delay_ns = NS_PER_MS + 4000;
    fixture_start(fixture);
    for (uint8_t mark = 0; mark < 4; mark++)
        send(fixture, mark % 2, mark, 1000 - WIRE, mark / 2 * 8000);
    uint64_t when_ns;
    for (int mark = 0; mark < 4; mark++) {
        assert_int_equal(next_arrival(fixture, &when_ns), mark);
        assert_int_equal(when_ns, NS_PER_MS + 8000ULL * (unsigned)(mark + 1));
    }
    fixture_end(fixture);
}

static void net_send__strays_overtake(void **state)
{
    (void)state;
    struct fixture *fixture = fixture_new();
    fixture->scenario.links[0][2] =
        (struct netem_config){.delay_ns = NS_PER_MS, .jitter_ns = NS_PER_MS, .reorder = true};
    fixture_start(fixture);
    bool seen[200] = {false};
    int overtaken = 0, before = -1, mark;
    uint64_t when_ns, last_ns = 0;
    for (uint8_t sent = 0; sent < 200; sent++)
        send(fixture, 0, sent, 100, sent * 1000ULL);
    while ((mark = next_arrival(fixture, &when_ns)) >= 0) {
        assert_false(seen[mark]);
        assert_true(when_ns >= last_ns);
        assert_in_range(when_ns, (unsigned)mark * 1000ULL + NS_PER_MS,
                        (unsigned)mark * 1000ULL + 2 * NS_PER_MS);
        seen[mark] = true;
        last_ns = when_ns;
        overtaken += mark < before;
        before = mark;
    }
    for (mark = 0; mark < 200; mark++)
        assert_true(seen[mark]);
    assert_true(overtaken > 50);
    fixture_end(fixture);
}

/* Every packet is delivered, lost, refused or corrupt, and exactly one of them. */
static void net_send__accounts_for_every_packet(void **state)
{
    (void)state;
    struct fixture *fixture = fixture_new();
    fixture->scenario.nodes[2].downlink =
        (struct netem_config){.rate_bps = GBPS, .queue_unit = NETEM_QUEUE_PACKETS, .queue_limit = 10};
    fixture->scenario.links[0][2] = (struct netem_config){.rate_bps = 2 * GBPS,
                                                          .delay_ns = NS_PER_MS,
                                                          .jitter_ns = 50000,
                                                          .reorder = true,
                                                          .loss_ppb = 100000000,
                                                          .duplicate_ppb = 100000000,
                                                          .corrupt_ppb = 100000000,
                                                          .mtu = 1500};
    fixture_start(fixture);
    uint64_t when_ns, arrivals = 0;
    for (int sent = 0; sent < 5000; sent++)
        send(fixture, 0, 1, sent % 10 == 0 ? 1473 : 1000, (unsigned)sent * 6000ULL);
    while (next_arrival(fixture, &when_ns) >= 0)
        arrivals++;
    const struct net_counters *counters = &fixture->net.counters;
    assert_int_equal(counters->sent, 5000);
    assert_int_equal(counters->too_long, 500);
    assert_int_equal(counters->delivered, arrivals);
    assert_int_equal(counters->sent + counters->duplicated, counters->delivered + counters->lost +
                                                                counters->queue_drops + counters->too_long +
                                                                counters->corrupt_drops);
    assert_true(counters->lost > 300 && counters->duplicated > 300 && counters->corrupt_drops > 300);
    assert_true(counters->queue_drops > 0);
    assert_int_equal(fixture->net.pool.stream, 0);
    fixture_end(fixture);
}

static void share(struct fixture *fixture, uint16_t index, uint64_t rate_bps, uint64_t queue_ns)
{
    struct scenario_shared *shared = &fixture->scenario.shared[index];
    fixture->scenario.shared_count = MAX(fixture->scenario.shared_count, (uint16_t)(index + 1));
    shared->link =
        (struct netem_config){.rate_bps = rate_bps, .queue_unit = NETEM_QUEUE_NS, .queue_limit = queue_ns};
}

static void share_from(struct fixture *fixture, uint16_t index, uint16_t from)
{
    fixture->scenario.shared[index].members[from] |= 1u << 2;
}

/* Uplinks of 1 Gbit/s; the second sender's packets come 4 us later: in turns through the shared link. */
static void net_send__pairs_share_a_link(void **state)
{
    (void)state;
    struct fixture *fixture = fixture_new();
    fixture->scenario.nodes[0].uplink.rate_bps = fixture->scenario.nodes[1].uplink.rate_bps = GBPS;
    share(fixture, 0, GBPS / 10, NS_PER_MS);
    share_from(fixture, 0, 0);
    share_from(fixture, 0, 1);
    fixture_start(fixture);
    for (uint8_t mark = 0; mark < 4; mark++) {
        /* handed over sender by sender, not in order of time */
        uint16_t from = mark / 2;
        send(fixture, from, from + mark % 2 * 2, 1000 - WIRE, from * 4000ULL);
    }
    uint64_t when_ns;
    for (int mark = 0; mark < 4; mark++) {
        assert_int_equal(next_arrival(fixture, &when_ns), mark);
        assert_int_equal(when_ns, 8000 + 80000ULL * (unsigned)(mark + 1) + NS_PER_MS);
    }
    assert_int_equal(fixture->net.shared[0].carried_bytes, 4000);
    assert_int_equal(fixture->net.pool.stream, 0);
    fixture_end(fixture);
}

/* Host 0 crosses both links, host 1 the second alone: what the first lets through meets host 1's there. */
static void net_send__shared_links_in_a_row(void **state)
{
    (void)state;
    struct fixture *fixture = fixture_new();
    share(fixture, 0, GBPS, NS_PER_MS);
    share(fixture, 1, GBPS / 2, NS_PER_MS);
    share_from(fixture, 0, 0);
    share_from(fixture, 1, 0);
    share_from(fixture, 1, 1);
    fixture_start(fixture);
    send(fixture, 0, 0, 1000 - WIRE, 0);
    send(fixture, 1, 1, 1000 - WIRE, 7999);
    send(fixture, 0, 2, 1000 - WIRE, 0);
    const uint64_t expected_ns[] = {7999 + 16000 + NS_PER_MS, 7999 + 32000 + NS_PER_MS,
                                    7999 + 48000 + NS_PER_MS};
    const int marks[] = {1, 0, 2};
    uint64_t when_ns;
    for (int index = 0; index < 3; index++) {
        assert_int_equal(next_arrival(fixture, &when_ns), marks[index]);
        assert_int_equal(when_ns, expected_ns[index]);
    }
    assert_int_equal(next_arrival(fixture, &when_ns), -1);
    fixture_end(fixture);
}

/* What it refuses is counted there, and as a drop of the packet's pair. */
static void net_send__a_shared_link_drops(void **state)
{
    (void)state;
    struct fixture *fixture = fixture_new();
    share(fixture, 0, GBPS, 100000); /* 12 packets wait, one is being sent */
    share_from(fixture, 0, 0);
    fixture_start(fixture);
    for (uint8_t mark = 0; mark < 20; mark++)
        send(fixture, 0, mark, 1000 - WIRE, 0);
    uint64_t when_ns;
    int arrivals = 0;
    while (next_arrival(fixture, &when_ns) >= 0)
        arrivals++;
    assert_int_equal(arrivals, 13);
    assert_int_equal(fixture->net.shared[0].link.counters.queue_drops, 7);
    assert_int_equal(net_pair(&fixture->net, 0, 2)->port_drops, 7);
    assert_int_equal(fixture->net.counters.queue_drops, 7);
    netem_down(&fixture->net.shared[0].link, false, TIME_NEVER);
    send(fixture, 0, 1, 1000 - WIRE, NS_PER_S);
    assert_int_equal(next_arrival(fixture, &when_ns), -1);
    assert_int_equal(net_pair(&fixture->net, 0, 2)->shared_lost, 1);
    assert_int_equal(fixture->net.counters.down_drops, 1);
    assert_int_equal(fixture->net.pool.stream, 0);
    fixture_end(fixture);
}

/* However many packets are on their way to a shared link, each sender has one event in the heap. */
static void net_send__shared_links_keep_the_heap_small(void **state)
{
    (void)state;
    struct fixture *fixture = fixture_new();
    fixture->scenario.nodes[0].uplink.rate_bps = fixture->scenario.nodes[1].uplink.rate_bps = GBPS;
    share(fixture, 0, GBPS, 0);
    share_from(fixture, 0, 0);
    share_from(fixture, 0, 1);
    fixture_start(fixture);
    for (int sent = 0; sent < 1000; sent++)
        send(fixture, (uint16_t)(sent % 2), 1, 1000 - WIRE, 0);
    assert_int_equal(fixture->heap.count, 2);
    fixture_end(fixture);
}

/* A hundred thousand full packets of zeros under way take less than 15 MB. */
static void net_send__zeros_take_little_memory(void **state)
{
    (void)state;
    struct fixture *fixture = fixture_new();
    fixture_start(fixture);
    for (int sent = 0; sent < 100000; sent++)
        send(fixture, 0, 1, 1472, 0);
    assert_true(fixture->net.pool.allocated_bytes < 15000000);
    fixture_end(fixture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(net_send__three_shapers_in_a_row),
        cmocka_unit_test(net_take__batches),
        cmocka_unit_test(net_take__ring_overflows),
        cmocka_unit_test(net_truth__of_a_downlink),
        cmocka_unit_test(net_send__uplink_keeps_order),
        cmocka_unit_test(net_send__senders_share_the_downlink),
        cmocka_unit_test(net_send__strays_overtake),
        cmocka_unit_test(net_send__accounts_for_every_packet),
        cmocka_unit_test(net_send__pairs_share_a_link),
        cmocka_unit_test(net_send__shared_links_in_a_row),
        cmocka_unit_test(net_send__a_shared_link_drops),
        cmocka_unit_test(net_send__shared_links_keep_the_heap_small),
        cmocka_unit_test(net_send__zeros_take_little_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
