/* Keys of the roster change while jobs run: one follows another, or is removed. */
#include "check.h"
#include "node/core/node_keys.h"
#include "node/peer/peer.h"
#include "seal/insecure.h"
#include "sizes/sizes.h"

static void begin(void)
{
    world_init(&world, 2, 1);
    for (uint16_t node = 0; node < 2; node++) {
        struct node_config *config = &world.nodes[node].config;
        config->primitives = &sizes_primitives;
        insecure_key_pair(config->primitives, node == 0 ? "first" : "second", &config->key);
        config->ports[0].rate_bps = 24000000;
    }
    for (uint16_t node = 0; node < 2; node++) {
        struct node_peer_config *peer = &world.nodes[node].config.peers[0];
        peer->key_count = 1;
        memcpy(peer->public_keys[0], world.nodes[1 - node].config.key.public_key, SEAL_KEY_BYTES);
    }
    world.source_bytes = 20000000;
    start_all();
    world_run_until(&world, 2 * NS_PER_S);
    struct job_spec spec = world_job(&world, "j");
    run_job_at(0, &spec);
    assert_true(run_until_state(0, "j", JOB_RUNNING, 5 * NS_PER_S));
    world_run_until(&world, world.now_ns + NS_PER_S);
}

/* The node reads that its own key is of this name, NULL: as it is, and the peer's are of these, NULL: no more. */
static void reload(uint16_t node, const char *own, const char *const peers[2])
{
    static struct node_keys keys;
    static struct ctl_msg msg = {.type = CTL_KEYS};
    char text[16];
    struct ctl_reply reply = {.text = text, .room = sizeof(text)};
    struct node_config *config = &world.nodes[node].config;
    struct key_pair pair;
    struct err err;
    if (own != NULL)
        insecure_key_pair(config->primitives, own, &config->key);
    config->peers[0].key_count = 0;
    for (unsigned key = 0; key < 2 && peers[key] != NULL; key++) {
        insecure_key_pair(config->primitives, peers[key], &pair);
        memcpy(config->peers[0].public_keys[config->peers[0].key_count++], pair.public_key, SEAL_KEY_BYTES);
    }
    assert_true(node_keys_make(&keys, config, &err));
    msg.body.keys = &keys;
    assert_int_equal(node_ctl(world.nodes[node].node, &msg, &reply, world.now_ns), 0);
    memset(&keys, 0xee, sizeof(keys)); /* the caller's own again */
}

static bool is_up(uint16_t node)
{
    struct node_edge_view view;
    return node_edge_view(world.nodes[node].node, 0, &view) && view.up;
}

static uint32_t session_of(uint16_t node)
{
    return peer_session(&world.nodes[node].node->peers[0])->in;
}

static void assert_no_reset(void)
{
    for (uint16_t node = 0; node < 2; node++)
        assert_int_equal(world_counter(&world, node, "peers_reset"), 0);
}

/* As the reference says it: both keys everywhere, the new one at its node, the old one away. The job goes on. */
static void node_roster__a_key_follows_another(void **state)
{
    (void)state;
    for (uint16_t who = 0; who < 2; who++) {
        begin();
        const char *const others[2] = {who == 0 ? "second" : "first", NULL};
        const char *const both[2] = {"new", who == 0 ? "first" : "second"}, *const after[2] = {"new", NULL};
        uint32_t session = session_of(who);
        reload(1 - who, NULL, both);
        world_run_until(&world, world.now_ns + NS_PER_S);
        assert_int_equal(session_of(who), session); /* its key is still listed */
        struct key_pair old = world.nodes[who].node->config.key;
        reload(who, "new", others);
        assert_memory_not_equal(&old, &world.nodes[who].node->config.key, sizeof(old));
        world_run_until(&world, world.now_ns + NS_PER_S);
        assert_int_not_equal(session_of(who), session); /* renewed, with the new key */
        session = session_of(who);
        reload(1 - who, NULL, after);
        world_run_until(&world, world.now_ns + NS_PER_S);
        assert_int_equal(session_of(who), session);
        assert_true(is_up(0) && is_up(1));
        assert_no_reset();
        run_until_over(0, "j", 30 * NS_PER_S);
        assert_state(0, "j", JOB_DONE);
        for (uint16_t node = 0; node < 2; node++)
            assert_int_equal(world_counter(&world, node, "drop_tag"), 0);
        world_end(&world);
    }
}

