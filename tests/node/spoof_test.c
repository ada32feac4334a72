/* What somebody who is not on the path can send: datagrams with the right addresses and names, but without
 * what only the peer has seen. And peers that really lost their state meanwhile. */
#include "node/peer/peer.h"
#include "spoof.h"
#include "wire/data.h"

/* What came by one way, for somebody on the path to send again. */
#define RECORDED_MAX 4096
static struct {
    uint8_t data[2048];
    uint32_t length;
} recorded[RECORDED_MAX];
static uint32_t recorded_count;
static uint16_t recorded_from;

static void record(uint16_t from, uint16_t to, const uint8_t *data, uint32_t length)
{
    (void)to;
    if (from != recorded_from || recorded_count == RECORDED_MAX || length > sizeof(recorded[0].data))
        return;
    memcpy(recorded[recorded_count].data, data, length);
    recorded[recorded_count++].length = length;
}

/* As if n1 had started anew. */
static void spoof_start(uint64_t incarnation, uint64_t edge)
{
    spoof_initiation(1, "n1", "n0", incarnation, edge);
}

static void begin_with(uint64_t bytes)
{
    world_init(&world, 2, 1);
    world.source_bytes = bytes;
    start_all();
    world_run_until(&world, 2 * NS_PER_S);
    struct job_spec spec = world_job(&world, "j");
    run_job_at(0, &spec);
    assert_true(run_until_state(0, "j", JOB_RUNNING, 5 * NS_PER_S));
    world_run_until(&world, world.now_ns + 300 * NS_PER_MS);
}

static void begin(void)
{
    begin_with(20000000);
}

static bool is_up(uint16_t node)
{
    struct node_edge_view view;
    assert_true(node_edge_view(world.nodes[node].node, 0, &view));
    return view.up;
}

/* The jobs with n1 go on: nothing is lost before the new start has proved that it hears what goes to n1. */
static void node_session__spoofed_changes_nothing(void **state)
{
    (void)state;
    static const uint64_t counts[] = {1, 2, 500};
    for (size_t row = 0; row < sizeof(counts) / sizeof(counts[0]); row++) {
        begin();
        for (uint64_t count = 0; count < counts[row]; count++) {
            spoof_start(1000 + count, count * 77);
            world_run_until(&world, world.now_ns + 2 * NS_PER_MS);
        }
        /* With the incarnation of n1, which some may know. */
        spoof_start(1, 0);
        spoof_start(1, 77);
        run_until_over(0, "j", 30 * NS_PER_S);
        assert_state(0, "j", JOB_DONE);
        for (uint16_t node = 0; node < 2; node++)
            assert_int_equal(world_counter(&world, node, "peers_reset"), 0);
        world_run_until(&world, world.now_ns + NS_PER_S);
        assert_clean();
        world_end(&world);
    }
}

/* n1 does start anew, while somebody else says so all the time. */
static void node_session__restart_is_found_among_spoofed(void **state)
{
    (void)state;
    for (unsigned spoofed = 0; spoofed < 2; spoofed++) {
        begin();
        world_start(&world, 1);
        uint64_t from_ns = world.now_ns;
        while (world.now_ns < from_ns + NS_PER_S && world_counter(&world, 0, "peers_reset") == 0) {
            world_run_until(&world, world.now_ns + 3 * NS_PER_MS);
            if (spoofed != 0)
                spoof_start(1000 + world.now_ns, 5);
        }
        assert_int_equal(world_counter(&world, 0, "peers_reset"), 1);
        world_run_until(&world, world.now_ns + 100 * NS_PER_MS);
        assert_true(is_up(0) && is_up(1));
        assert_state(0, "j", JOB_FAILED);
        assert_text(0, "j", "n1: restarted and lost its state");
        struct job_spec spec = world_job(&world, "next");
        run_job_at(0, &spec);
        run_until_over(0, "next", 30 * NS_PER_S);
        assert_state(0, "next", JOB_DONE);
        world_end(&world);
    }
}

