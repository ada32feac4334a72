#include <stdio.h>
#include <string.h>

#include "node/flow/edges.h"
#include "node/job/object_kind.h"
#include "node/role/source.h"

bool source_planner_expected(const struct node *node)
{
    if (node->planner_attached || node->config.planner_command[0] == '\0')
        return true;
    return node->planner_gone_ns != 0 &&
           elapsed_ns(core_lived_ns(node), node->planner_gone_ns) < node->config.plan_timeout_ns;
}

void source_ask_planner(struct node *node, struct job *job, uint64_t now_ns)
{
    struct err err;
    job->epoch++;
    job->source->plan = (struct plan){.tree_count = 0}; /* its numbers are those of another request's nodes */
    bool good = source_drop_idle_leaves(node, job, &err) && source_make_request(node, job, now_ns, &err);
    if (!source_has_receivers(job)) {
        source_fail_empty(node, job, now_ns);
        return;
    }
    if (!good) {
        source_fail(node, job, now_ns, "%s", err.text);
        return;
    }
    if (!source_planner_expected(node)) {
        source_fail(node, job, now_ns, SOURCE_NO_PLANNER, node->config.planner_command);
        return;
    }
    source_enter(node, job, PHASE_PLANNING, core_lived_ns(node) + node->config.plan_timeout_ns);
    node->plan_requests_due |= 1u << job->slot;
}

void source_on_plan(struct node *node, struct job *job, const struct plan *plan, uint64_t now_ns)
{
    if (job->phase != PHASE_PLANNING || plan->job != job->id || plan->epoch != job->epoch)
        return;
    struct err err;
    if (!plan_validate(plan, &job->source->request, &err)) {
        source_fail(node, job, now_ns, "the planner's plan is not valid: %s", err.text);
        return;
    }
    job->source->plan = *plan;
    node->plan_requests_due &= ~(1u << job->slot);
    enum survey_next next = source_survey_begin(node, job, now_ns);
    if (next == SURVEY_PLAN_ANEW)
        source_ask_planner(node, job, now_ns);
    if (next != SURVEY_NEEDLESS)
        return;
    source_drop_idle_relays(job);
    if (job->source->spec.dry_run) {
        name_copy(job->text, sizeof(job->text), "planned; nothing was sent");
        source_end(node, job, JOB_DONE, CLOSE_DONE, now_ns);
        return;
    }
    source_enter(node, job, PHASE_DISTRIBUTING, core_lived_ns(node) + node->config.distribute_timeout_ns);
    if (!source_distribute(node, job, &err))
        source_fail(node, job, now_ns, "%s", err.text);
}

/* One path's trouble may be why: it is asked again, with the paths that were avoided, then without the site whose paths are in most
 * trouble. False: no path is. */
static bool plan_without_trouble(struct node *node, struct job *job, const char *why, uint64_t now_ns)
{
    struct source *source = job->source;
    char path[CONTROL_TEXT_BYTES], text[CONTROL_TEXT_BYTES];
    struct site *site = source->doubts_avoided ? NULL : source_troubled_site(node, job, path);
    bool again = source->doubts_avoided;
    source->doubts_taken = again;
    if (again)
        source_ask_planner(node, job, now_ns);
    if (site != NULL) {
        snprintf(text, sizeof(text), "%.120s; planner: %.120s", path, why);
        source_go_without(node, job, site, text, now_ns);
    }
    return again || site != NULL;
}

void source_on_plan_failed(struct node *node, struct job *job, const char *text, uint64_t now_ns)
{
    if (job->phase != PHASE_PLANNING)
        return;
    if (source_survey_falls_back(job))
        source_ask_planner(node, job, now_ns);
    else if (!plan_without_trouble(node, job, text, now_ns))
        source_fail(node, job, now_ns, "planner: %s", text);
}

void source_planning_tick(struct node *node, struct job *job, uint64_t now_ns)
{
    const char *news = node->planner_attached ? "" : node->planner_news;
    if (core_lived_ns(node) >= job->source->deadline_ns)
        source_fail(node, job, now_ns, "%s within %u s%s%s",
                    node->planner_attached ? "the planner gave no plan"
                                           : "no planner is attached to this node",
                    (unsigned)(node->config.plan_timeout_ns / NS_PER_S), news[0] != '\0' ? ": " : "", news);
}

