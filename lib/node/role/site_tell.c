#include "node/kind/file.h"
#include "node/flow/flow.h"
#include "node/peer/post.h"
#include "node/role/site.h"

bool site_post_confirm(struct node *node, uint16_t peer, uint32_t job, uint32_t epoch,
                       enum confirm_answer answer, const char *text)
{
    struct control_confirm confirm = {.fixed = {.job = job, .epoch = epoch, .answer = (uint8_t)answer}};
    name_copy(confirm.text, sizeof(confirm.text), text);
    return post(node, peer, CONTROL_CONFIRM, &confirm);
}

void site_refuse_measuring(struct node *node, uint16_t peer, uint32_t job)
{
    struct err err;
    err_set(&err, "%s relays nothing for source %s, nor does a directory there list it", node->config.name,
            peer_name(node, peer));
    site_post_confirm(node, peer, job, 0, CONFIRM_REFUSED, err.text);
}

void site_confirm(struct node *node, struct job *job, enum confirm_answer answer)
{
    job->news.confirm_answer = (uint8_t)answer;
    job->news.confirm_due =
        !site_post_confirm(node, job->source_peer, job->id, job->epoch, answer, job->text);
}

void site_tell_have(struct node *node, struct job *job)
{
    job->news.have_due = !file_post_have(node, job);
}

void site_tell_parting(struct node *node, struct job *job)
{
    struct control_close_job close = {.fixed = {.job = job->id, .outcome = CLOSE_FAILED}};
    name_copy(close.text, sizeof(close.text),
              job->result == SITE_FAILED ? job->text : "the job has ended here");
    uint16_t parents[STRIPES_MAX];
    job->news.parting_due = false;
    for (uint32_t index = trees_parents(job, parents); index-- > 0;)
        job->news.parting_due |= !post(node, parents[index], CONTROL_CLOSE_JOB, &close);
    job->news.parting_ns = node->now_ns;
}

void site_tell_again(struct node *node, struct job *job)
{
    if (job->news.confirm_due)
        site_confirm(node, job, (enum confirm_answer)job->news.confirm_answer);
    if (job->news.have_due && !phase_ends(job->phase))
        site_tell_have(node, job);
    if (job->resend.end != 0)
        file_resend_again(node, job);
}

/* What the edges to the children wait for, and which child lacks most. */
static void tell_edges(const struct node *node, const struct job *job, struct control_status *status)
{
    uint64_t fewest = UINT64_MAX;
    status->fixed.laggard = UINT8_MAX;
    status->fixed.child_count = (uint8_t)job->children.count;
    for (uint8_t child = 0; child < job->children.count; child++) {
        const struct peer *peer = &node->peers[job->children.of[child].peer];
        status->edges[child].limited_by = (uint8_t)causes_recent(&flow_of(node, peer)->causes, node->now_ns);
        status->edges[child].rate_bps = peer->sender.delivery_rate_bps;
        if (!flow_owes(job, child) || job->object->feeds[child].blocks_done >= fewest)
            continue;
        fewest = job->object->feeds[child].blocks_done;
        status->fixed.laggard = child;
    }
}

void site_send_status(struct node *node, struct job *job, uint64_t now_ns)
{
    struct control_status status = {.fixed = {.job = job->id, .state = job->result}};
    status.fixed.received_bytes = job->kind->received_bytes(job);
    status.fixed.verified_bytes = job->kind->verified_bytes(job);
    status.fixed.elapsed_ns = job->started_ns == 0 ? 0 : now_ns - job->started_ns;
    name_copy(status.text, sizeof(status.text), job->text);
    tell_edges(node, job, &status);
    /* Progress is told again soon anyway, the end only once. */
    bool ended = job->result != SITE_RECEIVING;
    bool posted = ended ? post_surely(node, job->source_peer, CONTROL_STATUS, &status)
                        : post(node, job->source_peer, CONTROL_STATUS, &status);
    job->news.status_due = !posted;
    job->news.status_ns = now_ns;
    job->news.status_bytes = status.fixed.received_bytes + status.fixed.verified_bytes;
}
