#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "app/wanem/ecn.h"
#include "app/wanem/wan.h"
#include "base/units.h"
#include "wire/ethernet.h"

#define FRAME     1514
#define WIRE      (FRAME + ETHERNET_OVERHEAD_BYTES) /* 1538: 12304 ns at 1 Gbit/s */
#define PACKET_NS 12304ULL
#define CAPACITY  4096
#define OWD_NS    (10 * NS_PER_MS)

static struct scenario scenario;
static struct wan wan;
static uint32_t released;

static void release(void *packet)
{
    (void)packet;
    released++;
}

static struct wan_verdict settled[64];
static uint32_t settled_count;

static void settle(void *context, uint16_t from, uint16_t to, void *packet, const struct wan_verdict *verdict)
{
    (void)context;
    (void)from;
    (void)to;
    (void)packet;
    settled[settled_count++] = *verdict;
}

static const struct wan_owner owner = {.release = release, .settle = settle};

/* Three sites; 1 Gbit/s shapers with 1 ms of queue, links of 10 ms. */
static int setup(void **state)
{
    (void)state;
    scenario = (struct scenario){.seed = 1, .node_count = 3};
    struct netem_config shaper = {
        .rate_bps = 1000000000, .queue_unit = NETEM_QUEUE_NS, .queue_limit = NS_PER_MS};
    for (int site = 0; site < 3; site++) {
        scenario.nodes[site].uplink = scenario.nodes[site].downlink = shaper;
        for (int to = 0; to < 3; to++)
            scenario.links[site][to] = (struct netem_config){.delay_ns = OWD_NS};
    }
    released = settled_count = 0;
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    wan_destroy(&wan);
    return 0;
}

static enum netem_verdict send(uint16_t from, uint16_t to, uintptr_t packet, uint64_t now_ns)
{
    return wan_rx(&wan, from, to, (void *)packet, FRAME, FRAME - 14, now_ns).verdict;
}

static uint16_t due(uint16_t site, void **packets, uint64_t now_ns)
{
    wan_run(&wan, now_ns);
    return wan_due(&wan, site, packets, 32, now_ns);
}

static void wan_due__after_both_shapers_and_the_link(void **state)
{
    (void)state;
    void *packets[32];
    wan_create(&wan, &scenario, CAPACITY, &owner);
    assert_int_equal(send(0, 1, 42, 1000), NETEM_PASS);
    uint64_t expected_ns = 1000 + PACKET_NS + OWD_NS + PACKET_NS;
    assert_int_equal(wan_next_ns(&wan), 1000 + PACKET_NS + OWD_NS);
    assert_int_equal(due(1, packets, expected_ns - 1), 0);
    assert_int_equal(wan_next_ns(&wan), expected_ns);
    assert_int_equal(due(1, packets, expected_ns), 1);
    assert_ptr_equal(packets[0], (void *)42);
    assert_int_equal(due(0, packets, TIME_NEVER - 1), 0);
    wan_sent(&wan, 1, 1, expected_ns + 5);
    assert_int_equal(wan.sites[1].late_ns_max, 5);
    assert_int_equal(wan_count(&wan), 0);
    assert_true(wan_next_ns(&wan) == TIME_NEVER);
}

/* What a device does not take stays due, in order. */
static void wan_sent__the_rest_stays(void **state)
{
    (void)state;
    void *packets[32];
    wan_create(&wan, &scenario, CAPACITY, &owner);
    for (uintptr_t number = 1; number <= 5; number++)
        send(0, 1, number, 0);
    assert_int_equal(due(1, packets, NS_PER_S), 5);
    wan_sent(&wan, 1, 2, NS_PER_S);
    assert_int_equal(due(1, packets, NS_PER_S), 3);
    assert_ptr_equal(packets[0], (void *)3);
    assert_ptr_equal(packets[2], (void *)5);
    assert_int_equal(wan_count(&wan), 3);
}

