/* Every state of a job has a way out: ends that did not reach a site, starts that never come. */
#include "base/name.h"
#include "check.h"
#include "node/peer/post.h"

static void begin(uint16_t count)
{
    world_init(&world, count, 1);
    world.source_bytes = 20000000;
    start_all();
    world_run_until(&world, 2 * NS_PER_S);
    struct job_spec spec = world_job(&world, "j");
    run_job_at(0, &spec);
}

static void assert_clean_at(uint16_t node)
{
    if (!world_is_clean(&world, node))
        fail_msg("something is left in n%u", node);
}

/* More than the queue of messages to n1 takes, also when what is on its way has been acked. */
static void fill_queue(void)
{
    struct job_controls controls = {.priority = JOB_PRIORITY_NORMAL};
    world_run_until(&world, world.now_ns + 100 * NS_PER_MS);
    for (unsigned change = 0; change < 600; change++) {
        controls.dscp = (uint8_t)(change % 2);
        assert_true(world_set_job(&world, "j", JOB_CONTROL_DSCP, controls));
    }
}

/* n0 does not hear n1 while the job ends. */
static void node_job__ends_unheard(void **state)
{
    (void)state;
    static const uint64_t dark_ns[] = {10 * NS_PER_S, 30 * NS_PER_S, 120 * NS_PER_S};
    for (size_t row = 0; row < sizeof(dark_ns) / sizeof(dark_ns[0]); row++) {
        begin(2);
        assert_true(run_until_state(0, "j", JOB_RUNNING, 5 * NS_PER_S));
        world_run_until(&world, world.now_ns + 300 * NS_PER_MS);
        world.down_until_ns[1][0] = world.now_ns + dark_ns[row];
        fill_queue();
        assert_true(world_cancel_job(&world, 0, "j"));
        world_run_until(&world, world.now_ns + dark_ns[row] + 30 * NS_PER_S);
        assert_clean();
        world_end(&world);
    }
}

/* … and fails the site while that is dark: the others go on, and it hears of its end afterwards. */
static void node_job__fails_unheard(void **state)
{
    (void)state;
    begin(3);
    assert_true(run_until_state(0, "j", JOB_RUNNING, 5 * NS_PER_S));
    world_run_until(&world, world.now_ns + 300 * NS_PER_MS);
    world.down_until_ns[1][0] = world.now_ns + 40 * NS_PER_S;
    run_until_over(0, "j", 60 * NS_PER_S);
    assert_state(0, "j", JOB_FAILED);
    assert_text(0, "j", "n1: does not answer");
    world_run_until(&world, world.now_ns + 45 * NS_PER_S);
    assert_clean();
    world_end(&world);
}

/* The path to the source stays dark for ever, in one direction. */
static void node_job__never_heard_again(void **state)
{
    (void)state;
    begin(2);
    assert_true(run_until_state(0, "j", JOB_RUNNING, 5 * NS_PER_S));
    world_run_until(&world, world.now_ns + 300 * NS_PER_MS);
    world.down_until_ns[1][0] = 100000 * NS_PER_S;
    world_run_until(&world, world.now_ns + 90 * NS_PER_S);
    assert_clean();
    assert_state(1, "j", JOB_FAILED);
    assert_text(1, "j", "the source n0 does not answer");
    world_end(&world);
}

/* A site confirms, and START never comes: the source is there, but knows nothing of the job. */
static void node_job__never_started(void **state)
{
    (void)state;
    world_init(&world, 2, 1);
    start_all();
    world_run_until(&world, 2 * NS_PER_S);
    struct control_part part = {.fixed = {.job = 77,
                                          .epoch = 1,
                                          .size_bytes = 5000000,
                                          .symbol_bytes = 1408,
                                          .block_symbols = 744,
                                          .hash = PART_HASH_SHA256,
                                          .keep = 1,
                                          .stripes = 1}};
    struct control_tree tree = {.fixed = {.job = 77, .epoch = 1, .weight = 1}};
    strcpy(part.fixed.source.text, "n0");
    strcpy(tree.fixed.parent.text, "n0");
    strcpy(part.fixed.directory.text, "incoming");
    strcpy(part.fixed.job_name.text, "j");
    strcpy(part.file, "file");
    assert_true(post(world.nodes[0].node, 0, CONTROL_PART, &part));
    assert_true(post(world.nodes[0].node, 0, CONTROL_TREE, &tree));
    world_run_until(&world, world.now_ns + NS_PER_S);
    assert_clean_at(1);
    world_end(&world);
}

/* A source that answers and neither starts nor ends the job. */
static void node_job__waits_for_start_in_vain(void **state)
{
    (void)state;
    world_init(&world, 3, 1);
    world.nodes[0].config.distribute_timeout_ns = NS_PER_H;
    world.nodes[2].disk_stuck = true;
    start_all();
    world_run_until(&world, 2 * NS_PER_S);
    struct job_spec spec = world_job(&world, "j");
    run_job_at(0, &spec);
    world_run_until(&world, world.now_ns + 25 * NS_PER_S);
    assert_state(0, "j", JOB_DISTRIBUTING);
    assert_int_equal(state_at(1, "j"), JOB_DISTRIBUTING);
    world_run_until(&world, world.now_ns +
                                10 * NS_PER_S); /* twice the time of distribution, and a plan's, are over */
    assert_clean_at(1);
    assert_text(1, "j", "the source n0 has not started the job within");
    world_end(&world);
}

/* The slot of a job whose sites were not all told of its end is not given to another: here the source plans
 * anew, without n2, when it is cancelled, so that nothing but that word keeps the slot. */
static void node_job__slot_waits_for_the_last_word(void **state)
{
    (void)state;
    world_init(&world, 3, 1);
    world.nodes[2].open_status = DISK_FAILED;
    world.nodes[2].disk_ns = 300 * NS_PER_MS;
    start_all();
    world_run_until(&world, 2 * NS_PER_S);
    struct job_spec first = world_job(&world, "j");
    run_job_at(0, &first);
    assert_true(run_until_state(0, "j", JOB_DISTRIBUTING, 5 * NS_PER_S));
    world.planner_absent = true;
    world_run_until(&world, world.now_ns + NS_PER_S);
    assert_state(0, "j", JOB_PLANNING);
    world_cut(&world, 0, 1, world.now_ns + 4 * NS_PER_S);
    fill_queue();
    assert_true(world_cancel_job(&world, 0, "j"));
    world_run_until(&world, world.now_ns + 100 * NS_PER_MS);
    world.source_missing = true;
    for (unsigned other = 0; other < 40; other++) {
        char name[NAME_BYTES];
        snprintf(name, sizeof(name), "other%u", other);
        struct job_spec spec = world_job(&world, name);
        spec.to_all = false;
        spec.receiver_count = 1;
        snprintf(spec.receivers[0], NAME_BYTES, "n2");
        run_job_at(0, &spec);
        world_run_until(&world, world.now_ns + 10 * NS_PER_MS);
    }
    assert_state(0, "j", JOB_CANCELLED);
    world_run_until(&world, world.now_ns + 10 * NS_PER_S);
    assert_clean();
    assert_state(1, "j", JOB_CANCELLED);
    world_end(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(node_job__ends_unheard),
        cmocka_unit_test(node_job__fails_unheard),
        cmocka_unit_test(node_job__never_heard_again),
        cmocka_unit_test(node_job__never_started),
        cmocka_unit_test(node_job__waits_for_start_in_vain),
        cmocka_unit_test(node_job__slot_waits_for_the_last_word),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
