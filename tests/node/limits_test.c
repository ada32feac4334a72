/* Which edge limits a site, and why: as the source knows it, in views and reports. More causes: the scenario
 * `limits`. */
#include "check.h"

#define MBPS 1000000ULL

static const struct node_site_view *site_named(const char *name)
{
    const struct node_job_view *view = world_view(&world, 0, "j");
    for (uint16_t index = 0; view != NULL && index < view->site_count; index++)
        if (strcmp(view->sites[index].name, name) == 0)
            return &view->sites[index];
    return NULL;
}

static void assert_limit(const char *name, const char *from, const char *to, enum edge_limit cause)
{
    const struct node_site_view *site = site_named(name);
    assert_non_null(site);
    if (strcmp(site->limited_from, from) != 0 || strcmp(site->limited_to, to) != 0 ||
        site->limited_by != cause)
        fail_msg("%s: %s > %s: %s", name, site->limited_from, site->limited_to,
                 edge_limit_name(site->limited_by));
}

static void start_job(const uint16_t (*tree)[2], uint16_t edges, uint64_t rate_cap_bps)
{
    struct job_spec spec = world_job(&world, "j");
    give_tree(&spec, tree, edges);
    spec.controls.rate_cap_bps = rate_cap_bps;
    run_job_at(0, &spec);
    assert_true(run_until_state(0, "j", JOB_RUNNING, 10 * NS_PER_S));
}

/* What limits a site is told even where neither it nor the source has the edge, and follows what happens. */
static void source_limit__follows_the_path(void **state)
{
    (void)state;
    static const uint16_t chain[][2] = {{0, 1}, {1, 2}, {2, 3}};
    world_init(&world, 4, 41);
    world.source_bytes = 200000000;
    start_all();
    start_job(chain, 3, 30 * MBPS);
    world_run_until(&world, world.now_ns + 3 * NS_PER_S);
    assert_limit("n1", "n0", "n1", EDGE_LIMIT_cap);
    world.rate_bps[1][2] = 8 * MBPS;
    world_run_until(&world, world.now_ns + 5 * NS_PER_S);
    assert_limit("n1", "n0", "n1", EDGE_LIMIT_cap);
    assert_limit("n2", "n1", "n2", EDGE_LIMIT_congestion);
    assert_limit("n3", "n1", "n2", EDGE_LIMIT_congestion);
    world.rate_bps[0][1] = 2 * MBPS;
    world.rate_bps[1][2] = 0;
    world_run_until(&world, world.now_ns + 60 * NS_PER_S);
    assert_limit("n1", "n0", "n1", EDGE_LIMIT_congestion);
    assert_true(world_cancel_job(&world, 0, "j"));
    world_end(&world);
}

static void node_show__sites_with_their_edges(void **state)
{
    (void)state;
    static const uint16_t chain[][2] = {{0, 1}, {1, 2}};
    static char text[CTL_REPLY_BYTES];
    static struct ctl_msg msg = {.type = CTL_SHOW};
    world_init(&world, 3, 42);
    world.source_bytes = 20000000;
    world.rate_bps[1][2] = 8 * MBPS;
    start_all();
    start_job(chain, 2, 0);
    for (int ended = 0; ended < 2; ended++) {
        if (ended)
            run_until_over(0, "j", 60 * NS_PER_S);
        else
            world_run_until(&world, world.now_ns + 4 * NS_PER_S);
        msg.body.show.what = CTL_SHOW_edges;
        msg.body.show.form = REPORT_JSON;
        struct ctl_reply reply = {.text = text, .room = sizeof(text)};
        assert_int_equal(node_ctl(world.nodes[0].node, &msg, &reply, world.now_ns), 0);
        const char *row = strstr(text, "\"site\":\"n2\"");
        assert_non_null(row);
        const char *wanted = "\"limited_from\":\"n1\",\"limited_to\":\"n2\",\"limited_by\":\"congestion\"";
        if (strstr(row, wanted) == NULL)
            fail_msg("%s", row);
        assert_non_null(strstr(text, "\"paths\":[{\"to\":\"n1\",\"strategy\":\"bql\",\"phase\":\""));
    }
    world_end(&world);
}