/* The same packets, whether wan_run is called every microsecond or once a second. */
static void wan_run__late_calls_decide_the_same(void **state)
{
    (void)state;
    uint64_t sums[2][2];
    scenario.links[0][2].jitter_ns = scenario.links[1][2].jitter_ns = 3 * NS_PER_MS;
    for (int round = 0; round < 2; round++) {
        uint64_t step_ns = round == 0 ? NS_PER_US : NS_PER_S;
        released = settled_count = 0;
        wan_create(&wan, &scenario, CAPACITY, &owner);
        uint64_t number = 1, digest = 0;
        for (uint64_t now_ns = 0; now_ns < 10 * NS_PER_MS; now_ns += 14000, number++) {
            if (round == 0)
                wan_run(&wan, now_ns);
            send(0, 2, number, now_ns);
            send(1, 2, number + 100000, now_ns);
        }
        for (uint64_t now_ns = 10 * NS_PER_MS; now_ns < NS_PER_S * 2; now_ns += step_ns) {
            wan_run(&wan, now_ns);
            if (step_ns == NS_PER_US && now_ns > 100 * NS_PER_MS)
                break;
        }
        void *packets[32];
        for (uint16_t count; (count = wan_due(&wan, 2, packets, 32, TIME_NEVER - 1)) > 0;) {
            for (uint16_t index = 0; index < count; index++)
                digest = digest * 31 + (uintptr_t)packets[index];
            wan_sent(&wan, 2, count, TIME_NEVER - 1);
        }
        sums[round][0] = digest;
        sums[round][1] = released;
        wan_destroy(&wan);
    }
    wan_create(&wan, &scenario, CAPACITY, &owner);
    assert_true(sums[0][1] > 100); /* two full links into one: the downlink's queue drops */
    assert_int_equal(sums[0][0], sums[1][0]);
    assert_int_equal(sums[0][1], sums[1][1]);
}

static void wan_rx__each_drop_is_counted_where_it_happened(void **state)
{
    (void)state;
    scenario.links[0][1].loss_ppb = 1000000000;
    scenario.links[0][2].mtu = 1000;
    wan_create(&wan, &scenario, CAPACITY, &owner);
    assert_int_equal(send(0, 1, 1, 0), NETEM_LOST);
    assert_int_equal(wan_link(&wan, 0, 1)->counters.lost, 1);
    assert_int_equal(send(0, 2, 1, 0), NETEM_TOO_LONG);
    uint32_t accepted = 0, refused = 0;
    for (uint32_t number = 0; number < 200; number++) {
        struct wan_verdict verdict = wan_rx(&wan, 1, 0, NULL, FRAME, FRAME - 14, 0);
        accepted += verdict.verdict == NETEM_PASS;
        refused += verdict.verdict == NETEM_QUEUE_DROP && verdict.place == WAN_AT_UPLINK;
    }
    assert_int_equal(accepted + refused, 200);
    assert_in_range(accepted, 81, 83); /* 1 ms at 12.3 us each, and the one being sent */
    assert_int_equal(wan.sites[1].uplink.counters.queue_drops, refused);
}

static void wan_rx__duplicates_come_out_twice(void **state)
{
    (void)state;
    void *packets[32];
    scenario.links[0][1].duplicate_ppb = 1000000000;
    wan_create(&wan, &scenario, CAPACITY, &owner);
    assert_int_equal(wan_room(&wan), CAPACITY / 2);
    struct wan_verdict verdict = wan_rx(&wan, 0, 1, (void *)9, FRAME, FRAME - 14, 0);
    assert_true(verdict.duplicated);
    assert_int_equal(due(1, packets, NS_PER_S), 2);
    assert_ptr_equal(packets[0], packets[1]);
    assert_int_equal(wan_room(&wan), CAPACITY / 2 - 1);
}

/* Short frames are padded: 84 bytes on the wire, 672 ns. */
static void wan_rx__short_frames_are_padded(void **state)
{
    (void)state;
    void *packets[32];
    wan_create(&wan, &scenario, CAPACITY, &owner);
    wan_rx(&wan, 0, 1, NULL, 42, 28, 0);
    assert_int_equal(due(1, packets, OWD_NS + 2 * 672 - 1), 0);
    assert_int_equal(due(1, packets, OWD_NS + 2 * 672), 1);
}

/* 1 Gbit/s into 10 ms + 1 ms + 1 ms from each of 3 sites, 1.5 times, in packets of 1538 bytes. */
static void wan_packets_needed__bandwidth_times_delay(void **state)
{
    (void)state;
    wan_create(&wan, &scenario, CAPACITY, &owner);
    uint64_t bytes = 3 * bytes_within(1000000000, 12 * NS_PER_MS);
    assert_in_range(wan_packets_needed(&scenario, WIRE), bytes / WIRE * 3 / 2, bytes / WIRE * 3 / 2 + 1024);
}

