/* Rates so low that one packet takes a minute: they hold back the job that has them, and nobody else. */
#include "check.h"

/* n0 → n1 at 1 kbit/s in packets of 9000 bytes, one of which was sent. */
static void begin(void)
{
    world_init(&world, 2, 1);
    for (uint16_t node = 0; node < 2; node++)
        world.nodes[node].config.ports[0].mtu = 9000;
    start_all();
    world_run_until(&world, 2 * NS_PER_S);
    struct job_spec spec = world_job(&world, "slow");
    spec.controls.rate_cap_bps = 1000;
    run_job_at(0, &spec);
    assert_true(run_until_state(0, "slow", JOB_RUNNING, 5 * NS_PER_S));
    world_run_until(&world, world.now_ns + NS_PER_S);
    struct node_edge_view view;
    assert_true(node_edge_view(world.nodes[0].node, 0, &view));
    assert_true(view.sent_packets > 0 && view.sent_packets < 20);
}

static void assert_next_job(void)
{
    struct job_spec spec = world_job(&world, "next");
    run_job_at(0, &spec);
    run_until_over(0, "next", 8 * NS_PER_S);
    assert_state(0, "next", JOB_DONE);
}

static void node_cap__ends_with_its_job(void **state)
{
    (void)state;
    begin();
    assert_true(world_cancel_job(&world, 0, "slow"));
    world_run_until(&world, world.now_ns + NS_PER_S);
    assert_clean();
    assert_next_job();
    world_end(&world);
}

static void node_cap__holds_no_other_job(void **state)
{
    (void)state;
    begin();
    assert_next_job();
    assert_state(0, "slow", JOB_RUNNING);
    world_end(&world);
}

static void node_cap__lifted(void **state)
{
    (void)state;
    begin();
    struct job_controls controls = {.priority = JOB_PRIORITY_NORMAL};
    assert_true(world_set_job(&world, "slow", JOB_CONTROL_RATE, controls));
    run_until_over(0, "slow", 8 * NS_PER_S);
    assert_state(0, "slow", JOB_DONE);
    world_end(&world);
}

/* What sites would not take is refused where it is asked for. */
static void node_cap__below_the_floor(void **state)
{
    (void)state;
    begin();
    struct job_controls controls = {.rate_cap_bps = 999, .priority = JOB_PRIORITY_NORMAL};
    assert_false(world_set_job(&world, "slow", JOB_CONTROL_RATE, controls));
    struct job_spec spec = world_job(&world, "other");
    spec.controls.rate_cap_bps = 1;
    struct err err;
    assert_false(world_run_job(&world, &spec, &err));
    world_end(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(node_cap__ends_with_its_job),
        cmocka_unit_test(node_cap__holds_no_other_job),
        cmocka_unit_test(node_cap__lifted),
        cmocka_unit_test(node_cap__below_the_floor),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