/* What the ring of a port loses both ends tell, whoever sent it; an edge of which nothing got lost has lost nothing there. */
static void edges__missed_frames_at_both_ends(void **state)
{
    (void)state;
    static const uint16_t edge[][2] = {{0, 1}};
    static const uint64_t missed[] = {900, 901, 1000000, UINT32_MAX, (1ULL << 32) + 5};
    struct node_edge_view sender, receiver;
    world_init(&world, 2, 47);
    world.source_bytes = 200000000;
    start_all();
    start_job(edge, 1, 40 * MBPS);
    world_run_until(&world, world.now_ns + NS_PER_S);
    for (size_t turn = 0; turn < sizeof(missed) / sizeof(missed[0]); turn++) {
        node_missed(world.nodes[1].node, 0, missed[turn]);
        world_run_until(&world, world.now_ns + NS_PER_S / 2);
        assert_true(node_edge_view(world.nodes[0].node, 0, &sender));
        assert_true(node_edge_view(world.nodes[1].node, 0, &receiver));
        assert_int_equal(receiver.missed_frames, missed[turn]);
        /* No growth of more than 2^31 between two acks is one. */
        assert_int_equal(sender.peer_missed_frames, turn < 3 ? missed[turn] : missed[2] + 6 * (turn == 4));
        assert_int_equal(sender.missed_frames, 0);
        assert_int_equal(sender.ring_lost, 0);
    }
    assert_true(world_cancel_job(&world, 0, "j"));
    world_end(&world);
}

/* A process that runs for 1 ms out of 20: what its edge might have sent meanwhile is lost, the port was free.
 */
static void causes__slow_processor(void **state)
{
    (void)state;
    static const uint16_t edge[][2] = {{0, 1}};
    struct node_edge_view view;
    world_init(&world, 2, 43);
    world.source_bytes = 200000000;
    start_all();
    start_job(edge, 1, 40 * MBPS);
    world_run_until(&world, world.now_ns + NS_PER_S);
    assert_true(node_edge_view(world.nodes[0].node, 0, &view));
    assert_int_equal(view.limited_by, EDGE_LIMIT_cap);
    for (int turn = 0; turn < 500; turn++) {
        world.nodes[0].stopped_until_ns = world.now_ns + 19 * NS_PER_MS;
        world_run_until(&world, world.now_ns + 20 * NS_PER_MS);
    }
    assert_true(node_edge_view(world.nodes[0].node, 0, &view));
    assert_int_equal(view.limited_by, EDGE_LIMIT_cpu);
    assert_int_equal(view.limited_now, EDGE_LIMIT_cpu);
    assert_in_range(view.pauses, 400, 500);
    assert_in_range(view.paused_ns, 400 * 15 * NS_PER_MS, 500 * 19 * NS_PER_MS);
    assert_limit("n1", "n0", "n1", EDGE_LIMIT_cpu);
    world_run_until(&world, world.now_ns + 3 * NS_PER_S);
    assert_true(node_edge_view(world.nodes[0].node, 0, &view));
    assert_int_equal(view.limited_by, EDGE_LIMIT_cpu);
    assert_int_equal(view.limited_now, EDGE_LIMIT_cap);
    assert_true(world_cancel_job(&world, 0, "j"));
    world_end(&world);
}

/* As many paused jobs of n2 as it can have; n0 finds a place all the same. */
static void site_on_part__one_source_takes_not_all_places(void **state)
{
    (void)state;
    world_init(&world, 3, 1);
    world.source_bytes = 1000000;
    start_all();
    world_run_until(&world, 2 * NS_PER_S);
    struct job_spec spec = world_job(&world, "p");
    spec.to_all = false;
    spec.receiver_count = 1;
    strcpy(spec.receivers[0], "n1");
    for (unsigned at = 0; at < NODE_JOBS_MAX; at++) {
        snprintf(spec.name, sizeof(spec.name), "p%u", at);
        strcpy(spec.source, "n2");
        spec.controls.paused = true;
        run_job_at(2, &spec);
        world_run_until(&world, world.now_ns + 200 * NS_PER_MS);
    }
    assert_state(2, "p11", JOB_RUNNING);
    run_until_over(2, "p12", NS_PER_S);
    assert_text(2, "p12", "too many jobs at once");
    strcpy(spec.name, "j");
    strcpy(spec.source, "n0");
    spec.controls.paused = false;
    run_job_at(0, &spec);
    run_until_over(0, "j", 30 * NS_PER_S);
    assert_state(0, "j", JOB_DONE);
    world_end(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(site_on_part__one_source_takes_not_all_places),
        cmocka_unit_test(source_limit__follows_the_path),
        cmocka_unit_test(node_show__sites_with_their_edges),
        cmocka_unit_test(causes__slow_processor),
        cmocka_unit_test(edges__missed_frames_at_both_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
