/* Nodes among themselves: sessions, jobs and their ends, over the small world of world.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "edge/sender.h"
#include "node/role/manifest.h"
#include "probe/rtt_probe.h"
#include "world.h"

static struct world world;

static void start_all(uint16_t count, uint64_t seed)
{
    world_init(&world, count, seed);
    for (uint16_t node = 0; node < count; node++)
        world_start(&world, node);
}

static void assert_file(uint16_t node, uint32_t handle)
{
    const struct world_file *file = &world.nodes[node].files[handle];
    assert_true(file->finished);
    assert_int_equal(file->size, world.source_bytes);
    for (uint64_t offset = 0; offset < file->size; offset++)
        if (file->data[offset] != world_source_byte(offset))
            fail_msg("node %u: byte %llu differs", node, (unsigned long long)offset);
}

static struct node_job_view *run(const char *name, uint64_t limit_ns)
{
    struct job_spec spec = world_job(&world, name);
    struct err err;
    if (!world_run_job(&world, &spec, &err))
        fail_msg("%s", err.text);
    return world_finish_job(&world, limit_ns);
}

static void node_hello__peers_come_up_and_measure(void **state)
{
    (void)state;
    start_all(3, 1);
    world_run_until(&world, 2 * NS_PER_S);
    for (uint16_t node = 0; node < 3; node++) {
        for (uint32_t edge = 0; edge < 2; edge++) {
            struct node_edge_view view;
            assert_true(node_edge_view(world.nodes[node].node, edge, &view));
            assert_true(view.up);
            assert_in_range(view.rtt_min_ns, 40 * NS_PER_MS, 41 * NS_PER_MS);
        }
    }
    world_end(&world);
}

static void node_job__reaches_every_site(void **state)
{
    (void)state;
    static const struct {
        uint64_t bytes, loss_ppb;
    } rows[] = {{3000000, 0},
                {3000000, 10000000},
                {0, 0},
                {1, 0},
                {1408 * 744, 0},
                {1408 * 744 - 1, 0},
                {1408 * 744 + 1, 0},
                {5000000, 50000000},
                {1408, 0},
                {12000000, 1000000}};
    for (size_t row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
        start_all(4, row + 1);
        world.source_bytes = rows[row].bytes;
        world.loss_ppb = rows[row].loss_ppb;
        struct node_job_view *view = run("j", 30 * NS_PER_S);
        if (view->state != JOB_DONE)
            fail_msg("row %zu: %s: %s", row, job_state_name(view->state), view->text);
        for (uint16_t node = 1; node < 4; node++)
            assert_file(node, 0);
        uint64_t sent = world_counter(&world, 0, "tx_data") + world_counter(&world, 1, "tx_data") +
                        world_counter(&world, 2, "tx_data") + world_counter(&world, 3, "tx_data");
        uint64_t symbols = (rows[row].bytes + 1407) / 1408 * 3;
        /* Lost packets include control. Each of three edges may repeat a little at its tail. */
        assert_in_range(sent, symbols,
                        symbols + world.packets_lost + symbols / 500 + 3 * SENDER_REPEATS_SMALL);
        world_end(&world);
    }
}

/* Two round trips from the command to the first data packet, measurements being known; also where each packet
 * is lost with 5 %: what a job waits for goes twice. */
static void node_job__starts_within_two_round_trips(void **state)
{
    (void)state;
    unsigned late = 0;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        start_all(4, seed);
        world.source_bytes = 200000;
        world.loss_ppb = seed == 1 ? 0 : 50000000;
        world_run_until(&world, 5 * NS_PER_S);
        struct node_job_view *view = run("j", 30 * NS_PER_S);
        assert_int_equal(view->state, JOB_DONE);
        uint64_t rtt_ns = 2 * world.delay_ns, first_ns = view->first_data_ns - view->created_ns;
        assert_true(first_ns >= 2 * rtt_ns);
        if (seed == 1)
            assert_true(first_ns < 2 * rtt_ns + 2 * NS_PER_MS);
        late += first_ns > 3 * rtt_ns;
        world_end(&world);
    }
    assert_true(late <= 3); /* both copies of one of twelve messages: 3 % of the runs */
}

