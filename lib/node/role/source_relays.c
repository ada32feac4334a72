/* Sites that may relay without wanting the object (relays: in a job). A planner uses them where
 * they add rate; one that does not answer, refuses or goes away before the job runs is left out by
 * name, and nothing fails for it. */
#include <stdio.h>
#include <string.h>

#include "node/role/source.h"

#define RELAY_PATIENCE_NS NS_PER_S

static bool add_relay(struct node *node, struct job *job, const char *name, struct err *err)
{
    uint16_t before = job->source->site_count;
    if (!source_add_site(node, job, name, false, err))
        return false;
    if (job->source->site_count > before)
        job->source->sites[before].optional = true;
    return true;
}

bool source_add_relays(struct node *node, struct job *job, struct err *err)
{
    const struct job_spec *spec = &job->source->spec;
    uint16_t count = spec->relays == JOB_RELAYS_ALL ? node->peer_count : spec->relay_count;
    for (uint16_t index = 0; spec->relays != JOB_RELAYS_NONE && index < count; index++) {
        const char *name =
            spec->relays == JOB_RELAYS_ALL ? node->config.peers[index].name : spec->relay_names[index];
        if (!add_relay(node, job, name, err))
            return false;
    }
    return true;
}

bool source_drop_relay(struct job *job, struct site *site, const char *why)
{
    size_t length = strlen(job->note);
    if (!site->optional || !site->included)
        return site->optional;
    site->included = false;
    snprintf(job->note + length, sizeof(job->note) - length, "%s%s does not relay: %s",
             length > 0 ? "; " : "", site->name, why);
    return true;
}

void source_drop_silent_relays(const struct node *node, struct job *job)
{
    struct source *source = job->source;
    for (uint16_t index = 0; index < source->site_count; index++) {
        struct site *site = &source->sites[index];
        bool heard = node->peers[site->peer].state == PEER_UP && site->asked;
        uint64_t patience_ns = RELAY_PATIENCE_NS + (heard ? source->spec.measure_ns : 0);
        if (site->optional && !site->measured && core_lived_ns(node) >= later_ns(job->phase_ns, patience_ns))
            source_drop_relay(job, site, heard ? "no measurements" : "does not answer");
    }
}

static bool is_used(const struct plan *plan, uint16_t node)
{
    for (uint16_t tree = 0; tree < plan->tree_count; tree++)
        if (plan_parent(&plan->trees[tree], node) >= 0)
            return true;
    return false;
}

void source_drop_idle_relays(struct job *job)
{
    struct source *source = job->source;
    for (uint16_t index = 1; index < source->request.node_count; index++) {
        struct site *site = &source->sites[source->request_site[index] - 1];
        if (site->optional && !is_used(&source->plan, index))
            site->included = false;
    }
}