static void wan_uplink_crowded__beyond_half_of_the_queue(void **state)
{
    (void)state;
    static const struct {
        enum netem_queue_unit unit;
        uint64_t limit;
        unsigned packets; /* sent at once when it becomes crowded; 0: never */
    } rows[] = {{NETEM_QUEUE_NS, NS_PER_MS, 41},
                {NETEM_QUEUE_BYTES, 100 * WIRE, 51},
                {NETEM_QUEUE_PACKETS, 100, 51},
                {NETEM_QUEUE_NONE, 0, 0}};
    for (size_t row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
        scenario.nodes[0].uplink.queue_unit = rows[row].unit;
        scenario.nodes[0].uplink.queue_limit = rows[row].limit;
        wan_create(&wan, &scenario, CAPACITY, &owner);
        unsigned crowded = 0;
        for (unsigned sent = 1; sent <= 90 && crowded == 0; sent++) {
            send(0, 1, sent, 0);
            if (wan_uplink_crowded(&wan, 0, 0))
                crowded = sent;
        }
        assert_int_equal(crowded, rows[row].packets);
        assert_false(wan_uplink_crowded(&wan, 0, 2 * NS_PER_MS));
        assert_false(wan_uplink_crowded(&wan, 1, 0));
        if (row + 1 < sizeof(rows) / sizeof(rows[0]))
            wan_destroy(&wan);
    }
}

/* Times of faults count from the first packet, here at 5 s. */
static void wan_play_faults__from_the_first_packet(void **state)
{
    (void)state;
    const uint64_t first_ns = 5 * NS_PER_S;
    void *packets[32];
    scenario.fault_count = 4;
    scenario.faults[0] = (struct scenario_fault){.at_ns = NS_PER_S,
                                                 .kind = FAULT_LINK_SET,
                                                 .link_to = 1,
                                                 .symmetric = true,
                                                 .set_mask = NETEM_CHANGE_DELAY,
                                                 .set = {.delay_ns = 2 * OWD_NS}};
    scenario.faults[1] = (struct scenario_fault){.at_ns = NS_PER_S, .kind = FAULT_KILL};
    scenario.faults[2] = (struct scenario_fault){
        .at_ns = 2 * NS_PER_S, .kind = FAULT_LINK_DOWN, .link_to = 1, .duration_ns = NS_PER_S};
    scenario.faults[3] = (struct scenario_fault){.at_ns = 4 * NS_PER_S,
                                                 .kind = FAULT_LINK_DOWN,
                                                 .link_to = 1,
                                                 .duration_ns = UINT64_MAX,
                                                 .holds = true};
    wan_create(&wan, &scenario, CAPACITY, &owner);
    assert_int_equal(wan_play_faults(&wan, first_ns), 0);
    send(0, 1, 1, first_ns);
    assert_int_equal(wan_play_faults(&wan, first_ns + NS_PER_S - 1), 0);
    assert_int_equal(due(1, packets, first_ns + OWD_NS + 2 * PACKET_NS), 1);
    wan_sent(&wan, 1, 1, first_ns + NS_PER_S - 1);
    assert_int_equal(wan_play_faults(&wan, first_ns + NS_PER_S), 1);
    send(1, 0, 2, first_ns + NS_PER_S);
    assert_int_equal(due(0, packets, first_ns + NS_PER_S + 2 * OWD_NS), 0);
    assert_int_equal(due(0, packets, first_ns + NS_PER_S + 2 * OWD_NS + 2 * PACKET_NS), 1);
    /* Played late, it still ends when it should. */
    assert_int_equal(wan_play_faults(&wan, first_ns + 5 * NS_PER_S / 2), 1);
    assert_int_equal(send(0, 1, 3, first_ns + 3 * NS_PER_S - 2 * PACKET_NS), NETEM_DOWN);
    assert_int_equal(send(0, 1, 3, first_ns + 3 * NS_PER_S), NETEM_PASS);
    assert_int_equal(wan_play_faults(&wan, first_ns + 4 * NS_PER_S), 1);
    assert_int_equal(send(0, 1, 4, first_ns + 5 * NS_PER_S), NETEM_PASS);
    assert_int_equal(wan_play_faults(&wan, TIME_NEVER), 0);
}

