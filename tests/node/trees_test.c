/* Jobs that travel down several trees: nodes that feed each other in different trees, losses, small memories, and what
 * fails on the way. */
#include "base/name.h"
#include "forests.h"
#include "node/role/source.h"
#include "wire/data.h"

static void begin(const struct world_forest *forest, uint16_t count, uint64_t bytes, uint64_t seed)
{
    world_init(&world, count, seed);
    world.source_bytes = bytes;
    world.forest = forest;
}

static void run(void)
{
    start_all();
    world_run_until(&world, 2 * NS_PER_S);
    struct job_spec spec = world_job(&world, "j");
    run_job_at(0, &spec);
}

static void assert_files(void)
{
    for (uint16_t node = 1; node < world.count; node++) {
        const struct world_file *file = &world.nodes[node].files[0];
        assert_true(file->finished);
        for (uint64_t offset = 0; offset < file->size; offset += 997)
            assert_int_equal(file->data[offset], world_source_byte(offset));
    }
}

/* What a good network does not ask for does not happen: nothing twice, nothing from a wrong side; each hash once to each
 * site. */
static void assert_orderly(void)
{
    assert_int_equal(sum_of("symbols_repeated"), 0);
    assert_int_equal(sum_of("drop_data_memory"), 0);
    const struct job *job = job_at(0);
    for (uint16_t site = 0; site < job->source->site_count; site++)
        assert_int_equal(job->source->sites[site].hash_next,
                         job->source->sites[site].receiver ? job->geometry.blocks : 0);
}

static uint64_t newest[WORLD_NODES_MAX][WORLD_NODES_MAX][STRIPES_MAX];
static uint64_t backwards;

static void watch_order(uint16_t from, uint16_t to, uint64_t content)
{
    uint64_t *last = &newest[from][to][wire_content_stripe(content)];
    uint64_t end = wire_content_symbol(content) + wire_content_count(content);
    backwards += end <= *last;
    *last = end;
}

/* Where nothing is lost a stripe leaves every node in the order in which it came, which is the source's. */
static void job_trees__forwards_in_order(void **state)
{
    (void)state;
    static const struct world_forest *const forests[] = {&crossed, &rings, &weighted};
    for (size_t row = 0; row < sizeof(forests) / sizeof(forests[0]); row++) {
        memset(newest, 0, sizeof(newest));
        backwards = 0;
        begin(forests[row], (uint16_t)(forests[row]->trees[0].edge_count + 1), 20000000, row + 1);
        world.on_data = watch_order;
        run();
        run_until_over(0, "j", 60 * NS_PER_S);
        assert_state(0, "j", JOB_DONE);
        assert_int_equal(backwards, 0);
        assert_int_not_equal(newest[0][1][0], 0);
        world_end(&world);
    }
}

static void job_trees__brings_it_to_all(void **state)
{
    (void)state;
    static const struct {
        const struct world_forest *forest;
        uint16_t nodes;
        uint64_t bytes, loss_ppb, late_ppb, duplicate_ppb;
    } rows[] = {
        {&crossed, 3, 12000000, 0, 0, 0},
        {&rings, 4, 12000000, 0, 0, 0},
        {&weighted, 5, 40000000, 0, 0, 0},
        {&crossed, 3, 1000, 0, 0, 0}, /* one block: the second tree has none */
        {&weighted, 5, 0, 0, 0, 0},
        {&crossed, 3, 12000000, 10000000, 0, 0},
        {&rings, 4, 12000000, 50000000, 10000000, 10000000},
        {&weighted, 5, 20000000, 10000000, 0, 10000000},
    };
    for (size_t row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
        begin(rows[row].forest, rows[row].nodes, rows[row].bytes, row + 1);
        world.loss_ppb = rows[row].loss_ppb;
        world.late_ppb = rows[row].late_ppb;
        world.late_ns = 30 * NS_PER_MS;
        world.duplicate_ppb = rows[row].duplicate_ppb;
        run();
        run_until_over(0, "j", 60 * NS_PER_S);
        assert_state(0, "j", JOB_DONE);
        assert_int_equal(job_at(1)->trees.schedule.count, rows[row].forest->tree_count);
        assert_files();
        assert_int_equal(sum_of("drop_data_stripe") + sum_of("drop_data_parent"), 0);
        if (rows[row].loss_ppb == 0)
            assert_orderly();
        world_run_until(&world, world.now_ns + NS_PER_S);
        assert_clean();
        world_end(&world);
    }
}

