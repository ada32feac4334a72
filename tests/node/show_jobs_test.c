/* What people and programs are told of jobs and their sites. */
#include "check.h"

#include <inttypes.h>
#include <stdlib.h>

static char text[CTL_REPLY_BYTES];

static const uint16_t chain[][2] = {{0, 1}, {1, 2}};

/* Of node n0; false: refused, and `text` says why. */
static bool show(enum ctl_show what, enum report_form form, const char *job)
{
    static struct ctl_msg msg;
    struct ctl_reply reply = {.text = text, .room = sizeof(text)};
    msg = (struct ctl_msg){.type = CTL_SHOW, .body.show = {.what = what, .form = form}};
    snprintf(msg.body.show.job, sizeof(msg.body.show.job), "%s", job);
    bool good = node_ctl(world.nodes[0].node, &msg, &reply, world.now_ns) == 0;
    if (!good)
        snprintf(text, sizeof(text), "%s", reply.err.text);
    return good;
}

static bool says(enum ctl_show what, enum report_form form, const char *job, const char *words)
{
    assert_true(show(what, form, job));
    return strstr(text, words) != NULL;
}

static void begin(uint16_t count, uint64_t source_bytes)
{
    world_init(&world, count, 31);
    world.source_bytes = source_bytes;
    start_all();
}

static void start(const char *name, uint64_t cap_bps)
{
    struct job_spec spec = world_job(&world, name);
    give_tree(&spec, chain, 2);
    spec.controls.rate_cap_bps = cap_bps;
    run_job_at(0, &spec);
}

static void check_word(uint16_t site, const char *word, const char *told)
{
    const struct node_site_view *view = &world_view(&world, 0, "j")->sites[site];
    assert_string_equal(view->word, word);
    assert_string_equal(view->told, told);
}

/* Whom nothing was sent to has not started, whoever had begun shares the job's end, and both have its cause. */
static void site_word__of_a_job_that_is_cancelled(void **state)
{
    (void)state;
    begin(3, 200000000);
    start("j", 0);
    check_word(0, "not started", "");
    assert_true(run_until_state(0, "j", JOB_RUNNING, 5 * NS_PER_S));
    world_cut(&world, 0, 2, TIME_NEVER);
    world_cut(&world, 1, 2, TIME_NEVER);
    world_run_until(&world, world.now_ns + NS_PER_S);
    check_word(0, "receiving", "");
    assert_true(world_cancel_job(&world, 0, "j"));
    check_word(0, "cancelled", "cancelled by the operator");
    check_word(1, "not started", "cancelled by the operator");
    assert_true(says(CTL_SHOW_manifest, REPORT_JSON, "j", "\"name\":\"n2\",\"state\":\"not started\""));
    assert_true(says(CTL_SHOW_manifest, REPORT_JSON, "j", "\"error\":\"cancelled by the operator\""));
    assert_true(says(CTL_SHOW_jobs, REPORT_JSON, "j", "\"name\":\"n1\",\"state\":\"cancelled\""));
    world_end(&world);
}

/* A job that never ran. */
static void site_word__of_a_job_that_fails(void **state)
{
    (void)state;
    begin(3, 3000000);
    world.source_missing = true;
    start("j", 0);
    assert_true(run_until_state(0, "j", JOB_FAILED, 5 * NS_PER_S));
    const struct node_job_view *view = world_view(&world, 0, "j");
    assert_string_equal(view->sites[1].word, "not started");
    assert_string_equal(view->sites[1].told, view->text);
    world_end(&world);
}

