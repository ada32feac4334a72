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
        cmocka_unit_test(net_send__uplink_keeps_order),
        cmocka_unit_test(net_send__senders_share_the_downlink),
        cmocka_unit_test(net_send__strays_overtake),
        cmocka_unit_test(net_send__accounts_for_every_packet),
        cmocka_unit_test(net_send__zeros_take_little_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