/* Memories of a few slots, sinks that keep nothing on disk, slow and stuck ones: trees that cross each other do not
 * wait in a circle. */
static void job_trees__small_memories_go_on(void **state)
{
    (void)state;
    static const struct {
        const struct world_forest *forest;
        uint16_t nodes;
        uint32_t slots;
        bool memory; /* sinks */
    } rows[] = {{&crossed, 3, 8, true}, {&rings, 4, 8, true}, {&weighted, 5, 8, true}, {&rings, 4, 8, false}};
    for (size_t row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
        for (uint64_t seed = 1; seed <= 3; seed++) {
            begin(rows[row].forest, rows[row].nodes, 30000000, seed);
            world.loss_ppb = 10000000;
            for (uint16_t node = 1; node < world.count; node++) {
                struct node_config *config = &world.nodes[node].config;
                config->buffer_bytes = rows[row].slots * (1100ULL << 10);
                config->store = rows[row].memory ? NODE_STORE_NONE : NODE_STORE_DISK;
                world.rate_bps[node][1 + node % (world.count - 1)] = 20000000; /* uneven paths */
            }
            world.nodes[2].disk_ns = 60 * NS_PER_MS;
            run();
            run_until_over(0, "j", 120 * NS_PER_S);
            assert_state(0, "j", JOB_DONE);
            world_run_until(&world, world.now_ns + NS_PER_S);
            assert_clean();
            world_end(&world);
        }
    }
}

/* Three jobs of three trees each over 13 slots, nine of which are kept for them: none is refused, all end. */
static void job_trees__several_jobs_in_small_memories(void **state)
{
    (void)state;
    static const char *const names[] = {"i", "j", "k"};
    for (uint64_t seed = 1; seed <= 3; seed++) {
        begin(&rings, 4, 12000000, seed);
        world.loss_ppb = 10000000;
        for (uint16_t node = 1; node < world.count; node++) {
            struct node_config *config = &world.nodes[node].config;
            config->buffer_bytes = 13 * (1100ULL << 10);
            config->store = NODE_STORE_NONE;
            world.rate_bps[node][1 + node % (world.count - 1)] = 20000000; /* uneven paths */
        }
        start_all();
        world_run_until(&world, 2 * NS_PER_S);
        for (size_t job = 0; job < 3; job++) {
            struct job_spec spec = world_job(&world, names[job]);
            run_job_at(0, &spec);
        }
        for (size_t job = 0; job < 3; job++) {
            run_until_over(0, names[job], 120 * NS_PER_S);
            assert_state(0, names[job], JOB_DONE);
        }
        world_run_until(&world, world.now_ns + NS_PER_S);
        assert_clean();
        world_end(&world);
    }
}

/* Two trees share the edge into a relay without a disk, whose memory fills with what one of its children is slow to
 * take. The other tree goes on past it, and hardly anything is sent that has no place there. */
static void job_trees__one_does_not_stand_before_the_other(void **state)
{
    (void)state;
    static const struct world_forest forest = {
        2, {{1, 3, {{0, 1}, {1, 2}, {2, 3}}}, {1, 3, {{0, 1}, {1, 3}, {3, 2}}}}};
    begin(&forest, 4, 40000000, 1);
    world.nodes[1].config.store = NODE_STORE_NONE;
    world.nodes[1].config.buffer_bytes = 12 * (1100ULL << 10);
    world.rate_bps[1][2] = 4000000;
    run();
    assert_true(run_until_state(0, "j", JOB_RUNNING, 5 * NS_PER_S));
    world_run_until(&world, world.now_ns + 17 * NS_PER_S);
    const struct object *object = job_at(1)->object;
    uint64_t done[2] = {0};
    for (uint64_t block = 0; block < object->geometry.blocks; block++)
        done[block % 2] += object->state[block] >= BLOCK_HELD;
    assert_int_equal(done[1], object->geometry.blocks / 2); /* all of the second tree … */
    assert_in_range(done[0], 5, 18);                        /* … while the first is far behind */
    assert_in_range(world_counter(&world, 1, "drop_data_memory"), 0, 50);
    run_until_over(0, "j", 120 * NS_PER_S);
    assert_state(0, "j", JOB_DONE);
    world_end(&world);
}

