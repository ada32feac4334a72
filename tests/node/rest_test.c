/* A node comes to rest: nothing stays open behind a job that is over, and nothing is due that can't be done. */
#include "check.h"
#include "node/flow/edges.h"
#include "node/node.h"
#include "node/peer/peer.h"
#include "wire/probe.h"

/* It failed before it had an object: only its file is open. */
static void job__failed_early_closes_its_file(void **state)
{
    (void)state;
    world_init(&world, 2, 1);
    world.planner_absent = true;
    start_all();
    world_run_until(&world, 2 * NS_PER_S);
    struct job_spec spec = world_job(&world, "j");
    run_job_at(0, &spec);
    assert_true(run_until_state(0, "j", JOB_PLANNING, 5 * NS_PER_S));
    world_cut(&world, 0, 1, 100 * NS_PER_S); /* no message wakes the job by chance */
    run_until_over(0, "j", 30 * NS_PER_S);
    assert_state(0, "j", JOB_FAILED);
    world_run_until(&world, world.now_ns + 100 * NS_PER_MS);
    assert_true(world_is_clean(&world, 0));
    world_end(&world);
}

static void planner_record(uint16_t node, enum ctl_type type)
{
    static struct ctl_msg msg;
    char text[16];
    struct ctl_reply reply = {.text = text, .room = sizeof(text)};
    msg = (struct ctl_msg){.type = type};
    node_ctl(world.nodes[node].node, &msg, &reply, world.now_ns);
}

/* Whatever is wrong with a datagram, the counter of that reason counts it, also of data and acks. */
static void node_rx__names_what_is_wrong(void **state)
{
    (void)state;
    world_init(&world, 2, 1);
    start_all();
    world_run_until(&world, 2 * NS_PER_S);
    static const struct {
        enum wire_type type;
        uint32_t body_bytes;
        const char *counter;
    } rows[] = {{WIRE_DATA, 100, "drop_value"}, /* of no symbol */
                {WIRE_DATA, 2, "drop_short"},   {WIRE_ACK, 2, "drop_short"},
                {WIRE_ACK, 200, "drop_length"}, {WIRE_MESSAGE, 100, "drop_value"}, /* reserved is not 0 */
                {WIRE_MESSAGE, 2, "drop_short"}};
    struct peer *peer = &world.nodes[0].node->peers[0];
    for (size_t row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
        uint8_t datagram[WIRE_HEADER_BYTES + 200] = {0};
        struct wire_header header = session_header(peer, rows[row].type, 0);
        wire_header_put(datagram, &header);
        if (rows[row].type == WIRE_MESSAGE)
            memset(datagram + WIRE_HEADER_BYTES, 0xff, rows[row].body_bytes);
        uint64_t before = world_counter(&world, 1, rows[row].counter);
        world_inject(&world, 0, 1, datagram, WIRE_HEADER_BYTES + rows[row].body_bytes);
        if (world_counter(&world, 1, rows[row].counter) != before + 1)
            fail_msg("row %zu is not counted by %s", row, rows[row].counter);
    }
    world_end(&world);
}

/* A child that was lost before the start is fed nothing: its edge carries no job. */
static void edges_start__passes_over_lost_children(void **state)
{
    (void)state;
    static const uint16_t chain[][2] = {{0, 1}, {1, 2}};
    world_init(&world, 3, 1);
    world.source_bytes = 20000000;
    start_all();
    world_run_until(&world, 2 * NS_PER_S);
    struct job_spec spec = world_job(&world, "j");
    give_tree(&spec, chain, 2);
    run_job_at(0, &spec);
    struct node *relay = world.nodes[1].node;
    while (relay->jobs[0].phase != PHASE_READY)
        world_run_until(&world, world.now_ns + NS_PER_MS / 10);
    edges_drop(relay, &relay->jobs[0], 1);
    assert_true(run_until_state(1, "j", JOB_RUNNING, NS_PER_S));
    world_run_until(&world, world.now_ns + NS_PER_S);
    assert_int_equal(relay->peers[1].jobs_out, 0);
    assert_true(world_cancel_job(&world, 0, "j"));
    world_run_until(&world, world.now_ns + NS_PER_S);
    assert_clean();
    world_end(&world);
}

/* A request for a plan waits for a planner without being due; one that attaches gets it, and again when it
 * comes back. What a planner that is gone was asked for is not handed out any more. */