/* What is too old is measured anew. */
static void node_job__measures_what_is_too_old(void **state)
{
    (void)state;
    start_all(3, 1);
    world_run_until(&world, 5 * NS_PER_S);
    struct job_spec spec = world_job(&world, "j");
    spec.measure_age_ns = 0;
    struct err err;
    uint64_t replies = world_counter(&world, 1, "rx_probe_replies");
    assert_true(world_run_job(&world, &spec, &err));
    struct node_job_view *view = world_finish_job(&world, 30 * NS_PER_S);
    assert_int_equal(view->state, JOB_DONE);
    assert_true(view->first_data_ns - view->created_ns >= spec.measure_ns);
    assert_true(world_counter(&world, 1, "rx_probe_replies") >= replies + 2 * RTT_PROBE_ROUNDS);
    world_end(&world);
}

/* A plan as the job's own would be, no object opened at a site, no message but for measuring and the end. */
static void node_job__that_is_only_planned(void **state)
{
    (void)state;
    start_all(3, 1);
    struct job_spec spec = world_job(&world, "j");
    spec.dry_run = true;
    world_run_until(&world, 2 * NS_PER_S);
    struct err err;
    assert_true(world_run_job(&world, &spec, &err));
    struct node_job_view *view = world_finish_job(&world, 30 * NS_PER_S);
    assert_int_equal(view->state, JOB_DONE);
    assert_string_equal(view->text, "planned; nothing was sent");
    assert_int_equal(view->plan->tree_count, 1);
    world_run_until(&world, world.now_ns + 5 * NS_PER_S);
    assert_int_equal(world_counter(&world, 0, "tx_data"), 0);
    assert_int_equal(node_job_count(world.nodes[1].node), 0);
    world_end(&world);
}

static const char *shown_manifest(const char *job)
{
    static char text[CTL_REPLY_BYTES];
    static struct ctl_msg msg = {.type = CTL_SHOW};
    msg.body.show.what = CTL_SHOW_manifest;
    msg.body.show.form = REPORT_JSON;
    assert_true(name_copy(msg.body.show.job, sizeof(msg.body.show.job), job));
    struct ctl_reply reply = {.text = text, .room = sizeof(text)};
    assert_int_equal(node_ctl(world.nodes[0].node, &msg, &reply, world.now_ns), 0);
    return text;
}

/* Written once at the end, and told from memory: both name every site. */
static void node_job__leaves_a_manifest(void **state)
{
    (void)state;
    world_init(&world, 3, 1);
    strcpy(world.nodes[0].config.manifests, "/var/manifests");
    for (uint16_t node = 0; node < 3; node++)
        world_start(&world, node);
    world.nodes[2].write_fails = true;
    assert_int_equal(run("j", 30 * NS_PER_S)->state, JOB_FAILED);
    world_run_until(&world, world.now_ns + NS_PER_S);
    const char *written = world.nodes[0].manifest;
    assert_non_null(strstr(written, "\"job\":\"j\""));
    assert_non_null(strstr(written, "\"path\":\"/srv/j.bin\""));
    assert_non_null(strstr(written, "\"error\":\"Input/output error\""));
    const char *hash = strstr(written, "\"sha256_of_block_sha256s\":\"");
    assert_true(hash != NULL && strcspn(hash + 27, "\"") == 64);
    static char text[CTL_REPLY_BYTES];
    static struct ctl_msg msg = {.type = CTL_SHOW};
    msg.body.show.what = CTL_SHOW_manifest;
    msg.body.show.form = REPORT_JSON;
    strcpy(msg.body.show.job, "j");
    struct ctl_reply reply = {.text = text, .room = sizeof(text)};
    assert_int_equal(node_ctl(world.nodes[0].node, &msg, &reply, world.now_ns), 0);
    assert_non_null(strstr(text, "\"manifest_path\":\"/var/manifests/j.manifest.json\""));
    assert_int_not_equal(node_ctl(world.nodes[1].node, &msg, &reply, world.now_ns), 0);
    assert_int_equal(world_counter(&world, 0, "manifests_failed"), 0);
    world_end(&world);
}