/* A block that came bad is asked for where its stripe comes from. */
static void job_trees__bad_blocks_come_again(void **state)
{
    (void)state;
    for (uint64_t block = 3; block < 5; block++) {
        begin(&crossed, 3, 12000000, block);
        world.nodes[1].corrupt_block = block; /* n1 has even ones from n0, odd ones from n2 */
        run();
        run_until_over(0, "j", 60 * NS_PER_S);
        assert_state(0, "j", JOB_DONE);
        assert_files();
        assert_int_equal(world_counter(&world, 1, "blocks_bad"), 1);
        assert_int_equal(world_counter(&world, 0, "blocks_resent"), block == 4);
        assert_int_equal(world_counter(&world, 2, "blocks_resent"), block == 3);
        world_end(&world);
    }
}

/* A site that has it all tells every parent, and feeds those below it all the same. */
static void job_trees__one_has_it_already(void **state)
{
    (void)state;
    begin(&rings, 4, 12000000, 1);
    world.nodes[1].open_status = DISK_ALREADY_THERE;
    run();
    run_until_over(0, "j", 60 * NS_PER_S);
    assert_state(0, "j", JOB_DONE);
    assert_int_equal(world_view(&world, 0, "j")->sites[0].state, SITE_SKIPPED);
    assert_int_equal(world_counter(&world, 1, "rx_data"), 0);
    assert_true(world.nodes[2].files[0].finished && world.nodes[3].files[0].finished);
    world_end(&world);
}

/* A relay that has no part in one of the trees, and is none of the receivers. */
static void job_trees__relay_in_some_of_them(void **state)
{
    (void)state;
    static const struct world_forest forest = {2,
                                               {{2, 3, {{0, 3}, {3, 1}, {3, 2}}}, {1, 2, {{0, 1}, {1, 2}}}}};
    static const uint16_t edges[][2] = {{0, 3}, {3, 1}, {3, 2}};
    begin(&forest, 4, 12000000, 1);
    start_all();
    world_run_until(&world, 2 * NS_PER_S);
    struct job_spec spec = world_job(&world, "j");
    spec.to_all = false;
    spec.receiver_count = 2;
    strcpy(spec.receivers[0], "n1");
    strcpy(spec.receivers[1], "n2");
    give_tree(&spec, edges, 3);
    run_job_at(0, &spec);
    run_until_over(0, "j", 60 * NS_PER_S);
    assert_state(0, "j", JOB_DONE);
    assert_int_equal(job_at(3)->trees.parent[1], PEER_NONE);
    assert_int_equal(job_at(3)->result, SITE_VERIFIED);
    assert_orderly();
    world_run_until(&world, world.now_ns + NS_PER_S);
    assert_clean();
    world_end(&world);
}

/* A site refuses: the rest is planned anew, with one tree in the place of two. */
static void job_trees__replanned_with_one(void **state)
{
    (void)state;
    begin(&rings, 4, 12000000, 1);
    world.nodes[3].open_status = DISK_FAILED;
    run();
    run_until_over(0, "j", 60 * NS_PER_S);
    assert_text(0, "j", "n3: no space left");
    for (uint16_t node = 1; node < 3; node++) {
        assert_true(world.nodes[node].files[0].finished);
        assert_int_equal(job_at(node)->trees.schedule.count, 1);
    }
    world_run_until(&world, world.now_ns + NS_PER_S);
    assert_clean();
    world_end(&world);
}

/* Until the new plan is there, none is shown: the old one's numbers are those of other nodes. */
static void job_trees__old_plan_is_gone(void **state)
{
    (void)state;
    begin(&rings, 4, 12000000, 1);
    world.nodes[1].open_status = DISK_FAILED;
    run();
    assert_true(run_until_state(0, "j", JOB_DISTRIBUTING, 5 * NS_PER_S));
    world.planner_absent = true;
    assert_int_equal(world_view(&world, 0, "j")->plan->tree_count, 3);
    run_until_over(0, "j", 30 * NS_PER_S);
    const struct node_job_view *view = world_view(&world, 0, "j");
    assert_int_equal(view->request->node_count, 3); /* without n1 */
    assert_int_equal(view->plan->tree_count, 0);
    world_end(&world);
}

