/* Jobs: people get a line for each, or all of one that is named; programs always get all. A job that was only planned is no
 * job to them: it stands apart. */
#include <stdio.h>
#include <string.h>

#include "node/node.h"
#include "node/top.h"
#include "node/job/job.h"
#include "plan/words.h"

#define DRAWING_BYTES 32768 /* the deepest tree takes 27 KB; several of 64 nodes usually less */
#define CAUSE_BYTES   (3 * NAME_BYTES + CONTROL_TEXT_BYTES)

/* Which jobs a table has. */
struct choice {
    const char *only; /* of that name or id; "": all */
    bool plans;       /* those that were only planned, else the others … */
    bool both;        /* … or all of them */
};

static bool is_chosen(const struct choice *choice, const struct node_job_view *view)
{
    return (choice->both || choice->plans == view->plan_only) &&
           (choice->only[0] == '\0' || job_name_fits(choice->only, view->name, view->id));
}

static bool is_any(const struct node *node, const struct choice *choice)
{
    struct node_job_view view;
    bool any = false;
    for (uint32_t index = 0; !any && node_job_view(node, index, &view); index++)
        any = is_chosen(choice, &view);
    return any;
}

/* When the newest of them began here; 0: none has, or there is no name. */
static uint64_t newest_ns(const struct node *node, const struct choice *choice)
{
    struct node_job_view view;
    uint64_t newest = 0;
    for (uint32_t index = 0; choice->only[0] != '\0' && node_job_view(node, index, &view); index++)
        if (view.source && is_chosen(choice, &view))
            newest = MAX(newest, view.created_ns);
    return newest;
}

/* ---- a job in full ---- */

/* 0 while one of the two has not happened. */
static uint64_t since_ms(uint64_t begin_ns, uint64_t end_ns)
{
    return begin_ns == 0 || end_ns == 0 ? 0 : elapsed_ns(end_ns, begin_ns) / NS_PER_MS;
}

static void report_times(struct report *report, const struct node_job_view *view, uint64_t now_ns)
{
    if (show_wants_all(report)) {
        report_u64(report, "created_ns", view->created_ns);
        report_u64(report, "running_ns", view->running_ns);
        report_u64(report, "first_data_ns", view->first_data_ns);
        report_u64(report, "ended_ns", view->ended_ns);
        report_u64(report, "now_ns", now_ns);
        return;
    }
    report_fixed(report, "age_s", since_ms(view->created_ns, now_ns), 3);
    report_fixed(report, "running_s",
                 since_ms(view->running_ns, view->ended_ns == 0 ? now_ns : view->ended_ns), 3);
}

/* People read how long nothing has come where they read why. */
static void report_cause(struct report *report, const struct node_site_view *site)
{
    char text[CAUSE_BYTES];
    if (show_wants_all(report)) {
        report_u64(report, "stalled_ns", site->stalled_ns);
        report_text(report, "text", site->told);
        return;
    }
    if (site->stalled_ns > 0)
        snprintf(text, sizeof(text), "for %u s: %s", (unsigned)(site->stalled_ns / NS_PER_S), site->told);
    report_text(report, "text", site->stalled_ns > 0 ? text : site->told);
}

static void report_sites(struct report *report, const struct node_job_view *view)
{
    report_table(report, "sites");
    for (uint16_t index = 0; index < view->site_count; index++) {
        const struct node_site_view *site = &view->sites[index];
        report_row(report);
        report_text(report, "name", site->name);
        report_text(report, "state", site->word);
        report_u64(report, "received_bytes", site->received_bytes);
        report_u64(report, "verified_bytes", site->verified_bytes);
        report_text(report, "limited_from", site->limited_from);
        report_text(report, "limited_to", site->limited_to);
        report_text(report, "limited_by", edge_limit_name(site->limited_by));
        if (show_wants_all(report)) {
            report_text(report, "held_by", site->held_by);
            report_u64(report, "limited_rate_bps", site->limited_rate_bps);
        }
        if (show_wants_all(report))
            report_u64(report, "complete_ns", site->complete_ns);
        else
            report_fixed(report, "complete_s", since_ms(view->running_ns, site->complete_ns), 3);
        report_cause(report, site);
        report_row_end(report);
    }
    report_table_end(report);
}

static bool is_over(const struct node_job_view *view)
{
    return view->state >= JOB_DONE;
}

/* Instead of a page of zeros. */
static void report_no_plan(struct report *report, const struct node_job_view *view)
{
    char text[CAUSE_BYTES];
    if (view->plan_only && view->state == JOB_FAILED)
        snprintf(text, sizeof(text), "planning failed: %s", view->text);
    else
        snprintf(text, sizeof(text), "%s", is_over(view) ? "none" : "none as yet");
    report_text(report, "plan", text);
}