/* Paused is paused; what has stood still for a while says for how long and why, and gets on again. */
static void site_word__paused_and_stalled(void **state)
{
    (void)state;
    begin(3, 200000000);
    start("j", 8000000);
    assert_true(run_until_state(0, "j", JOB_RUNNING, 5 * NS_PER_S));
    world_run_until(&world, world.now_ns + 2 * NS_PER_S);
    assert_true(world_set_job(&world, "j", JOB_CONTROL_PAUSED, (struct job_controls){.paused = true}));
    world_run_until(&world, world.now_ns + 30 * NS_PER_S);
    check_word(1, "paused", "");
    assert_true(says(CTL_SHOW_jobs, REPORT_TEXT, "", "  paused  "));
    assert_true(world_set_job(&world, "j", JOB_CONTROL_PAUSED, (struct job_controls){.paused = false}));
    world_run_until(&world, world.now_ns + NS_PER_S);
    check_word(1, "receiving", "");
    world_cut(&world, 0, 1, world.now_ns + 12 * NS_PER_S);
    world_run_until(&world, world.now_ns + 10 * NS_PER_S);
    check_word(1, "stalled", "n1 does not answer");
    assert_in_range(world_view(&world, 0, "j")->sites[1].stalled_ns, 9 * NS_PER_S, 11 * NS_PER_S);
    assert_true(says(CTL_SHOW_jobs, REPORT_TEXT, "", "  stalled  "));
    assert_non_null(strstr(text, " s: n1 does not answer\n"));
    world_run_until(&world, world.now_ns + 8 * NS_PER_S);
    check_word(1, "receiving", "");
    assert_int_equal(world_view(&world, 0, "j")->sites[1].stalled_ns, 0);
    world_end(&world);
}

/* Of jobs of one name each has its own id, by which it is shown, changed and cancelled. */
static void job_id__tells_jobs_of_a_name_apart(void **state)
{
    (void)state;
    uint32_t ids[2];
    char id[16];
    begin(3, 3000000);
    for (unsigned run = 0; run < 2; run++) {
        start("j", 0);
        ids[run] = world_view(&world, 0, "j")->id;
        assert_true(run_until_state(0, "j", run == 0 ? JOB_DONE : JOB_RUNNING, 20 * NS_PER_S));
    }
    assert_int_not_equal(ids[0], ids[1]);
    for (unsigned run = 0; run < 2; run++) {
        snprintf(id, sizeof(id), "%" PRIu32, ids[run]);
        assert_true(
            says(CTL_SHOW_jobs, REPORT_JSON, id, run == 0 ? "\"state\":\"done\"" : "\"state\":\"running\""));
        assert_null(strstr(text, run == 0 ? "\"state\":\"running\"" : "\"state\":\"done\""));
        assert_true(says(CTL_SHOW_jobs, REPORT_TEXT, "", id));
    }
    snprintf(id, sizeof(id), "%" PRIu32, ids[0]);
    assert_false(world_cancel_job(&world, 0, id)); /* it is over */
    snprintf(id, sizeof(id), "%" PRIu32, ids[1]);
    assert_true(world_set_job(&world, id, JOB_CONTROL_PRIORITY, (struct job_controls){.priority = 1}));
    assert_true(world_cancel_job(&world, 0, id));
    assert_false(show(CTL_SHOW_jobs, REPORT_TEXT, "k"));
    assert_string_equal(text, "no job 'k' is known here");
    world_end(&world);
}

/* Of a plan that failed people are told so, and why, and get no page of zeros. */
static void plan__that_failed_says_why(void **state)
{
    (void)state;
    begin(3, 3000000);
    world.planner_absent = true;
    struct job_spec spec = world_job(&world, "p");
    spec.dry_run = true;
    run_job_at(0, &spec);
    assert_true(says(CTL_SHOW_plan, REPORT_TEXT, "p", "none as yet\n"));
    assert_true(run_until_state(0, "p", JOB_FAILED, 30 * NS_PER_S));
    assert_true(says(CTL_SHOW_plan, REPORT_TEXT, "p", "planning failed: the planner gave no plan"));
    assert_null(strstr(text, "epoch"));
    assert_true(says(CTL_SHOW_jobs, REPORT_TEXT, "", "plans:"));
    assert_non_null(strstr(text, "the planner gave no plan"));
    assert_true(says(CTL_SHOW_jobs, REPORT_JSON, "", "\"jobs\":[],\"plans\":[{\"name\":\"p\""));
    world_end(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(site_word__of_a_job_that_is_cancelled),
        cmocka_unit_test(site_word__of_a_job_that_fails),
        cmocka_unit_test(site_word__paused_and_stalled),
        cmocka_unit_test(job_id__tells_jobs_of_a_name_apart),
        cmocka_unit_test(plan__that_failed_says_why),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
