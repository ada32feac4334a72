/* What is known of paths: the table, and the request of a job that is filled from it. */
#include "check.h"
#include "node/core/core.h"
#include "node/peer/path_table.h"
#include "node/role/source.h"

#define COUNT 3

static struct path_table table;
static uint8_t memory[4096] __attribute__((aligned(ARENA_ALIGN)));

static void make_table(void)
{
    struct arena arena;
    assert_true(path_table_bytes(COUNT) <= sizeof(memory));
    memset(memory, 0xa5, sizeof(memory));
    arena_init(&arena, memory, path_table_bytes(COUNT));
    path_table_init(&table, COUNT, &arena);
    assert_int_equal(arena.used, arena.size);
}

static void path_table__knows_nothing_at_first(void **state)
{
    (void)state;
    make_table();
    for (uint16_t from = 0; from < COUNT; from++) {
        assert_int_equal(path_table_site(&table, from)->up_bps, 0);
        for (uint16_t to = 0; to < COUNT; to++) {
            struct plan_path path = path_table_path(&table, from, to, 0, 5000);
            assert_int_equal(path.rtt_us, PLAN_RTT_UNKNOWN);
            assert_int_equal(path.mtu, 0);
        }
    }
}

static void path_table__measurements_age(void **state)
{
    (void)state;
    static const struct {
        uint64_t since_ns;
        bool known;
    } rows[] = {{0, true}, {999, true}, {1000, true}, {1001, false}, {UINT64_MAX, false}};
    make_table();
    path_table_set_measured(&table, 1, 2, 70000, 1400, 1000);
    for (unsigned row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
        struct plan_path path = path_table_path(&table, 1, 2, rows[row].since_ns, 5000);
        assert_int_equal(path.rtt_us, rows[row].known ? 70000 : PLAN_RTT_UNKNOWN);
        assert_int_equal(path.mtu, rows[row].known ? 1400 : 0);
    }
    assert_int_equal(path_table_path(&table, 2, 1, 0, 5000).rtt_us, PLAN_RTT_UNKNOWN);
}

static void path_table__newer_ones_replace(void **state)
{
    (void)state;
    make_table();
    path_table_set_measured(&table, 0, 1, 70000, 1400, 1000);
    path_table_set_measured(&table, 0, 1, 60000, 1500, 2000);
    assert_int_equal(path_table_path(&table, 0, 1, 1500, 5000).rtt_us, 60000);
    /* no answer any more */
    path_table_set_measured(&table, 0, 1, PLAN_RTT_UNKNOWN, 1500, 3000);
    assert_int_equal(path_table_path(&table, 0, 1, 0, 5000).rtt_us, PLAN_RTT_UNKNOWN);
    path_table_set_site(&table, 2, &(struct path_site){.up_bps = 5, .down_bps = 6});
    assert_int_equal(path_table_site(&table, 2)->up_bps, 5);
    assert_int_equal(path_table_site(&table, 1)->up_bps, 0);
}