static void report_plan(struct report *report, const struct node_job_view *view, bool with_edges)
{
    static const char more[] = "\n\nthere is more than fits here: show plan --svg";
    char text[DRAWING_BYTES + sizeof(more)], known[PLAN_KNOWN_TOTAL_BYTES];
    char help[PLAN_ASSUMED_HELP_BYTES];
    if (view->plan->tree_count == 0 && !show_wants_all(report)) {
        report_no_plan(report, view);
        return;
    }
    if (!plan_draw_trees(view->plan, view->request, text, DRAWING_BYTES))
        strcat(text, more);
    report_text(report, "tree", text);
    report_object(report, "plan");
    report_u64(report, "epoch", view->plan->epoch);
    report_u64(report, "trees", view->plan->tree_count);
    show_plan_rates(report, view->plan);
    report_text(report, "known",
                plan_known_total(view->plan, view->request, known, sizeof(known)) ? known : "");
    if (!show_wants_all(report) && plan_assumed_help(view->plan, help, sizeof(help)) && help[0] != '\0')
        report_text(report, "assumed", help);
    if (show_wants_all(report) && with_edges)
        show_plan_edges(report, view->plan, view->request);
    report_object_end(report);
}

/* People are told of a plan that it is one. */
static const char *state_of(const struct report *report, const struct node_job_view *view)
{
    if (view->controls.paused && view->state == JOB_RUNNING)
        return "paused";
    bool planned = view->plan_only && view->state == JOB_DONE && !show_wants_all(report);
    return planned ? "planned" : job_state_name(view->state);
}

static void report_job(struct report *report, const struct node_job_view *view, bool with_sites,
                       uint64_t now_ns)
{
    report_text(report, "name", view->name);
    report_u64(report, "id", view->id);
    report_text(report, "state", state_of(report, view));
    report_text(report, "text", view->text);
    if (show_wants_all(report))
        report_text(report, "note", view->note);
    report_bool(report, "source", view->source);
    report_u64(report, "size_bytes", view->size_bytes);
    report_bool(report, "paused", view->controls.paused);
    if (view->controls.rate_cap_bps == 0)
        report_word(report, "rate_cap_bps", "none");
    else
        report_u64(report, "rate_cap_bps", view->controls.rate_cap_bps);
    report_u64(report, "priority", view->controls.priority);
    report_u64(report, "dscp", view->controls.dscp);
    report_times(report, view, now_ns);
    if (view->source)
        report_plan(report, view, !with_sites);
    if (view->source && with_sites)
        report_sites(report, view);
}

/* How many there are. */
static unsigned report_in_full(const struct node *node, struct report *report, const char *table,
                               const struct choice *choice, bool with_sites, uint64_t now_ns)
{
    struct node_job_view view; /* large, one at a time */
    uint64_t since_ns = newest_ns(node, choice);
    unsigned count = 0;
    report_table(report, table);
    for (uint32_t index = 0; node_job_view(node, index, &view); index++) {
        if (!is_chosen(choice, &view) || view.created_ns < since_ns)
            continue;
        report_row(report);
        report_job(report, &view, with_sites, now_ns);
        report_row_end(report);
        count++;
    }
    report_table_end(report);
    return count;
}

/* ---- a line each ---- */

static bool is_complete(const struct node_site_view *site)
{
    return job_result_is_whole(site->state);
}

/* What all sites have of it, one with another. */
static uint64_t mean_bytes(const struct node_job_view *view)
{
    uint64_t sum = 0;
    for (uint16_t index = 0; index < view->site_count; index++) {
        const struct node_site_view *site = &view->sites[index];
        uint64_t most = is_complete(site) ? view->size_bytes : site->received_bytes;
        sum += MIN(most, view->size_bytes);
    }
    return view->site_count == 0 ? 0 : sum / view->site_count;
}

/* Whose state says most of the job's: it stalls, else it has least; NULL: all are complete. */
static const struct node_site_view *last_site(const struct node_job_view *view)
{
    const struct node_site_view *last = NULL;
    for (uint16_t index = 0; index < view->site_count; index++) {
        const struct node_site_view *site = &view->sites[index];
        if (is_complete(site) || site->state == SITE_FAILED)
            continue;
        bool worse = last == NULL || site->stalled_ns > last->stalled_ns ||
                     (site->stalled_ns == last->stalled_ns && site->received_bytes < last->received_bytes);
        last = worse ? site : last;
    }
    return last;
}