/* A fault that makes the path ten times as long needs room for ten times as much. */
static void wan_packets_needed__with_faults(void **state)
{
    (void)state;
    wan_create(&wan, &scenario, CAPACITY, &owner);
    scenario.node_count = 2;
    uint64_t before = wan_packets_needed(&scenario, WIRE);
    scenario.fault_count = 1;
    scenario.faults[0] = (struct scenario_fault){.kind = FAULT_LINK_SET,
                                                 .link_to = 1,
                                                 .symmetric = true,
                                                 .set_mask = NETEM_CHANGE_DELAY,
                                                 .set = {.delay_ns = 10 * OWD_NS}};
    uint64_t more = 2 * bytes_within(1000000000, 9 * OWD_NS) / WIRE * 3 / 2;
    assert_in_range(wan_packets_needed(&scenario, WIRE), before + more - 3, before + more + 3);
    scenario.node_count = 3;
}

/* Sites 0 and 1 send to 2 through a link of 100 Mbit/s; both in turns, whoever was asked first. */
static void share_to_2(uint64_t queue_ns)
{
    scenario.shared_count = 1;
    scenario.shared[0] =
        (struct scenario_shared){.link = {.rate_bps = 100000000, .queue_unit = NETEM_QUEUE_NS, queue_ns},
                                 .members = {1u << 2, 1u << 2}};
}

static void wan_rx__pairs_share_a_link(void **state)
{
    (void)state;
    void *packets[32];
    share_to_2(10 * NS_PER_MS);
    wan_create(&wan, &scenario, CAPACITY, &owner);
    for (uintptr_t number = 0; number < 4; number++) {
        uint16_t from = (uint16_t)(number / 2);
        uint64_t mark = 1 + from + number % 2 * 2;
        struct wan_verdict verdict = wan_rx(&wan, from, 2, (void *)mark, FRAME, FRAME - 14, from * 1000);
        assert_true(verdict.pending);
    }
    assert_false(wan_rx(&wan, 0, 1, (void *)9, FRAME, FRAME - 14, 2000).pending);
    assert_int_equal(wan_room(&wan), (CAPACITY - 9) / 2); /* those that are undecided may become two */
    assert_int_equal(due(2, packets, NS_PER_MS), 0);
    assert_int_equal(settled_count, 4);
    uint64_t first_ns = PACKET_NS + 10 * PACKET_NS + OWD_NS + PACKET_NS;
    for (uintptr_t number = 0; number < 4; number++) {
        assert_int_equal(settled[number].verdict, NETEM_PASS);
        assert_int_equal(due(2, packets, first_ns + number * 10 * PACKET_NS - 1), 0);
        assert_int_equal(due(2, packets, first_ns + number * 10 * PACKET_NS), 1);
        assert_ptr_equal(packets[0], (void *)(number + 1));
        wan_sent(&wan, 2, 1, first_ns);
    }
    assert_int_equal(wan.shared[0].counters.packets, 4);
    scenario.shared_count = 0;
}

static void wan_rx__a_shared_link_drops(void **state)
{
    (void)state;
    share_to_2(PACKET_NS * 10); /* two packets pass: one is sent, one waits */
    scenario.fault_count = 1;
    scenario.faults[0] = (struct scenario_fault){
        .at_ns = NS_PER_S, .kind = FAULT_LINK_DOWN, .shared = 1, .duration_ns = NS_PER_S};
    wan_create(&wan, &scenario, CAPACITY, &owner);
    for (uintptr_t number = 1; number <= 3; number++)
        wan_rx(&wan, 0, 2, (void *)number, FRAME, FRAME - 14, 0);
    wan_run(&wan, NS_PER_MS);
    assert_int_equal(settled_count, 3);
    assert_int_equal(settled[2].verdict, NETEM_QUEUE_DROP);
    assert_int_equal(settled[2].place, WAN_AT_SHARED);
    assert_int_equal(wan.shared[0].counters.queue_drops, 1);
    assert_int_equal(wan_count(&wan), 2);
    assert_int_equal(wan.undecided, 0);
    assert_int_equal(wan_play_faults(&wan, NS_PER_S), 1);
    wan_rx(&wan, 0, 2, (void *)4, FRAME, FRAME - 14, NS_PER_S);
    wan_run(&wan, NS_PER_S + NS_PER_MS);
    assert_int_equal(settled[3].verdict, NETEM_DOWN);
    assert_int_equal(released, 0);
    wan_destroy(&wan);
    wan_create(&wan, &scenario, CAPACITY, &owner);
    scenario.shared_count = 0;
}

