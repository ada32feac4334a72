#include <stdio.h>
#include <string.h>

#include "node/flow/edges.h"
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

static bool is_down(const struct node *node, const struct site *site)
{
    return node->peers[site->peer].state != PEER_UP;
}

/* Nothing of it was heard for the stall timeout: a path that was dark for less is no reason to give up. */
static bool is_silent(const struct node *node, const struct site *site)
{
    const struct peer *peer = &node->peers[site->peer];
    uint64_t since_ns = MIN(peer->heard_ns, peer->down_since_ns);
    return is_down(node, site) && core_lived_ns(node) >= later_ns(since_ns, node->config.stall_timeout_ns);
}

/* A site that holds everything may take its time to sync its disk, as long as it says that it does. */
static bool may_finish(const struct node *node, const struct job *job, const struct site *site)
{
    uint64_t stall_ns = node->config.stall_timeout_ns, lived_ns = core_lived_ns(node);
    return is_finishing(job, site) && !is_silent(node, site) &&
           lived_ns < later_ns(site->told_ns, stall_ns) &&
           lived_ns < later_ns(site->progress_ns, node->config.finish_timeout_ns + stall_ns);
}

static void give_up_end(struct site *site)
{
    site->end_unknown = true;
    name_copy(site->text, sizeof(site->text),
              "it had everything, and has not told what became of its copy: that is not known");
}

bool source_awaits_end(const struct node *node, struct job *job, uint16_t peer)
{
    const struct site *site = source_site(job, peer);
    return site != NULL && job->started_ns != 0 && may_finish(node, job, site);
}

bool source_awaits_ends(const struct node *node, struct job *job)
{
    bool awaits = false;
    for (uint16_t index = 0; index < job->source->site_count && job->started_ns != 0; index++) {
        struct site *site = &job->source->sites[index];
        if (may_finish(node, job, site))
            awaits = true;
        else if (is_finishing(job, site))
            give_up_end(site);
    }
    return awaits;
}

/* Given up for being slow or silent, and yet it has it all: what it says itself counts. (One that said itself
 * that it has failed never says this, and one that has refused its part was never sent anything.) */
static bool proves_whole(const struct site *site, const struct control_status *status)
{
    return site->included && site->state == SITE_FAILED && job_result_is_whole(status->fixed.state);
}

/* Of a job that is over here, by a site whose disk still finishes, or has. */
static void on_late_status(const struct node *node, struct job *job, struct site *site,
                           const struct control_status *status, uint64_t now_ns)
{
    site->told_ns = core_lived_ns(node);
    if (!site->ended)
        site->verified_bytes = MAX(site->verified_bytes, status->fixed.verified_bytes);
    if (status->fixed.state == SITE_RECEIVING || (site->ended && !proves_whole(site, status)))
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
        on_late_status(node, job, site, status, now_ns);
    if (site == NULL || !phase_runs(job->phase))
        return;
    site->told_ns = core_lived_ns(node);
    source_take_edges(site, status);
    /* A copy that was whole may turn out to be bad when others need it. */
    bool whole = job_result_is_whole(site->state);
    if (whole && status->fixed.state == SITE_FAILED)
        source_site_ended(site, SITE_FAILED, status->text, now_ns);
    if (site->ended && !proves_whole(site, status))
        return;
    source_note_limit(node, job, site, now_ns);
    /* Only what is more than ever before is progress: a block that comes bad again and again is not. */
    if (status->fixed.received_bytes > site->received_max ||
        status->fixed.verified_bytes > site->verified_max)
        site->progress_ns = site->grew_ns = core_lived_ns(node);
    site->received_max = MAX(site->received_max, status->fixed.received_bytes);
    site->verified_max = MAX(site->verified_max, status->fixed.verified_bytes);
    site->received_bytes = status->fixed.received_bytes;
    site->verified_bytes = status->fixed.verified_bytes;
    if (status->fixed.state != SITE_RECEIVING)
        source_site_ended(site, (enum site_state)status->fixed.state, status->text, now_ns);
    core_wake_jobs(node, now_ns);
}