/* It does not age, but tells its age; what is told anew takes the place of all of it. */
static void path_table__what_is_told_holds(void **state)
{
    (void)state;
    static const struct plan_shared shared[] = {{.name = "egress", .rate_bps = 7}};
    make_table();
    path_table_set_site(&table, 1, &(struct path_site){.up_bps = 100, .down_bps = 100});
    path_table_tell(&table, shared, 1, NS_PER_S);
    path_table_tell_site(&table, 1, 30, 0);
    path_table_tell_path(
        &table, 0, 1,
        &(struct plan_path){
            .loss_ppm = 5, .avb_kbps = 20, .avb_low_kbps = 10, .avb_high_kbps = 40, .shared = 1});
    path_table_set_site(&table, 1, &(struct path_site){.up_bps = 200, .down_bps = 200});
    path_table_set_measured(&table, 0, 1, 70, 1500, NS_PER_S);
    struct plan_path path = path_table_path(&table, 0, 1, 2 * NS_PER_S, 4 * NS_PER_S);
    assert_int_equal(path.rtt_us, PLAN_RTT_UNKNOWN);
    assert_int_equal(path.avb_kbps, 20);
    assert_int_equal(path.avb_low_kbps, 10);
    assert_int_equal(path.avb_high_kbps, 40);
    assert_int_equal(path.avb_age_s, 3);
    assert_int_equal(path.loss_ppm, 5);
    assert_int_equal(path.shared, 1);
    assert_int_equal(path_table_path(&table, 1, 0, 0, 4 * NS_PER_S).avb_age_s, 0); /* of nothing */
    assert_int_equal(path_table_site(&table, 1)->up_bps, 200);
    assert_int_equal(path_table_site(&table, 1)->left_up_bps, 30);
    path_table_tell(&table, NULL, 0, 5 * NS_PER_S);
    path = path_table_path(&table, 0, 1, 0, 5 * NS_PER_S);
    assert_int_equal(path.rtt_us, 70);
    assert_int_equal(path.avb_kbps | path.avb_low_kbps | path.avb_high_kbps | path.loss_ppm | path.shared, 0);
    assert_int_equal(path_table_site(&table, 1)->left_up_bps, 0);
    assert_int_equal(table.shared_count, 0);
}

static const struct plan_request *request_of(const char *job)
{
    const struct node_job_view *view = world_view(&world, 0, job);
    assert_non_null(view);
    return view->request;
}

/* Measured bandwidth counts where nothing was told, with its age; a new measurement takes the place of the one before. */
static void path_table__available(void **state)
{
    (void)state;
    make_table();
    struct wire_available_peer measured;
    assert_false(path_table_available(&table, 0, 1, 5 * NS_PER_S, &measured));
    path_table_set_available(&table, 0, 1, 4000, 3900, 4100, 2 * NS_PER_S);
    assert_true(path_table_available(&table, 0, 1, 5 * NS_PER_S, &measured));
    assert_int_equal(measured.avail_kbps, 4000);
    assert_int_equal(measured.age_ms, 3000);
    struct plan_path path = path_table_path(&table, 0, 1, 0, 9 * NS_PER_S);
    assert_int_equal(path.avb_low_kbps, 3900);
    assert_int_equal(path.avb_age_s, 7);
    /* One that its ports cut to no width is measured all the same, not told. */
    path_table_set_available(&table, 2, 0, 5000, 5000, 5000, 8 * NS_PER_S);
    struct plan_path cut = path_table_path(&table, 2, 0, 0, 9 * NS_PER_S);
    assert_true(cut.avb_low_kbps == 4999 && cut.avb_high_kbps == 5000 && !plan_path_told(&cut));
    path_table_set_available(&table, 2, 1, 0, 0, 0, 8 * NS_PER_S);
    assert_int_equal(path_table_path(&table, 2, 1, 0, 9 * NS_PER_S).avb_kbps, 0);
    path_table_set_available(&table, 0, 1, 5000, 5000, 0, 8 * NS_PER_S);
    path = path_table_path(&table, 0, 1, 0, 9 * NS_PER_S);
    assert_int_equal(path.avb_kbps, 5000);
    assert_int_equal(path.avb_high_kbps, 0);
    assert_int_equal(path.avb_age_s, 1);
    path_table_tell_path(&table, 0, 1, &(struct plan_path){.avb_kbps = 7});
    path = path_table_path(&table, 0, 1, 0, 9 * NS_PER_S);
    assert_int_equal(path.avb_kbps, 7);
    assert_int_equal(path.avb_high_kbps, 0);
    assert_int_equal(path_table_path(&table, 1, 0, 0, 9 * NS_PER_S).avb_kbps, 0);
}

