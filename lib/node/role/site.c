#include "node/role/site.h"

#include <stdio.h>

#include "node/flow/edges.h"
#include "node/job/object_kind.h"
#include "node/peer/post.h"
#include "node/role/close.h"
#include "node/role/rights.h"
#include "node/role/unlisted.h"

/* Progress is told at this interval; where data is slow, when there is so much of it that STATUS and its ack are
 * about 1 % of that, but no later than STATUS_LATEST_NS. */
#define STATUS_INTERVAL_NS (100 * NS_PER_MS)
#define STATUS_WORTH_BYTES 32000
#define STATUS_LATEST_NS   (3 * NS_PER_S)

/* The file is there, whatever becomes of the others. */
static bool is_whole(const struct job *job)
{
    return job_result_is_whole(job->result);
}

/* Who feeds this site hears of it at once, but for what the source tells both; the source, which may be out
 * of reach in one direction only, hears what has become of the copy. */
static void close_now(struct node *node, struct job *job, enum job_state outcome, uint64_t now_ns)
{
    close_begin(node, job, is_whole(job) ? JOB_DONE : outcome, now_ns);
    if (job->end_heard)
        return;
    if (job->news.status_due)
        site_send_status(node, job, now_ns);
    site_tell_parting(node, job);
}

/* What FINISH does is done, whatever else happens meanwhile: its answer is waited for, and decides; else what
 * ended the job first. */
static void end_as(struct node *node, struct job *job, enum job_state outcome, uint64_t now_ns)
{
    if (job->phase == PHASE_FINISHING)
        job->ends_as = job->ends_as == 0 ? (uint8_t)outcome : job->ends_as;
    else
        close_now(node, job, outcome, now_ns);
}

/* The disk has answered, or takes too long: what has waited for that comes now. */
static void on_finished(struct node *node, struct job *job, uint64_t now_ns)
{
    if (job->ends_as == 0 || phase_ends(job->phase))
        return;
    if (job->news.status_due)
        site_send_status(node, job, now_ns);
    end_as(node, job, (enum job_state)job->ends_as, now_ns);
}

static void check_finishing(struct node *node, struct job *job, uint64_t now_ns)
{
    uint64_t timeout_ns = node->config.finish_timeout_ns;
    if (job->phase != PHASE_FINISHING || core_lived_ns(node) < later_ns(job->phase_ns, timeout_ns))
        return;
    job_fail(node, job, now_ns, "its disk has not ended the object within %u s",
             (unsigned)(timeout_ns / NS_PER_S));
    on_finished(node, job, now_ns);
}

/* The source is gone for good. A copy that is being finished does not need it any more. */
static void on_source_gone(struct node *node, struct job *job, const char *how, uint64_t now_ns)
{
    if (job->phase != PHASE_FINISHING)
        job_fail(node, job, now_ns, "the source %s %s", peer_name(node, job->source_peer), how);
    end_as(node, job, JOB_FAILED, now_ns);
}

void site_on_start(struct node *node, struct job *job, uint64_t now_ns)
{
    if (job->phase != PHASE_READY)
        return;
    job_enter(node, job, PHASE_RUNNING);
    job->started_ns = now_ns;
    edges_start(node, job, now_ns);
    if (job->kind->on_start != NULL)
        job->kind->on_start(node, job, now_ns);
    for (uint64_t left = job->trees.lost_parents; left != 0; left &= left - 1)
        site_on_parent_lost(node, job, (uint16_t)__builtin_ctzll(left), now_ns);
    if (job->result != SITE_SKIPPED)
        return;
    if (job->geometry.blocks > 0)
        site_tell_have(node, job);
    job_enter(node, job, PHASE_SERVING);
}

void site_on_disk(struct node *node, struct job *job, const struct disk_reply *reply, uint64_t now_ns)
{
    char failure[DISK_TEXT_BYTES];
    switch ((enum disk_op)reply->op) {
    case DISK_OPEN_TARGET:
        site_on_opened(node, job, reply, now_ns);
        return;
    case DISK_WRITE:
    case DISK_READ:
    case DISK_FEED:
    case DISK_DRAIN:
    case DISK_FINISH:
        job->kind->on_disk(node, job, reply, now_ns, failure);
        if (reply->op == DISK_FINISH)
            on_finished(node, job, now_ns);
        return;
    case DISK_OPEN_SOURCE:
    case DISK_ABORT:
    case DISK_CLOSE:
    case DISK_DIGEST:
    case DISK_MANIFEST:
        return;
    }
}