/* A disk that cannot take it changes nothing about the job; the job's own directory comes before the node's.
 */
static void node_job__manifest_that_cannot_be_written(void **state)
{
    (void)state;
    start_all(2, 1);
    world.nodes[0].write_fails = true;
    struct job_spec spec = world_job(&world, "j");
    strcpy(spec.manifest, "/elsewhere");
    struct err err;
    assert_true(world_run_job(&world, &spec, &err));
    assert_int_equal(world_finish_job(&world, 30 * NS_PER_S)->state, JOB_DONE);
    world_run_until(&world, world.now_ns + NS_PER_S);
    assert_int_equal(world_counter(&world, 0, "manifests_failed"), 1);
    assert_non_null(strstr(shown_manifest("j"), "no manifest: "));
    assert_true(world_is_clean(&world, 0));
    world_end(&world);
}

/* Folders that hang cost their jobs the manifest, told in the note, and nobody anything else: not their slots, and no
 * other job its manifest unless too many hang at once. */
static void node_job__manifest_folder_that_hangs(void **state)
{
    char name[NAME_BYTES];
    (void)state;
    world_init(&world, 2, 1);
    strcpy(world.nodes[0].config.manifests, "/var/manifests");
    for (uint16_t node = 0; node < 2; node++)
        world_start(&world, node);
    world.nodes[0].manifest_hangs = true;
    assert_int_equal(run("hung", 30 * NS_PER_S)->state, JOB_DONE);
    world_run_until(&world, world.now_ns + NS_PER_S);
    world.nodes[0].manifest_hangs = false;
    assert_int_equal(run("good", 30 * NS_PER_S)->state, JOB_DONE);
    world_run_until(&world, world.now_ns + NS_PER_S);
    assert_non_null(
        strstr(shown_manifest("good"), "\"manifest_path\":\"/var/manifests/good.manifest.json\""));
    world_run_until(&world, world.now_ns + 2 * world.nodes[0].config.stall_timeout_ns);
    assert_non_null(strstr(shown_manifest("hung"), "no manifest: its folder does not answer"));
    assert_true(world_is_clean(&world, 0));
    world.nodes[0].manifest_hangs = true;
    for (int more = 1; more < MANIFESTS_MAX; more++) {
        snprintf(name, sizeof(name), "hung%d", more);
        assert_int_equal(run(name, 30 * NS_PER_S)->state, JOB_DONE);
        world_run_until(&world, world.now_ns + NS_PER_S);
    }
    world.nodes[0].manifest_hangs = false;
    assert_int_equal(run("late", 30 * NS_PER_S)->state, JOB_DONE);
    world_run_until(&world, world.now_ns + 2 * world.nodes[0].config.stall_timeout_ns);
    assert_non_null(strstr(shown_manifest("late"), "no manifest: the folders of others do not answer"));
    assert_int_equal(world_counter(&world, 0, "manifests_failed"), MANIFESTS_MAX + 1);
    assert_true(world_is_clean(&world, 0));
    world_end(&world);
}

static void node_job__same_seed_same_digest(void **state)
{
    (void)state;
    uint64_t digests[2];
    for (int turn = 0; turn < 2; turn++) {
        start_all(4, 7);
        world.loss_ppb = 10000000;
        assert_int_equal(run("j", 30 * NS_PER_S)->state, JOB_DONE);
        digests[turn] = 0;
        for (uint16_t node = 0; node < 4; node++)
            digests[turn] = digests[turn] * 31 + node_digest(world.nodes[node].node);
        world_end(&world);
    }
    assert_int_equal(digests[0], digests[1]);
}