/* Lines in have a row of their own, behind all sites'. */
static void path_table__lines_in(void **state)
{
    (void)state;
    make_table();
    path_table_set_available(&table, PATH_SITE_ANY, 2, 4000, 3900, 4100, NS_PER_S);
    for (uint16_t from = 0; from < COUNT; from++)
        for (uint16_t to = 0; to < COUNT; to++)
            assert_int_equal(path_table_path(&table, from, to, 0, 2 * NS_PER_S).avb_kbps, 0);
    assert_int_equal(path_table_path(&table, PATH_SITE_ANY, 2, 0, 2 * NS_PER_S).avb_kbps, 4000);
    assert_int_equal(path_table_path(&table, PATH_SITE_ANY, 0, 0, 2 * NS_PER_S).avb_kbps, 0);
}

/* A line that was told roughly carries what a path through it does; one that is contradicted stays as it is. */
static void node_job__request_raises_lines(void **state)
{
    (void)state;
    static const struct {
        uint32_t line[3], path[3], expected[2]; /* kbit/s, low and high; at last value and low */
    } rows[] = {
        {{99000, 84000, 114000}, {100000, 98000, 102000}, {100000, 98000}},
        {{99000, 84000, 114000}, {90000, 88000, 92000}, {99000, 88000}},
        {{99000, 84000, 114000}, {95000, 95000, 0}, {99000, 95000}},
        {{99000, 84000, 114000}, {150000, 140000, 160000}, {99000, 84000}},
        {{99000, 99000, 0}, {105000, 104000, 106000}, {99000, 99000}},
    };
    for (unsigned row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
        world_init(&world, 3, 1);
        start_all();
        world_run_until(&world, 3 * NS_PER_S);
        struct path_table *paths = world.nodes[0].node->paths;
        const uint32_t *line = rows[row].line, *path = rows[row].path, *expected = rows[row].expected;
        path_table_set_available(paths, 1, 1, line[0], line[1], line[2], world.now_ns);
        path_table_set_available(paths, PATH_SITE_ANY, 2, line[0], line[1], line[2], world.now_ns);
        path_table_set_available(paths, 1, 2, path[0], path[1], path[2], world.now_ns);
        struct job_spec spec = world_job(&world, "j");
        run_job_at(0, &spec);
        run_until_over(0, "j", 15 * NS_PER_S);
        const struct plan_request *request = request_of("j");
        const struct plan_path *lines[] = {&request->paths[1][1], &request->lines_in[2]};
        for (unsigned way = 0; way < 2; way++) {
            assert_int_equal(lines[way]->avb_kbps, expected[0]);
            assert_int_equal(lines[way]->avb_low_kbps, expected[1]);
            assert_int_equal(lines[way]->avb_high_kbps, line[2]);
        }
        world_end(&world);
    }
}

static void node_job__request_tells_paths_and_interfaces(void **state)
{
    (void)state;
    world_init(&world, 3, 1);
    for (uint16_t node = 0; node < 3; node++) {
        world.nodes[node].config.ports[0].rate_bps = 100000000 * (node + 1ULL);
        world.nodes[node].config.ports[0].down_bps = 70000000 * (node + 1ULL);
        world.nodes[node].config.packets_ps = 1000 * node;
        world.nodes[node].config.buffer_bytes += node * 4096;
    }
    world.nodes[1].config.ports[0].mtu = 1400;
    start_all();
    world_run_until(&world, 3 * NS_PER_S);
    struct job_spec spec = world_job(&world, "j");
    run_job_at(0, &spec);
    run_until_over(0, "j", 15 * NS_PER_S);
    const struct plan_request *request = request_of("j");
    assert_int_equal(request->node_count, 3);
    for (uint16_t from = 0; from < 3; from++) {
        assert_int_equal(request->nodes[from].up_bps, 100000000 * (from + 1ULL));
        assert_int_equal(request->nodes[from].down_bps, 70000000 * (from + 1ULL));
        assert_int_equal(request->nodes[from].packets_ps, 1000 * from);
        assert_int_equal(request->nodes[from].window_bytes, world.nodes[from].config.buffer_bytes);
        assert_false(request->nodes[from].leaf);
        for (uint16_t to = 0; to < 3; to++) {
            const struct plan_path *path = &request->paths[from][to];
            if (from == to)
                continue;
            assert_in_range(path->rtt_us, 2 * world.delay_ns / 1000, 2 * world.delay_ns / 1000 + 500);
            assert_int_equal(path->mtu, from == 1 || to == 1 ? 1400 : 1500);
            assert_int_equal(path->avb_kbps, 0);
            assert_int_equal(path->loss_ppm, 0);
        }
    }
    world_end(&world);
}

