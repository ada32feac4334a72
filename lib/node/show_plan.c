/* The plan of one job: why it is as it is, and as a picture. */
#include <stdio.h>
#include <string.h>

#include "node/role/source.h"
#include "node/top.h"
#include "plan/picture.h"
#include "plan/words.h"

/* The newest job, of that name (or id) unless it is "", of those that are planned here; NULL: none. */
static const struct source *planned_source(const struct node *node, const char *only)
{
    const struct job *found = NULL;
    for (uint32_t slot = 0; slot < NODE_JOBS_MAX; slot++) {
        const struct job *job = &node->jobs[slot];
        if (!job_is_known(job) || job->source == NULL || job->source->plan.tree_count == 0)
            continue;
        bool asked = only[0] == '\0' || job_name_fits(only, job->source->spec.name, job->id);
        if (asked && (found == NULL || job->created_ns > found->created_ns))
            found = job;
    }
    return found == NULL ? NULL : found->source;
}

static void report_limit(struct report *report, const char *name, const struct plan_limit *limit,
                         const struct plan_request *request)
{
    char text[160];
    bool known = plan_limit_text(limit, request, text, sizeof(text));
    report_text(report, name, known ? text : "");
}

static void report_metrics(struct report *report, const struct source *source)
{
    report_table(report, "one_tree_by");
    for (uint16_t index = 0; index < source->plan.why.metric_count; index++) {
        const struct plan_why_metric *metric = &source->plan.why.metrics[index];
        report_row(report);
        report_text(report, "metric", word_of(plan_metric_words, metric->metric));
        report_u64(report, show_named(report, "rate_bps", "payload_bps"), metric->rate_bps);
        report_fixed(report, "delay_ms", metric->delay_us, 3);
        report_fixed(report, "time_s", metric->time_us, 6);
        report_limit(report, "held_by", &metric->limit, &source->request);
        report_row_end(report);
    }
    report_table_end(report);
}

/* Raising one of them alone brings something. */
static bool is_one_alone(const struct plan *plan)
{
    bool alone = false;
    for (uint16_t index = 0; index < plan->why.limit_count; index++)
        alone = alone || plan->why.limits[index].gain_ppm > 0;
    return alone;
}

static void report_limits(struct report *report, const struct source *source)
{
    bool alone = is_one_alone(&source->plan);
    report_table(report, "limits");
    for (uint16_t index = 0; index < source->plan.why.limit_count; index++) {
        const struct plan_why_limit *limit = &source->plan.why.limits[index];
        report_row(report);
        report_limit(report, "limit", &limit->limit, &source->request);
        if (report->form == REPORT_JSON) {
            report_fixed(report, "gain_percent", limit->gain_ppm, 4);
            report_u64(report, "raised_to", limit->raised);
        } else if (alone) {
            char text[64];
            report_text(report, "raising_it_alone", plan_raise_text(limit, text, sizeof(text)) ? text : "");
        }
        report_row_end(report);
    }
    report_table_end(report);
}

void show_plan_rates(struct report *report, const struct plan *plan)
{
    report_u64(report, show_named(report, "rate_bps", "payload_bps"), plan->rate_bps);
    report_u64(report, show_named(report, "common_rate_bps", "common_payload_bps"), plan_common_bps(plan));
    report_u64(report, show_named(report, "bound_bps", "payload_bound_bps"), plan->bound_bps);
    report_fixed(report, "delay_ms", plan->delay_us, 3);
}

void show_plan_edges(struct report *report, const struct plan *plan, const struct plan_request *request)
{
    report_table(report, "edges");
    for (uint16_t tree = 0; tree < plan->tree_count; tree++)
        for (uint16_t index = 0; index < plan->trees[tree].edge_count; index++) {
            struct plan_edge edge = plan->trees[tree].edges[index];
            const struct plan_known *known = &plan->into_known[tree][edge.to];
            report_row(report);
            report_u64(report, "tree", tree + 1u);
            report_text(report, "from", request->nodes[edge.from].name);
            report_text(report, "to", request->nodes[edge.to].name);
            report_u64(report, show_named(report, "rate_bps", "on_the_wire_bps"),
                       plan_edge_rate_bps(plan, tree, edge.to));
            report_text(report, "known", word_of(plan_basis_words, known->basis));
            report_u64(report, "age_s", known->age_s);
            report_row_end(report);
        }
    report_table_end(report);
}