static void node_job__absent_peer_is_named(void **state)
{
    (void)state;
    world_init(&world, 3, 3);
    world_start(&world, 0);
    world_start(&world, 1);
    struct node_job_view *view = run("j", 30 * NS_PER_S);
    assert_int_equal(view->state, JOB_FAILED);
    assert_non_null(strstr(view->text, "n2: does not answer"));
    assert_int_equal(view->sites[0].state, SITE_VERIFIED);
    assert_true(view->ended_ns - view->created_ns <= 12 * NS_PER_S);
    world_end(&world);
}

static void node_job__absent_planner_is_named(void **state)
{
    (void)state;
    world_init(&world, 2, 3);
    world.planner_absent = true;
    world_start(&world, 0);
    world_start(&world, 1);
    struct node_job_view *view = run("j", 30 * NS_PER_S);
    assert_int_equal(view->state, JOB_FAILED);
    assert_non_null(strstr(view->text, "no planner"));
    world_end(&world);
}

static void node_job__missing_source_file(void **state)
{
    (void)state;
    start_all(2, 4);
    world.source_missing = true;
    struct node_job_view *view = run("j", 30 * NS_PER_S);
    assert_int_equal(view->state, JOB_FAILED);
    assert_non_null(strstr(view->text, "No such file"));
    world_end(&world);
}

static void node_job__refusing_site_leaves_the_others(void **state)
{
    (void)state;
    start_all(4, 5);
    world.nodes[1].open_status = DISK_FAILED;
    struct node_job_view *view = run("j", 30 * NS_PER_S);
    assert_int_equal(view->state, JOB_FAILED);
    assert_string_equal(view->text, "n1: no space left");
    assert_file(2, 0);
    assert_file(3, 0);
    world_end(&world);
}

static void node_job__failing_disk_leaves_the_others(void **state)
{
    (void)state;
    start_all(4, 6);
    world.nodes[1].write_fails = true;
    struct node_job_view *view = run("j", 30 * NS_PER_S);
    assert_int_equal(view->state, JOB_FAILED);
    assert_string_equal(view->text, "n1: Input/output error");
    assert_file(2, 0);
    assert_file(3, 0);
    world_run_until(&world, world.now_ns + NS_PER_S);
    assert_true(world.nodes[1].files[0].aborted);
    world_end(&world);
}

static void node_job__bad_block_is_fetched_again(void **state)
{
    (void)state;
    start_all(3, 8);
    world.nodes[2].corrupt_block = 1;
    assert_int_equal(run("j", 30 * NS_PER_S)->state, JOB_DONE);
    assert_int_equal(world_counter(&world, 2, "blocks_bad"), 1);
    assert_file(1, 0);
    assert_file(2, 0);
    world_end(&world);
}

static void node_job__skipping_site_is_sent_nothing(void **state)
{
    (void)state;
    start_all(3, 9);
    world.nodes[1].open_status = DISK_ALREADY_THERE;
    struct node_job_view *view = run("j", 30 * NS_PER_S);
    assert_int_equal(view->state, JOB_DONE);
    assert_int_equal(view->sites[0].state, SITE_SKIPPED);
    assert_int_equal(view->sites[1].state, SITE_VERIFIED);
    assert_in_range(world_counter(&world, 1, "rx_data") + world_counter(&world, 1, "symbols_repeated"), 0,
                    400);
    assert_file(2, 0);
    world_end(&world);
}

static void rule(struct job_spec *spec, enum plan_rule what, const char *from, const char *to)
{
    struct job_rule *added = &spec->rules[spec->rule_count++];
    added->rule = (uint8_t)what;
    snprintf(added->edge[0], NAME_BYTES, "%s", from);
    snprintf(added->edge[1], NAME_BYTES, "%s", to);
}