/* It is there and tells nothing of the job, as if it had let go of it (a site tells life far more often). */
static bool is_mute(const struct node *node, const struct site *site)
{
    return !is_down(node, site) &&
           core_lived_ns(node) >= later_ns(site->told_ns, node->config.stall_timeout_ns);
}

/* Of a stream, which waits for whoever is slow: nothing goes through this site any more; NULL: it may. */
static const char *why_lost(const struct node *node, const struct site *site)
{
    if (is_silent(node, site))
        return "does not answer";
    if (is_mute(node, site))
        return "tells nothing of the job";
    return peer_is_deaf(node, &node->peers[site->peer]) ? "takes no messages" : NULL;
}

/* The nearest site on the way down to this one that does not answer, or that
 * a stream has lost; NULL: none. */
static const struct site *lost_along(const struct node *node, const struct job *job,
                                     const struct plan_tree *tree, uint16_t to)
{
    for (int parent = plan_parent(tree, to); parent > 0; parent = plan_parent(tree, (uint16_t)parent)) {
        const struct site *above = source_site_of_node(job, (uint16_t)parent);
        if (job->kind->endless ? why_lost(node, above) != NULL : is_down(node, above))
            return above;
    }
    return NULL;
}

/* … by any tree: it needs them all. */
static const struct site *lost_above(const struct node *node, const struct job *job, const struct site *site)
{
    uint16_t to = source_node_of_site(job, site);
    const struct site *above = NULL;
    for (uint16_t tree = 0; to != PEER_NONE && above == NULL && tree < job->source->plan.tree_count; tree++)
        above = lost_along(node, job, &job->source->plan.trees[tree], to);
    return above;
}

/* A stream goes on when its input does; who is too slow for it is the window's question. */
static void check_stream(struct node *node, struct job *job, struct site *site, uint64_t now_ns)
{
    const char *why = why_lost(node, site);
    const struct site *above = why == NULL ? lost_above(node, job, site) : NULL;
    char text[CONTROL_TEXT_BYTES];
    if (why == NULL && above == NULL)
        return;
    if (why != NULL)
        edges_drop(node, job, site->peer);
    if (site->ended || !site->receiver)
        return;
    unsigned seconds = (unsigned)(node->config.stall_timeout_ns / NS_PER_S);
    if (why != NULL)
        snprintf(text, sizeof(text), "%s for more than %u s", why, seconds);
    else
        snprintf(text, sizeof(text), "cut off: %s above it %s", above->name, why_lost(node, above));
    source_site_ended(site, SITE_FAILED, text, now_ns);
}

/* It is heard, and neither what is written to it nor what is sent to it has an answer: it may not know whom that comes from. */
static bool takes_nothing(const struct node *node, const struct site *site, uint64_t now_ns)
{
    const struct peer *peer = &node->peers[site->peer];
    const struct sender *sender = &peer->sender;
    uint64_t patience_ns = node->config.stall_timeout_ns / 2;
    bool unwritten = peer->mail.out_acked != peer->mail.out_next &&
                     core_lived_ns(node) >= later_ns(peer->answered_ns, patience_ns);
    bool unsent = sender->newest_sent_ns > sender->delivered_told_ns &&
                  now_ns >= later_ns(sender->delivered_told_ns, patience_ns);
    return unwritten || unsent;
}

static void tell_down(const struct node *node, const struct site *site, unsigned seconds,
                      char text[CONTROL_TEXT_BYTES])
{
    char misfit[CONTROL_TEXT_BYTES];
    bool fits = misfit_text(node, &node->peers[site->peer], misfit, sizeof(misfit)) == 0;
    snprintf(text, CONTROL_TEXT_BYTES, "does not answer for %u s%s%.160s", seconds, fits ? "" : "; ", misfit);
}

