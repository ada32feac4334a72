/* Streams that travel down several trees: what is handed out is in order whatever tree it came by, windows of different
 * sizes, slow and lost nodes, and what is lost with them. */
#include "base/name.h"
#include "forests.h"
#include "node/kind/stream.h"

static void begin(const struct world_forest *forest, uint64_t bytes, uint64_t seed)
{
    world_init(&world, (uint16_t)(forest->trees[0].edge_count + 1), seed);
    world.source_bytes = bytes;
    world.forest = forest;
}

static void run(uint64_t retention_bytes, uint8_t slow)
{
    start_all();
    world_run_until(&world, 2 * NS_PER_S);
    struct job_spec spec = world_job(&world, "s");
    spec.object = PART_OBJECT_STREAM;
    spec.retention_bytes = retention_bytes;
    spec.flush_ns = 100 * NS_PER_MS;
    spec.slow = slow;
    run_job_at(0, &spec);
}

static void assert_whole(uint16_t node)
{
    const struct world_file *file = &world.nodes[node].files[0];
    assert_true(file->finished);
    assert_int_equal(file->size, world.source_bytes);
    for (uint64_t offset = 0; offset < file->size; offset += 997)
        assert_int_equal(file->data[offset], world_source_byte(offset));
}

static void end(void)
{
    world_run_until(&world, world.now_ns + NS_PER_S);
    assert_clean();
    world_end(&world);
}

/* Windows of few blocks, also fewer than the schedule's period, and different ones at the nodes. */
static void stream_trees__bring_it_to_all(void **state)
{
    (void)state;
    static const struct {
        const struct world_forest *forest;
        uint64_t bytes, retention_bytes, loss_ppb, late_ppb;
        uint32_t slots; /* of node 1; 0: as the others */
    } rows[] = {
        {&crossed, 24000000, 8000000, 0, 0, 0},
        {&rings, 24000000, 9000000, 0, 0, 0},
        {&weighted, 30000000, 15000000, 0, 0, 0},
        {&weighted, 16000000, 1, 0, 0, 0}, /* four blocks */
        {&crossed, 1000, 8000000, 0, 0, 0},
        {&crossed, 24000000, 8000000, 10000000, 0, 0},
        {&rings, 24000000, 9000000, 50000000, 10000000, 0},
        {&weighted, 30000000, 15000000, 20000000, 10000000, 0},
        {&weighted, 30000000, 15000000, 10000000, 0, 13},
        {&rings, 24000000, 15000000, 10000000, 0, 9},
    };
    for (size_t row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
        begin(rows[row].forest, rows[row].bytes, row + 1);
        world.loss_ppb = rows[row].loss_ppb;
        world.late_ppb = rows[row].late_ppb;
        world.late_ns = 30 * NS_PER_MS;
        if (rows[row].slots != 0)
            world.nodes[1].config.buffer_bytes = rows[row].slots * (1100ULL << 10);
        run(rows[row].retention_bytes, PART_SLOW_WAIT);
        run_until_over(0, "s", 60 * NS_PER_S);
        assert_state(0, "s", JOB_DONE);
        assert_int_equal(job_at(1)->trees.schedule.count, rows[row].forest->tree_count);
        for (uint16_t node = 1; node < world.count; node++)
            assert_whole(node);
        assert_int_equal(sum_of("drop_data_stripe") + sum_of("drop_data_parent"), 0);
        if (rows[row].loss_ppb == 0)
            assert_int_equal(sum_of("symbols_repeated") + sum_of("drop_data_memory"), 0);
        assert_int_equal(sum_of("messages_refused"), 0);
        end();
    }
}

/* A reader that takes hardly anything ends; the node goes on for the others, who lose nothing. */
static void stream_trees__slow_sink_ends_alone(void **state)
{
    (void)state;
    begin(&rings, 30000000, 1);
    world.nodes[2].disk_ns = 2 * NS_PER_S;
    run(8000000, PART_SLOW_DROP);
    run_until_over(0, "s", 60 * NS_PER_S);
    assert_text(0, "s", "n2: too slow for the retention window");
    assert_whole(1);
    assert_whole(3);
    assert_int_equal(sum_of("live_dropped"), 1);
    world_run_until(&world, world.now_ns + 60 * NS_PER_S);
    end();
}

/* Who is fed slowly by two parents, and feeds nobody, is dropped by them; the others lose nothing. */
static void stream_trees__slow_leaf_ends_alone(void **state)
{
    (void)state;
    static const struct world_forest forest = {
        2, {{1, 3, {{0, 1}, {1, 2}, {1, 3}}}, {1, 3, {{0, 2}, {2, 1}, {2, 3}}}}};
    begin(&forest, 30000000, 1);
    world.rate_bps[1][3] = world.rate_bps[2][3] = 1000000;
    run(8000000, PART_SLOW_DROP);
    run_until_over(0, "s", 60 * NS_PER_S);
    assert_text(0, "s", "n3: too slow for the retention window");
    assert_whole(1);
    assert_whole(2);
    assert_int_equal(world_counter(&world, 0, "live_dropped"), 0);
    assert_in_range(sum_of("live_dropped"), 1, 2);
    end();
}