/* The other one removed the old key before the new one was in use: they meet again with it, and the job goes on. */
static void node_roster__the_old_key_goes_first(void **state)
{
    (void)state;
    begin();
    const char *const after[2] = {"new", NULL}, *const others[2] = {"first", NULL};
    reload(0, NULL, after);
    assert_false(is_up(0));
    assert_false(peer_is_known(&world.nodes[0].node->peers[0]));
    world_run_until(&world, world.now_ns + 2 * NS_PER_S);
    assert_false(is_up(0));
    reload(1, "new", others);
    run_until_over(0, "j", 30 * NS_PER_S);
    assert_state(0, "j", JOB_DONE);
    assert_no_reset();
    world_end(&world);
}

/* Of a list of two, whichever comes first, the one is found that the peer has. */
static void node_roster__lists_are_tried_in_turn(void **state)
{
    (void)state;
    static const char *const lists[][2] = {{"second", "nobody's"}, {"nobody's", "second"}};
    for (unsigned row = 0; row < 2; row++) {
        begin();
        reload(0, NULL, lists[row]);
        assert_true(is_up(0)); /* it goes on with the one that it has */
        run_until_over(0, "j", 30 * NS_PER_S);
        assert_state(0, "j", JOB_DONE);
        world_start(&world, 0);
        world_run_until(&world, world.now_ns + 8 * NS_PER_S);
        assert_true(is_up(0) && is_up(1));
        world_end(&world);
    }
}

static uint64_t data_packets;

static void count_data(uint16_t from, uint16_t to, uint64_t content)
{
    (void)from;
    (void)to;
    (void)content;
    data_packets++;
}

/* Down at once, no symbol leaves or is taken after it, jobs and people are told why; with its key it comes back. */
static void node_roster__removed_in_mid_job(void **state)
{
    (void)state;
    for (uint16_t who = 0; who < 2; who++) { /* the source removes its receiver; the receiver its source */
        begin();
        const char *const none[2] = {NULL, NULL}, *const others[2] = {who == 0 ? "second" : "first", NULL};
        struct session_keys before = world.nodes[who].node->peers[0].sessions.keys[0];
        reload(who, NULL, none);
        assert_false(is_up(who));
        assert_false(peer_is_known(&world.nodes[who].node->peers[0]));
        assert_memory_not_equal(&before, &world.nodes[who].node->peers[0].sessions.keys[0], sizeof(before));
        uint64_t taken = world_counter(&world, 1, "rx_data");
        data_packets = 0;
        if (who == 0)
            world.on_data = count_data;
        world_run_until(&world, world.now_ns + NS_PER_S);
        if (who == 0)
            assert_int_equal(data_packets, 0);
        else
            assert_int_equal(world_counter(&world, 1, "rx_data"), taken);
        world.on_data = NULL;
        char text[CONTROL_TEXT_BYTES];
        node_peer_misfit(world.nodes[who].node, 0, text, sizeof(text));
        assert_string_equal(text, "its key is not in the roster any more");
        assert_text(who, "j", "has no key in the roster any more");
        assert_true(state_at(who, "j") == JOB_FAILED);
        world_run_until(&world, world.now_ns + 30 * NS_PER_S);
        assert_false(is_up(who));
        assert_false(is_up(1 - who));
        reload(who, NULL, others);
        world_run_until(&world, world.now_ns + 3 * NS_PER_S);
        assert_true(is_up(0) && is_up(1));
        struct job_spec spec = world_job(&world, "next");
        run_job_at(0, &spec);
        run_until_over(0, "next", 30 * NS_PER_S);
        assert_state(0, "next", JOB_DONE);
        world_end(&world);
    }
}

/* Read again, and nothing has changed. */
static void node_roster__the_same(void **state)
{
    (void)state;
    begin();
    const char *const others[2][2] = {{"second", NULL}, {"first", NULL}};
    uint32_t session = session_of(0);
    for (uint16_t node = 0; node < 2; node++)
        reload(node, NULL, others[node]);
    run_until_over(0, "j", 30 * NS_PER_S);
    assert_state(0, "j", JOB_DONE);
    assert_int_equal(session_of(0), session);
    world_end(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(node_roster__a_key_follows_another),
        cmocka_unit_test(node_roster__the_old_key_goes_first),
        cmocka_unit_test(node_roster__lists_are_tried_in_turn),
        cmocka_unit_test(node_roster__removed_in_mid_job),
        cmocka_unit_test(node_roster__the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
