/* Sessions and time: restarts in every state, cut links, processes that stood still. */
#include "check.h"

/* Hellos of the old session are on their way when the peer comes back. */
static void node_hello__restart_settles_at_once(void **state)
{
    (void)state;
    for (uint64_t phase = 0; phase < 40; phase++) {
        world_init(&world, 2, phase + 1);
        world.delay_ns = 100 * NS_PER_MS;
        start_all();
        world_run_until(&world, 3 * NS_PER_S + phase * 25 * NS_PER_MS);
        world_start(&world, 1);
        if (phase % 4 == 3)
            world_start(&world, 0);
        world_run_until(&world, world.now_ns + 3 * NS_PER_S);
        for (uint16_t node = 0; node < 2; node++) {
            struct node_edge_view view;
            assert_true(node_edge_view(world.nodes[node].node, 0, &view));
            if (!view.up || world_counter(&world, node, "peers_reset") > 1)
                fail_msg("phase %d: node %u is %s after %d resets", (int)phase, node, view.up ? "up" : "down",
                         (int)world_counter(&world, node, "peers_reset"));
        }
        world_end(&world);
    }
}

/* Initiations cross each other, late ones come after a session is there: nobody loses what he has begun with. */
static void node_session__both_begin_at_once(void **state)
{
    (void)state;
    static const uint64_t delays_ms[] = {0, 1, 20, 100, 600};
    for (uint64_t seed = 1; seed <= 150; seed++) {
        world_init(&world, 2, seed);
        world.delay_ns = delays_ms[seed % 5] * NS_PER_MS;
        start_all();
        world_run_until(&world, 3 * NS_PER_S);
        for (uint16_t node = 0; node < 2; node++) {
            struct node_edge_view view;
            assert_true(node_edge_view(world.nodes[node].node, 0, &view));
            if (!view.up || world_counter(&world, node, "peers_reset") > 0)
                fail_msg("seed %d: node %u is %s after %d resets", (int)seed, node, view.up ? "up" : "down",
                         (int)world_counter(&world, node, "peers_reset"));
        }
        world_end(&world);
    }
}

/* n0 → n1 → n2; who restarts in which state of the job. */
static void node_job__restart_in_every_state(void **state)
{
    (void)state;
    static const uint16_t chain[][2] = {{0, 1}, {1, 2}};
    static const uint8_t states[] = {JOB_ACCEPTED, JOB_MEASURING, JOB_PLANNING, JOB_DISTRIBUTING,
                                     JOB_RUNNING};
    for (size_t row = 0; row < sizeof(states) * 3; row++) {
        uint16_t victim = (uint16_t)(row % 3);
        world_init(&world, 3, row + 1);
        world.source_bytes = 8000000;
        world.planner_absent = states[row / 3] == JOB_PLANNING;
        for (uint16_t node = 0; node < 3; node++)
            world.nodes[node].disk_ns = 2 * NS_PER_MS;
        start_all();
        world_run_until(&world, 2 * NS_PER_S);
        struct job_spec spec = world_job(&world, "j");
        give_tree(&spec, chain, 2);
        run_job_at(0, &spec);
        assert_true(run_until_state(0, "j", states[row / 3], 10 * NS_PER_S));
        if (states[row / 3] == JOB_RUNNING)
            world_run_until(&world, world.now_ns + 300 * NS_PER_MS);
        world_start(&world, victim);
        if (world.planner_absent && victim != 0)
            planner_attaches(0);
        if (victim != 0) {
            run_until_over(0, "j", 45 * NS_PER_S);
            if (states[row / 3] > JOB_MEASURING)
                assert_text(0, "j", victim == 1 ? "n1" : "n2");
        }
        world_run_until(&world, world.now_ns + 3 * NS_PER_S);
        for (uint16_t node = 0; node < 3; node++)
            if (!world_is_clean(&world, node))
                fail_msg("n%u restarted while %s: something is left in n%u", victim,
                         job_state_name(states[row / 3]), node);
        world.planner_absent = false;
        world_start(&world, 0);
        world_run_until(&world, world.now_ns + 2 * NS_PER_S);
        spec = world_job(&world, "next");
        run_job_at(0, &spec);
        run_until_over(0, "next", 30 * NS_PER_S);
        assert_state(0, "next", JOB_DONE);
        world_end(&world);
    }
}