static void planner__requests_wait_for_one(void **state)
{
    (void)state;
    static struct ctl_msg request;
    for (unsigned ended = 0; ended < 2; ended++) {
        world_init(&world, 2, 1);
        world.planner_absent = true;
        start_all();
        world_run_until(&world, 2 * NS_PER_S);
        struct job_spec spec = world_job(&world, "j");
        run_job_at(0, &spec);
        struct node *node = world.nodes[0].node;
        assert_true(run_until_state(0, "j", JOB_PLANNING, 5 * NS_PER_S));
        world_run_until(&world, world.now_ns + 50 * NS_PER_MS);
        assert_true(node_next_ns(node) > world.now_ns);
        assert_false(node_ctl_next(node, &request));
        for (unsigned attached = 0; attached < 2; attached++) {
            planner_record(0, CTL_PLANNER_HELLO);
            assert_true(node_next_ns(node) <= world.now_ns);
            assert_true(node_ctl_next(node, &request));
            assert_int_equal(request.type, CTL_PLAN_REQUEST);
            assert_false(node_ctl_next(node, &request));
            planner_record(0, CTL_PLANNER_HELLO);
            planner_record(0, CTL_PLANNER_GONE);
            assert_false(node_ctl_next(node, &request));
            node_tick(node, world.now_ns);
            assert_true(node_next_ns(node) > world.now_ns);
        }
        if (ended != 0) {
            planner_record(0, CTL_PLANNER_HELLO);
            assert_true(world_cancel_job(&world, 0, "j"));
            assert_false(node_ctl_next(node, &request));
            world_run_until(&world, world.now_ns + NS_PER_S);
        } else {
            world_run_until(&world, world.now_ns + 15 * NS_PER_S);
            assert_text(0, "j", "no planner is attached");
        }
        assert_clean();
        world_end(&world);
    }
}

/* Where none can attach, nothing begins that would need one. */
static void planner__never_refuses_jobs(void **state)
{
    (void)state;
    world_init(&world, 2, 1);
    world.nodes[0].config.planner_never = true;
    start_all();
    world_run_until(&world, 2 * NS_PER_S);
    struct job_spec spec = world_job(&world, "j");
    struct err err;
    assert_false(world_run_job(&world, &spec, &err));
    assert_non_null(strstr(err.text, "no planner can attach to n0"));
    assert_int_equal(state_at(0, "j"), JOB_STATE_COUNT);
    world_end(&world);
}

/* Where nobody but the operator starts one he is told how, at once; but one that was there a moment ago may come back. */
static void planner__absent_ends_jobs_at_once(void **state)
{
    static const struct {
        uint64_t gone_ns; /* how long ago the last one was there; 0: none was */
        bool taken;
    } cases[] = {{0, false}, {NS_PER_S, true}, {9 * NS_PER_S, true}, {10 * NS_PER_S, false}};
    (void)state;
    for (unsigned index = 0; index < sizeof(cases) / sizeof(cases[0]); index++) {
        world_init(&world, 2, 1);
        world.planner_absent = true;
        name_copy(world.nodes[0].config.planner_command, NODE_COMMAND_BYTES, "sluice-planner --ring /r");
        start_all();
        world_run_until(&world, 2 * NS_PER_S);
        if (cases[index].gone_ns != 0) {
            planner_record(0, CTL_PLANNER_HELLO);
            planner_record(0, CTL_PLANNER_GONE);
        }
        world_run_until(&world, world.now_ns + cases[index].gone_ns);
        struct job_spec spec = world_job(&world, "j");
        struct err err = {.text = ""};
        assert_int_equal(world_run_job(&world, &spec, &err), cases[index].taken);
        assert_int_equal(node_wants_planner(world.nodes[0].node), cases[index].taken);
        if (!cases[index].taken)
            assert_string_equal(err.text,
                                "job 'j': no planner is attached; start one: sluice-planner --ring /r");
        world_end(&world);
    }
}

/* One that goes for good before the plan: the job ends when it would ask, or has waited as long as for any other. */
static void planner__gone_before_the_plan(void **state)
{
    (void)state;
    world_init(&world, 2, 1);
    world.planner_absent = true;
    name_copy(world.nodes[0].config.planner_command, NODE_COMMAND_BYTES, "sluice-planner --ring /r");
    start_all();
    world_run_until(&world, 2 * NS_PER_S);
    planner_record(0, CTL_PLANNER_HELLO);
    struct job_spec spec = world_job(&world, "j");
    run_job_at(0, &spec);
    assert_true(run_until_state(0, "j", JOB_PLANNING, 5 * NS_PER_S));
    planner_record(0, CTL_PLANNER_GONE);
    world_run_until(&world, world.now_ns + 9 * NS_PER_S);
    assert_int_equal(state_at(0, "j"), JOB_PLANNING);
    world_run_until(&world, world.now_ns + 2 * NS_PER_S);
    assert_text(0, "j", "no planner is attached to this node within 10 s");
    assert_false(node_wants_planner(world.nodes[0].node));
    assert_clean();
    world_end(&world);
}

