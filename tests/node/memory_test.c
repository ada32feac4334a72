/* Little memory, slow children, full ports, odd MTUs: everything has to end, whatever the order of packets.
 */
#include "check.h"
#include "node/role/source.h"

#define BUFFER_MIN (9 << 20) /* 8 slots */

static void tiny(uint16_t count, uint64_t seed)
{
    world_init(&world, count, seed);
    for (uint16_t node = 0; node < count; node++)
        world.nodes[node].config.buffer_bytes = BUFFER_MIN;
}

static void assert_done(const char *name, uint64_t limit_ns)
{
    run_until_over(0, name, limit_ns);
    assert_state(0, name, JOB_DONE);
}

/* n0 → n1 → {n2, n3}; n3 gets 5 % of what the others get. */
static void node_job__slow_child_of_a_small_relay(void **state)
{
    (void)state;
    static const uint16_t tree[][2] = {{0, 1}, {1, 2}, {1, 3}};
    for (int row = 0; row < 4; row++) {
        bool on_disk = row % 2 == 0;
        tiny(4, (uint64_t)row + 1);
        world.source_bytes = 16000000;
        for (uint16_t node = 0; node < 4; node++)
            world.nodes[node].config.store = on_disk ? NODE_STORE_DISK : NODE_STORE_NONE;
        world.rate_bps[1][3] = 4000000;
        start_all();
        world_run_until(&world, 2 * NS_PER_S);
        int jobs = 1 + row / 2;
        for (int job = 0; job < jobs; job++) {
            char name[16];
            snprintf(name, sizeof(name), "j%d", job);
            struct job_spec spec = world_job(&world, name);
            give_tree(&spec, tree, 3);
            run_job_at(0, &spec);
        }
        assert_done("j0", 200 * NS_PER_S);
        if (jobs > 1)
            assert_done("j1", 200 * NS_PER_S);
        const struct node_job_view *view = world_view(&world, 0, "j0");
        uint64_t fast_ns = view->sites[1].complete_ns - view->running_ns;
        if (on_disk && fast_ns > 8 * NS_PER_S)
            fail_msg("row %d: the fast child took %d ms", row, (int)(fast_ns / NS_PER_MS));
        world_run_until(&world, world.now_ns + NS_PER_S);
        assert_clean();
        world_end(&world);
    }
}

/* n0 → n1 → n2 → {n3, n4}, relays without disks. n4 dies, or its disk takes nothing any more: n2 leaves it
 * behind, and nobody leaves n2. */
static void node_job__dead_child_of_small_relays(void **state)
{
    (void)state;
    static const uint16_t tree[][2] = {{0, 1}, {1, 2}, {2, 3}, {2, 4}};
    for (int row = 0; row < 2; row++) {
        tiny(5, (uint64_t)row + 1);
        world.source_bytes = 60000000;
        world.nodes[1].config.store = world.nodes[2].config.store = NODE_STORE_NONE;
        start_all();
        world_run_until(&world, 2 * NS_PER_S);
        struct job_spec spec = world_job(&world, "j");
        give_tree(&spec, tree, 4);
        run_job_at(0, &spec);
        assert_true(run_until_state(0, "j", JOB_RUNNING, 5 * NS_PER_S));
        world_run_until(&world, world.now_ns + NS_PER_S);
        if (row == 0)
            world_kill(&world, 4);
        else
            world.nodes[4].disk_stuck = true;
        run_until_over(0, "j", 60 * NS_PER_S);
        assert_state(0, "j", JOB_FAILED);
        const struct node_job_view *view = world_view(&world, 0, "j");
        for (int site = 0; site < 4; site++)
            assert_int_equal(view->sites[site].state, site == 3 ? SITE_FAILED : SITE_VERIFIED);
        for (uint16_t node = 0; node < 4; node++)
            assert_int_equal(world_counter(&world, node, "children_left"), node == 2);
        world.nodes[4].disk_stuck = false;
        world_run_until(&world, world.now_ns + NS_PER_S);
        assert_clean();
        world_end(&world);
    }
}

