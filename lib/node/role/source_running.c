#include <stdio.h>
#include <string.h>

#include "node/job/object_kind.h"
#include "node/kind/stream.h"
#include "node/role/controls.h"
#include "node/role/source.h"

/* The disk of a site that holds everything is at its last step, or was so when the job ended. */
static bool is_finishing(const struct job *job, const struct site *site)
{
    return site->included && !site->ended && !job->kind->endless &&
           site->verified_bytes == job->geometry.size_bytes;
}

bool source_awaits_ends(const struct node *node, const struct job *job)
{
    if (job->started_ns == 0 || core_lived_ns(node) >= later_ns(job->phase_ns, node->config.stall_timeout_ns))
        return false;
    for (uint16_t index = 0; index < job->source->site_count; index++) {
        const struct site *site = &job->source->sites[index];
        if (is_finishing(job, site) && node->peers[site->peer].state == PEER_UP)
            return true;
    }
    return false;
}

static void on_late_end(struct job *job, struct site *site, const struct control_status *status,
                        uint64_t now_ns)
{
    if (site->ended || status->fixed.state == SITE_RECEIVING)
        return;
    source_site_ended(site, (enum site_state)status->fixed.state, status->text, now_ns);
    if (job->outcome == JOB_CANCELLED && site->state == SITE_VERIFIED)
        snprintf(job->text, sizeof(job->text), "cancelled by the operator when %s had it whole already",
                 site->name);
}

void source_on_status(struct node *node, struct job *job, uint16_t peer, const struct control_status *status,
                      uint64_t now_ns)
{
    struct site *site = source_site(job, peer);
    if (site != NULL && phase_ends(job->phase))
        on_late_end(job, site, status, now_ns);
    if (site == NULL || !phase_runs(job->phase))
        return;
    site->told_ns = core_lived_ns(node);
    source_take_edges(site, status);
    /* A copy that was whole may turn out to be bad when others need it. */
    bool whole = job_result_is_whole(site->state);
    if (whole && status->fixed.state == SITE_FAILED)
        source_site_ended(site, SITE_FAILED, status->text, now_ns);
    if (site->ended)
        return;
    source_note_limit(node, job, site, now_ns);
    /* Only what is more than ever before is progress: a block that comes bad again and again is not. */
    if (status->fixed.received_bytes > site->received_max ||
        status->fixed.verified_bytes > site->verified_max)
        site->progress_ns = core_lived_ns(node);
    site->received_max = MAX(site->received_max, status->fixed.received_bytes);
    site->verified_max = MAX(site->verified_max, status->fixed.verified_bytes);
    site->received_bytes = status->fixed.received_bytes;
    site->verified_bytes = status->fixed.verified_bytes;
    if (status->fixed.state != SITE_RECEIVING)
        source_site_ended(site, (enum site_state)status->fixed.state, status->text, now_ns);
    core_wake_jobs(node, now_ns);
}

/* Name of the site's parent when that one is silent; NULL else. */
static const char *silent_parent(const struct node *node, const struct job *job, const struct site *site)
{
    uint16_t index = source_node_of_site(job, site);
    int parent = index == PEER_NONE ? -1 : plan_parent(&job->source->plan.trees[0], index);
    if (parent <= 0)
        return NULL;
    const struct site *above = source_site_of_node(job, (uint16_t)parent);
    return node->peers[above->peer].state != PEER_UP ? above->name : NULL;
}

static void check_stall(struct node *node, struct job *job, struct site *site, uint64_t now_ns)
{
    const struct peer *peer = &node->peers[site->peer];
    bool silent = peer->state != PEER_UP;
    uint64_t stall_ns = node->config.stall_timeout_ns, lived_ns = core_lived_ns(node);
    /* A site that holds everything may take its time to sync its disk, as long as it says that it does. */
    bool syncing = !silent && is_finishing(job, site) && lived_ns < later_ns(site->told_ns, stall_ns) &&
                   lived_ns < later_ns(site->progress_ns, node->config.finish_timeout_ns + stall_ns);
    if (syncing || lived_ns < later_ns(site->progress_ns, stall_ns))
        return;
    unsigned seconds = (unsigned)((lived_ns - site->progress_ns) / NS_PER_S);
    const char *parent = silent_parent(node, job, site);
    /* A stream goes on when its input does; who is too slow for it is the window's question. */
    if (job->kind->endless && !silent && parent == NULL)
        return;
    char text[CONTROL_TEXT_BYTES];
    if (silent)
        snprintf(text, sizeof(text), "does not answer for %u s", seconds);
    else if (parent != NULL)
        snprintf(text, sizeof(text), "no progress for %u s: its parent %s does not answer", seconds, parent);
    else
        snprintf(text, sizeof(text), "no progress for %u s", seconds);
    source_site_ended(site, SITE_FAILED, text, now_ns);
}

static void finish(struct node *node, struct job *job, uint64_t now_ns)
{
    const struct site *failed = NULL;
    unsigned failures = 0;
    for (uint16_t index = 0; index < job->source->site_count; index++) {
        if (job->source->sites[index].state != SITE_FAILED)
            continue;
        failed = failed == NULL ? &job->source->sites[index] : failed;
        failures++;
    }
    if (failed == NULL) {
        source_end(node, job, JOB_DONE, CLOSE_DONE, now_ns);
        return;
    }
    char more[32] = "";
    if (failures > 1)
        snprintf(more, sizeof(more), " (and %u more)", failures - 1);
    snprintf(job->text, sizeof(job->text), "%.31s: %.180s%s", failed->name, failed->text, more);
    source_end(node, job, JOB_FAILED, CLOSE_DONE, now_ns);
}

void source_take_dropped(struct job *job, uint64_t now_ns)
{
    char text[CONTROL_TEXT_BYTES];
    uint8_t child;
    while (job->stream != NULL && (child = stream_take_dropped(job, text)) != CHILD_NONE) {
        struct site *site = source_site(job, job->children.of[child].peer);
        if (site != NULL && !site->ended)
            source_site_ended(site, SITE_FAILED, text, now_ns);
    }
}

void source_running_tick(struct node *node, struct job *job, uint64_t now_ns)
{
    bool all_ended = true;
    source_tell_sites(node, job);
    controls_tell_sites(node, job);
    for (uint16_t index = 0; index < job->source->site_count; index++) {
        struct site *site = &job->source->sites[index];
        if (job->controls.paused)
            site->progress_ns = core_lived_ns(node);
        if (!site->ended && site->receiver)
            check_stall(node, job, site, now_ns);
        if (!site->ended && site->receiver)
            all_ended = false;
    }
    if (all_ended)
        finish(node, job, now_ns);
}