/* The path from here to it has become too narrow for any piece of a data packet. */
static bool is_cut_small(const struct node *node, const struct job *job, const struct site *site)
{
    return site->peer < node->peer_count && job->children.of_peer[site->peer] != CHILD_NONE &&
           rtt_probe_narrow(&node->peers[site->peer].probe);
}

static void check_stall(struct node *node, struct job *job, struct site *site, uint64_t now_ns)
{
    uint64_t lived_ns = core_lived_ns(node);
    if (site->ended || !site->receiver)
        return;
    if (may_finish(node, job, site) ||
        lived_ns < later_ns(site->progress_ns, node->config.stall_timeout_ns) ||
        lived_ns < later_ns(site->progress_ns, source_patience_ns(node, job, site)))
        return;
    unsigned seconds = (unsigned)((lived_ns - site->progress_ns) / NS_PER_S);
    const struct site *above = lost_above(node, job, site);
    char text[CONTROL_TEXT_BYTES], doubt[CONTROL_TEXT_BYTES];
    if (is_down(node, site))
        tell_down(node, site, seconds, text);
    else if (above != NULL)
        snprintf(text, sizeof(text), "no progress for %u s: %s above it does not answer", seconds,
                 above->name);
    else if (is_cut_small(node, job, site))
        snprintf(text, sizeof(text), "no progress for %u s: the path from %s to it is too narrow, MTU %u",
                 seconds, node->config.name, node->peers[site->peer].mtu.mtu);
    else if (source_tell_doubt(node, job, site, doubt))
        snprintf(text, sizeof(text), "no progress for %u s: %.200s", seconds, doubt);
    else
        snprintf(text, sizeof(text), "no progress for %u s%s", seconds,
                 takes_nothing(node, site, now_ns)
                     ? ": it is heard, but takes nothing that comes from here; show peers there tells more"
                     : "");
    source_site_ended(site, SITE_FAILED, text, now_ns);
}

static void finish(struct node *node, struct job *job, uint64_t now_ns)
{
    source_end(node, job, source_name_failed(job) ? JOB_FAILED : JOB_DONE, CLOSE_DONE, now_ns);
}

/* While it is there, and so is all that is above it. */
static bool site_waits(struct node *node, const struct job *job, const struct site *site)
{
    return !site->ended && !is_down(node, site) && lost_above(node, job, site) == NULL &&
           source_site_waits(node, job, site);
}

static void check_disk(struct node *node, struct job *job, uint64_t now_ns)
{
    if (source_disk_is_silent(node, job))
        source_fail(node, job, now_ns, "%s %.120s: its disk has answered nothing for %u s",
                    job->kind->input_name, job->source->spec.file,
                    (unsigned)(node->config.stall_timeout_ns / NS_PER_S));
}

void source_running_tick(struct node *node, struct job *job, uint64_t now_ns)
{
    bool all_ended = true, all_wait = true;
    source_tell_sites(node, job);
    source_note_share(node, job);
    controls_tell_sites(node, job);
    source_tell_content(node, job, now_ns);
    for (uint16_t index = 0; index < job->source->site_count; index++) {
        struct site *site = &job->source->sites[index];
        bool waits = !job->kind->endless && site_waits(node, job, site);
        all_wait = all_wait && (waits || site->ended || !site->receiver);
        if (job->controls.paused || waits)
            site->progress_ns = core_lived_ns(node);
        /* While it is away it can't tell; once it is back it has the stall timeout for that. */
        if (job->controls.paused || is_down(node, site))
            site->told_ns = core_lived_ns(node);
        if (job->kind->endless && !job->controls.paused)
            check_stream(node, job, site, now_ns);
        else if (!job->kind->endless)
            check_stall(node, job, site, now_ns);
        if (!site->ended && site->receiver)
            all_ended = false;
    }
    if (all_ended)
        finish(node, job, now_ns);
    else if (all_wait) /* while one still gets what is in memory a disk may stand still */
        check_disk(node, job, now_ns);
}