static void node_job__chain_of_small_relays_with_loss(void **state)
{
    (void)state;
    static const uint16_t chain[][2] = {{0, 1}, {1, 2}, {2, 3}, {3, 4}};
    for (int row = 0; row < 8; row++) {
        tiny(5, (uint64_t)row + 1);
        world.source_bytes = 20000000;
        world.loss_ppb = row < 4 ? 10000000 : 50000000;
        world.late_ppb = row % 2 == 0 ? 0 : 20000000;
        world.late_ns = 30 * NS_PER_MS;
        world.duplicate_ppb = row % 2 == 0 ? 0 : 10000000;
        for (uint16_t node = 0; node < 5; node++)
            world.nodes[node].config.store = row % 4 < 2 ? NODE_STORE_DISK : NODE_STORE_NONE;
        start_all();
        world_run_until(&world, 2 * NS_PER_S);
        struct job_spec one = world_job(&world, "j0"), two = world_job(&world, "j1");
        give_tree(&one, chain, 4);
        give_tree(&two, chain, 4);
        run_job_at(0, &one);
        run_job_at(0, &two);
        assert_done("j0", 60 * NS_PER_S);
        assert_done("j1", 60 * NS_PER_S);
        world_run_until(&world, world.now_ns + NS_PER_S);
        assert_clean();
        world_end(&world);
    }
}

static void node_job__many_jobs_in_a_small_buffer(void **state)
{
    (void)state;
    tiny(2, 1); /* n1 has no other peer, and so takes all jobs of n0 */
    world.source_bytes = 2500000;
    start_all();
    world_run_until(&world, 2 * NS_PER_S);
    char name[16];
    for (int job = 0; job < 16; job++) {
        snprintf(name, sizeof(name), "j%d", job);
        struct job_spec spec = world_job(&world, name);
        run_job_at(0, &spec);
    }
    struct job_spec spec = world_job(&world, "more");
    struct err err;
    assert_false(world_run_job(&world, &spec, &err));
    assert_non_null(strstr(err.text, "16 jobs are running already"));
    for (int job = 0; job < 16; job++) {
        snprintf(name, sizeof(name), "j%d", job);
        assert_done(name, 60 * NS_PER_S);
    }
    world_run_until(&world, world.now_ns + NS_PER_S);
    assert_clean();
    world_end(&world);
}

/* Jobs of all nodes at once: everyone is source, relay and leaf. */
static void node_job__every_node_is_a_source(void **state)
{
    (void)state;
    for (int row = 0; row < 2; row++) {
        tiny(4, (uint64_t)row + 1);
        world.loss_ppb = (uint64_t)row * 10000000;
        world.source_bytes = 6000000;
        start_all();
        world_run_until(&world, 2 * NS_PER_S);
        for (uint16_t node = 0; node < 4; node++) {
            char name[8];
            snprintf(name, sizeof(name), "j%u", node);
            struct job_spec spec = world_job(&world, name);
            snprintf(spec.source, sizeof(spec.source), "n%u", node);
            run_job_at(node, &spec);
        }
        for (uint16_t node = 0; node < 4; node++) {
            char name[8];
            snprintf(name, sizeof(name), "j%u", node);
            run_until_over(node, name, 60 * NS_PER_S);
            assert_state(node, name, JOB_DONE);
        }
        world_run_until(&world, world.now_ns + NS_PER_S);
        assert_clean();
        world_end(&world);
    }
}

static void node_job__port_full_for_long(void **state)
{
    (void)state;
    for (uint16_t victim = 0; victim < 2; victim++) {
        static const uint16_t chain[][2] = {{0, 1}, {1, 2}};
        tiny(3, victim + 1u);
        world.source_bytes = 10000000;
        start_all();
        world_run_until(&world, 2 * NS_PER_S);
        struct job_spec spec = world_job(&world, "j");
        give_tree(&spec, chain, 2);
        run_job_at(0, &spec);
        assert_true(run_until_state(0, "j", JOB_RUNNING, 5 * NS_PER_S));
        world.nodes[victim].refused_until_ns = world.now_ns + 6 * NS_PER_S;
        assert_done("j", 40 * NS_PER_S);
        assert_true(world_counter(&world, victim, "tx_refused") > 10);
        world_run_until(&world, world.now_ns + NS_PER_S);
        assert_clean();
        world_end(&world);
    }
}