/* Cross traffic of a matrix begins with the first packet, whatever the clock says, and takes its share. */
static void wan_rx__beside_the_background(void **state)
{
    (void)state;
    const uint64_t first_ns = 86400 * NS_PER_S;
    scenario.links[0][1].rate_bps = 100000000;
    scenario.links[0][1].background_bps = 60000000;
    scenario.nodes[0].uplink.background_bps = 60000000;
    wan_create(&wan, &scenario, CAPACITY, &owner);
    assert_false(wan_uplink_crowded(&wan, 0, first_ns));
    assert_int_equal(wan.sites[0].uplink.counters.background_packets, 0);
    for (unsigned sent = 0; sent < 1000; sent++) {
        assert_int_equal(send(0, 1, 1, first_ns + sent * 400000ULL), NETEM_PASS); /* 30 Mbit/s */
        void *packets[32];
        wan_sent(&wan, 1, due(1, packets, first_ns + sent * 400000ULL), first_ns);
    }
    /* 400 ms of 60 Mbit/s, not a day */
    assert_in_range(wan_link(&wan, 0, 1)->counters.background_packets, 1949, 1951);
    assert_int_equal(wan_link(&wan, 0, 1)->counters.background_drops, 0);
    assert_int_equal(wan_link(&wan, 0, 1)->counters.packets, 1000);
}

/* Any other kind plays here too, and so does the shaper: 300 KB at once pass as its depth and its rate
 * say. */
static void wan_rx__beside_bursts_and_through_a_shaper(void **state)
{
    (void)state;
    const uint64_t first_ns = 86400 * NS_PER_S;
    const struct netem_load bursts = {.kind = NETEM_LOAD_ONOFF,
                                      .rate_bps = 100000000,
                                      .wire_bytes = 1538,
                                      .sources = 20,
                                      .on_ns = NS_PER_MS,
                                      .off_ns = 3 * NS_PER_MS,
                                      .alpha_milli = 1500};
    scenario.nodes[0].uplink.queue_limit = 10 * NS_PER_MS;
    scenario.nodes[1].downlink.load_count = 1;
    scenario.nodes[1].downlink.loads[0] = bursts;
    scenario.links[0][1].shaper_bps = 100000000;
    scenario.links[0][1].shaper_depth_bytes = 100000;
    wan_create(&wan, &scenario, CAPACITY, &owner);
    uint64_t passed_ns = 0;
    for (unsigned sent = 0; sent < 200; sent++)
        send(0, 1, 1, first_ns);
    for (uint64_t now_ns = first_ns; wan_count(&wan) != 0; now_ns += 100 * NS_PER_US) {
        void *packets[32];
        wan_run(&wan, now_ns);
        wan_sent(&wan, 1, due(1, packets, now_ns), now_ns);
        passed_ns = now_ns - first_ns;
    }
    uint64_t tokens_ns = transmit_ns(200 * (FRAME + ETHERNET_OVERHEAD_BYTES) - 100000, 100000000);
    assert_in_range(passed_ns, tokens_ns - NS_PER_MS, tokens_ns + 30 * NS_PER_MS);
    assert_true(wan.sites[1].downlink.counters.background_packets > 100);
    assert_int_equal(wan_link(&wan, 0, 1)->counters.packets, 200);
    wan_destroy(&wan);
    wan_create(&wan, &scenario, CAPACITY, &owner);
}

/* What its queue holds needs room as well. */
static void wan_packets_needed__with_shared_links(void **state)
{
    (void)state;
    wan_create(&wan, &scenario, CAPACITY, &owner);
    uint64_t before = wan_packets_needed(&scenario, WIRE);
    share_to_2(100 * NS_PER_MS);
    assert_true(wan_packets_needed(&scenario, WIRE) >
                before + bytes_within(100000000, 100 * NS_PER_MS) / WIRE);
    scenario.shared_count = 0;
}