/* A site whose memory is too small for so many trees loses nobody anything: the job is planned with fewer. */
static void job_trees__fewer_where_memory_is_short(void **state)
{
    (void)state;
    static const struct world_forest seven = {7,
                                              {{1, 2, {{0, 1}, {1, 2}}},
                                               {1, 2, {{0, 2}, {2, 1}}},
                                               {1, 2, {{0, 1}, {1, 2}}},
                                               {1, 2, {{0, 2}, {2, 1}}},
                                               {1, 2, {{0, 1}, {1, 2}}},
                                               {1, 2, {{0, 2}, {2, 1}}},
                                               {1, 2, {{0, 1}, {0, 2}}}}};
    begin(&seven, 3, 12000000, 1);
    world.nodes[2].config.buffer_bytes = 8 * (1100ULL << 10);
    run();
    run_until_over(0, "j", 60 * NS_PER_S);
    assert_state(0, "j", JOB_DONE);
    assert_files();
    for (uint16_t node = 0; node < 3; node++)
        assert_int_equal(job_at(node)->trees.schedule.count, 1);
    const char *note = world_view(&world, 0, "j")->note;
    assert_string_equal(note, "n2: its symbol buffer has room for 6 trees now, not for 7");
    world_run_until(&world, world.now_ns + NS_PER_S);
    assert_clean();
    world_end(&world);
}

/* What one job keeps of a memory is not there for the trees of the next, which comes all the same. */
static void job_trees__two_jobs_share_a_small_memory(void **state)
{
    (void)state;
    begin(&weighted, 5, 30000000, 1);
    for (uint16_t node = 0; node < 5; node++)
        world.nodes[node].config.buffer_bytes = 8 * (1100ULL << 10);
    run();
    assert_true(run_until_state(0, "j", JOB_RUNNING, 5 * NS_PER_S));
    struct job_spec spec = world_job(&world, "k");
    run_job_at(0, &spec);
    assert_true(run_until_state(0, "k", JOB_RUNNING, 5 * NS_PER_S));
    assert_state(0, "j", JOB_RUNNING);
    assert_int_equal(world.nodes[3].node->jobs[0].trees.schedule.count, 4);
    assert_int_equal(world.nodes[3].node->jobs[1].trees.schedule.count, 1);
    run_until_over(0, "j", 60 * NS_PER_S);
    run_until_over(0, "k", 60 * NS_PER_S);
    assert_state(0, "j", JOB_DONE);
    assert_state(0, "k", JOB_DONE);
    world_run_until(&world, world.now_ns + NS_PER_S);
    assert_clean();
    world_end(&world);
}

/* One restarts, or is never heard again: it is named, so are those that it fed in any tree, and nothing is left. */
static void job_trees__a_relay_is_lost(void **state)
{
    (void)state;
    for (int restarts = 0; restarts < 2; restarts++) {
        begin(&rings, 4, 40000000, 1);
        run();
        assert_true(run_until_state(0, "j", JOB_RUNNING, 5 * NS_PER_S));
        world_run_until(&world, world.now_ns + 500 * NS_PER_MS);
        if (restarts)
            world_start(&world, 2);
        else
            world_kill(&world, 2);
        run_until_over(0, "j", 120 * NS_PER_S);
        assert_state(0, "j", JOB_FAILED);
        const struct node_job_view *view = world_view(&world, 0, "j");
        for (uint16_t site = 0; site < 3; site++)
            assert_int_equal(view->sites[site].state, SITE_FAILED);
        assert_non_null(strstr(view->sites[2].text, restarts ? "its parent n2 restarted" : "n2 above it"));
        world_run_until(&world, world.now_ns + 60 * NS_PER_S);
        assert_clean();
        world_end(&world);
    }
}

static void job_trees__cancelled(void **state)
{
    (void)state;
    static const uint64_t after_ns[] = {0, 50 * NS_PER_MS, 500 * NS_PER_MS, 1500 * NS_PER_MS};
    for (size_t row = 0; row < sizeof(after_ns) / sizeof(after_ns[0]); row++) {
        begin(&weighted, 5, 100000000, row + 1);
        world.loss_ppb = 10000000;
        run();
        world_run_until(&world, world.now_ns + after_ns[row]);
        assert_true(world_cancel_job(&world, 0, "j"));
        run_until_over(0, "j", 30 * NS_PER_S);
        assert_state(0, "j", JOB_CANCELLED);
        world_run_until(&world, world.now_ns + 30 * NS_PER_S);
        assert_clean();
        world_end(&world);
    }
}

