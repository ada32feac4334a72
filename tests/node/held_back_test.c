/* Packets that were sealed by the right node, and come when they should not: held back across a restart, from before the
 * receive window, of a dead process. */
#include "recorded.h"

#define REPLAYS 64

/* ---- held back ---- */

static struct recorded held;
static enum wire_type held_type;
static uint16_t holds; /* what this one sends */

/* The first of that type does not arrive, nor do those after it. */
static void hold_back(uint16_t from, uint16_t to, const uint8_t *data, uint32_t length)
{
    if (from != holds || data[1] == WIRE_INITIATION || data[1] == WIRE_RESPONSE)
        return;
    if (data[1] == held_type && held.length == 0) {
        held = (struct recorded){.length = length, .from = from, .to = to};
        memcpy(held.data, data, length);
    }
    spoil(data);
}

static void hold(uint16_t from, enum wire_type type)
{
    held.length = 0;
    holds = from;
    held_type = type;
    world.on_datagram = hold_back;
}

/* n0 has a new session, which n1 has answered and is not told of. */
static void begin_unconfirmed(void)
{
    world_init(&world, 2, 1);
    use_keys(&sizes_primitives);
    world_start(&world, 0);
    world_run_until(&world, 200 * NS_PER_MS); /* so that n0 is the one who asks */
    hold(0, WIRE_HELLO);
    world_start(&world, 1);
    while (held.length == 0)
        world_run_until(&world, world.now_ns + NS_PER_MS);
}

static void node_session__late_confirmation(void **state)
{
    (void)state;
    static const uint64_t late_s[] = {1, 8, 20};
    for (size_t row = 0; row < 3; row++) {
        begin_unconfirmed();
        uint64_t from_ns = world.now_ns;
        world.on_datagram = NULL;
        world_start(&world, 0);
        world_run_until(&world, from_ns + late_s[row] * NS_PER_S);
        assert_true(is_up(0) && is_up(1));
        uint32_t session = peer_session(&world.nodes[1].node->peers[0])->in;
        refused(0, held.data, held.length, "drop_session");
        world_run_until(&world, world.now_ns + 10 * NS_PER_S);
        assert_true(is_up(0) && is_up(1));
        assert_int_equal(peer_session(&world.nodes[1].node->peers[0])->in, session);
        assert_int_equal(world_counter(&world, 1, "peers_lost"), 0);
        world_end(&world);
    }
}

/* Nobody is brought up by it who is dead for longer than a session waits for that. */
static void node_session__confirmation_of_a_dead_one(void **state)
{
    (void)state;
    begin_unconfirmed();
    world_kill(&world, 0);
    world_run_until(&world, world.now_ns + 20 * NS_PER_S);
    assert_false(is_up(1));
    refused(0, held.data, held.length, "drop_session");
    assert_false(is_up(1));
    world_end(&world);
}

/* n1 says farewell under a session which, when that comes, both have left for another one. */
static void node_rx__late_close(void **state)
{
    (void)state;
    begin_recorded();
    struct node *node = world.nodes[0].node;
    struct peer *of_n0 = &node->peers[0], *of_n1 = &world.nodes[1].node->peers[0];
    uint32_t session = peer_session(of_n0)->in;
    hold(1, WIRE_CLOSE);
    session_say_farewell(world.nodes[1].node, of_n1, WIRE_CLOSE_SHUTDOWN);
    while (held.length == 0)
        world_run_until(&world, world.now_ns + NS_PER_MS);
    world.on_datagram = NULL;
    of_n1->hello_due_ns = world.now_ns;
    peer_schedule(world.nodes[1].node, of_n1, world.now_ns);
    of_n0->sessions.initiation_due_ns = world.now_ns; /* a new one, under which the edge goes on */
    peer_note_control(node, of_n0);
    peer_schedule(node, of_n0, world.now_ns);
    world_run_until(&world, world.now_ns + 500 * NS_PER_MS);
    assert_true(peer_session(of_n0)->in != session && peer_session(of_n0)->proved);
    assert_true(session_peer(node, session) == of_n0);
    refused(1, held.data, held.length, "drop_session");
    assert_true(is_up(0));
    end_intact();
}

/* ---- from before the window ---- */

static struct recorded replays[REPLAYS];
static unsigned replay_count;

static void record_data(uint16_t from, uint16_t to, const uint8_t *data, uint32_t length)
{
    if (data[1] != WIRE_DATA || replay_count == REPLAYS || length > sizeof(replays[0].data))
        return;
    replays[replay_count] = (struct recorded){.length = length, .from = from, .to = to};
    memcpy(replays[replay_count++].data, data, length);
}