/* What the job says of nodes and edges reaches the plan, and of a site that was left out it says nothing. */
static void node_job__rules_of_the_operator(void **state)
{
    (void)state;
    static const struct {
        bool killed;
        const char *leaf;
        int parents[4];
        const char *text;
    } rows[] = {
        {false, "n1", {-1, 0, 3, 0}, ""},
        {true, "n1", {-1, 0, 0, -1}, "n3: does not answer"}, /* n2 hung on it */
        {false, "n9", {-1, -1, -1, -1}, "plan.leaf: n9 takes no part in the job"},
    };
    for (size_t row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
        start_all(4, 20 + row);
        if (rows[row].killed)
            world_kill(&world, 3);
        world.source_bytes = 1000000;
        struct job_spec spec = world_job(&world, "j");
        struct err err;
        rule(&spec, PLAN_RULE_PINNED, "n3", "n2");
        rule(&spec, PLAN_RULE_FORBIDDEN, "n1", "n3");
        spec.leaf_count = 1;
        snprintf(spec.leaves[0], NAME_BYTES, "%s", rows[row].leaf);
        spec.trees = 4; /* more than a node can send */
        assert_true(world_run_job(&world, &spec, &err));
        struct node_job_view *view = world_finish_job(&world, 60 * NS_PER_S);
        assert_int_equal(view->state, rows[row].text[0] == '\0' ? JOB_DONE : JOB_FAILED);
        if (strstr(view->text, rows[row].text) == NULL)
            fail_msg("expected \"%s\", got \"%s\"", rows[row].text, view->text);
        for (uint16_t node = 1; node < view->request->node_count && view->plan->tree_count > 0; node++)
            assert_int_equal(plan_parent(&view->plan->trees[0], node), rows[row].parents[node]);
        world_end(&world);
    }
}

static void node_job__killed_site_fails_alone(void **state)
{
    (void)state;
    start_all(3, 10);
    world.source_bytes = 30000000;
    struct job_spec spec = world_job(&world, "j");
    spec.metric = PLAN_METRIC_STAR;
    struct err err;
    assert_true(world_run_job(&world, &spec, &err));
    world_run_until(&world, 2 * NS_PER_S);
    world_kill(&world, 1);
    struct node_job_view *view = world_finish_job(&world, 60 * NS_PER_S);
    assert_int_equal(view->state, JOB_FAILED);
    assert_non_null(strstr(view->text, "n1: does not answer"));
    assert_file(2, 0);
    assert_true(view->sites[1].complete_ns < 10 * NS_PER_S);
    world_end(&world);
}

static void node_job__restarted_site_is_noticed(void **state)
{
    (void)state;
    start_all(3, 11);
    world.source_bytes = 30000000;
    struct job_spec spec = world_job(&world, "j");
    spec.metric = PLAN_METRIC_STAR;
    struct err err;
    assert_true(world_run_job(&world, &spec, &err));
    world_run_until(&world, 2 * NS_PER_S);
    world_start(&world, 1);
    struct node_job_view *view = world_finish_job(&world, 60 * NS_PER_S);
    assert_int_equal(view->state, JOB_FAILED);
    assert_non_null(strstr(view->text, "n1: restarted"));
    assert_file(2, 0);
    /* And the restarted one takes part in the next job. */
    spec = world_job(&world, "k");
    assert_true(world_run_job(&world, &spec, &err));
    world_run_until(&world, world.now_ns + 20 * NS_PER_S);
    static struct node_job_view second;
    assert_true(node_job_view(world.nodes[0].node, 1, &second));
    assert_int_equal(second.state, JOB_DONE);
    world_end(&world);
}

static void node_job__cancel_removes_the_parts(void **state)
{
    (void)state;
    start_all(3, 12);
    world.source_bytes = 30000000;
    struct job_spec spec = world_job(&world, "j");
    struct err err;
    assert_true(world_run_job(&world, &spec, &err));
    world_run_until(&world, 1500 * NS_PER_MS);
    static struct ctl_msg cancel = {.type = CTL_JOB_CANCEL, .body.job_cancel.name = "j"};
    char text[16];
    struct ctl_reply reply = {.text = text, .room = sizeof(text)};
    assert_int_equal(node_ctl(world.nodes[0].node, &cancel, &reply, world.now_ns), 0);
    world_run_until(&world, world.now_ns + 2 * NS_PER_S);
    static struct node_job_view view;
    for (uint16_t node = 0; node < 3; node++) {
        assert_true(node_job_view(world.nodes[node].node, 0, &view));
        assert_int_equal(view.state, JOB_CANCELLED);
    }
    assert_true(world.nodes[1].files[0].aborted && world.nodes[2].files[0].aborted);
    assert_int_not_equal(node_ctl(world.nodes[0].node, &cancel, &reply, world.now_ns), 0);
    world_end(&world);
}