/* … and who feeds others in one tree leaves these without that tree; who gets it all from others loses nothing. */
static void stream_trees__slow_relay_takes_its_tree(void **state)
{
    (void)state;
    static const struct world_forest forest = {
        2, {{1, 4, {{0, 1}, {1, 2}, {2, 3}, {1, 4}}}, {1, 4, {{0, 1}, {1, 4}, {4, 2}, {4, 3}}}}};
    begin(&forest, 30000000, 1);
    world.rate_bps[1][2] = 1000000;
    run(8000000, PART_SLOW_DROP);
    run_until_over(0, "s", 60 * NS_PER_S);
    const struct node_job_view *view = world_view(&world, 0, "s");
    assert_non_null(strstr(view->sites[1].text, "too slow"));
    assert_non_null(strstr(view->sites[2].text, "is fed no more: too slow"));
    assert_whole(1);
    assert_whole(4);
    end();
}

/* A relay that is in one of the trees only: the blocks of the other pass it by. */
static void stream_trees__relay_in_some_of_them(void **state)
{
    (void)state;
    static const struct world_forest forest = {2,
                                               {{2, 3, {{0, 3}, {3, 1}, {3, 2}}}, {1, 2, {{0, 1}, {1, 2}}}}};
    static const uint16_t edges[][2] = {{0, 3}, {3, 1}, {3, 2}};
    for (int second = 0; second < 2; second++) {
        static struct world_forest turned;
        turned = (struct world_forest){2, {forest.trees[second], forest.trees[!second]}};
        begin(&forest, 40000000, 1);
        world.forest = &turned;
        world.loss_ppb = 10000000;
        start_all();
        world_run_until(&world, 2 * NS_PER_S);
        struct job_spec spec = world_job(&world, "s");
        spec.object = PART_OBJECT_STREAM;
        spec.retention_bytes = 8000000;
        spec.flush_ns = 100 * NS_PER_MS;
        spec.to_all = false;
        spec.receiver_count = 2;
        strcpy(spec.receivers[0], "n1");
        strcpy(spec.receivers[1], "n2");
        give_tree(&spec, edges, 3);
        run_job_at(0, &spec);
        run_until_over(0, "s", 60 * NS_PER_S);
        assert_state(0, "s", JOB_DONE);
        assert_int_equal(job_at(3)->trees.parent[!second], PEER_NONE);
        assert_int_equal(job_at(3)->result, SITE_VERIFIED);
        assert_whole(1);
        assert_whole(2);
        end();
    }
}

/* One restarts, or is never heard again: it and whom it fed in one of the trees are named. This one goes on without that
 * tree and feeds others in the other one; they lose nothing. */
static void stream_trees__a_relay_is_lost(void **state)
{
    (void)state;
    static const struct world_forest forest = {
        2, {{1, 4, {{0, 1}, {1, 2}, {2, 3}, {1, 4}}}, {1, 4, {{0, 3}, {3, 1}, {3, 4}, {1, 2}}}}};
    for (int restarts = 0; restarts < 2; restarts++) {
        begin(&forest, 40000000, 1);
        world.rate_bps[0][1] = world.rate_bps[0][3] = 8000000;
        run(15000000, PART_SLOW_DROP);
        assert_true(run_until_state(0, "s", JOB_RUNNING, 5 * NS_PER_S));
        world_run_until(&world, world.now_ns + 2 * NS_PER_S);
        if (restarts)
            world_start(&world, 2);
        else
            world_kill(&world, 2);
        run_until_over(0, "s", 120 * NS_PER_S);
        const struct node_job_view *view = world_view(&world, 0, "s");
        assert_int_equal(view->sites[1].state, SITE_FAILED);
        assert_non_null(strstr(view->sites[2].text,
                               restarts ? "its parent n2 restarted" : "its parent n2 does not answer"));
        assert_int_equal(view->sites[0].state, SITE_VERIFIED);
        assert_int_equal(view->sites[3].state, SITE_VERIFIED);
        assert_whole(1);
        assert_whole(4);
        world_run_until(&world, world.now_ns + 60 * NS_PER_S);
        end();
    }
}

static void stream_trees__cancelled(void **state)
{
    (void)state;
    static const uint64_t after_ns[] = {0, 50 * NS_PER_MS, 500 * NS_PER_MS, 1500 * NS_PER_MS};
    for (size_t row = 0; row < sizeof(after_ns) / sizeof(after_ns[0]); row++) {
        begin(&weighted, 200000000, row + 1);
        world.loss_ppb = 10000000;
        run(8000000, PART_SLOW_DROP);
        world_run_until(&world, world.now_ns + after_ns[row]);
        assert_true(world_cancel_job(&world, 0, "s"));
        run_until_over(0, "s", 30 * NS_PER_S);
        assert_state(0, "s", JOB_CANCELLED);
        world_run_until(&world, world.now_ns + 30 * NS_PER_S);
        end();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stream_trees__bring_it_to_all),
        cmocka_unit_test(stream_trees__slow_sink_ends_alone),
        cmocka_unit_test(stream_trees__slow_leaf_ends_alone),
        cmocka_unit_test(stream_trees__slow_relay_takes_its_tree),
        cmocka_unit_test(stream_trees__relay_in_some_of_them),
        cmocka_unit_test(stream_trees__a_relay_is_lost),
        cmocka_unit_test(stream_trees__cancelled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