static void begin_past_the_window(void)
{
    world_init(&world, 2, 1);
    use_keys(&sizes_primitives);
    for (uint16_t node = 0; node < 2; node++)
        world.nodes[node].config.peers[0].window_packets = 256;
    replay_count = 0;
    world.on_datagram = record_data;
    begin_job(20000000);
    world_run_until(&world, world.now_ns + 300 * NS_PER_MS);
    world.on_datagram = NULL;
    assert_int_equal(replay_count, REPLAYS);
    assert_true(world_counter(&world, 1, "rx_data") > 512);
}

/* Over two seconds, in the order in which they were sent. */
static void replay_all(void)
{
    for (unsigned index = 0; index < REPLAYS; index++) {
        refused(0, replays[index].data, replays[index].length, "drop_data_duplicate");
        world_run_until(&world, world.now_ns + 2 * NS_PER_S / REPLAYS);
    }
}

static void node_edge__old_packets_into_a_paused_one(void **state)
{
    (void)state;
    begin_past_the_window();
    struct job_controls controls = world_job(&world, "j").controls;
    controls.paused = true;
    assert_true(world_set_job(&world, "j", JOB_CONTROL_PAUSED, controls));
    world_run_until(&world, world.now_ns + NS_PER_S);
    for (unsigned round = 0; round < 3; round++)
        replay_all();
    controls.paused = false;
    assert_true(world_set_job(&world, "j", JOB_CONTROL_PAUSED, controls));
    end_intact();
}

static void node_edge__old_packets_of_a_dead_peer(void **state)
{
    (void)state;
    uint64_t down_ns[2];
    for (unsigned replayed = 0; replayed < 2; replayed++) {
        begin_past_the_window();
        world_kill(&world, 0);
        uint64_t from_ns = world.now_ns;
        if (replayed != 0)
            replay_all();
        while (is_up(1))
            world_run_until(&world, world.now_ns + NS_PER_MS);
        down_ns[replayed] = world.now_ns - from_ns;
        assert_int_equal(world_counter(&world, 1, "peers_reset"), 0);
        world_end(&world);
    }
    assert_in_range(down_ns[1], 0, down_ns[0] + 50 * NS_PER_MS);
}

/* ---- of a dead process ---- */

/* n0 → n1 → n2; one is killed in mid-job and starts again, while all that it said before comes again. */
static void node_job__old_packets_after_a_kill(void **state)
{
    (void)state;
    static const uint16_t chain[][2] = {{0, 1}, {1, 2}};
    for (uint16_t victim = 0; victim < 3; victim++) {
        world_init(&world, 3, victim + 1u);
        use_keys(&sizes_primitives);
        world.source_bytes = 20000000;
        recorded_count = 0;
        world.on_datagram = record;
        start_all();
        world_run_until(&world, 2 * NS_PER_S);
        struct job_spec spec = world_job(&world, "j");
        give_tree(&spec, chain, 2);
        run_job_at(0, &spec);
        assert_true(run_until_state(0, "j", JOB_RUNNING, 5 * NS_PER_S));
        world_run_until(&world, world.now_ns + 100 * NS_PER_MS);
        world.on_datagram = NULL;
        world_kill(&world, victim);
        world_run_until(&world, world.now_ns + 500 * NS_PER_MS);
        world_start(&world, victim);
        uint64_t from_ns = world.now_ns, rtt_ns = 2 * world.delay_ns;
        uint16_t others[2] = {(uint16_t)(victim == 0), (uint16_t)(victim == 2 ? 1 : 2)};
        world_run_until(&world, from_ns + 2 * rtt_ns + 50 * NS_PER_MS);
        for (unsigned other = 0; other < 2; other++) {
            assert_int_equal(world_counter(&world, others[other], "peers_reset"), 1);
            uint64_t dropped = world_counter(&world, others[other], "drop_session"), count = 0;
            for (uint32_t index = 0; index < recorded_count; index++)
                if (recorded[index].from == victim && recorded[index].to == others[other] &&
                    recorded[index].data[1] != WIRE_INITIATION) {
                    world_inject(&world, victim, others[other], recorded[index].data, recorded[index].length);
                    count++;
                }
            assert_true(count > 10);
            assert_int_equal(world_counter(&world, others[other], "drop_session") - dropped, count);
        }
        world_run_until(&world, from_ns + NS_PER_S);
        spec = world_job(&world, "next");
        run_job_at(0, &spec);
        run_until_over(0, "next", 30 * NS_PER_S);
        assert_state(0, "next", JOB_DONE);
        for (unsigned other = 0; other < 2; other++)
            assert_int_equal(world_counter(&world, others[other], "peers_reset"), 1);
        world_end(&world);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(node_session__late_confirmation),
        cmocka_unit_test(node_session__confirmation_of_a_dead_one),
        cmocka_unit_test(node_rx__late_close),
        cmocka_unit_test(node_edge__old_packets_into_a_paused_one),
        cmocka_unit_test(node_edge__old_packets_of_a_dead_peer),
        cmocka_unit_test(node_job__old_packets_after_a_kill),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
