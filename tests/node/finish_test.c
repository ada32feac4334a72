/* The last step of a site, FINISH: a disk that takes long, for ever, or fails, and a cancel meanwhile. */
#include "check.h"
#include "node/job/job.h"
#include "node/peer/post.h"

static uint64_t finish_ns;
static bool finish_fails;

static uint64_t slow_finish(const struct disk_request *request, struct disk_reply *reply)
{
    if (request->op != DISK_FINISH)
        return 0;
    if (finish_fails) {
        reply->status = DISK_FAILED;
        snprintf(reply->text, sizeof(reply->text), "fsync: Input/output error");
    }
    return finish_ns;
}

static uint64_t slower_finish(const struct disk_request *request, struct disk_reply *reply)
{
    (void)reply;
    return request->op == DISK_FINISH ? 100 * NS_PER_S : 0;
}

/* n0 → n1, whose disk ends the file only after so long; and n2, whose disk takes longer. */
static void begin_with(uint16_t nodes, uint64_t takes_ns, bool fails)
{
    finish_ns = takes_ns;
    finish_fails = fails;
    world_init(&world, nodes, 1);
    world.nodes[1].disk_fault = slow_finish;
    world.nodes[2].disk_fault = slower_finish;
    start_all();
    world_run_until(&world, 2 * NS_PER_S);
    struct job_spec spec = world_job(&world, "j");
    run_job_at(0, &spec);
}

static void begin(uint64_t takes_ns, bool fails)
{
    begin_with(2, takes_ns, fails);
}

static const struct world_file *file_at_n1(void)
{
    for (uint32_t handle = 0; handle < NODE_JOBS_MAX; handle++)
        if (world.nodes[1].files[handle].path[0] != '\0')
            return &world.nodes[1].files[handle];
    fail_msg("n1 has opened no file");
    return NULL;
}

/* What a long fsync needs is the site's business while it says that it is alive. */
static void node_finish__longer_than_the_stall_timeout(void **state)
{
    (void)state;
    static const uint64_t takes_ns[] = {NS_PER_S, 40 * NS_PER_S, 600 * NS_PER_S};
    for (size_t row = 0; row < sizeof(takes_ns) / sizeof(takes_ns[0]); row++) {
        begin(takes_ns[row], false);
        run_until_over(0, "j", takes_ns[row] + 10 * NS_PER_S);
        assert_state(0, "j", JOB_DONE);
        world_run_until(&world, world.now_ns + NS_PER_S);
        assert_state(1, "j", JOB_DONE);
        assert_clean();
        world_end(&world);
    }
}

/* … but not for ever. */
static void node_finish__never_answered(void **state)
{
    (void)state;
    begin(0, false);
    finish_ns = 100000 * NS_PER_S;
    uint64_t limit_ns = world.nodes[1].config.finish_timeout_ns;
    assert_true(limit_ns >= 1000 * NS_PER_S);
    world_run_until(&world, world.now_ns + limit_ns - 10 * NS_PER_S);
    assert_state(0, "j", JOB_RUNNING);
    run_until_over(0, "j", 60 * NS_PER_S);
    assert_state(0, "j", JOB_FAILED);
    assert_text(0, "j", "n1: its disk has not ended the object within");
    world_end(&world);
}

static void node_finish__silent_peer_is_no_slow_disk(void **state)
{
    (void)state;
    begin(600 * NS_PER_S, false);
    world_run_until(&world, world.now_ns + 10 * NS_PER_S);
    assert_state(0, "j", JOB_RUNNING);
    world_kill(&world, 1);
    run_until_over(0, "j", 40 * NS_PER_S);
    assert_text(0, "j", "n1: does not answer for");
    world_end(&world);
}

/* The part file must not stay. */
static void node_finish__failed_is_aborted(void **state)
{
    (void)state;
    begin(0, true);
    run_until_over(0, "j", 10 * NS_PER_S);
    assert_state(0, "j", JOB_FAILED);
    assert_text(0, "j", "n1: fsync: Input/output error");
    world_run_until(&world, world.now_ns + NS_PER_S);
    assert_clean();
    assert_true(file_at_n1()->aborted);
    world_end(&world);
}

/* The name appears: neither node may say that it does not. */
static void node_finish__cancelled_meanwhile(void **state)
{
    (void)state;
    static const struct {
        bool fails;
        uint8_t site_state, job_state;
        const char *text;
    } rows[] = {{false, SITE_VERIFIED, JOB_DONE, "cancelled by the operator when n1 had it whole already"},
                {true, SITE_FAILED, JOB_CANCELLED, "cancelled by the operator"}};
    for (size_t row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
        begin(5 * NS_PER_S, rows[row].fails);
        world_run_until(&world, world.now_ns + 3 * NS_PER_S);
        assert_state(0, "j", JOB_RUNNING);
        assert_true(world_cancel_job(&world, 0, "j"));
        world_run_until(&world, world.now_ns + 10 * NS_PER_S);
        assert_state(0, "j", JOB_CANCELLED);
        assert_text(0, "j", rows[row].text);
        assert_int_equal(world_view(&world, 0, "j")->sites[0].state, rows[row].site_state);
        assert_state(1, "j", rows[row].job_state);
        assert_int_equal(file_at_n1()->finished, !rows[row].fails);
        assert_int_equal(file_at_n1()->aborted, rows[row].fails);
        assert_clean();
        world_end(&world);
    }
}