void source_surveying_tick(struct node *node, struct job *job, uint64_t now_ns)
{
    if (source_survey_over(node, job, now_ns))
        source_ask_planner(node, job, now_ns);
}

static void start_sites(struct node *node, struct job *job, uint64_t now_ns)
{
    for (uint16_t index = 0; index < job->source->site_count; index++) {
        struct site *site = &job->source->sites[index];
        site->progress_ns = site->told_ns = core_lived_ns(node);
        if (site->included)
            site->unsent = CONTROL_START;
    }
    source_tell_sites(node, job);
    source_enter(node, job, PHASE_RUNNING, TIME_NEVER);
    job->started_ns = now_ns;
    edges_start(node, job, now_ns);
    if (job->kind->on_start != NULL)
        job->kind->on_start(node, job, now_ns);
}

/* Without those that were left out; what was confirmed counts no more. */
static void plan_again(struct node *node, struct job *job, uint64_t now_ns)
{
    if (job->object != NULL) {
        object_close(job->object);
        job->object = NULL;
    }
    for (uint16_t index = 0; index < job->source->site_count; index++)
        job->source->sites[index].confirmed = false;
    job->source->doubts_taken = false;
    source_ask_planner(node, job, now_ns);
}

void source_go_without(struct node *node, struct job *job, struct site *site, const char *text,
                       uint64_t now_ns)
{
    source_leave_out(node, job, site, text, now_ns);
    if (!source_has_receivers(job))
        source_fail_empty(node, job, now_ns);
    else if (job->phase != PHASE_MEASURING)
        plan_again(node, job, now_ns);
}

/* A receiver's memory holds no more trees for now: half of them do, or one at
 * last. The others are as they were. */
static void plan_fewer_trees(struct node *node, struct job *job, struct site *site, const char *text,
                             uint64_t now_ns)
{
    uint16_t trees = job->source->plan.tree_count;
    if (site->optional || trees == 1) {
        source_go_without(node, job, site, text, now_ns);
        return;
    }
    job->source->trees_most = (uint8_t)(trees / 2);
    size_t length = strlen(job->note);
    snprintf(job->note + length, sizeof(job->note) - length, "%s%s: %s", length > 0 ? "; " : "", site->name,
             text);
    plan_again(node, job, now_ns);
}

void source_on_confirm(struct node *node, struct job *job, uint16_t peer,
                       const struct control_confirm *confirm, uint64_t now_ns)
{
    struct site *site = source_site(job, peer);
    if (site == NULL || !site->included || confirm->fixed.epoch != job->epoch)
        return;
    if (job->phase == PHASE_MEASURING && confirm->fixed.answer == CONFIRM_REFUSED)
        source_go_without(node, job, site, confirm->text, now_ns);
    if (job->phase != PHASE_DISTRIBUTING)
        return;
    switch ((enum confirm_answer)confirm->fixed.answer) {
    case CONFIRM_REFUSED:
        source_go_without(node, job, site, confirm->text, now_ns);
        return;
    case CONFIRM_FEWER_TREES:
        plan_fewer_trees(node, job, site, confirm->text, now_ns);
        return;
    case CONFIRM_COMPLETE:
        source_site_ended(site, SITE_SKIPPED, confirm->text, now_ns);
        break;
    case CONFIRM_READY:
        break;
    }
    site->confirmed = true;
    for (uint16_t index = 0; index < job->source->site_count; index++)
        if (job->source->sites[index].included && !job->source->sites[index].confirmed)
            return;
    start_sites(node, job, now_ns);
}

void source_distributing_tick(struct node *node, struct job *job, uint64_t now_ns)
{
    if (core_lived_ns(node) < job->source->deadline_ns)
        return;
    for (uint16_t index = 0; index < job->source->site_count; index++) {
        struct site *site = &job->source->sites[index];
        char text[CONTROL_TEXT_BYTES];
        snprintf(text, sizeof(text), "did not confirm its part of the plan within %u s",
                 (unsigned)(node->config.distribute_timeout_ns / NS_PER_S));
        if (site->included && !site->confirmed)
            source_leave_out(node, job, site, text, now_ns);
    }
    if (source_has_receivers(job))
        plan_again(node, job, now_ns);
    else
        source_fail_empty(node, job, now_ns);
}