/* By names, in any order; other names are passed over, and more than an interface has is not left of it. */
static void node_job__request_tells_what_it_was_told(void **state)
{
    (void)state;
    static struct ctl_msg msg = {
        .type = CTL_PATHS,
        .body.paths = {.site_count = 3,
                       .sites = {{"n2", 40000000, 50000000}, {"elsewhere", 1, 1}, {"n0", 200000000000, 0}},
                       .shared_count = 1,
                       .shared = {{"egress", 30000000}}}};
    struct ctl_reply reply = {0};
    msg.body.paths.paths[2][0] = (struct plan_path){
        .loss_ppm = 100, .avb_kbps = 9000, .avb_low_kbps = 8000, .avb_high_kbps = 10000, .shared = 1};
    msg.body.paths.paths[1][0] = msg.body.paths.paths[0][1] = (struct plan_path){.avb_kbps = 1};
    world_init(&world, 3, 1);
    start_all();
    world_run_until(&world, 3 * NS_PER_S);
    assert_int_equal(node_ctl(world.nodes[0].node, &msg, &reply, world.now_ns), 0);
    struct job_spec spec = world_job(&world, "j");
    run_job_at(0, &spec);
    run_until_over(0, "j", 15 * NS_PER_S);
    assert_state(0, "j", JOB_DONE);
    const struct plan_request *request = request_of("j");
    const struct node_port_config *port = &world.nodes[0].config.ports[0];
    assert_int_equal(request->nodes[0].up_bps, port->rate_bps);
    assert_int_equal(request->nodes[1].up_bps, port->rate_bps);
    assert_int_equal(request->nodes[2].up_bps, 40000000);
    assert_int_equal(request->nodes[2].down_bps, 50000000);
    assert_int_equal(request->shared_count, 1);
    assert_string_equal(request->shared[0].name, "egress");
    assert_int_equal(request->shared[0].rate_bps, 30000000);
    for (uint16_t from = 0; from < 3; from++)
        for (uint16_t to = 0; to < 3; to++) {
            const struct plan_path *path = &request->paths[from][to];
            bool told = from == 0 && to == 2;
            assert_int_equal(path->avb_kbps, told ? 9000 : 0);
            assert_int_equal(path->avb_low_kbps, told ? 8000 : 0);
            assert_int_equal(path->avb_high_kbps, told ? 10000 : 0);
            assert_int_equal(path->loss_ppm, told ? 100 : 0);
            assert_int_equal(path->shared, told ? 1 : 0);
            assert_true(from == to || path->rtt_us != PLAN_RTT_UNKNOWN);
        }
    world_end(&world);
}

/* n0 and n2 relay nothing: at its source a job has children all the same, and
 * whoever wants the object is a leaf … */
static void node_job__leaves_have_no_children(void **state)
{
    (void)state;
    static const uint16_t through[][2] = {{0, 2}, {2, 1}, {1, 3}};
    for (unsigned wanted = 0; wanted < 2; wanted++) {
        world_init(&world, 4, 1);
        world.nodes[0].config.leaf = world.nodes[2].config.leaf = true;
        start_all();
        world_run_until(&world, 3 * NS_PER_S);
        struct job_spec spec = world_job(&world, "j");
        spec.metric = PLAN_METRIC_STAR;
        run_job_at(0, &spec);
        /* … and whoever does not is of no use. */
        world.nodes[0].node->sources[0].sites[1].receiver = wanted != 0;
        run_until_over(0, "j", 15 * NS_PER_S);
        assert_state(0, "j", JOB_DONE);
        const struct plan_request *request = request_of("j");
        assert_int_equal(request->node_count, wanted != 0 ? 4 : 3);
        assert_string_equal(request->nodes[2].name, wanted != 0 ? "n2" : "n3");
        for (uint16_t node = 0; node < request->node_count; node++)
            assert_int_equal(request->nodes[node].leaf, wanted != 0 && node == 2);
        spec = world_job(&world, "given");
        give_tree(&spec, through, 3);
        if (wanted == 0) {
            spec.to_all = false;
            spec.receiver_count = 1;
            snprintf(spec.receivers[0], NAME_BYTES, "n3");
        }
        run_job_at(0, &spec);
        run_until_over(0, "given", 15 * NS_PER_S);
        assert_state(0, "given", JOB_FAILED);
        assert_text(0, "given",
                    wanted != 0 ? "n2 is a leaf, but is to feed n1" : "through n2, which relays nothing");
        world_end(&world);
    }
}