/* Longer than the stall timeout: the manifest waits for what it has to tell, as long as the site tells anything. */
static void node_finish__manifest_waits_for_the_disk(void **state)
{
    (void)state;
    static const struct {
        uint64_t takes_ns, dark_ns;
        bool fails, killed;
        const char *site_state, *text;
    } rows[] = {{60 * NS_PER_S, 0, false, false, "verified", ""},
                {60 * NS_PER_S, 0, true, false, "failed", "fsync: Input/output error"},
                {600 * NS_PER_S, 8 * NS_PER_S, false, false, "verified", ""},
                {60 * NS_PER_S, 0, false, true, "unknown", "that is not known"}};
    for (size_t row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
        char site_state[64];
        begin(rows[row].takes_ns, rows[row].fails);
        strcpy(world.nodes[0].node->config.manifests, "/manifests");
        world_run_until(&world, world.now_ns + 3 * NS_PER_S);
        assert_true(world_cancel_job(&world, 0, "j"));
        world_run_until(&world, world.now_ns + 5 * NS_PER_S);
        assert_state(0, "j", JOB_CANCELLED);
        assert_null(world.nodes[0].node->jobs[0].object); /* others may have the memory */
        world_cut(&world, 0, 1, world.now_ns + rows[row].dark_ns);
        if (rows[row].killed)
            world_kill(&world, 1);
        else
            world_run_until(&world, world.now_ns + rows[row].takes_ns - 10 * NS_PER_S);
        assert_string_equal(world.nodes[0].manifest, "");
        world_run_until(&world, world.now_ns + 30 * NS_PER_S);
        snprintf(site_state, sizeof(site_state), "\"name\":\"n1\",\"state\":\"%s\"", rows[row].site_state);
        if (strstr(world.nodes[0].manifest, site_state) == NULL)
            fail_msg("row %zu: %s is not in %s", row, site_state, world.nodes[0].manifest);
        assert_non_null(strstr(world.nodes[0].manifest, rows[row].text));
        assert_clean();
        world_end(&world);
    }
}

/* The parent tells another hash of a block while the disk ends the object. That block is not written any
 * more, and what FINISH answers does not make the copy whole again. */
static void node_finish__block_bad_meanwhile(void **state)
{
    (void)state;
    for (int fails = 0; fails < 2; fails++) {
        begin(5 * NS_PER_S, fails != 0);
        world_run_until(&world, world.now_ns + 2 * NS_PER_S);
        const struct job *job = &world.nodes[1].node->jobs[0];
        assert_int_equal(job->phase, PHASE_FINISHING);
        struct control_hashes hashes = {.fixed = {.job = job->id, .first_block = 1, .count = 1}};
        assert_true(post(world.nodes[0].node, 0, CONTROL_HASHES, &hashes));
        world_run_until(&world, world.now_ns + NS_PER_S);
        assert_int_equal(job->phase, PHASE_FINISHING);
        assert_int_equal(job->result, SITE_FAILED);
        run_until_over(0, "j", 20 * NS_PER_S);
        assert_state(0, "j", JOB_FAILED);
        assert_text(0, "j", "n1: n0 told two hashes of block 1");
        world_run_until(&world, world.now_ns + 10 * NS_PER_S);
        assert_state(1, "j", JOB_FAILED);
        assert_text(1, "j", "n0 told two hashes of block 1");
        assert_int_equal(file_at_n1()->aborted, fails);
        assert_clean();
        world_end(&world);
    }
}

/* What the source was told of a copy stays: an answer that comes after the time for it changes nothing. */
static void node_finish__answered_too_late(void **state)
{
    (void)state;
    begin_with(3, 30 * NS_PER_S, false);
    world.nodes[1].node->config.finish_timeout_ns = 10 * NS_PER_S;
    world_run_until(&world, world.now_ns + 60 * NS_PER_S);
    assert_state(0, "j", JOB_RUNNING);
    assert_true(file_at_n1()->finished);
    assert_int_equal(world.nodes[1].node->jobs[0].result, SITE_FAILED);
    run_until_over(0, "j", 100 * NS_PER_S);
    assert_text(0, "j", "n1: its disk has not ended the object within 10 s");
    world_run_until(&world, world.now_ns + NS_PER_S);
    assert_state(1, "j", JOB_FAILED);
    assert_text(1, "j", "its disk has not ended the object within 10 s");
    assert_clean();
    world_end(&world);
}

