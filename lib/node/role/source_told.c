/* A site in the words that people and programs are told. */
#include <stdio.h>

#include "node/job/object_kind.h"
#include "node/role/source.h"

#define STALL_TOLD_NS (3 * NS_PER_S) /* less than that is told by the rate alone */

static bool is_over(const struct job *job)
{
    return job_state(job) >= JOB_DONE;
}

/* Its disk is at the last step, or was so when the job ended. */
static bool has_all(const struct job *job, const struct site *site)
{
    return site->end_unknown ||
           (job->started_ns != 0 && !job->kind->endless && site->verified_bytes == job->geometry.size_bytes);
}

static const char *word_when_over(const struct job *job, const struct site *site)
{
    if (has_all(job, site))
        return SITE_TOLD_UNKNOWN;
    return site->received_max == 0 ? SITE_TOLD_NOT_STARTED : job_state_name(job_state(job));
}

/* It says nothing, or has not for a while: it is told sooner than it is given up. */
static bool is_quiet(const struct node *node, const struct site *site)
{
    const struct peer *peer = &node->peers[site->peer];
    uint64_t patience_ns = MAX(STALL_TOLD_NS, 2 * node->config.hello_interval_ns);
    return peer->state != PEER_UP || elapsed_ns(core_lived_ns(node), peer->heard_ns) >= patience_ns;
}

/* The site itself, or the nearest above it; NULL: all of them are heard. */
static const struct site *quiet_site(const struct node *node, const struct job *job, const struct site *site)
{
    const struct plan *plan = &job->source->plan;
    uint16_t to = source_node_of_site(job, site);
    const struct site *quiet = is_quiet(node, site) ? site : NULL;
    for (uint16_t tree = 0; to != PEER_NONE && tree < plan->tree_count; tree++)
        for (int up = plan_parent(&plan->trees[tree], to); up > 0 && quiet == NULL;
             up = plan_parent(&plan->trees[tree], (uint16_t)up))
            if (is_quiet(node, source_site_of_node(job, (uint16_t)up)))
                quiet = source_site_of_node(job, (uint16_t)up);
    return quiet;
}

/* How long nothing has come, where the site could have got something; 0: it gets on. */
static uint64_t stalled_ns(const struct node *node, const struct job *job, const struct site *site)
{
    if (job->phase != PHASE_RUNNING || has_all(job, site) ||
        (job->kind->endless && quiet_site(node, job, site) == NULL))
        return 0;
    uint64_t patience_ns =
        STALL_TOLD_NS + source_patience_ns(node, job, site) - node->config.stall_timeout_ns;
    uint64_t waited_ns = elapsed_ns(core_lived_ns(node), site->progress_ns);
    return waited_ns < patience_ns ? 0 : waited_ns;
}

static void tell_cause(const struct node *node, const struct job *job, const struct site *site,
                       char text[CONTROL_TEXT_BYTES])
{
    const struct site *quiet = quiet_site(node, job, site);
    struct site_limit limit = source_site_limit(node, job, site);
    const struct plan_node *nodes = job->source->request.nodes;
    bool held = limit.held_by != PEER_NONE;
    if (quiet != NULL)
        snprintf(text, CONTROL_TEXT_BYTES, "%s does not answer", quiet->name);
    else if (limit.cause == EDGE_LIMIT_none)
        snprintf(text, CONTROL_TEXT_BYTES, "nothing arrives");
    else
        snprintf(text, CONTROL_TEXT_BYTES, "%s > %s: %s%s%s", nodes[limit.from].name, nodes[limit.to].name,
                 edge_limit_name(limit.cause), held ? ", for " : "", held ? nodes[limit.held_by].name : "");
}

struct site_told source_site_told(const struct node *node, const struct job *job, const struct site *site)
{
    struct site_told told = {.state = site_state_name(site->state)};
    name_copy(told.text, sizeof(told.text), site->text);
    if (site->state != SITE_RECEIVING)
        return told;
    if (is_over(job))
        told.state = word_when_over(job, site);
    else if (job->started_ns == 0)
        told.state = SITE_TOLD_NOT_STARTED;
    else if (job->controls.paused)
        told.state = SITE_TOLD_PAUSED;
    else if ((told.stalled_ns = stalled_ns(node, job, site)) > 0)
        told.state = SITE_TOLD_STALLED;
    if (told.stalled_ns > 0)
        tell_cause(node, job, site, told.text);
    else if (is_over(job) && told.text[0] == '\0')
        name_copy(told.text, sizeof(told.text), job->text);
    return told;
}