/* All that a peer has said, said again by somebody on the path, has no effect while it is there, … */
static void node_rx__replays_change_nothing(void **state)
{
    (void)state;
    for (uint16_t from = 0; from < 2; from++) {
        begin();
        recorded_count = 0;
        recorded_from = from;
        world.on_datagram = record;
        world_run_until(&world, world.now_ns + 100 * NS_PER_MS);
        world.on_datagram = NULL;
        assert_true(recorded_count > 10);
        world_run_until(&world, world.now_ns + 50 * NS_PER_MS);
        uint64_t replays = world_counter(&world, 1 - from, "drop_replay");
        uint64_t duplicates = world_counter(&world, 1 - from, "drop_data_duplicate");
        for (uint32_t at = recorded_count; at-- > 0;)
            world_inject(&world, from, 1 - from, recorded[at].data, recorded[at].length);
        replays = world_counter(&world, 1 - from, "drop_replay") - replays;
        duplicates = world_counter(&world, 1 - from, "drop_data_duplicate") - duplicates;
        assert_true(replays > 0);
        assert_int_equal(replays + duplicates, recorded_count);
        run_until_over(0, "j", 30 * NS_PER_S);
        assert_state(0, "j", JOB_DONE);
        assert_int_equal(world_counter(&world, 1 - from, "peers_reset"), 0);
        world_end(&world);
    }
}

/* … nor does it keep a dead one alive. */
static void node_rx__replays_keep_nobody_up(void **state)
{
    (void)state;
    for (uint16_t from = 0; from < 2; from++) {
        begin();
        recorded_count = 0;
        recorded_from = from;
        world.on_datagram = record;
        world_run_until(&world, world.now_ns + 1500 * NS_PER_MS); /* hellos are among them */
        world.on_datagram = NULL;
        world_kill(&world, from);
        for (unsigned round = 0; round < 100; round++) {
            for (uint32_t at = round % 2; at < recorded_count; at += 40)
                world_inject(&world, from, 1 - from, recorded[at].data, recorded[at].length);
            world_run_until(&world, world.now_ns + 100 * NS_PER_MS);
        }
        assert_false(is_up(1 - from));
        world_end(&world);
    }
}

/* Nor does this: hellos of no session, or initiations, which prove nothing. */
static void node_session__spoofed_keeps_nobody_up(void **state)
{
    (void)state;
    for (unsigned whole = 0; whole < 2; whole++) {
        begin();
        world_kill(&world, 1);
        for (unsigned second = 0; second < 40; second++) {
            uint8_t datagram[WIRE_HEADER_BYTES];
            wire_header_put(datagram,
                            &(struct wire_header){.version = WIRE_VERSION, .type = WIRE_HELLO, .session = 5});
            if (whole != 0)
                spoof_start(1000 + second, 5);
            else
                world_inject(&world, 1, 0, datagram, sizeof(datagram));
            world_run_until(&world, world.now_ns + 500 * NS_PER_MS);
        }
        assert_false(is_up(0));
        world_end(&world);
    }
}

/* The response reaches n1, which is there, has heard nothing of n0 for a while either, and asks for a session too. It may not
 * take that for what it asked for. */
static void node_session__spoofed_in_an_outage(void **state)
{
    (void)state;
    for (unsigned row = 0; row < 80; row++) {
        begin_with(12000000);
        uint64_t end_ns = world.now_ns + 8 * NS_PER_S;
        world_cut(&world, 0, 1, end_ns);
        world_run_until(&world, end_ns - 200 * NS_PER_MS);
        assert_false(is_up(0) || is_up(1));
        world_run_until(&world, world.now_ns + row / 2 * 20 * NS_PER_MS);
        assert_state(0, "j", JOB_RUNNING);
        spoof_start(row % 2 == 0 ? 1 : 1000, 77);
        world_run_until(&world, end_ns + 2 * NS_PER_S);
        for (uint16_t node = 0; node < 2; node++)
            if (world_counter(&world, node, "peers_reset") != 0)
                fail_msg("row %u: n%u began anew", row, node);
        assert_true(is_up(0) && is_up(1));
        if (row % 16 == 0) {
            run_until_over(0, "j", 30 * NS_PER_S);
            assert_state(0, "j", JOB_DONE);
        }
        world_end(&world);
    }
}

/* The session that a greeting of this node on its way tells; 0: none is on its way. */
static uint32_t session_told(uint16_t node)
{
    for (uint32_t index = 0; index < world.packet_count; index++) {
        struct wire_greeting greeting;
        const struct world_packet *packet = &world.packets[index];
        if (packet->from != node || (packet->data[1] != WIRE_INITIATION && packet->data[1] != WIRE_RESPONSE))
            continue;
        wire_greeting_get(packet->data + packet->length - WIRE_SEALED_BYTES, &greeting);
        return greeting.session;
    }
    return 0;
}

