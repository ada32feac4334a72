/* What a source makes of sites that are slow, silent, or have let go of the job: who is given up, and who is
 * not. */
#include "check.h"
#include "node/job/job.h"
#include "node/peer/post.h"
#include "node/role/source.h"

static struct job_spec stream_spec(const char *name, uint8_t slow)
{
    struct job_spec spec = world_job(&world, name);
    spec.object = PART_OBJECT_STREAM;
    spec.retention_bytes = 8000000;
    spec.flush_ns = 100 * NS_PER_MS;
    spec.slow = slow;
    return spec;
}

static void begin(uint16_t count, uint64_t bytes)
{
    world_init(&world, count, 1);
    world.source_bytes = bytes;
}

static void run(const struct job_spec *spec)
{
    start_all();
    world_run_until(&world, 2 * NS_PER_S);
    run_job_at(0, spec);
    assert_true(run_until_state(0, spec->name, JOB_RUNNING, 5 * NS_PER_S));
}

static void pass(uint64_t time_ns)
{
    world_run_until(&world, world.now_ns + time_ns);
}

/* Of node 1 or above: the peers of n0, in order. */
static const struct site *site_of(uint16_t node)
{
    return source_site(&world.nodes[0].node->jobs[0], (uint16_t)(node - 1));
}

static void set_paused(const char *name, bool paused)
{
    assert_true(world_set_job(&world, name, JOB_CONTROL_PAUSED, (struct job_controls){.paused = paused}));
}

/* n1 hears nothing for so long that it lets go; its source hears it, or both meet again while the job pauses. */
static void source_stream__site_that_let_go_ends(void **state)
{
    (void)state;
    for (unsigned both = 0; both < 2; both++) {
        begin(3, 60000000);
        struct job_spec spec = stream_spec("s", PART_SLOW_WAIT);
        run(&spec);
        pass(NS_PER_S);
        if (both == 1)
            set_paused("s", true);
        world.down_until_ns[0][1] = world.now_ns + 30 * NS_PER_S;
        if (both == 1)
            world.down_until_ns[1][0] = world.down_until_ns[0][1];
        pass(35 * NS_PER_S);
        if (both == 1)
            set_paused("s", false);
        run_until_over(0, "s", 60 * NS_PER_S);
        assert_int_equal(site_of(1)->state, SITE_FAILED);
        assert_int_equal(site_of(2)->state, SITE_VERIFIED);
        world_end(&world);
    }
}

/* It takes and acks data, and tells that it lives, but no message reaches it. */
static void source_stream__deaf_site_ends(void **state)
{
    (void)state;
    static const uint16_t star[][2] = {{0, 1}, {0, 2}};
    begin(3, 30000000);
    struct job_spec spec = stream_spec("s", PART_SLOW_WAIT);
    give_tree(&spec, star, 2);
    spec.controls.rate_cap_bps = 50000000;
    run(&spec);
    pass(NS_PER_S);
    world.nodes[1].acks_no_mail = true;
    struct wire_blocks none = {.job = 1};
    while (post_room(world.nodes[0].node, 0) > 5)
        post(world.nodes[0].node, 0, CONTROL_RESEND, &none);
    run_until_over(0, "s", 120 * NS_PER_S);
    assert_int_equal(site_of(2)->state, SITE_VERIFIED);
    assert_string_equal(site_of(1)->text, "takes no messages for more than 20 s");
    world_end(&world);
}

/* An input that pauses for a minute. */
static uint32_t feeds;
static uint64_t idle_input(const struct disk_request *request, struct disk_reply *reply)
{
    (void)reply;
    return request->op == DISK_FEED && ++feeds == 10 ? 60 * NS_PER_S : 0;
}

static void source_stream__short_darkness_costs_nobody(void **state)
{
    (void)state;
    static const uint16_t chain[][2] = {{0, 1}, {1, 2}};
    feeds = 0;
    begin(3, 10000000);
    world.nodes[0].disk_fault = idle_input;
    struct job_spec spec = stream_spec("s", PART_SLOW_DROP);
    give_tree(&spec, chain, 2);
    run(&spec);
    pass(35 * NS_PER_S);
    world_cut(&world, 0, 1, world.now_ns + 8 * NS_PER_S);
    run_until_over(0, "s", 60 * NS_PER_S);
    assert_state(0, "s", JOB_DONE);
    world_end(&world);
}

/* Longer than its window: blocks do not age meanwhile. */
static void stream_judge_slow__not_while_paused(void **state)
{
    (void)state;
    begin(3, 30000000);
    struct job_spec spec = stream_spec("s", PART_SLOW_DROP);
    spec.window_ns = 4 * NS_PER_S;
    spec.controls.rate_cap_bps = 100000000;
    run(&spec);
    pass(NS_PER_S);
    set_paused("s", true);
    pass(10 * NS_PER_S);
    set_paused("s", false);
    run_until_over(0, "s", 60 * NS_PER_S);
    assert_state(0, "s", JOB_DONE);
    world_end(&world);
}

static uint64_t slow_finish(const struct disk_request *request, struct disk_reply *reply)
{
    (void)reply;
    return request->op == DISK_FINISH ? 60 * NS_PER_S : 0;
}

static void source_running__short_darkness_ends_no_finish(void **state)
{
    (void)state;
    begin(2, 3000000);
    world.nodes[1].disk_fault = slow_finish;
    struct job_spec spec = world_job(&world, "j");
    run(&spec);
    pass(30 * NS_PER_S);
    world_cut(&world, 0, 1, world.now_ns + 8 * NS_PER_S);
    run_until_over(0, "j", 60 * NS_PER_S);
    assert_state(0, "j", JOB_DONE);
    world_end(&world);
}

static uint32_t writes;
static uint64_t one_slow_write(const struct disk_request *request, struct disk_reply *reply)
{
    (void)reply;
    return request->op == DISK_WRITE && ++writes == 4 ? 25 * NS_PER_S : 0;
}

/* Given up while one write took long; then it has it all, while the job still runs for another site. */
static void source_running__late_copy_counts(void **state)
{
    (void)state;
    static const uint16_t star[][2] = {{0, 1}, {0, 2}};
    writes = 0;
    begin(3, 10000000);
    world.nodes[1].disk_fault = one_slow_write;
    world.rate_bps[0][2] = 2000000;
    struct job_spec spec = world_job(&world, "j");
    give_tree(&spec, star, 2);
    run(&spec);
    pass(24 * NS_PER_S);
    assert_int_equal(site_of(1)->state, SITE_FAILED);
    run_until_over(0, "j", 60 * NS_PER_S);
    assert_int_equal(site_of(1)->state, SITE_VERIFIED);
    assert_state(0, "j", JOB_DONE);
    world_end(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(source_stream__site_that_let_go_ends),
        cmocka_unit_test(source_stream__deaf_site_ends),
        cmocka_unit_test(source_stream__short_darkness_costs_nobody),
        cmocka_unit_test(stream_judge_slow__not_while_paused),
        cmocka_unit_test(source_running__late_copy_counts),
        cmocka_unit_test(source_running__short_darkness_ends_no_finish),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
