/* The MTU of a path changes while it is used, or while nobody looks: jobs go on, in pieces where a symbol does not fit. */
#include "check.h"

#include "node/flow/pieces.h"

#define NARROW 1400

static uint32_t known_mtu(void)
{
    return world.nodes[0].node->peers[0].mtu.mtu;
}

/* A job of 5 MB at 10 Mbit/s. */
static void begin(uint16_t nodes, uint32_t port_mtu)
{
    world_init(&world, nodes, 1);
    for (uint16_t node = 0; node < nodes; node++)
        world.nodes[node].config.ports[0].mtu = port_mtu;
    world.source_bytes = 5000000;
    start_all();
    world_run_until(&world, 2 * NS_PER_S);
    struct job_spec spec = world_job(&world, "j");
    spec.controls.rate_cap_bps = 10000000;
    run_job_at(0, &spec);
    assert_true(run_until_state(0, "j", JOB_RUNNING, 5 * NS_PER_S));
    world_run_until(&world, world.now_ns + 500 * NS_PER_MS);
}

/* In ms, until node 0 knows the path to node 1 to be of that MTU. */
static uint64_t known_after_ms(uint32_t mtu, unsigned seconds)
{
    uint64_t from_ns = world.now_ns;
    while (known_mtu() != mtu && world.now_ns < from_ns + seconds * NS_PER_S)
        world_run_until(&world, world.now_ns + NS_PER_MS);
    assert_int_equal(known_mtu(), mtu);
    return (world.now_ns - from_ns) / NS_PER_MS;
}

static void node_mtu__falls_and_rises_in_a_job(void **state)
{
    (void)state;
    static const struct {
        uint32_t port_mtu, narrow;
        bool ipv6;
    } rows[] = {{1500, 1400, false},
                {1500, 1280, false},
                {9000, 1500, false},
                {9000, 1280, false},
                {1500, 1400, true}};
    for (size_t row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
        begin(2, rows[row].port_mtu);
        world.path_mtu = rows[row].narrow;
        assert_in_range(known_after_ms(rows[row].narrow, 5), 100, 1500);
        world_run_until(&world, world.now_ns + 500 * NS_PER_MS);
        assert_true(world_counter(&world, 1, "rx_pieces") > 0);
        world.path_mtu = 0;
        known_after_ms(rows[row].port_mtu, 30);
        uint64_t pieces = world_counter(&world, 1, "rx_pieces");
        run_until_over(0, "j", 20 * NS_PER_S);
        assert_state(0, "j", JOB_DONE);
        assert_in_range(world_counter(&world, 1, "rx_pieces"), pieces, pieces + 100); /* under way by then */
        assert_int_equal(world_counter(&world, 1, "drop_data_duplicate"), 0);
        assert_clean();
        world_end(&world);
    }
}

/* Nothing but bare probes passes: nobody can help that, and who waits is told. */
static void node_mtu__falls_too_far(void **state)
{
    (void)state;
    begin(2, 1500);
    world.path_mtu = 300;
    run_until_over(0, "j", 60 * NS_PER_S);
    assert_text(0, "j", "n1: no progress for 20 s: the path from n0 to it is too narrow, MTU 92");
    world.path_mtu = 0;
    struct job_spec spec = world_job(&world, "next");
    run_job_at(0, &spec);
    run_until_over(0, "next", 10 * NS_PER_S);
    assert_state(0, "next", JOB_DONE);
    world_end(&world);
}

/* Pieces are lost, late and doubled, as anything is. */
static void node_mtu__pieces_on_a_bad_path(void **state)
{
    (void)state;
    begin(3, 9000);
    world.loss_ppb = 20000000;
    world.duplicate_ppb = 20000000;
    world.late_ppb = 50000000;
    world.late_ns = 5 * NS_PER_MS;
    world.path_mtu = NARROW;
    run_until_over(0, "j", 60 * NS_PER_S);
    assert_state(0, "j", JOB_DONE);
    assert_true(world_counter(&world, 1, "rx_pieces") + world_counter(&world, 2, "rx_pieces") > 1000);
    world_run_until(&world, world.now_ns + 2 * NS_PER_S);
    assert_clean();
    world_end(&world);
}

/* The peer leaves when some pieces of a packet have left: the others do so too, and nobody takes them. */
static void node_mtu__its_peer_leaves_between_pieces(void **state)
{
    (void)state;
    begin(2, 9000);
    world.path_mtu = NARROW;
    world_run_until(&world, world.now_ns + 2 * NS_PER_S);
    struct node *node = world.nodes[0].node;
    struct tx_packet packet;
    uint64_t now_ns = world.now_ns;
    for (unsigned turn = 0; turn < 100000 && !pieces_left(node, 0); turn++, now_ns += 10 * NS_PER_US)
        if (node_tx(node, 0, &packet, 1, now_ns) == 0)
            node_tick(node, now_ns);
    assert_true(pieces_left(node, 0));
    session_on_close(node, &node->peers[0], now_ns);
    while (pieces_left(node, 0)) {
        assert_int_equal(node_tx(node, 0, &packet, 1, now_ns), 1);
        assert_int_equal(packet.head[1], WIRE_PIECE);
        assert_int_equal(load_be32(packet.head + 4), 0); /* session */
    }
    world_end(&world);
}

