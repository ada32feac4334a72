/* Time that this process did not live through judges nobody, and a clock that steps back ends nothing. */
#include "check.h"

/* A stream that its only source feeds no more for a while: the window in time must not count that time. */
static void node_stream__window_is_lived_time(void **state)
{
    (void)state;
    static const uint64_t stopped_ns[] = {0, 3 * NS_PER_S, 6 * NS_PER_S, 15 * NS_PER_S};
    for (size_t row = 0; row < sizeof(stopped_ns) / sizeof(stopped_ns[0]); row++) {
        world_init(&world, 3, 1);
        world.source_bytes = 60000000;
        start_all();
        world_run_until(&world, 2 * NS_PER_S);
        struct job_spec spec = world_job(&world, "s");
        spec.object = PART_OBJECT_STREAM;
        spec.retention_bytes = 8000000;
        spec.window_ns = 4 * NS_PER_S;
        spec.flush_ns = 100 * NS_PER_MS;
        run_job_at(0, &spec);
        assert_true(run_until_state(0, "s", JOB_RUNNING, 5 * NS_PER_S));
        world_run_until(&world, world.now_ns + NS_PER_S);
        world.nodes[0].stopped_until_ns = world.now_ns + stopped_ns[row];
        run_until_over(0, "s", 120 * NS_PER_S);
        assert_state(0, "s", JOB_DONE);
        for (uint16_t node = 0; node < 3; node++)
            assert_int_equal(world_counter(&world, node, "live_dropped"), 0);
        world_end(&world);
    }
}

/* A relay that stood still does not find that its child has taken nothing all that time: n0 → n1 → n2. */
static void node_job__children_are_judged_by_lived_time(void **state)
{
    (void)state;
    static const uint16_t chain[][2] = {{0, 1}, {1, 2}};
    world_init(&world, 3, 1);
    world.source_bytes = 30000000;
    world.nodes[1].config.buffer_bytes = 9 << 20;
    world.nodes[1].config.store = NODE_STORE_NONE;
    world.rate_bps[1][2] = 5000000;
    start_all();
    world_run_until(&world, 2 * NS_PER_S);
    struct job_spec spec = world_job(&world, "j");
    give_tree(&spec, chain, 2);
    run_job_at(0, &spec);
    assert_true(run_until_state(0, "j", JOB_RUNNING, 5 * NS_PER_S));
    world_run_until(&world, world.now_ns + 5 * NS_PER_S);
    world.nodes[1].stopped_until_ns = world.now_ns + 15 * NS_PER_S;
    world_cut(&world, 1, 2, world.now_ns + 17 * NS_PER_S);
    run_until_over(0, "j", 120 * NS_PER_S);
    assert_int_equal(world_counter(&world, 1, "children_left"), 0);
    assert_state(0, "j", JOB_DONE);
    world_end(&world);
}

/* Hellos are rarer than patience ends: the standstill is noticed all the same, and quiet times are none. */
static void node_clock__standstill_among_rare_hellos(void **state)
{
    (void)state;
    for (uint16_t victim = 0; victim < 2; victim++) {
        world_init(&world, 2, 1);
        world.source_bytes = 20000000;
        for (uint16_t node = 0; node < 2; node++) {
            world.nodes[node].config.hello_interval_ns = 30 * NS_PER_S;
            world.nodes[node].config.stall_timeout_ns = victim == node ? 10 * NS_PER_S : 100 * NS_PER_S;
        }
        start_all();
        world_run_until(&world, 200 * NS_PER_S);
        for (uint16_t node = 0; node < 2; node++)
            assert_int_equal(world_counter(&world, node, "standstills"), 0);
        struct job_spec spec = world_job(&world, "j");
        run_job_at(0, &spec);
        assert_true(run_until_state(0, "j", JOB_RUNNING, 5 * NS_PER_S));
        world_run_until(&world, world.now_ns + 300 * NS_PER_MS);
        world.nodes[victim].stopped_until_ns = world.now_ns + 15 * NS_PER_S;
        run_until_over(0, "j", 60 * NS_PER_S);
        assert_state(0, "j", JOB_DONE);
        for (uint16_t node = 0; node < 2; node++)
            assert_int_equal(world_counter(&world, node, "standstills"), node == victim);
        world_end(&world);
    }
}

/* A machine is restored from an image: the clock that n1 is called with goes back. */
static void node_clock__steps_back(void **state)
{
    (void)state;
    static const uint64_t steps_ns[] = {10 * NS_PER_MS, NS_PER_S, 3600 * NS_PER_S};
    for (size_t row = 0; row < sizeof(steps_ns) / sizeof(steps_ns[0]); row++) {
        world_init(&world, 2, 1);
        world.source_bytes = 20000000;
        world.nodes[1].clock_ahead_ns = 4000 * NS_PER_S;
        start_all();
        world_run_until(&world, 2 * NS_PER_S);
        struct job_spec spec = world_job(&world, "j");
        run_job_at(0, &spec);
        assert_true(run_until_state(0, "j", JOB_RUNNING, 5 * NS_PER_S));
        world_run_until(&world, world.now_ns + 300 * NS_PER_MS);
        world.nodes[1].clock_ahead_ns -= steps_ns[row];
        run_until_over(0, "j", 10 * NS_PER_S);
        assert_state(0, "j", JOB_DONE);
        assert_int_equal(world_counter(&world, 1, "clock_steps"), 1);
        assert_int_equal(world_counter(&world, 0, "clock_steps"), 0);
        world_run_until(&world, world.now_ns + NS_PER_S);
        assert_clean();
        world_end(&world);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(node_stream__window_is_lived_time),
        cmocka_unit_test(node_job__children_are_judged_by_lived_time),
        cmocka_unit_test(node_clock__standstill_among_rare_hellos),
        cmocka_unit_test(node_clock__steps_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