/* What the program knows of a planner that does not come is told by jobs that waited for it; one that came ends that. */
static void planner__news_are_told(void **state)
{
    (void)state;
    for (unsigned came = 0; came < 2; came++) {
        world_init(&world, 2, 1);
        world.planner_absent = true;
        start_all();
        world_run_until(&world, 2 * NS_PER_S);
        static struct ctl_msg news = {.type = CTL_PLANNER_NEWS};
        struct ctl_reply reply = {.ok = false};
        name_copy(news.body.planner_news.text, CTL_NEWS_BYTES, "it exited");
        assert_int_equal(node_ctl(world.nodes[0].node, &news, &reply, world.now_ns), 0);
        if (came != 0) {
            planner_record(0, CTL_PLANNER_HELLO);
            planner_record(0, CTL_PLANNER_GONE);
        }
        struct job_spec spec = world_job(&world, "j");
        run_job_at(0, &spec);
        assert_true(node_wants_planner(world.nodes[0].node));
        assert_true(run_until_state(0, "j", JOB_FAILED, 30 * NS_PER_S));
        assert_text(0, "j", "no planner is attached to this node within 10 s");
        assert_int_equal(strstr(world_view(&world, 0, "j")->text, "s: it exited") == NULL, came);
        world_end(&world);
    }
}

/* After the farewells a node has nothing to send any more, whatever was under way. */
static void shutdown__leaves_nothing_due(void **state)
{
    (void)state;
    world_init(&world, 2, 2);
    world.source_bytes = 50000000;
    start_all();
    world_run_until(&world, 2 * NS_PER_S);
    struct job_spec spec = world_job(&world, "j");
    run_job_at(0, &spec);
    assert_true(run_until_state(0, "j", JOB_RUNNING, 10 * NS_PER_S));
    world_run_until(&world, world.now_ns + 100 * NS_PER_MS);
    struct node *node = world.nodes[0].node;
    struct tx_packet packets[64];
    node_shutdown(node, world.now_ns);
    assert_int_equal(node_tx(node, 0, packets, 64, world.now_ns), 1);
    assert_int_equal(node_tx(node, 0, packets, 64, world.now_ns), 0);
    node_tick(node, world.now_ns);
    struct disk_request requests[64];
    while (node_disk(node, requests, 64, world.now_ns) > 0)
        continue;
    /* Jobs may still look at what they wait for, every 5 ms; nothing is asked for again and again. */
    uint64_t now_ns = world.now_ns, end_ns = now_ns + NS_PER_S;
    uint32_t calls = 0;
    while (node_next_ns(node) < end_ns && calls < 1000) {
        now_ns = MAX(now_ns, node_next_ns(node));
        node_tick(node, now_ns);
        assert_int_equal(node_tx(node, 0, packets, 64, now_ns), 0);
        calls++;
    }
    assert_in_range(calls, 0, 250);
    world_end(&world);
}

/* The answer would be as long as the question, and so could not leave. */
static void probe__longer_than_the_port_is_dropped(void **state)
{
    (void)state;
    world_init(&world, 2, 3);
    start_all();
    world_run_until(&world, 2 * NS_PER_S);
    struct peer *peer = &world.nodes[0].node->peers[0];
    uint8_t datagram[4096] = {0};
    uint32_t mtu = world.nodes[1].config.ports[0].mtu;
    static const uint32_t over[] = {0, 1};
    for (unsigned row = 0; row < 2; row++) {
        struct wire_header header = session_header(peer, WIRE_PROBE, 0);
        struct wire_probe probe = {.id = 77};
        probe.padding = (uint16_t)(mtu - address_overhead_bytes(ADDRESS_IPV4) - WIRE_PROBE_BYTES + over[row]);
        uint64_t dropped = world_counter(&world, 1, "drop_length");
        size_t length = wire_probe_encode(datagram, &header, &probe) + probe.padding;
        world_inject(&world, 0, 1, datagram, (uint32_t)length);
        world_run_until(&world, world.now_ns + 1);
        assert_int_equal(world_counter(&world, 1, "drop_length"), dropped + over[row]);
    }
    world_end(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(job__failed_early_closes_its_file),
        cmocka_unit_test(node_rx__names_what_is_wrong),
        cmocka_unit_test(edges_start__passes_over_lost_children),
        cmocka_unit_test(planner__requests_wait_for_one),
        cmocka_unit_test(planner__never_refuses_jobs),
        cmocka_unit_test(planner__absent_ends_jobs_at_once),
        cmocka_unit_test(planner__gone_before_the_plan),
        cmocka_unit_test(planner__news_are_told),
        cmocka_unit_test(shutdown__leaves_nothing_due),
        cmocka_unit_test(probe__longer_than_the_port_is_dropped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