static void node_job__addresses_and_mtus(void **state)
{
    (void)state;
    static const uint16_t chain[][2] = {{0, 1}, {1, 2}, {2, 3}};
    static const struct {
        bool ipv6;
        uint32_t mtu[4];
    } rows[] = {{true, {1500, 1500, 1500, 1500}},  {false, {9000, 9000, 9000, 9000}},
                {true, {9000, 9000, 9000, 9000}},  {false, {9000, 9000, 1500, 9000}},
                {false, {9000, 9000, 9000, 1500}}, {true, {9000, 1500, 9000, 9000}},
                {false, {1500, 9000, 9000, 1280}}};
    for (size_t row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
        tiny(4, row + 1);
        world.source_bytes = 12345678;
        world.loss_ppb = 5000000;
        for (uint16_t node = 0; node < 4; node++)
            world.nodes[node].config.ports[0].mtu = rows[row].mtu[node];
        if (rows[row].ipv6)
            world_use_ipv6(&world);
        start_all();
        world_run_until(&world, 2 * NS_PER_S);
        struct job_spec spec = world_job(&world, "j");
        give_tree(&spec, chain, 3);
        run_job_at(0, &spec);
        assert_done("j", 40 * NS_PER_S);
        for (uint16_t node = 1; node < 4; node++) {
            assert_true(world.nodes[node].files[0].finished);
            for (uint64_t byte = 0; byte < world.source_bytes; byte += 7)
                assert_int_equal(world.nodes[node].files[0].data[byte], world_source_byte(byte));
        }
        world_end(&world);
    }
}

/* n3's path is so thin that no block gets free before the others would be given up: it is left behind. */
static void node_job__thin_child_of_a_small_relay(void **state)
{
    (void)state;
    static const uint16_t tree[][2] = {{0, 1}, {1, 2}, {1, 3}};
    world_init(&world, 4, 1);
    world.source_bytes = 20000000;
    world.nodes[1].config.buffer_bytes = BUFFER_MIN;
    world.nodes[1].config.store = NODE_STORE_NONE;
    world.rate_bps[1][3] = 100000;
    start_all();
    world_run_until(&world, 2 * NS_PER_S);
    struct job_spec spec = world_job(&world, "j");
    give_tree(&spec, tree, 3);
    run_job_at(0, &spec);
    run_until_over(0, "j", 100 * NS_PER_S);
    assert_text(0, "j", "n3: too slow: took");
    assert_int_equal(source_site(&world.nodes[0].node->jobs[0], 1)->state, SITE_VERIFIED);
    assert_int_equal(world_counter(&world, 1, "children_left"), 1);
    world_end(&world);
}