/* A source that knows no better is refused. */
static void node_job__leaves_refuse_children(void **state)
{
    (void)state;
    static const uint16_t through[][2] = {{0, 1}, {1, 2}};
    world_init(&world, 3, 1);
    start_all();
    world_run_until(&world, 3 * NS_PER_S);
    struct job_spec spec = world_job(&world, "j");
    give_tree(&spec, through, 2);
    run_job_at(0, &spec);
    assert_true(run_until_state(0, "j", JOB_DISTRIBUTING, 5 * NS_PER_S));
    world.nodes[1].node->config.leaf = true;
    run_until_over(0, "j", 15 * NS_PER_S);
    assert_state(0, "j", JOB_FAILED);
    assert_text(1, "j", "n1 relays nothing");
    world_run_until(&world, world.now_ns + 2 * NS_PER_S);
    assert_clean();
    world_end(&world);
}

/* n1 does not know n2, and so measures nothing; what n0 has learnt otherwise
 * serves its jobs until it is too old. */
static void node_job__request_tells_what_others_learnt(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        uint64_t age_ns, after_ns;
        bool known;
    } rows[] = {{"same", 10 * NS_PER_S, 0, true},
                {"anew", 0, NS_PER_MS, false},
                {"late", 10 * NS_PER_S, 20 * NS_PER_S, false},
                {"older", 60 * NS_PER_S, 20 * NS_PER_S, true}};
    for (unsigned row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
        world_init(&world, 3, 1);
        world.nodes[1].config.peer_count = 1;
        start_all();
        world_run_until(&world, 3 * NS_PER_S);
        path_table_set_measured(world.nodes[0].node->paths, 1, 2, 12345, 1300, world.now_ns);
        world_run_until(&world, world.now_ns + rows[row].after_ns);
        struct job_spec spec = world_job(&world, rows[row].name);
        spec.metric = PLAN_METRIC_STAR;
        spec.measure_age_ns = rows[row].age_ns;
        run_job_at(0, &spec);
        run_until_over(0, rows[row].name, 15 * NS_PER_S);
        assert_state(0, rows[row].name, JOB_DONE);
        const struct plan_path *path = &request_of(rows[row].name)->paths[1][2];
        assert_int_equal(path->rtt_us, rows[row].known ? 12345 : PLAN_RTT_UNKNOWN);
        assert_int_equal(path->mtu, rows[row].known ? 1300 : 0);
        world_end(&world);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(path_table__knows_nothing_at_first),
        cmocka_unit_test(path_table__measurements_age),
        cmocka_unit_test(path_table__newer_ones_replace),
        cmocka_unit_test(path_table__what_is_told_holds),
        cmocka_unit_test(path_table__lines_in),
        cmocka_unit_test(node_job__request_raises_lines),
        cmocka_unit_test(path_table__available),
        cmocka_unit_test(node_job__request_tells_paths_and_interfaces),
        cmocka_unit_test(node_job__request_tells_what_it_was_told),
        cmocka_unit_test(node_job__leaves_have_no_children),
        cmocka_unit_test(node_job__leaves_refuse_children),
        cmocka_unit_test(node_job__request_tells_what_others_learnt),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
