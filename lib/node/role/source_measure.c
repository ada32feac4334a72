#include <stdio.h>

#include "node/peer/measure.h"
#include "node/peer/post.h"
#include "node/role/source.h"

static struct wire_measure measure_wanted(const struct job *job)
{
    return (struct wire_measure){.job = job->id,
                                 .duration_ms = (uint32_t)(job->source->spec.measure_ns / NS_PER_MS),
                                 .age_ms = (uint32_t)(job->source->spec.measure_age_ns / NS_PER_MS)};
}

static void ask_sites(struct node *node, struct job *job)
{
    struct wire_measure measure = measure_wanted(job);
    for (uint16_t index = 0; index < job->source->site_count; index++) {
        struct site *site = &job->source->sites[index];
        if (site->asked || node->peers[site->peer].state != PEER_UP)
            continue;
        site->asked = measure_ask_peer(node, site->peer, &measure);
        site->asked_ns = core_lived_ns(node);
    }
}

void source_start_measuring(struct node *node, struct job *job)
{
    uint64_t age_ns = job->source->spec.measure_age_ns;
    job->source->known_since_ns = node->now_ns > age_ns ? node->now_ns - age_ns : 0;
    source_enter(node, job, PHASE_MEASURING, core_lived_ns(node) + node->config.measure_timeout_ns);
    ask_sites(node, job);
}

void source_on_measurement(struct node *node, struct job *job, uint16_t peer,
                           const struct control_measurement *report, uint64_t now_ns)
{
    struct site *site = peer == PEER_SELF ? NULL : source_site(job, peer);
    if (job->phase != PHASE_MEASURING || (peer != PEER_SELF && site == NULL))
        return;
    uint16_t *reports = site == NULL ? &job->source->source_reports : &site->reports;
    *reports = (uint16_t)(*reports + report->fixed.count);
    bool whole = *reports >= report->fixed.total;
    if (site == NULL)
        job->source->source_measured = whole;
    else
        site->measured = whole;
    core_wake_jobs(node, now_ns);
}

void source_on_own_measurement(struct node *node, struct job *job, uint64_t now_ns)
{
    struct control_measurement report;
    uint16_t next = 0;
    bool more = true;
    while (more) {
        more = measure_report(node, job->id, now_ns, &next, &report);
        source_take_records(node, PEER_SELF, &report, now_ns);
        source_on_measurement(node, job, PEER_SELF, &report, now_ns);
    }
}

static void tell_silent(const struct node *node, const struct site *site, char text[CONTROL_TEXT_BYTES])
{
    char misfit[CONTROL_TEXT_BYTES];
    bool fits = misfit_text(node, &node->peers[site->peer], misfit, sizeof(misfit)) == 0;
    snprintf(text, CONTROL_TEXT_BYTES, "does not answer: no %s over the path from %s within %u s%s%.120s",
             site->asked ? "measurements" : "hello", node->config.name,
             (unsigned)(node->config.measure_timeout_ns / NS_PER_S), fits ? "" : "; ", misfit);
}

/* Who came late has as long as those that were there: from when it was asked. */
static void leave_silent(struct node *node, struct job *job, uint64_t now_ns)
{
    uint64_t lived_ns = core_lived_ns(node), timeout_ns = node->config.measure_timeout_ns;
    /* The source's own may still be to come: they wait for all others. */
    uint64_t deadline_ns = lived_ns + timeout_ns;
    for (uint16_t index = 0; index < job->source->site_count; index++) {
        struct site *site = &job->source->sites[index];
        char text[CONTROL_TEXT_BYTES];
        if (site->measured || !site->included)
            continue;
        if (site->asked && lived_ns < later_ns(site->asked_ns, timeout_ns)) {
            deadline_ns = MIN(deadline_ns, later_ns(site->asked_ns, timeout_ns));
            continue;
        }
        tell_silent(node, site, text);
        source_leave_out(node, job, site, text, now_ns);
    }
    job->source->deadline_ns = deadline_ns;
    core_wake_jobs(node, now_ns);
}

void source_measuring_tick(struct node *node, struct job *job, uint64_t now_ns)
{
    struct source *source = job->source;
    ask_sites(node, job);
    source_drop_silent_relays(node, job);
    source_leave_narrow(node, job, now_ns);
    const struct site *missing = NULL;
    bool all_asked = true;
    uint64_t included = 0;
    for (uint16_t index = 0; index < source->site_count; index++) {
        if (!source->sites[index].included)
            continue;
        included |= 1ULL << source->sites[index].peer;
        if (!source->sites[index].measured && missing == NULL)
            missing = &source->sites[index];
        all_asked = all_asked && source->sites[index].asked;
    }
    /* The source measures last: when all peers have been up for a moment. */
    struct wire_measure wanted = measure_wanted(job);
    if (all_asked && !source->source_measured)
        measure_ask(node, PEER_SELF, &wanted, now_ns);
    measure_wait_for(node, job->id, included);
    if (!source_has_receivers(job))
        source_fail_empty(node, job, now_ns);
    else if (missing == NULL && source->source_measured)
        source_ask_planner(node, job, now_ns);
    else if (core_lived_ns(node) >= source->deadline_ns && missing == NULL)
        source_on_own_measurement(node, job,
                                  now_ns); /* with what is known: what is not is one path's trouble */
    else if (core_lived_ns(node) >= source->deadline_ns)
        leave_silent(node, job, now_ns);
}