/* The `ahead`th packet from now on. */
static void inject_symbol(uint16_t from, uint16_t to, uint32_t ahead, uint64_t symbol, uint8_t stripe)
{
    static uint8_t datagram[WIRE_DATA_HEADER_MAX + 1408];
    struct peer *peer = &world.nodes[from].node->peers[to - (to > from)];
    struct wire_header header = session_data_header(peer, peer->sender.next_number + ahead, 0);
    struct wire_data data = {.job = job_at(to)->id, .content = wire_content(symbol, 1, stripe, 1)};
    size_t head = wire_data_encode(datagram, &header, &data, NULL);
    world_inject(&world, from, to, datagram, (uint32_t)head + 1408);
}

/* Who says a block to be of another stripe than its own, or brings one of another's stripe, is counted and no more. */
static void job_trees__strays_are_dropped(void **state)
{
    (void)state;
    static const struct {
        uint64_t block;
        uint16_t from;
        uint8_t stripe;
        const char *counter;
    } rows[] = {{1, 0, 0, "drop_data_stripe"},         {0, 0, 1, "drop_data_stripe"},
                {0, 0, 2, "drop_data_stripe"},         {0, 0, 255, "drop_data_stripe"},
                {0, 2, 0, "drop_data_parent"},         {1, 0, 1, "drop_data_parent"},
                {1ULL << 29, 0, 0, "drop_data_symbol"}};
    begin(&crossed, 3, 12000000, 1);
    world.nodes[0].disk_ns = NS_PER_S; /* the source reads for long: nothing else comes */
    run();
    assert_true(run_until_state(1, "j", JOB_RUNNING, 5 * NS_PER_S));
    for (size_t row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
        uint64_t before = world_counter(&world, 1, rows[row].counter);
        inject_symbol(rows[row].from, 1, (uint32_t)row, rows[row].block * 744, rows[row].stripe);
        assert_int_equal(world_counter(&world, 1, rows[row].counter), before + 1);
    }
    assert_true(world_cancel_job(&world, 0, "j"));
    world_end(&world);
}

/* Shares come in ppm: the smallest period that tells them. */
static void source_weights__table(void **state)
{
    (void)state;
    static const struct {
        uint32_t count, ppm[CONTROL_STRIPES_MAX];
        uint8_t weights[CONTROL_STRIPES_MAX];
    } rows[] = {
        {1, {1000000}, {1}},
        {2, {500000, 500000}, {1, 1}},
        {3, {333334, 333333, 333333}, {1, 1, 1}},
        {2, {666667, 333333}, {2, 1}},
        {4, {533335, 266666, 133333, 66666}, {8, 4, 2, 1}},
        {8, {125000, 125000, 125000, 125000, 125000, 125000, 125000, 125000}, {1, 1, 1, 1, 1, 1, 1, 1}},
        {2, {968750, 31250}, {31, 1}},
        {2, {999999, 1}, {31, 1}}, /* none tells it: the nearest */
        {3, {500000, 300000, 200000}, {5, 3, 2}},
        {8, {999993, 1, 1, 1, 1, 1, 1, 1}, {25, 1, 1, 1, 1, 1, 1, 1}},
    };
    for (size_t row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
        static struct plan plan;
        uint8_t weights[CONTROL_STRIPES_MAX] = {0};
        plan.tree_count = (uint16_t)rows[row].count;
        for (uint32_t tree = 0; tree < rows[row].count; tree++)
            plan.trees[tree].weight_ppm = rows[row].ppm[tree];
        source_weights(&plan, weights);
        assert_memory_equal(weights, rows[row].weights, sizeof(weights));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(job_trees__brings_it_to_all),
        cmocka_unit_test(job_trees__forwards_in_order),
        cmocka_unit_test(job_trees__small_memories_go_on),
        cmocka_unit_test(job_trees__several_jobs_in_small_memories),
        cmocka_unit_test(job_trees__one_does_not_stand_before_the_other),
        cmocka_unit_test(job_trees__bad_blocks_come_again),
        cmocka_unit_test(job_trees__one_has_it_already),
        cmocka_unit_test(job_trees__relay_in_some_of_them),
        cmocka_unit_test(job_trees__replanned_with_one),
        cmocka_unit_test(job_trees__old_plan_is_gone),
        cmocka_unit_test(job_trees__fewer_where_memory_is_short),
        cmocka_unit_test(job_trees__two_jobs_share_a_small_memory),
        cmocka_unit_test(job_trees__a_relay_is_lost),
        cmocka_unit_test(job_trees__cancelled),
        cmocka_unit_test(job_trees__strays_are_dropped),
        cmocka_unit_test(source_weights__table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
