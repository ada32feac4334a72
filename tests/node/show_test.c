/* What a node tells operators. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "node/role/source.h"
#include "node/top.h"
#include "world.h"

static struct world world;

static void start_all(uint16_t count, uint64_t seed)
{
    world_init(&world, count, seed);
    for (uint16_t node = 0; node < count; node++)
        world_start(&world, node);
}

static struct node_job_view *run(const char *name, uint64_t limit_ns)
{
    struct job_spec spec = world_job(&world, name);
    struct err err;
    if (!world_run_job(&world, &spec, &err))
        fail_msg("%s", err.text);
    return world_finish_job(&world, limit_ns);
}

/* The picture is the newest planned job's, at its source alone. */
static void node_show__plan_as_a_picture(void **state)
{
    (void)state;
    static char text[CTL_REPLY_BYTES];
    static struct ctl_msg msg = {.type = CTL_SHOW};
    struct ctl_reply reply = {.text = text, .room = sizeof(text)};
    msg.body.show.what = CTL_SHOW_dot;
    start_all(3, 1);
    assert_int_not_equal(node_ctl(world.nodes[0].node, &msg, &reply, world.now_ns), 0);
    assert_string_equal(reply.err.text, "no job is planned here");
    assert_int_equal(run("j", 30 * NS_PER_S)->state, JOB_DONE);
    assert_int_equal(node_ctl(world.nodes[0].node, &msg, &reply, world.now_ns), 0);
    assert_non_null(strstr(text, "\"n0\" -> \"n1\""));
    assert_int_equal(reply.length, strlen(text));
    msg.body.show.what = CTL_SHOW_svg;
    strcpy(msg.body.show.job, "j");
    assert_int_equal(node_ctl(world.nodes[0].node, &msg, &reply, world.now_ns), 0);
    assert_non_null(strstr(text, ">job j</text>"));
    assert_non_null(strstr(text, "</svg>"));
    assert_int_not_equal(node_ctl(world.nodes[1].node, &msg, &reply, world.now_ns), 0);
    reply.room = 100;
    assert_int_not_equal(node_ctl(world.nodes[0].node, &msg, &reply, world.now_ns), 0);
    world_end(&world);
}

static void show(enum ctl_show what, const char *name, char *text)
{
    static struct ctl_msg msg;
    struct ctl_reply reply = {.text = text, .room = CTL_REPLY_BYTES};
    msg = (struct ctl_msg){.type = CTL_SHOW};
    msg.body.show.what = what;
    snprintf(msg.body.show.job, sizeof(msg.body.show.job), "%s", name);
    assert_int_equal(node_ctl(world.nodes[0].node, &msg, &reply, world.now_ns), 0);
}

/* Whoever plans the same job again and again sees the plan that was made last, wherever its slot is. */
static void node_show__newest_of_a_name(void **state)
{
    (void)state;
    static const enum plan_metric metrics[] = {PLAN_METRIC_RTT, PLAN_METRIC_STAR, PLAN_METRIC_CHAIN,
                                               PLAN_METRIC_RTT};
    static char text[CTL_REPLY_BYTES];
    start_all(3, 4);
    for (unsigned index = 0; index < sizeof(metrics) / sizeof(metrics[0]); index++) {
        struct job_spec spec = world_job(&world, "j");
        struct err err;
        char expected[32];
        spec.metric = metrics[index];
        spec.dry_run = true;
        assert_true(world_run_job(&world, &spec, &err));
        world_run_until(&world, world.now_ns + NS_PER_S);
        show(CTL_SHOW_why, "j", text);
        snprintf(expected, sizeof(expected), "metric: %s\n", word_of(plan_metric_words, metrics[index]));
        assert_non_null(strstr(text, expected));
        for (unsigned what = 0; what < 2; what++) {
            show(what == 0 ? CTL_SHOW_plan : CTL_SHOW_jobs, "j", text);
            const char *first = strstr(text, "name: j\n");
            assert_non_null(first);
            assert_null(strstr(first + 1, "name: j\n"));
        }
    }
    /* A line each, apart from jobs: there are none. */
    show(CTL_SHOW_jobs, "", text);
    unsigned count = 0;
    for (const char *at = text; (at = strstr(at, "  j     planned  ")) != NULL; at++)
        count++;
    assert_int_equal(count, sizeof(metrics) / sizeof(metrics[0]));
    assert_null(strstr(text, "why"));
    world_end(&world);
}