static void node_job__two_at_once(void **state)
{
    (void)state;
    start_all(3, 13);
    struct err err;
    struct job_spec one = world_job(&world, "one"), two = world_job(&world, "two");
    assert_true(world_run_job(&world, &one, &err));
    assert_true(world_run_job(&world, &two, &err));
    assert_false(world_run_job(&world, &two, &err));
    assert_non_null(strstr(err.text, "running already"));
    world_run_until(&world, 20 * NS_PER_S);
    static struct node_job_view view;
    for (uint32_t job = 0; job < 2; job++) {
        assert_true(node_job_view(world.nodes[0].node, job, &view));
        assert_int_equal(view.state, JOB_DONE);
        assert_file(1, job);
        assert_file(2, job);
    }
    world_end(&world);
}

static void node_ctl__specs_that_make_no_sense(void **state)
{
    (void)state;
    start_all(2, 14);
    static const struct {
        const char *field, *value, *expected;
    } rows[] = {{"source", "n1", "its source is 'n1'"},
                {"receiver", "nowhere", "'nowhere' is no peer"},
                {"target", "../x", "must be a relative path"},
                {"file", "", "no file given"},
                {"name", "4294967295", "could be another job's id"},
                {"directory", "a/b", "not a valid name"}};
    for (size_t row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
        struct job_spec spec = world_job(&world, "j");
        if (strcmp(rows[row].field, "source") == 0)
            strcpy(spec.source, rows[row].value);
        if (strcmp(rows[row].field, "receiver") == 0) {
            spec.to_all = false;
            spec.receiver_count = 1;
            strcpy(spec.receivers[0], rows[row].value);
        }
        if (strcmp(rows[row].field, "name") == 0)
            strcpy(spec.name, rows[row].value);
        if (strcmp(rows[row].field, "target") == 0)
            strcpy(spec.target, rows[row].value);
        if (strcmp(rows[row].field, "file") == 0)
            strcpy(spec.file, rows[row].value);
        if (strcmp(rows[row].field, "directory") == 0)
            strcpy(spec.directory, rows[row].value);
        struct err err;
        assert_false(world_run_job(&world, &spec, &err));
        if (strstr(err.text, rows[row].expected) == NULL)
            fail_msg("row %zu: %s", row, err.text);
    }
    world_end(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(node_hello__peers_come_up_and_measure),
        cmocka_unit_test(node_job__reaches_every_site),
        cmocka_unit_test(node_job__starts_within_two_round_trips),
        cmocka_unit_test(node_job__measures_what_is_too_old),
        cmocka_unit_test(node_job__that_is_only_planned),
        cmocka_unit_test(node_job__leaves_a_manifest),
        cmocka_unit_test(node_job__manifest_that_cannot_be_written),
        cmocka_unit_test(node_job__manifest_folder_that_hangs),
        cmocka_unit_test(node_job__same_seed_same_digest),
        cmocka_unit_test(node_job__absent_peer_is_named),
        cmocka_unit_test(node_job__absent_planner_is_named),
        cmocka_unit_test(node_job__missing_source_file),
        cmocka_unit_test(node_job__refusing_site_leaves_the_others),
        cmocka_unit_test(node_job__failing_disk_leaves_the_others),
        cmocka_unit_test(node_job__bad_block_is_fetched_again),
        cmocka_unit_test(node_job__skipping_site_is_sent_nothing),
        cmocka_unit_test(node_job__rules_of_the_operator),
        cmocka_unit_test(node_job__killed_site_fails_alone),
        cmocka_unit_test(node_job__restarted_site_is_noticed),
        cmocka_unit_test(node_job__cancel_removes_the_parts),
        cmocka_unit_test(node_job__two_at_once),
        cmocka_unit_test(node_ctl__specs_that_make_no_sense),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