/* Receivers that get less than the others. */
static void report_slow(struct report *report, const struct source *source)
{
    report_table(report, "slow");
    for (uint16_t node = 0; node < source->request.node_count; node++) {
        if (!plan_receiver_slow(&source->plan, &source->request, node))
            continue;
        report_row(report);
        report_text(report, "site", source->request.nodes[node].name);
        report_u64(report, show_named(report, "rate_bps", "payload_bps"),
                   plan_receiver_bps(&source->plan, &source->request, node));
        report_row_end(report);
    }
    report_table_end(report);
}

static bool show_why(const struct source *source, enum report_form form, struct ctl_reply *reply)
{
    struct report report;
    report_begin(&report, form, reply->text, reply->room);
    report_text(&report, "job", source->spec.name);
    report_text(&report, "metric", word_of(plan_metric_words, source->request.metric));
    report_u64(&report, "trees", source->plan.tree_count);
    show_plan_rates(&report, &source->plan);
    show_plan_edges(&report, &source->plan, &source->request);
    report_slow(&report, source);
    report_limits(&report, source);
    report_metrics(&report, source);
    if (!report_end(&report))
        return err_set(&reply->err, "the answer is longer than %zu bytes", reply->room);
    reply->length = report.length;
    return true;
}

/* PLAN_NODES_MAX: there is no such node. */
static uint16_t find_node(const struct plan_request *request, const char *name)
{
    for (uint16_t node = 0; node < request->node_count; node++)
        if (strcmp(request->nodes[node].name, name) == 0)
            return node;
    return PLAN_NODES_MAX;
}

static bool show_edge(const struct source *source, const struct ctl_msg *msg, struct ctl_reply *reply)
{
    const char *from = msg->body.show.from, *to = msg->body.show.to;
    struct plan_edge edge = {find_node(&source->request, from), find_node(&source->request, to)};
    char text[PLAN_EDGE_TEXT_BYTES];
    struct report report;
    if (edge.from == PLAN_NODES_MAX || edge.to == PLAN_NODES_MAX || edge.from == edge.to)
        return err_set(&reply->err, "%s and %s are not two nodes of the plan", from, to);
    if (!plan_edge_text(&source->plan, &source->request, edge, text, sizeof(text)))
        return err_set(&reply->err, "the planner said nothing of edges");
    report_begin(&report, msg->body.show.form, reply->text, reply->room);
    report_text(&report, "job", source->spec.name);
    report_text(&report, "from", from);
    report_text(&report, "to", to);
    report_text(&report, "why", text);
    if (!report_end(&report))
        return err_set(&reply->err, "the answer is longer than %zu bytes", reply->room);
    reply->length = report.length;
    return true;
}

static bool show_picture(const struct source *source, const struct ctl_msg *msg, struct ctl_reply *reply)
{
    bool (*draw)(const struct plan *, const struct plan_request *, const char *, char *, size_t) =
        msg->body.show.what == CTL_SHOW_dot ? picture_dot : picture_svg;
    char title[sizeof("job ") + NAME_BYTES];
    if (msg->body.show.form == REPORT_JSON)
        return err_set(&reply->err, "a picture is no JSON: 'show plan' is");
    snprintf(title, sizeof(title), "job %s", source->spec.name);
    if (!draw(&source->plan, &source->request, title, reply->text, reply->room))
        return err_set(&reply->err, "the picture is longer than %zu bytes", reply->room);
    reply->length = strlen(reply->text);
    return true;
}

bool show_plan_of(const struct node *node, const struct ctl_msg *msg, struct ctl_reply *reply)
{
    const struct source *source = planned_source(node, msg->body.show.job);
    if (source == NULL)
        return err_set(&reply->err, "no job is planned here");
    if (msg->body.show.what == CTL_SHOW_why && msg->body.show.from[0] != '\0')
        return show_edge(source, msg, reply);
    if (msg->body.show.what == CTL_SHOW_why)
        return show_why(source, msg->body.show.form, reply);
    return show_picture(source, msg, reply);
}
