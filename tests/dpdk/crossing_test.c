/* A port behind a crossing, its device a ring that leads back into itself: what the node hands over comes
 * back to it. By turns of one thread, and between two; also built with ThreadSanitizer, where the compiler
 * has it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include <pthread.h>
#include <sched.h>

#include "base/units.h"
#include "dpdk/crossing.h"
#include "dpdk/memory.h"
#include "dpdk/port.h"
#include "eal_fixture.h"

#define FRAME_MAX  1514
#define DEVICE     2048 /* frames that the ring holds */
#define BODY_BYTES 1000
#define SLOTS      256 /* of the symbol buffer */
#define PACKETS    4000u
#define T0         NS_PER_S

static struct crossing *crossing;
static struct port port;
static struct datagram_port datagrams; /* the port */
static struct tsc_clock clock_of_port;
static uint8_t symbols[SLOTS][BODY_BYTES];
static struct net_address own;

static uint64_t time_ns(void)
{
    return tsc_now_ns(&clock_of_port);
}

static void open_world(bool chains)
{
    static unsigned serial;
    static char names[2][32];
    struct err err;
    snprintf(names[0], sizeof(names[0]), "net_ring_%u", serial);
    snprintf(names[1], sizeof(names[1]), "loop%u", serial++);
    struct rte_ring *ring = rte_ring_create(names[1], DEVICE, 0, RING_F_SP_ENQ | RING_F_SC_DEQ);
    assert_non_null(ring);
    own = (struct net_address){.ip = {10, 0, 0, 1}, .udp_port = NODE_UDP_PORT, .family = ADDRESS_IPV4};
    struct port_config config = {.device = names[0],
                                 .frame_bytes_max = FRAME_MAX,
                                 .extra_mbufs = CROSSING_RECEIVED + DEVICE,
                                 .no_chains = !chains,
                                 .address = own,
                                 .prefix_length = 24,
                                 .static_mac = true,
                                 .gateway_mac = {2, 0, 0, 0, 0, 1}};
    assert_true(port_open_rings(&port, &config, ring, ring, &err));
    datagrams = port_datagrams(&port);
    clock_of_port = (struct tsc_clock){.base_ns = T0}; /* no ns a tick: it stands still */
    assert_true(port_add_peer(&port, 0, &own, &err));
    assert_true(port_start(&port, time_ns()));
    crossing = memory_take(sizeof(*crossing), false);
    assert_non_null(crossing);
    crossing_init(crossing);
}

/* Every buffer of the pool must be back, but those that the port has at hand. */
static void close_world(void)
{
    crossing_close(crossing, &datagrams);
    stock_drain(&port.heads);
    stock_drain(&port.bodies);
    assert_int_equal(rte_mempool_in_use_count(port.pool), 0);
    port_close(&port);
}

static void fill(struct tx_packet *packet, uint32_t number, uint64_t cookie, const uint8_t *body)
{
    *packet = (struct tx_packet){.head_bytes = 8,
                                 .body_bytes = BODY_BYTES,
                                 .body = body,
                                 .depart_ns = time_ns(),
                                 .cookie = cookie,
                                 .to = own};
    memcpy(packet->head, &number, sizeof(number));
}

static uint32_t number_of(const struct rx_packet *packet)
{
    uint32_t number;
    memcpy(&number, packet->data, sizeof(number));
    return number;
}

static void turn(void)
{
    crossing_turn(crossing, &datagrams, &clock_of_port);
}

/* Nothing is waiting any more, anywhere between node and device. */
static void settle(void)
{
    do
        turn();
    while (!crossing_sent_all(crossing, &datagrams));
}

/* A body that is the node's own is only lent for the call. */
static void crossing__copies_what_is_only_lent(void **state)
{
    uint8_t body[BODY_BYTES];
    uint16_t room, count;
    (void)state;
    open_world(true);
    memset(body, 0x5a, sizeof(body));
    struct tx_packet *packets = crossing_sending(crossing, &room);
    assert_int_equal(room, CROSSING_BURST);
    fill(&packets[0], 1, TX_COOKIE_NONE, body);
    fill(&packets[1], 2, 0, symbols[0]);
    memset(symbols[0], 0x11, BODY_BYTES);
    crossing_send(crossing, 2);
    memset(body, 0, sizeof(body));
    memset(symbols[0], 0x22, BODY_BYTES); /* a symbol is not copied here */
    settle();
    turn();
    const struct rx_packet *got = crossing_received(crossing, &count, time_ns());
    assert_int_equal(count, 2);
    static const uint8_t expected[] = {0x5a, 0x22};
    for (int index = 0; index < 2; index++) {
        assert_int_equal(number_of(&got[index]), index + 1);
        assert_int_equal(got[index].length, 8 + BODY_BYTES);
        assert_int_equal(got[index].data[8], expected[index]);
        assert_int_equal(got[index].data[8 + BODY_BYTES - 1], expected[index]);
    }
    crossing_received_done(crossing, count);
    turn();
    const struct tx_report *reports = crossing_reports(crossing, &count);
    assert_int_equal(count, 1);
    assert_int_equal(reports[0].released, 1);
    crossing_reports_done(crossing, count);
    close_world();
}

