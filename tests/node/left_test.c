/* Before a job runs, one bad site is one bad site: it is left out by name, and the others get the object. */
#include "check.h"
#include "node/peer/post.h"

#define NODES 5

static bool planner_late;

static void begin(uint64_t seed)
{
    world_init(&world, NODES, seed);
    world.planner_absent = planner_late;
    world.source_bytes = 3000000;
    for (uint16_t node = 0; node < NODES; node++)
        world.nodes[node].disk_ns = 2 * NS_PER_MS;
    start_all();
    world_run_until(&world, 2 * NS_PER_S);
}

/* All receivers but `bad` have it, the job names that one, and nothing of it is left anywhere. */
static void assert_only_missing(uint16_t bad, const char *text)
{
    const struct node_job_view *view = world_view(&world, 0, "j");
    char start[80];
    snprintf(start, sizeof(start), "n%u: %s", bad, text);
    assert_text(0, "j", start);
    for (uint16_t site = 0; site < view->site_count; site++)
        assert_int_equal(view->sites[site].state, site + 1u == bad ? SITE_FAILED : SITE_VERIFIED);
    world_run_until(&world, world.now_ns + 3 * NS_PER_S);
    for (uint16_t node = 0; node < NODES; node++)
        if (world.nodes[node].alive && !world_is_clean(&world, node))
            fail_msg("something is left in n%u", node);
}

/* Whoever restarts before the start, in whatever state of the job, and by a star or a chain that ends with it. */
static void left__restarts(void **state)
{
    (void)state;
    static const uint8_t states[] = {JOB_MEASURING, JOB_PLANNING, JOB_DISTRIBUTING};
    static const uint16_t trees[][NODES - 1][2] = {{{0, 1}, {0, 2}, {0, 3}, {0, 4}},
                                                   {{0, 1}, {1, 2}, {2, 3}, {3, 4}}};
    for (size_t row = 0; row < 2 * sizeof(states); row++) {
        planner_late = states[row / 2] == JOB_PLANNING;
        begin(row + 1);
        struct job_spec spec = world_job(&world, "j");
        give_tree(&spec, trees[row % 2], NODES - 1);
        run_job_at(0, &spec);
        assert_true(run_until_state(0, "j", states[row / 2], 10 * NS_PER_S));
        uint64_t from_ns = world.now_ns;
        world_start(&world, 4);
        world_run_until(&world, world.now_ns + 200 * NS_PER_MS); /* it is back */
        if (planner_late)
            planner_attaches(0);
        run_until_over(0, "j", 30 * NS_PER_S);
        assert_true(world.now_ns - from_ns < 4 * NS_PER_S);
        assert_only_missing(4, "restarted");
        world_end(&world);
    }
    planner_late = false;
}

static uint64_t refuses_ns, refuses_late_ns;
static uint64_t refuse_late(const struct disk_request *request, struct disk_reply *reply)
{
    if (request->op != DISK_OPEN_TARGET)
        return 0;
    reply->status = DISK_FAILED; /* and nothing is open */
    world.nodes[2].files[request->handle].open = false;
    snprintf(reply->text, sizeof(reply->text), "no space left");
    return refuses_late_ns;
}

static uint64_t open_late(const struct disk_request *request, struct disk_reply *reply)
{
    (void)reply;
    return request->op == DISK_OPEN_TARGET ? refuses_ns : 0;
}

/* The others have confirmed when it says no. */
static void left__refuses_late(void **state)
{
    (void)state;
    static const uint64_t late_ns[] = {0, 50 * NS_PER_MS, 3 * NS_PER_S};
    for (size_t row = 0; row < sizeof(late_ns) / sizeof(late_ns[0]); row++) {
        begin(row + 1);
        refuses_late_ns = late_ns[row];
        world.nodes[2].disk_fault = refuse_late;
        struct job_spec spec = world_job(&world, "j");
        run_job_at(0, &spec);
        run_until_over(0, "j", 30 * NS_PER_S);
        assert_only_missing(2, "no space left");
        world_end(&world);
    }
}

/* Its disk takes a minute to open: 10 s are waited for it, and what it opens after that is let go. */
static void left__opens_late(void **state)
{
    (void)state;
    static const uint64_t opens_ns[] = {8 * NS_PER_S, 60 * NS_PER_S};
    for (size_t row = 0; row < 2; row++) {
        begin(row + 1);
        refuses_ns = opens_ns[row];
        world.nodes[3].disk_fault = open_late;
        struct job_spec spec = world_job(&world, "j");
        run_job_at(0, &spec);
        uint64_t from_ns = world.now_ns;
        run_until_over(0, "j", 60 * NS_PER_S);
        assert_true(world.now_ns - from_ns < 13 * NS_PER_S);
        if (row == 0)
            assert_state(0, "j", JOB_DONE);
        world_run_until(&world, from_ns + 65 * NS_PER_S);
        if (row == 1)
            assert_only_missing(3, "did not confirm its part of the plan within 10 s");
        world_end(&world);
    }
}

/* Those that the operator's tree feeds by a site that was left out are left out with it; without any, the job fails. */
static void left__below_in_a_given_tree(void **state)
{
    (void)state;
    static const uint16_t tree[][2] = {{0, 1}, {1, 2}, {2, 3}, {0, 4}};
    for (unsigned all = 0; all < 2; all++) {
        begin(all + 1);
        world_kill(&world, 1);
        if (all != 0)
            world_kill(&world, 4);
        struct job_spec spec = world_job(&world, "j");
        give_tree(&spec, tree, 4);
        run_job_at(0, &spec);
        run_until_over(0, "j", 30 * NS_PER_S);
        const struct node_job_view *view = world_view(&world, 0, "j");
        assert_state(0, "j", JOB_FAILED);
        assert_string_equal(view->sites[1].text, "the given tree feeds it by n1, which was left out");
        assert_string_equal(view->sites[2].text, "the given tree feeds it by n2, which was left out");
        assert_int_equal(view->sites[3].state, all == 0 ? SITE_VERIFIED : SITE_FAILED);
        world_end(&world);
    }
}

/* Nobody is there: the job fails in the time that is waited for one. */
static void left__all(void **state)
{
    (void)state;
    begin(1);
    for (uint16_t node = 1; node < NODES; node++)
        world_kill(&world, node);
    struct job_spec spec = world_job(&world, "j");
    run_job_at(0, &spec);
    run_until_over(0, "j", 12 * NS_PER_S);
    assert_state(0, "j", JOB_FAILED);
    assert_text(0, "j", "(and 3 more)");
    world_end(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(left__restarts),   cmocka_unit_test(left__refuses_late),
        cmocka_unit_test(left__opens_late), cmocka_unit_test(left__below_in_a_given_tree),
        cmocka_unit_test(left__all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