static void node_job__cancel_in_every_state(void **state)
{
    (void)state;
    for (uint8_t at = JOB_ACCEPTED; at <= JOB_RUNNING; at++) {
        world_init(&world, 4, at + 1u);
        world.source_bytes = 8000000;
        world.planner_absent = at == JOB_PLANNING;
        world.nodes[1].open_status = DISK_ALREADY_THERE;
        start_all();
        world_run_until(&world, 2 * NS_PER_S);
        struct job_spec spec = world_job(&world, "j");
        for (uint16_t node = 1; node < 4; node++)
            world.nodes[node].disk_stuck = at == JOB_DISTRIBUTING;
        world.nodes[0].disk_stuck = at == JOB_ACCEPTED;
        run_job_at(0, &spec);
        assert_true(run_until_state(0, "j", at, 10 * NS_PER_S));
        world_run_until(&world, world.now_ns + 150 * NS_PER_MS);
        assert_true(world_cancel_job(&world, 0, "j"));
        world_run_until(&world, world.now_ns + 100 * NS_PER_MS);
        for (uint16_t node = 0; node < 4; node++)
            world.nodes[node].disk_stuck = false;
        world_run_until(&world, world.now_ns + NS_PER_S);
        assert_state(0, "j", JOB_CANCELLED);
        assert_clean();
        world_end(&world);
    }
}

static void node_job__survives_a_cut_link(void **state)
{
    (void)state;
    static const uint16_t chain[][2] = {{0, 1}, {1, 2}};
    static const struct {
        uint16_t one, other;
        uint64_t cut_ns;
        bool tiny;
    } rows[] = {{0, 1, 3 * NS_PER_S, false},
                {0, 1, 10 * NS_PER_S, false},
                {1, 2, 3 * NS_PER_S, true},
                {1, 2, 10 * NS_PER_S, true},
                {0, 2, 10 * NS_PER_S, false}};
    for (size_t row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
        world_init(&world, 3, row + 1);
        world.source_bytes = 20000000;
        if (rows[row].tiny)
            for (uint16_t node = 0; node < 3; node++)
                world.nodes[node].config.buffer_bytes = 9 << 20;
        start_all();
        world_run_until(&world, 2 * NS_PER_S);
        struct job_spec spec = world_job(&world, "j");
        give_tree(&spec, chain, 2);
        run_job_at(0, &spec);
        assert_true(run_until_state(0, "j", JOB_RUNNING, 5 * NS_PER_S));
        world_run_until(&world, world.now_ns + 500 * NS_PER_MS);
        world_cut(&world, rows[row].one, rows[row].other, world.now_ns + rows[row].cut_ns);
        run_until_over(0, "j", 40 * NS_PER_S);
        assert_state(0, "j", JOB_DONE);
        for (uint16_t node = 0; node < 3; node++)
            assert_int_equal(world_counter(&world, node, "peers_reset"), 0);
        world_run_until(&world, world.now_ns + NS_PER_S);
        assert_clean();
        world_end(&world);
    }
}

/* A process that stood still judges nobody by that time. */
static void node_job__survives_a_stopped_process(void **state)
{
    (void)state;
    for (uint16_t victim = 0; victim < 3; victim++) {
        world_init(&world, 3, victim + 1u);
        world.source_bytes = 20000000;
        start_all();
        world_run_until(&world, 2 * NS_PER_S);
        struct job_spec spec = world_job(&world, "j");
        run_job_at(0, &spec);
        assert_true(run_until_state(0, "j", JOB_RUNNING, 5 * NS_PER_S));
        world_run_until(&world, world.now_ns + 300 * NS_PER_MS);
        world.nodes[victim].stopped_until_ns = world.now_ns + (victim == 0 ? 23 : 15) * NS_PER_S;
        run_until_over(0, "j", 60 * NS_PER_S);
        assert_state(0, "j", JOB_DONE);
        for (uint16_t node = 0; node < 3; node++)
            assert_int_equal(world_counter(&world, node, "peers_reset"), 0);
        world_end(&world);
    }
}

/* All stand still for minutes, as when a host is suspended, in every state. */
static void node_job__survives_minutes_of_standstill(void **state)
{
    (void)state;
    for (uint8_t at = JOB_ACCEPTED; at <= JOB_RUNNING; at++) {
        world_init(&world, 3, at + 1u);
        world.source_bytes = 20000000;
        start_all();
        world_run_until(&world, 2 * NS_PER_S);
        struct job_spec spec = world_job(&world, "j");
        run_job_at(0, &spec);
        assert_true(run_until_state(0, "j", at, 5 * NS_PER_S) || at == JOB_ACCEPTED || at == JOB_PLANNING);
        for (uint16_t node = 0; node < 3; node++)
            world.nodes[node].stopped_until_ns = world.now_ns + 600 * NS_PER_S;
        world_run_until(&world, world.now_ns + 600 * NS_PER_S);
        run_until_over(0, "j", 30 * NS_PER_S);
        assert_state(0, "j", JOB_DONE);
        world_end(&world);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(node_hello__restart_settles_at_once),
        cmocka_unit_test(node_session__both_begin_at_once),
        cmocka_unit_test(node_job__restart_in_every_state),
        cmocka_unit_test(node_job__cancel_in_every_state),
        cmocka_unit_test(node_job__survives_a_cut_link),
        cmocka_unit_test(node_job__survives_a_stopped_process),
        cmocka_unit_test(node_job__survives_minutes_of_standstill),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