/* Job a passes a relay without a disk, whose last hop is slow, and is paused when it fills the relay. */
static void node_job__paused_one_leaves_the_relay_to_others(void **state)
{
    (void)state;
    static const uint16_t of_a[][2] = {{0, 1}, {1, 2}}, of_b[][2] = {{0, 1}, {1, 3}};
    world_init(&world, 4, 1);
    world.source_bytes = 16000000;
    world.nodes[1].config.buffer_bytes = BUFFER_MIN;
    world.nodes[1].config.store = NODE_STORE_NONE;
    world.rate_bps[1][2] = 20000000;
    start_all();
    world_run_until(&world, 2 * NS_PER_S);
    struct job_spec a = world_job(&world, "a"), b = world_job(&world, "b");
    a.to_all = b.to_all = false;
    a.receiver_count = b.receiver_count = 1;
    strcpy(a.receivers[0], "n2");
    strcpy(b.receivers[0], "n3");
    give_tree(&a, of_a, 2);
    give_tree(&b, of_b, 2);
    run_job_at(0, &a);
    assert_true(run_until_state(0, "a", JOB_RUNNING, 5 * NS_PER_S));
    world_run_until(&world, world.now_ns + 2 * NS_PER_S);
    assert_true(world_set_job(&world, "a", JOB_CONTROL_PAUSED, (struct job_controls){.paused = true}));
    world_run_until(&world, world.now_ns + 100 * NS_PER_MS);
    run_job_at(0, &b);
    assert_done("b", 60 * NS_PER_S);
    assert_true(world_set_job(&world, "a", JOB_CONTROL_PAUSED, (struct job_controls){.paused = false}));
    assert_done("a", 60 * NS_PER_S);
    world_end(&world);
}

static uint8_t hung_handles; /* those below */

static uint64_t hung_writes(const struct disk_request *request, struct disk_reply *reply)
{
    (void)reply;
    return request->op == DISK_WRITE && request->handle < hung_handles ? 3600 * NS_PER_S : 0;
}

static void begin_hung(uint8_t handles, uint64_t buffer_bytes)
{
    world_init(&world, 2, 1);
    world.source_bytes = 60000000;
    world.nodes[1].config.buffer_bytes = buffer_bytes;
    world.nodes[1].disk_fault = hung_writes;
    hung_handles = handles;
    start_all();
    world_run_until(&world, 2 * NS_PER_S);
}

/* The filesystem that job a goes to hangs: a holds its share of the memory, and b, which goes to another, what is
 * left, so that nobody has to end a before its time. */
static void node_job__hung_disk_of_one_leaves_memory_to_others(void **state)
{
    (void)state;
    for (int row = 0; row < 2; row++) { /* a alone at first; both at once */
        begin_hung(1, 24 << 20);
        struct job_spec a = world_job(&world, "a"), b = world_job(&world, "b");
        run_job_at(0, &a);
        if (row == 0)
            world_run_until(&world, world.now_ns + 2 * NS_PER_S);
        run_job_at(0, &b);
        assert_done("b", 15 * NS_PER_S);
        run_until_over(0, "a", 60 * NS_PER_S);
        assert_text(0, "a", "no progress for 20 s");
        assert_int_equal(world_counter(&world, 1, "disks_stuck"), 0);
        world_end(&world);
    }
}

/* Two of them hang, and together hold nearly all of a small memory: that ends them before the third. */
static void node_job__hung_disks_of_many_end_before_others(void **state)
{
    (void)state;
    static const char *const names[] = {"a", "c"};
    begin_hung(2, 9 << 20);
    for (size_t at = 0; at < 2; at++) {
        struct job_spec spec = world_job(&world, names[at]);
        run_job_at(0, &spec);
        world_run_until(&world, world.now_ns + NS_PER_S);
    }
    struct job_spec b = world_job(&world, "b");
    run_job_at(0, &b);
    assert_done("b", 30 * NS_PER_S);
    assert_in_range(world_counter(&world, 1, "disks_stuck"), 1, 2);
    world_end(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(node_job__slow_child_of_a_small_relay),
        cmocka_unit_test(node_job__hung_disk_of_one_leaves_memory_to_others),
        cmocka_unit_test(node_job__hung_disks_of_many_end_before_others),
        cmocka_unit_test(node_job__dead_child_of_small_relays),
        cmocka_unit_test(node_job__chain_of_small_relays_with_loss),
        cmocka_unit_test(node_job__many_jobs_in_a_small_buffer),
        cmocka_unit_test(node_job__every_node_is_a_source),
        cmocka_unit_test(node_job__port_full_for_long),
        cmocka_unit_test(node_job__addresses_and_mtus),
        cmocka_unit_test(node_job__thin_child_of_a_small_relay),
        cmocka_unit_test(node_job__paused_one_leaves_the_relay_to_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