static void wan_mark__as_the_link_says(void **state)
{
    (void)state;
    scenario.links[0][1] = (struct netem_config){.rate_bps = 100000000, .ecn_ns = NS_PER_US};
    wan_create(&wan, &scenario, CAPACITY, &owner);
    struct wan_verdict verdict = wan_rx(&wan, 0, 1, (void *)1, FRAME, FRAME - 14, 0);
    assert_int_equal(wan_mark(&wan, 0, 1, &verdict, 2), 2);
    verdict = wan_rx(&wan, 0, 1, (void *)2, FRAME, FRAME - 14, 0);
    assert_int_equal(wan_mark(&wan, 0, 1, &verdict, 0), 0);
    assert_int_equal(wan_mark(&wan, 0, 1, &verdict, 2), 3);
    assert_int_equal(wan_link(&wan, 0, 1)->counters.marked, 1);
}

/* The second packet waits for the shared link; both pass, and the mark is made where the pair's link is left. */
static void wan_mark__as_a_shared_link_says(void **state)
{
    (void)state;
    share_to_2(10 * NS_PER_MS);
    scenario.shared[0].link.ecn_ns = NS_PER_US;
    wan_create(&wan, &scenario, CAPACITY, &owner);
    for (uintptr_t number = 1; number <= 2; number++)
        wan_rx(&wan, 0, 2, (void *)number, FRAME, FRAME - 14, 0);
    wan_run(&wan, NS_PER_MS);
    assert_int_equal(settled_count, 2);
    assert_int_equal(wan_mark(&wan, 0, 2, &settled[0], 2), 2);
    assert_int_equal(wan_mark(&wan, 0, 2, &settled[1], 2), 3);
    scenario.shared_count = 0;
}

/* Every field into every other, both families: the frame must parse with its new class. */
static void ecn_write__keeps_the_frame_valid(void **state)
{
    (void)state;
    static const uint8_t mac[MAC_BYTES] = {2};
    for (int family = 0; family < 2; family++)
        for (unsigned traffic_class = 0; traffic_class < 256; traffic_class++)
            for (uint8_t ecn = 0; ecn < 4; ecn++) {
                struct net_address address = {.family = family == 0 ? ADDRESS_IPV4 : ADDRESS_IPV6,
                                              .udp_port = 7840,
                                              .ip = {10, 0, 0, 1}};
                struct frame_header header;
                struct frame_view view;
                uint8_t frame[FRAME_HEADER_MAX + 32];
                frame_header_init(&header, mac, mac, 0, &address, &address);
                struct frame_datagram datagram = {.head = mac, .head_bytes = MAC_BYTES};
                size_t length = frame_header_write(frame, &header, (uint8_t)traffic_class, &datagram, true);
                memcpy(frame + length, mac, MAC_BYTES);
                length += MAC_BYTES;
                uint8_t *ip = frame + ETHERNET_HEADER_BYTES;
                assert_int_equal(ecn_read(ip), traffic_class & 3);
                ecn_write(ip, ecn);
                assert_int_equal(ecn_read(ip), ecn);
                assert_int_equal(frame_parse(frame, length, true, &view), FRAME_OK);
                assert_int_equal(view.traffic_class, (traffic_class & ~3u) | ecn);
            }
    wan_create(&wan, &scenario, CAPACITY, &owner);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        CASE(wan_due__after_both_shapers_and_the_link),
        CASE(wan_sent__the_rest_stays),
        CASE(wan_run__late_calls_decide_the_same),
        CASE(wan_rx__each_drop_is_counted_where_it_happened),
        CASE(wan_rx__duplicates_come_out_twice),
        CASE(wan_rx__short_frames_are_padded),
        CASE(wan_rx__pairs_share_a_link),
        CASE(wan_rx__a_shared_link_drops),
        CASE(wan_packets_needed__with_shared_links),
        CASE(wan_rx__beside_the_background),
        CASE(wan_rx__beside_bursts_and_through_a_shaper),
        CASE(wan_packets_needed__bandwidth_times_delay),
        CASE(wan_uplink_crowded__beyond_half_of_the_queue),
        CASE(wan_play_faults__from_the_first_packet),
        CASE(wan_packets_needed__with_faults),
        CASE(wan_mark__as_the_link_says),
        CASE(wan_mark__as_a_shared_link_says),
        CASE(ecn_write__keeps_the_frame_valid),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