/* The next job asks for a proof, and waits for it, where what is known is older than it wants. */
static void node_mtu__a_new_job_trusts_nothing_old(void **state)
{
    (void)state;
    static const struct {
        uint32_t age_s;
        uint64_t quiet_s;
        bool known; /* before the first data packet leaves: no piece is needed */
    } rows[] = {{10, 12, true}, {10, 3, false}, {0, 3, true}};
    for (size_t row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
        begin(2, 1500);
        run_until_over(0, "j", 20 * NS_PER_S);
        world_run_until(&world, world.now_ns + rows[row].quiet_s * NS_PER_S);
        world.path_mtu = NARROW;
        struct job_spec spec = world_job(&world, "next");
        spec.measure_age_ns = rows[row].age_s * NS_PER_S;
        run_job_at(0, &spec);
        run_until_over(0, "next", 10 * NS_PER_S);
        assert_state(0, "next", JOB_DONE);
        assert_int_equal(known_mtu(), NARROW);
        assert_int_equal(world_counter(&world, 1, "rx_pieces") == 0, rows[row].known);
        world_end(&world);
    }
}

/* Without any job, too. */
static void node_mtu__is_noticed_in_quiet(void **state)
{
    (void)state;
    world_init(&world, 2, 1);
    start_all();
    world_run_until(&world, 2 * NS_PER_S);
    assert_int_equal(known_mtu(), 1500);
    world.path_mtu = NARROW;
    known_after_ms(NARROW, 35);
    world.path_mtu = 0;
    known_after_ms(1500, 30);
    world_end(&world);
}

static size_t piece_build(uint8_t *out, struct peer *peer, struct wire_piece piece, uint32_t length)
{
    struct wire_header header = session_header(peer, WIRE_PIECE, 0);
    memset(out, 0, WIRE_PIECE_BYTES + length);
    return wire_piece_encode(out, &header, &piece) + length;
}

/* More packets in pieces than can wait, none of which becomes whole; then a whole one that makes no sense. */
static void node_mtu__hostile_pieces(void **state)
{
    (void)state;
    uint8_t datagram[2048];
    begin(2, 1500);
    struct peer *peer = &world.nodes[0].node->peers[0];
    uint64_t before = world_counter(&world, 1, "rx_pieces");
    for (uint32_t number = 0; number < 10 * PIECES_WAITING; number++) {
        size_t length =
            piece_build(datagram, peer, (struct wire_piece){(1u << 20) + number, 9000, 3, 8}, 1125);
        world_inject(&world, 0, 1, datagram, (uint32_t)length);
    }
    world_run_until(&world, world.now_ns + 100 * NS_PER_MS);
    assert_int_equal(world_counter(&world, 1, "rx_pieces") - before, 10 * PIECES_WAITING);
    for (int twice = 0; twice < 2; twice++)
        world_inject(&world, 0, 1, datagram,
                     (uint32_t)piece_build(datagram, peer, (struct wire_piece){7, 9, 0, 2}, 5));
    world_inject(&world, 0, 1, datagram,
                 (uint32_t)piece_build(datagram, peer, (struct wire_piece){7, 9, 1, 2}, 4));
    world_run_until(&world, world.now_ns + 100 * NS_PER_MS);
    assert_int_equal(world_counter(&world, 1, "drop_data_duplicate"), 1);
    assert_int_equal(world_counter(&world, 1, "drop_short"), 1); /* no room for a data packet's own fields */
    run_until_over(0, "j", 20 * NS_PER_S);
    assert_state(0, "j", JOB_DONE);
    world_end(&world);
}

static void pieces_needed__table(void **state)
{
    (void)state;
    static const struct {
        uint32_t datagram_bytes, mtu, pieces;
    } rows[] = {
        {1472, 1500, 1},      {1473, 1500, 2},      {1472, 1400, 2},
        {9000 - 28, 1500, 7}, {9000 - 28, 1280, 8}, {9000 - 28, 600, 1}, /* nine and more */
        {1472, 92, 1},        {20000, 1500, 1},
    };
    for (size_t row = 0; row < sizeof(rows) / sizeof(rows[0]); row++)
        assert_int_equal(pieces_needed(rows[row].datagram_bytes, rows[row].mtu, 28), rows[row].pieces);
    assert_int_equal(pieces_wire_bytes(1472, 1, 66), 1538);
    assert_int_equal(pieces_wire_bytes(1472, 2, 66), 1440 + 2 * (40 + 66));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_needed__table),
        cmocka_unit_test(node_mtu__falls_and_rises_in_a_job),
        cmocka_unit_test(node_mtu__falls_too_far),
        cmocka_unit_test(node_mtu__pieces_on_a_bad_path),
        cmocka_unit_test(node_mtu__its_peer_leaves_between_pieces),
        cmocka_unit_test(node_mtu__a_new_job_trusts_nothing_old),
        cmocka_unit_test(node_mtu__is_noticed_in_quiet),
        cmocka_unit_test(node_mtu__hostile_pieces),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
