#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "node/kind/stream.h"
#include "node/peer/post.h"
#include "node/role/close.h"
#include "node/role/source.h"

#define CROSSING_NS (2 * NS_PER_S)

struct site *source_site(struct job *job, uint16_t peer)
{
    for (uint16_t index = 0; index < job->source->site_count; index++)
        if (job->source->sites[index].peer == peer)
            return &job->source->sites[index];
    return NULL;
}

bool source_add_site(struct node *node, struct job *job, const char *name, bool receiver, struct err *err)
{
    uint16_t peer = peer_find(node, name);
    if (peer == PEER_SELF)
        return true;
    if (peer == PEER_NONE)
        return err_set(err, "job '%s': '%s' is no peer of %s", job->source->spec.name, name,
                       node->config.name);
    if (source_site(job, peer) != NULL)
        return true;
    if (job->source->site_count == PLAN_NODES_MAX - 1)
        return err_set(err, "job '%s': more than %d sites", job->source->spec.name, PLAN_NODES_MAX - 1);
    struct site *site = &job->source->sites[job->source->site_count++];
    name_copy(site->name, sizeof(site->name), name);
    site->peer = peer;
    site->receiver = receiver;
    site->included = true;
    site->hash_room = STREAM_HASHES;
    return true;
}

void source_site_ended(struct site *site, enum site_state state, const char *text, uint64_t now_ns)
{
    site->state = (uint8_t)state;
    site->ended = true;
    site->end_unknown = false;
    site->complete_ns = now_ns;
    name_copy(site->text, sizeof(site->text), text);
}

struct job *source_by_name(struct node *node, const char *name)
{
    for (uint32_t slot = 0; slot < NODE_JOBS_MAX; slot++) {
        struct job *job = &node->jobs[slot];
        if (job_is_known(job) && job->source != NULL && !phase_ends(job->phase) &&
            job_name_fits(name, job->source->spec.name, job->id))
            return job;
    }
    return NULL;
}

void source_enter(struct node *node, struct job *job, enum job_phase phase, uint64_t deadline_ns)
{
    job_enter(node, job, phase);
    job->source->deadline_ns = deadline_ns;
    if (phase == PHASE_RUNNING)
        node->plans_open &= ~(1u << job->slot);
    core_note_state(node, job->id, job_state(job));
}

static bool tell_site(struct node *node, const struct job *job, const struct site *site)
{
    if (site->unsent == CONTROL_START) {
        struct wire_start start = {.job = job->id, .epoch = job->epoch};
        return post(node, site->peer, CONTROL_START, &start);
    }
    struct control_close_job close = {.fixed = {.job = job->id, .outcome = job->source->outcome}};
    name_copy(close.text, sizeof(close.text), job->text);
    return post(node, site->peer, CONTROL_CLOSE_JOB, &close);
}

bool source_tell_sites(struct node *node, struct job *job)
{
    bool all = true;
    for (uint16_t index = 0; index < job->source->site_count; index++) {
        struct site *site = &job->source->sites[index];
        if (site->unsent != 0 && tell_site(node, job, site))
            site->unsent = 0;
        const struct peer *peer = &node->peers[site->peer];
        /* Should it come back, what it says of the job is answered. */
        all = all && (site->unsent == 0 || peer_is_lost(node, peer) || peer_is_deaf(node, peer));
    }
    return all;
}

void source_tell_end(struct node *node, struct job *job, uint32_t id, uint16_t peer, uint64_t now_ns)
{
    struct control_close_job close = {.fixed = {.job = id, .outcome = CLOSE_FAILED},
                                      .text = "the source does not know the job any more"};
    /* Who goes on speaking of it is told later; who takes no answers gets no more of them. */
    if (!post_has_ample_room(node, peer))
        return;
    if (job == NULL) {
        post(node, peer, CONTROL_CLOSE_JOB, &close);
        return;
    }
    struct site *site = source_site(job, peer);
    /* What was on its way when the job ended needs no answer. */
    bool crossed = now_ns < later_ns(job->ended_ns, CROSSING_NS);
    if (site == NULL || (site->unsent == 0 && crossed))
        return;
    site->unsent = CONTROL_CLOSE_JOB;
    if (tell_site(node, job, site))
        site->unsent = 0;
}

void source_end(struct node *node, struct job *job, enum job_state state, enum close_outcome outcome,
                uint64_t now_ns)
{
    struct source *source = job->source;
    source->outcome = (uint8_t)outcome;
    source->deadline_ns = TIME_NEVER;
    node->plan_requests_due &= ~(1u << job->slot);
    node->plans_open &= ~(1u << job->slot);
    core_note_state(node, job->id, state);
    if (state == JOB_FAILED)
        node->counters.jobs_failed++;
    for (uint16_t index = 0; index < source->site_count; index++)
        source->sites[index].unsent = CONTROL_CLOSE_JOB;
    source_tell_sites(node, job);
    close_begin(node, job, state, now_ns);
}

bool source_name_failed(struct job *job)
{
    const struct site *failed = NULL;
    unsigned failures = 0;
    for (uint16_t index = 0; index < job->source->site_count; index++) {
        const struct site *site = &job->source->sites[index];
        /* What a relay was needed for is told by the receivers below it. */
        if (site->state != SITE_FAILED || !site->receiver)
            continue;
        failed = failed == NULL ? site : failed;
        failures++;
    }
    if (failed == NULL)
        return false;
    char more[32] = "";
    if (failures > 1)
        snprintf(more, sizeof(more), " (and %u more)", failures - 1);
    snprintf(job->text, sizeof(job->text), "%.31s: %.180s%s", failed->name, failed->text, more);
    return true;
}

void source_fail_empty(struct node *node, struct job *job, uint64_t now_ns)
{
    char text[sizeof(job->text)] = "no receiver is left";
    if (source_name_failed(job))
        name_copy(text, sizeof(text), job->text);
    source_fail(node, job, now_ns, "%s", text);
}

void source_fail(struct node *node, struct job *job, uint64_t now_ns, const char *format, ...)
{
    if (phase_ends(job->phase))
        return;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(job->text, sizeof(job->text), format, arguments);
    va_end(arguments);
    source_end(node, job, JOB_FAILED, CLOSE_FAILED, now_ns);
}