static void crossing__shows_no_packet_of_the_future(void **state)
{
    uint16_t room, count;
    (void)state;
    open_world(false);
    fill(crossing_sending(crossing, &room), 1, TX_COOKIE_NONE, symbols[0]);
    crossing_send(crossing, 1);
    settle();
    turn();
    assert_int_equal(crossing_received(crossing, &count, T0 - 5)->rx_ns, T0 - 5);
    assert_int_equal(count, 1);
    close_world(); /* with a packet that was never taken */
}

/* Handed over ahead, leaves at its time; until then the port's worker knows when to be there. */
static void crossing__keeps_departures(void **state)
{
    uint16_t room;
    (void)state;
    open_world(false);
    struct tx_packet *packets = crossing_sending(crossing, &room);
    for (int index = 0; index < 2; index++) {
        fill(&packets[index], 1, TX_COOKIE_NONE, symbols[0]);
        packets[index].depart_ns = T0 + 1000 * (index + 1u);
    }
    crossing_send(crossing, 2);
    crossing_announce(crossing, T0 + 500, 70);
    turn();
    assert_int_equal(crossing_next_ns(crossing, &datagrams), T0 + 500); /* the node's next */
    assert_int_equal(crossing_gather_ns(crossing), 70);
    crossing_announce(crossing, TIME_NEVER, 70);
    for (int index = 0; index < 2; index++) {
        assert_int_equal(crossing_next_ns(crossing, &datagrams), T0 + 1000 * (index + 1u));
        clock_of_port.base_ns = T0 + 1000 * (index + 1u) - 1;
        turn();
        assert_int_equal(port.counters.tx_packets, index);
        clock_of_port.base_ns++;
        turn();
        assert_int_equal(port.counters.tx_packets, index + 1);
    }
    assert_true(crossing_sent_all(crossing, &datagrams));
    turn();
    close_world();
}

/* A node that takes nothing: what comes stays in the device, and goes on when it does. */
static void crossing__holds_up_who_is_faster(void **state)
{
    uint16_t room, count;
    uint32_t sent = 0, got = 0;
    (void)state;
    open_world(false);
    for (int round = 0; round < 200; round++) {
        struct tx_packet *packets = crossing_sending(crossing, &room);
        for (uint16_t index = 0; index < room; index++)
            fill(&packets[index], sent + index, index, symbols[0]);
        crossing_send(crossing, room);
        sent += room;
        turn();
    }
    assert_true(crossing->node_behind > 0);
    assert_int_equal(spsc_waiting(&crossing->received), CROSSING_RECEIVED);
    assert_int_equal(spsc_waiting(&crossing->sending), CROSSING_SENDING);
    assert_int_equal(spsc_waiting(&crossing->reported), CROSSING_REPORTED);
    assert_int_equal(lane_count(&port.lane), LANE_PLACES);
    uint32_t reported = 0;
    for (int round = 0; round < 1000 && (got < sent || reported < sent); round++) {
        const struct rx_packet *packets = crossing_received(crossing, &count, time_ns());
        for (uint16_t index = 0; index < count; index++)
            assert_int_equal(number_of(&packets[index]), got++);
        crossing_received_done(crossing, count);
        crossing_reports(crossing, &count);
        crossing_reports_done(crossing, count);
        reported += count;
        turn();
    }
    assert_int_equal(got, sent);
    assert_int_equal(reported, sent);
    assert_int_equal(port.counters.tx_drop_stuck, 0);
    turn();
    close_world();
}

/* ---- two threads ---- */

static bool stop; /* atomic */

static void *drive_port(void *unused)
{
    (void)unused;
    while (!__atomic_load_n(&stop, __ATOMIC_ACQUIRE))
        if (!crossing_turn(crossing, &datagrams, &clock_of_port))
            sched_yield();
    return NULL;
}

/* The node's side: a symbol's slot is written again as soon as its report has come, not before. */
struct node_side {
    uint32_t sent, got, reported;
    uint32_t wrong;
    uint32_t held[SLOTS]; /* packets that point at the slot */
};