/* The operator cancels, then the source is gone as well: what ended the job first is what is shown. */
static void node_finish__ends_as_it_ended_first(void **state)
{
    (void)state;
    begin(60 * NS_PER_S, true);
    world_run_until(&world, world.now_ns + 3 * NS_PER_S);
    assert_true(world_cancel_job(&world, 0, "j"));
    world_run_until(&world, world.now_ns + NS_PER_S);
    world_kill(&world, 0);
    world_run_until(&world, world.now_ns + 70 * NS_PER_S);
    assert_state(1, "j", JOB_CANCELLED);
    assert_true(file_at_n1()->aborted);
    world_end(&world);
}

/* … and one that its parent dropped from a stream meanwhile. */
static void node_finish__dropped_meanwhile(void **state)
{
    (void)state;
    finish_ns = 5 * NS_PER_S;
    finish_fails = false;
    world_init(&world, 3, 1);
    world.nodes[1].disk_fault = slow_finish;
    world.nodes[2].disk_fault = slower_finish;
    start_all();
    world_run_until(&world, 2 * NS_PER_S);
    struct job_spec spec = world_job(&world, "j");
    spec.object = PART_OBJECT_STREAM;
    spec.retention_bytes = 8000000;
    spec.flush_ns = 100 * NS_PER_MS;
    run_job_at(0, &spec);
    world_run_until(&world, world.now_ns + 3 * NS_PER_S);
    const struct job *job = &world.nodes[1].node->jobs[0];
    assert_int_equal(job->phase, PHASE_FINISHING);
    struct control_let_go let_go = {.fixed = {.job = job->id}, .text = "too slow"};
    uint16_t parent = job->trees.parent[0];
    assert_true(post(world.nodes[parent == 0 ? 0 : 2].node, parent == 0 ? 0 : 1, CONTROL_LET_GO, &let_go));
    world_run_until(&world, world.now_ns + 30 * NS_PER_S);
    assert_true(file_at_n1()->finished);
    assert_int_equal(job->result, SITE_FAILED);
    run_until_over(0, "j", 200 * NS_PER_S);
    assert_text(0, "j", "n1: too slow");
    world_end(&world);
}

static uint64_t slow_close(const struct disk_request *request, struct disk_reply *reply)
{
    (void)reply;
    return request->op == DISK_CLOSE ? 5 * NS_PER_S : 0;
}

/* The next job may wait for the pipe that is this one's input: it has not ended before that is closed. */
static void node_stream__has_ended_when_its_input_is_closed(void **state)
{
    (void)state;
    for (int cancelled = 0; cancelled < 2; cancelled++) {
        world_init(&world, 2, 1);
        world.source_bytes = 20000000;
        strcpy(world.nodes[0].config.manifests, "/manifests");
        world.nodes[0].disk_fault = slow_close;
        start_all();
        world_run_until(&world, 2 * NS_PER_S);
        struct job_spec spec = world_job(&world, "j");
        spec.object = PART_OBJECT_STREAM;
        spec.retention_bytes = 8000000;
        spec.flush_ns = 100 * NS_PER_MS;
        run_job_at(0, &spec);
        assert_true(run_until_state(0, "j", JOB_RUNNING, 5 * NS_PER_S));
        if (cancelled) {
            world_run_until(&world, world.now_ns + NS_PER_S);
            assert_true(world_cancel_job(&world, 0, "j"));
        }
        const struct job *job = &world.nodes[0].node->jobs[0];
        while (job->phase != PHASE_CLOSING)
            world_run_until(&world, world.now_ns + NS_PER_MS);
        for (int tenth = 0; tenth < 100 && world.nodes[0].files[0].open; tenth++) {
            assert_state(0, "j", JOB_RUNNING);
            world_run_until(&world, world.now_ns + NS_PER_MS);
        }
        assert_false(world.nodes[0].files[0].open); /* that is not known yet */
        world_run_until(&world, world.now_ns + 4 * NS_PER_S);
        assert_state(0, "j", JOB_RUNNING);
        assert_int_equal(world_view(&world, 0, "j")->ended_ns, 0);
        world_run_until(&world, world.now_ns + 2 * NS_PER_S);
        assert_state(0, "j", cancelled ? JOB_CANCELLED : JOB_DONE);
        assert_int_not_equal(world_view(&world, 0, "j")->ended_ns, 0);
        const char *told = cancelled ? "\"state\":\"cancelled\"" : "\"state\":\"done\"";
        assert_non_null(strstr(world.nodes[0].manifest, told));
        assert_clean();
        world_end(&world);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(node_finish__longer_than_the_stall_timeout),
        cmocka_unit_test(node_finish__never_answered),
        cmocka_unit_test(node_finish__silent_peer_is_no_slow_disk),
        cmocka_unit_test(node_finish__failed_is_aborted),
        cmocka_unit_test(node_finish__cancelled_meanwhile),
        cmocka_unit_test(node_finish__manifest_waits_for_the_disk),
        cmocka_unit_test(node_finish__block_bad_meanwhile),
        cmocka_unit_test(node_finish__answered_too_late),
        cmocka_unit_test(node_finish__ends_as_it_ended_first),
        cmocka_unit_test(node_finish__dropped_meanwhile),
        cmocka_unit_test(node_stream__has_ended_when_its_input_is_closed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