void site_on_close(struct node *node, struct job *job, const struct control_close_job *close, uint64_t now_ns)
{
    if (phase_ends(job->phase))
        return;
    if (!is_whole(job) && job->text[0] == '\0')
        name_copy(job->text, sizeof(job->text), close->text);
    job->end_heard = true;
    bool cancelled = close->fixed.outcome == CLOSE_CANCELLED;
    end_as(node, job, cancelled ? JOB_CANCELLED : JOB_FAILED, now_ns);
}

/* Life is told in every phase but while the disk opens, so that a source that has ended the job without
 * getting through can say so; and one that has told this site of the end waits for what the disk says. */
static bool must_tell_life(const struct node *node, const struct job *job, uint64_t now_ns)
{
    if (job->phase == PHASE_OPENING || (job->ends_as != 0 && !job->end_heard))
        return false;
    uint64_t interval_ns = job->phase == PHASE_FINISHING ? NS_PER_S : node->config.stall_timeout_ns / 4;
    return now_ns >= later_ns(job->news.status_ns, interval_ns) &&
           core_lived_ns(node) >= later_ns(job->phase_ns, interval_ns);
}

/* As long as it takes until a site that does not confirm is left out, and the plan without it is told; whoever a directory lists
 * may also keep a planner waiting, and plan as often as it likes. A source that still distributes plans without this site. */
static void check_start(struct node *node, struct job *job, uint64_t now_ns)
{
    if (job->phase != PHASE_READY)
        return;
    bool listed = rights_listed(node, job->source_peer);
    uint64_t timeout_ns =
        2 * node->config.distribute_timeout_ns + (listed ? node->config.plan_timeout_ns : 0);
    bool late = core_lived_ns(node) >= later_ns(job->phase_ns, timeout_ns);
    bool replanned = !listed && now_ns >= later_ns(job->created_ns, UNLISTED_PLANS * timeout_ns);
    char text[CONTROL_TEXT_BYTES];
    if (!late && !replanned)
        return;
    snprintf(text, sizeof(text), "the source %s has not started the job within %u s",
             peer_name(node, job->source_peer),
             (unsigned)(timeout_ns * (late ? 1 : UNLISTED_PLANS) / NS_PER_S));
    site_refuse(node, job, text, now_ns);
}

/* Whether the source is to hear how far this site is, now. */
static bool has_news(const struct node *node, const struct job *job, uint64_t now_ns)
{
    uint64_t bytes = job->object == NULL ? 0 : job->object->received_bytes + job->object->verified_bytes;
    bool changes = job->phase == PHASE_RUNNING || job->phase == PHASE_FINISHING;
    bool much = bytes - job->news.status_bytes >= STATUS_WORTH_BYTES;
    bool progress = changes && bytes != job->news.status_bytes &&
                    now_ns >= later_ns(job->news.status_ns, much ? STATUS_INTERVAL_NS : STATUS_LATEST_NS);
    /* It has everything, but the source does not know from others what its children wait for. */
    for (uint8_t child = 0; child < job->children.count && job->phase == PHASE_SERVING; child++)
        progress = progress || (now_ns >= later_ns(job->news.status_ns, NS_PER_S) && flow_owes(job, child));
    progress = progress || must_tell_life(node, job, now_ns);
    /* Progress is not worth the places that the end of a job needs. */
    return job->news.status_due || (progress && post_has_ample_room(node, job->source_peer));
}

void site_tick(struct node *node, struct job *job, uint64_t now_ns)
{
    if (job->kind->check_complete != NULL)
        job->kind->check_complete(node, job, now_ns);
    check_finishing(node, job, now_ns);
    check_start(node, job, now_ns);
    if (phase_ends(job->phase))
        return;
    if (has_news(node, job, now_ns))
        site_send_status(node, job, now_ns);
    /* A source that stays silent, or hears nothing of this site, will not close the job any more. */
    const struct peer *source = &node->peers[job->source_peer];
    if (peer_is_lost(node, source) || peer_is_deaf(node, source))
        on_source_gone(node, job, "does not answer", now_ns);
}

void site_on_source_lost(struct node *node, struct job *job, uint64_t now_ns)
{
    on_source_gone(node, job, peer_why_lost(node, job->source_peer, "restarted"), now_ns);
}

void site_on_parent_lost(struct node *node, struct job *job, uint16_t parent, uint64_t now_ns)
{
    if (job->phase >= PHASE_FINISHING || is_whole(job))
        return;
    /* The source plans without that one, too, and this site may have another parent then. */
    if (job->phase < PHASE_RUNNING) {
        job->trees.lost_parents |= UINT64_C(1) << parent;
        return;
    }
    job_fail(node, job, now_ns, "its parent %s %s", peer_name(node, parent),
             peer_why_lost(node, parent, "restarted"));
    if (job->kind->on_parent_lost != NULL)
        job->kind->on_parent_lost(node, job, parent);
}