/* No site that lacks something gets it. */
static bool is_stalled(const struct node_job_view *view)
{
    unsigned going = 0, stalled = 0;
    for (uint16_t index = 0; index < view->site_count; index++) {
        going += view->sites[index].state == SITE_RECEIVING;
        stalled += view->sites[index].stalled_ns > 0;
    }
    return going > 0 && stalled == going;
}

static void report_progress(struct report *report, const struct node_job_view *view, uint64_t now_ns)
{
    char progress[16] = "-", sites[16] = "-";
    unsigned complete = 0;
    for (uint16_t index = 0; index < view->site_count; index++)
        complete += is_complete(&view->sites[index]);
    uint64_t bytes = mean_bytes(view), until_ns = is_over(view) ? view->ended_ns : now_ns;
    if (view->source && view->size_bytes > 0)
        snprintf(progress, sizeof(progress), "%u %%", (unsigned)muldiv64(bytes, 100, view->size_bytes));
    if (view->source)
        snprintf(sites, sizeof(sites), "%u/%u", complete, view->site_count);
    report_word(report, "progress", progress);
    report_word(report, "sites", sites);
    if (bytes == 0 || view->running_ns == 0 || until_ns <= view->running_ns)
        report_word(report, "payload_bps", "-");
    else
        report_u64(report, "payload_bps", muldiv64(bytes * 8, NS_PER_S, until_ns - view->running_ns));
}

/* What limits the site that is last, or why nothing comes to it; of a job that is over, its own text. */
static void report_limit(struct report *report, const struct node_job_view *view)
{
    const struct node_site_view *last = last_site(view);
    char text[CAUSE_BYTES] = "";
    if (is_over(view))
        name_copy(text, sizeof(text), view->text);
    else if (last != NULL && last->stalled_ns > 0)
        snprintf(text, sizeof(text), "%s for %u s: %s", last->name, (unsigned)(last->stalled_ns / NS_PER_S),
                 last->told);
    else if (last != NULL && last->limited_by != EDGE_LIMIT_none)
        snprintf(text, sizeof(text), "%s > %s: %s", last->limited_from, last->limited_to,
                 edge_limit_name(last->limited_by));
    report_text(report, "why", text);
}

static void report_lines(const struct node *node, struct report *report, uint64_t now_ns)
{
    const struct choice choice = {.only = ""};
    struct node_job_view view;
    report_table(report, "jobs");
    for (uint32_t index = 0; node_job_view(node, index, &view); index++) {
        if (!is_chosen(&choice, &view))
            continue;
        report_row(report);
        report_u64(report, "id", view.id);
        report_text(report, "name", view.name);
        report_text(report, "from", view.source ? node->config.name : view.from);
        bool stalled = view.state == JOB_RUNNING && is_stalled(&view);
        report_text(report, "state", stalled ? SITE_TOLD_STALLED : state_of(report, &view));
        report_progress(report, &view, now_ns);
        report_limit(report, &view);
        report_row_end(report);
    }
    report_table_end(report);
}

static void report_plan_lines(const struct node *node, struct report *report)
{
    const struct choice choice = {.only = "", .plans = true};
    struct node_job_view view;
    report_table(report, "plans");
    for (uint32_t index = 0; node_job_view(node, index, &view); index++) {
        if (!is_chosen(&choice, &view))
            continue;
        report_row(report);
        report_u64(report, "id", view.id);
        report_text(report, "name", view.name);
        report_text(report, "state", state_of(report, &view));
        if (view.plan->tree_count == 0)
            report_word(report, "payload_bps", "-");
        else
            report_u64(report, "payload_bps", plan_common_bps(view.plan));
        report_u64(report, "trees", view.plan->tree_count);
        report_text(report, "text", view.text);
        report_row_end(report);
    }
    report_table_end(report);
}

/* ---- the words ---- */

bool show_jobs(const struct node *node, struct report *report, const char *only, uint64_t now_ns)
{
    const struct choice jobs = {.only = only}, plans = {.only = only, .plans = true};
    if (only[0] == '\0' && !show_wants_all(report)) {
        report_lines(node, report, now_ns);
        report_plan_lines(node, report);
        return true;
    }
    unsigned count = report_in_full(node, report, "jobs", &jobs, true, now_ns);
    if (show_wants_all(report) || is_any(node, &plans))
        count += report_in_full(node, report, "plans", &plans, false, now_ns);
    return count > 0 || show_wants_all(report);
}

bool show_plans(const struct node *node, struct report *report, const char *only, uint64_t now_ns)
{
    const struct choice choice = {.only = only, .both = true};
    unsigned count = report_in_full(node, report, "jobs", &choice, false, now_ns);
    return count > 0 || only[0] == '\0' || show_wants_all(report);
}