/* Many who say to be new starts of a peer that is up bring about one handshake of this node's own, not one after the other. */
static void node_session__asks_back_once(void **state)
{
    (void)state;
    begin();
    for (unsigned count = 0; count < 20; count++) {
        spoof_start(1000 + count, 0);
        world_run_until(&world, world.now_ns + 10 * NS_PER_MS);
    }
    world_run_until(&world, world.now_ns + NS_PER_S);
    uint64_t handshakes = world_counter(&world, 1, "rx_handshakes");
    world_run_until(&world, world.now_ns + 3 * NS_PER_S);
    assert_int_equal(world_counter(&world, 1, "rx_handshakes"), handshakes);
    assert_in_range(handshakes, 2, 4);
    run_until_over(0, "j", 30 * NS_PER_S);
    assert_state(0, "j", JOB_DONE);
    assert_int_equal(world_counter(&world, 0, "peers_reset"), 0);
    world_end(&world);
}

/* Each bit of a session is as good as drawn. */
static void node_session__sessions_are_random(void **state)
{
    (void)state;
    unsigned ones[32] = {0};
    const unsigned rounds = 200;
    for (unsigned round = 0; round < rounds; round++) {
        world_init(&world, 2, round + 1);
        start_all();
        uint32_t session = 0;
        while (session == 0) {
            world_run_until(&world, world.now_ns + NS_PER_MS);
            session = session_told(0);
        }
        for (unsigned bit = 0; bit < 32; bit++)
            ones[bit] += session >> bit & 1;
        world_end(&world);
    }
    for (unsigned bit = 0; bit < 32; bit++)
        if (ones[bit] < rounds / 3 || ones[bit] > rounds * 2 / 3)
            fail_msg("bit %u is set in %u of %u sessions", bit, ones[bit], rounds);
}

/* Numbers that make no sense, under the right session, while nothing else comes: both begin anew. */
static void node_edge__lost_sync_renews_the_session(void **state)
{
    (void)state;
    begin();
    uint32_t session = peer_session(&world.nodes[0].node->peers[0])->out;
    world.down_until_ns[0][1] = world.now_ns + 2 * NS_PER_S;
    world_run_until(&world, world.now_ns + 100 * NS_PER_MS);
    for (uint32_t count = 0; count < 30; count++) {
        uint8_t datagram[WIRE_DATA_HEADER_MAX + 100] = {0};
        struct wire_header header = {.version = WIRE_VERSION,
                                     .type = WIRE_DATA,
                                     .session = session,
                                     .packet_number = (1u << 28) + (count << 24)};
        struct wire_data data = {.job = 1, .content = wire_content(0, 1, 0, 0)};
        size_t length = wire_data_encode(datagram, &header, &data, NULL);
        world_inject(&world, 0, 1, datagram, (uint32_t)length + 100);
        world_run_until(&world, world.now_ns + 50 * NS_PER_MS);
    }
    world_run_until(&world, world.now_ns + 3 * NS_PER_S);
    for (uint16_t node = 0; node < 2; node++)
        assert_int_equal(world_counter(&world, node, "peers_reset"), 1);
    assert_true(is_up(0) && is_up(1));
    assert_clean();
    struct job_spec spec = world_job(&world, "next");
    run_job_at(0, &spec);
    run_until_over(0, "next", 30 * NS_PER_S);
    assert_state(0, "next", JOB_DONE);
    world_end(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(node_session__spoofed_changes_nothing),
        cmocka_unit_test(node_session__restart_is_found_among_spoofed),
        cmocka_unit_test(node_rx__replays_change_nothing),
        cmocka_unit_test(node_rx__replays_keep_nobody_up),
        cmocka_unit_test(node_session__spoofed_keeps_nobody_up),
        cmocka_unit_test(node_session__spoofed_in_an_outage),
        cmocka_unit_test(node_session__asks_back_once),
        cmocka_unit_test(node_session__sessions_are_random),
        cmocka_unit_test(node_edge__lost_sync_renews_the_session),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
