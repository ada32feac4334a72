/* What people and programs are told of jobs and their sites. */
#include "check.h"

#include <inttypes.h>
#include <stdlib.h>

#include "node/role/source.h"

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

/* What is not known is a dash, what is idle has no rate, and no cap is none. */
static void numbers__that_are_not_there_are_words(void **state)
{
    (void)state;
    begin(3, 200000000);
    world_run_until(&world, NS_PER_S / 100);
    assert_true(says(CTL_SHOW_edges, REPORT_TEXT, "", " idle\n"));
    const char *least = strstr(text, "rtt_min_ms:");
    assert_non_null(least);
    assert_int_equal(least[11 + strspn(least + 11, " ")], '-');
    assert_true(says(CTL_SHOW_edges, REPORT_JSON, "", "\"rate_bps\":0,"));
    assert_true(says(CTL_SHOW_peers, REPORT_TEXT, "", "  -  "));
    start("j", 0);
    assert_true(run_until_state(0, "j", JOB_RUNNING, 5 * NS_PER_S));
    assert_true(says(CTL_SHOW_jobs, REPORT_TEXT, "j", "rate_cap: none\n"));
    assert_true(says(CTL_SHOW_edges, REPORT_TEXT, "", " idle\n")); /* to n2, which n1 feeds */
    assert_true(show(CTL_SHOW_edges, REPORT_JSON, ""));
    unsigned idle = 0;
    for (const char *at = text; (at = strstr(at, "\"rate_bps\":0,")) != NULL; at++)
        idle++;
    assert_int_equal(idle, 1);
    world_end(&world);
}

/* A column that has nothing in any row is none; payload and what is on the wire are named. */
static void why__names_its_rates(void **state)
{
    (void)state;
    begin(3, 3000000);
    start("j", 0);
    assert_true(run_until_state(0, "j", JOB_RUNNING, 5 * NS_PER_S));
    struct source *source = world.nodes[0].node->jobs[0].source;
    assert_non_null(source);
    source->plan.why.limit_count = 2;
    for (uint16_t index = 0; index < 2; index++)
        source->plan.why.limits[index] = (struct plan_why_limit){.limit = {PLAN_ROW_UPLINK, index, 0}};
    assert_true(says(CTL_SHOW_why, REPORT_TEXT, "j", "on_the_wire"));
    assert_non_null(strstr(text, "payload: "));
    assert_non_null(strstr(text, "uplink of n1\n"));
    assert_null(strstr(text, "raising_it_alone"));
    source->plan.why.limits[1].gain_ppm = 350000;
    source->plan.why.limits[1].raised = 200000000;
    assert_true(says(CTL_SHOW_why, REPORT_TEXT, "j", "raising_it_alone"));
    assert_non_null(strstr(text, "to 200.0 Mbit/s: +35.0 %"));
    assert_true(says(CTL_SHOW_plan, REPORT_TEXT, "j", "payload: "));
    assert_non_null(strstr(text, "delay_ms: "));
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
        cmocka_unit_test(numbers__that_are_not_there_are_words),
        cmocka_unit_test(why__names_its_rates),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