static void send_some(struct node_side *node)
{
    uint16_t room, count = 0;
    struct tx_packet *packets = crossing_sending(crossing, &room);
    while (count < room && node->sent < PACKETS) {
        uint32_t slot = node->sent / 4 % SLOTS; /* four packets of each, as to four children */
        bool first = node->sent % 4 == 0;
        if (first && node->held[slot] > 0)
            break;
        if (first)
            memset(symbols[slot], (int)(node->sent / 4), BODY_BYTES);
        bool lent = node->sent % 32 == 31;
        fill(&packets[count++], node->sent++, lent ? TX_COOKIE_NONE : slot, symbols[slot]);
        node->held[slot] += !lent;
    }
    crossing_send(crossing, count);
}

static void take_some(struct node_side *node)
{
    uint16_t count;
    const struct rx_packet *packets = crossing_received(crossing, &count, time_ns());
    for (uint16_t index = 0; index < count; index++) {
        uint8_t content = (uint8_t)(node->got / 4);
        const uint8_t *body = packets[index].data + 8;
        node->wrong += number_of(&packets[index]) != node->got || packets[index].length != 8 + BODY_BYTES ||
                       body[0] != content || body[BODY_BYTES - 1] != content;
        node->got++;
    }
    crossing_received_done(crossing, count);
    const struct tx_report *reports = crossing_reports(crossing, &count);
    for (uint16_t index = 0; index < count; index++) {
        node->wrong += reports[index].released > node->held[reports[index].cookie];
        node->held[reports[index].cookie] -= reports[index].released;
        node->reported += reports[index].released;
    }
    crossing_reports_done(crossing, count);
}

/* What `show ports` reads while the worker counts. */
static uint64_t look(void)
{
    static char text[65536];
    struct report report;
    report_begin(&report, REPORT_JSON, text, sizeof(text));
    port_report(&port, &report);
    assert_true(report_end(&report));
    return count_get(&crossing->node_behind);
}

static void crossing__between_two_threads(void **state)
{
    pthread_t worker;
    (void)state;
    for (int chains = 0; chains < 2; chains++) {
        struct node_side node = {0};
        open_world(chains == 1);
        tsc_clock_start(&clock_of_port);
        stop = false;
        assert_int_equal(pthread_create(&worker, NULL, drive_port, NULL), 0);
        uint32_t lent = PACKETS / 32;
        uint64_t behind = 0;
        while (node.got < PACKETS || node.reported < PACKETS - lent) {
            uint32_t before = node.got;
            take_some(&node);
            send_some(&node);
            if (node.got == before) {
                assert_true(look() >= behind);
                behind = look();
                sched_yield();
            }
        }
        __atomic_store_n(&stop, true, __ATOMIC_RELEASE);
        pthread_join(worker, NULL);
        assert_int_equal(node.wrong, 0);
        assert_int_equal(port.counters.tx_chained > 0, chains == 1);
        turn();
        close_world();
    }
}

static void tsc__followers_tell_the_same_time(void **state)
{
    struct tsc_clock clock;
    struct tsc_shared shared = {0};
    struct tsc_follower follower = {0};
    (void)state;
    tsc_clock_init(&clock, 1000, NS_PER_S, NS_PER_S);
    tsc_share(&shared, &clock);
    tsc_follow(&follower, &shared);
    assert_int_equal(tsc_to_ns(&follower.clock, 5000), tsc_to_ns(&clock, 5000));
    tsc_clock_adjust(&clock, 1000 + NS_PER_S, 2 * NS_PER_S + 1000);
    tsc_share(&shared, &clock);
    assert_true(tsc_to_ns(&follower.clock, 3 * NS_PER_S) != tsc_to_ns(&clock, 3 * NS_PER_S));
    tsc_follow(&follower, &shared);
    assert_int_equal(tsc_to_ns(&follower.clock, 3 * NS_PER_S), tsc_to_ns(&clock, 3 * NS_PER_S));
    shared.version++; /* being written: what was followed so far stays */
    shared.clock.base_ns = 0;
    tsc_follow(&follower, &shared);
    assert_int_equal(tsc_to_ns(&follower.clock, 3 * NS_PER_S), tsc_to_ns(&clock, 3 * NS_PER_S));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(crossing__copies_what_is_only_lent),
        cmocka_unit_test(crossing__shows_no_packet_of_the_future),
        cmocka_unit_test(crossing__keeps_departures),
        cmocka_unit_test(crossing__holds_up_who_is_faster),
        cmocka_unit_test(crossing__between_two_threads),
        cmocka_unit_test(tsc__followers_tell_the_same_time),
    };
    return fixture_eal_start("crossing_test") ? cmocka_run_group_tests(tests, NULL, NULL) : 1;
}
