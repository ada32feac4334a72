#include "node/role/role.h"

#include "node/flow/edges.h"
#include "node/job/object_kind.h"
#include "node/role/let_go.h"
#include "node/role/manifest.h"
#include "node/role/site.h"
#include "node/role/source.h"

/* Others have heard of the end, or will not: a peer that is heard and takes no message keeps no slot. Should
 * it speak of the job later, it is answered then. */
static bool last_words_are_said(struct node *node, struct job *job)
{
    bool due = job->news.confirm_due || job->news.parting_due;
    bool said = job->source == NULL ? !due : source_tell_sites(node, job);
    return said || core_lived_ns(node) >= later_ns(job->phase_ns, node->config.stall_timeout_ns);
}

/* Nothing more is to come: neither answers, nor packets that point into the
 * object, nor anything to be told. */
static void closing_tick(struct node *node, struct job *job)
{
    if (job->kind->on_closing != NULL)
        job->kind->on_closing(node, job);
    job_withdraw_writes(node, job);
    if (job->disk.outstanding > 0)
        return;
    if (job->disk.sink != SINK_CLOSED) {
        bool abort = job->source == NULL && job->disk.sink != SINK_ENDED;
        job_request(node, job, &(struct disk_request){.op = abort ? DISK_ABORT : DISK_CLOSE});
        job->disk.sink = SINK_ENDED;
        return;
    }
    bool said = last_words_are_said(node, job);
    if (job->object != NULL && object_idle(job->object)) {
        object_close(job->object);
        job->object = NULL;
    }
    if (job->source != NULL && (source_awaits_ends(node, job) || !manifest_write(node, job)))
        return;
    if (job->object == NULL && said) {
        job_forget_secret(node, job);
        job_enter(node, job, PHASE_CLOSED);
    }
}

static void open_tick(struct node *node, struct job *job, uint64_t now_ns)
{
    if (job->source != NULL)
        source_tick(node, job, now_ns);
    else
        site_tick(node, job, now_ns);
    if (job->object == NULL || !phase_runs(job->phase))
        return;
    job->kind->on_tick(node, job, now_ns);
    let_go_tell(node, job, now_ns);
    if (job->source == NULL)
        return;
    manifest_tick(node, job);
}

void role_tick(struct node *node, struct job *job, uint64_t now_ns)
{
    if (job->news.parting_due)
        site_tell_parting(node, job);
    if (job->phase == PHASE_CLOSED)
        return;
    if (job->source == NULL)
        site_tell_again(node, job);
    if (phase_ends(job->phase))
        closing_tick(node, job);
    else
        open_tick(node, job, now_ns);
}

void role_on_disk(struct node *node, struct job *job, const struct disk_reply *reply, uint64_t now_ns)
{
    job->disk.outstanding--;
    job->disk.heard_ns = core_lived_ns(node);
    if (reply->op == DISK_READ) {
        job->disk.loads--;
        job->disk.given_end = MAX(job->disk.given_end, reply->cookie + 1);
    }
    if (reply->op == DISK_CLOSE)
        job->disk.sink = SINK_CLOSED;
    if (job->source != NULL)
        source_on_disk(node, job, reply, now_ns);
    else
        site_on_disk(node, job, reply, now_ns);
}

void role_on_child_parted(struct node *node, struct job *job, uint16_t peer, const char *text,
                          uint64_t now_ns)
{
    if (phase_ends(job->phase) || job->children.of[job->children.of_peer[peer]].gone)
        return;
    node->counters.children_parted++;
    edges_drop(node, job, peer);
    if (job->source != NULL)
        source_on_child_parted(job, peer, text, now_ns);
}

void role_on_peer_lost(struct node *node, uint16_t peer, bool restarted, uint64_t now_ns)
{
    if (restarted)
        site_end_offer(node, peer);
    for (uint32_t slot = 0; slot < NODE_JOBS_MAX; slot++) {
        struct job *job = &node->jobs[slot];
        if (!job_is_known(job) || phase_ends(job->phase))
            continue;
        if (restarted)
            edges_drop(node, job, peer);
        if (job->source != NULL)
            source_on_peer_lost(node, job, peer, restarted, now_ns);
        else if (restarted && peer == job->source_peer)
            site_on_source_lost(node, job, now_ns);
        else if (restarted && trees_fed_by(job, peer) != 0)
            site_on_parent_lost(node, job, peer, now_ns);
    }
}