/* Of a planned job; the planner of this test plans, and tells nothing of edges unless it is told to. */
static void node_show__why_of_an_edge(void **state)
{
    (void)state;
    static const struct {
        const char *from, *to;
        bool known;
        const char *text;
    } rows[] = {
        {"n0", "n1", false, "the planner said nothing of edges"},
        {"n0", "n9", true, "n0 and n9 are not two nodes of the plan"},
        {"n1", "n1", true, "n1 and n1 are not two nodes of the plan"},
        {"n1", "n2", true, "with it: rate -12.50 %, delay +3.000 ms, held by uplink of n1"},
    };
    static char text[CTL_REPLY_BYTES];
    start_all(3, 1);
    assert_int_equal(run("j", 30 * NS_PER_S)->state, JOB_DONE);
    struct source *source = NULL;
    for (uint32_t slot = 0; slot < NODE_JOBS_MAX && source == NULL; slot++)
        source = world.nodes[0].node->jobs[slot].source;
    assert_non_null(source);
    source->plan.why.edges[1][2] =
        (struct plan_why_edge){PLAN_EDGE_COSTS, {PLAN_ROW_UPLINK, 1, 0}, 0, -125000, 3000};
    for (unsigned row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
        struct ctl_reply reply = {.text = text, .room = sizeof(text)};
        static struct ctl_msg msg = {.type = CTL_SHOW};
        msg.body.show.what = CTL_SHOW_why;
        strcpy(msg.body.show.job, "j");
        strcpy(msg.body.show.from, rows[row].from);
        strcpy(msg.body.show.to, rows[row].to);
        source->plan.why.edges_known = rows[row].known;
        bool refused = node_ctl(world.nodes[0].node, &msg, &reply, world.now_ns) != 0;
        assert_non_null(strstr(refused ? reply.err.text : text, rows[row].text));
    }
    world_end(&world);
}

static void node_show__json_of_everything(void **state)
{
    (void)state;
    start_all(3, 15);
    assert_int_equal(run("j", 30 * NS_PER_S)->state, JOB_DONE);
    static char text[CTL_REPLY_BYTES];
    for (unsigned what = 0; what < CTL_SHOW_COUNT; what++) {
        if (ctl_show_is_of_program(what))
            continue;
        for (int form = 0; form < 2; form++) {
            static struct ctl_msg msg;
            msg = (struct ctl_msg){.type = CTL_SHOW};
            msg.body.show.what = (enum ctl_show)what;
            msg.body.show.form = form == 0 ? REPORT_TEXT : REPORT_JSON;
            struct ctl_reply reply = {.text = text, .room = sizeof(text)};
            bool refused = form == 1 && (what == CTL_SHOW_dot || what == CTL_SHOW_svg); /* no JSON */
            assert_int_equal(node_ctl(world.nodes[0].node, &msg, &reply, world.now_ns) != 0, refused);
            if (refused)
                continue;
            assert_true(reply.length > 10);
            if (what == CTL_SHOW_plan)
                assert_non_null(strstr(text, "planner_attached"));
            reply.room = 20;
            assert_int_not_equal(node_ctl(world.nodes[0].node, &msg, &reply, world.now_ns), 0);
        }
    }
    world_end(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(node_show__plan_as_a_picture),
        cmocka_unit_test(node_show__newest_of_a_name),
        cmocka_unit_test(node_show__why_of_an_edge),
        cmocka_unit_test(node_show__json_of_everything),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
