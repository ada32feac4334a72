/* Control messages between nodes: decode, check that this peer may say it, hand on. What makes no sense here
 * is counted and forgotten; the mail goes on. */
#include "node/flow/flow.h"
#include "node/job/object_kind.h"
#include "node/kind/stream.h"
#include "node/peer/measure.h"
#include "node/role/controls.h"
#include "node/role/let_go.h"
#include "node/role/role.h"
#include "node/role/site.h"
#include "node/role/source.h"
#include "node/top.h"
#include "seal/wipe.h"
#include "node/train/all.h"
#include "node/train/prober.h"

static struct job *job_from_source(struct node *node, const struct peer *peer, uint32_t id)
{
    struct job *job = job_find(node, id);
    return job != NULL && job->source == NULL && job->source_peer == peer->index ? job : NULL;
}

static bool on_measure(struct node *node, struct peer *peer, const uint8_t *body, size_t length,
                       uint64_t now_ns)
{
    struct wire_measure measure;
    if (control_measure_decode(body, length, &measure) != WIRE_OK)
        return false;
    measure_ask(node, peer->index, &measure, now_ns);
    return true;
}

static bool on_measurement(struct node *node, struct peer *peer, const uint8_t *body, size_t length,
                           uint64_t now_ns)
{
    struct control_measurement report;
    if (control_measurement_decode(body, length, &report) != WIRE_OK)
        return false;
    source_take_records(node, peer->index, &report, now_ns);
    struct job *job = job_of_source(node, report.fixed.job);
    if (job != NULL)
        source_on_measurement(node, job, peer->index, &report, now_ns);
    return true;
}

static bool on_part(struct node *node, struct peer *peer, const uint8_t *body, size_t length)
{
    struct control_part part;
    if (control_part_decode(body, length, &part) != WIRE_OK)
        return false;
    if (peer_find(node, part.fixed.source.text) != peer->index)
        return false;
    site_on_part(node, peer->index, &part);
    wipe(&part.fixed.secret, sizeof(part.fixed.secret));
    return true;
}

static bool on_tree(struct node *node, struct peer *peer, const uint8_t *body, size_t length, uint64_t now_ns)
{
    struct control_tree tree;
    return control_tree_decode(body, length, &tree) == WIRE_OK &&
           site_on_tree(node, peer->index, &tree, now_ns);
}

static bool on_confirm(struct node *node, struct peer *peer, const uint8_t *body, size_t length,
                       uint64_t now_ns)
{
    struct control_confirm confirm;
    if (control_confirm_decode(body, length, &confirm) != WIRE_OK)
        return false;
    struct job *job = job_of_source(node, confirm.fixed.job);
    if (job != NULL)
        source_on_confirm(node, job, peer->index, &confirm, now_ns);
    bool taken = confirm.fixed.answer == CONFIRM_READY || confirm.fixed.answer == CONFIRM_COMPLETE;
    if ((job == NULL || phase_ends(job->phase)) && taken)
        source_tell_end(node, job, confirm.fixed.job, peer->index, now_ns);
    return true;
}

static bool on_start(struct node *node, struct peer *peer, const uint8_t *body, size_t length,
                     uint64_t now_ns)
{
    struct wire_start start;
    if (control_start_decode(body, length, &start) != WIRE_OK)
        return false;
    struct job *job = job_from_source(node, peer, start.job);
    if (job == NULL || job->epoch != start.epoch)
        return false;
    site_on_start(node, job, now_ns);
    return true;
}

static bool on_status(struct node *node, struct peer *peer, const uint8_t *body, size_t length,
                      uint64_t now_ns)
{
    struct control_status status;
    if (control_status_decode(body, length, &status) != WIRE_OK)
        return false;
    struct job *job = job_of_source(node, status.fixed.job);
    if (job != NULL)
        source_on_status(node, job, peer->index, &status, now_ns);
    bool over = job == NULL || (phase_ends(job->phase) && !source_awaits_end(node, job, peer->index));
    if (over)
        source_tell_end(node, job, status.fixed.job, peer->index, now_ns);
    return true;
}

static bool on_hashes(struct node *node, struct peer *peer, const uint8_t *body, size_t length,
                      uint64_t now_ns)
{
    struct control_hashes hashes;
    if (control_hashes_decode(body, length, &hashes) != WIRE_OK)
        return false;
    struct job *job = job_find(node, hashes.fixed.job);
    if (job == NULL)
        return true;
    if (job->source != NULL || job->source_peer != peer->index)
        return false;
    if (!phase_ends(job->phase))
        job->kind->on_hashes(node, job, &hashes, now_ns);
    return true;
}

/* HAVE and RESEND, from a child about its own copy. */
static bool on_blocks(struct node *node, struct peer *peer, uint8_t kind, const uint8_t *body, size_t length)
{
    struct wire_blocks blocks;
    if (control_blocks_decode(body, length, &blocks) != WIRE_OK)
        return false;
    struct job *job = job_find(node, blocks.job);
    if (job == NULL)
        return true;
    uint8_t child = job->children.of_peer[peer->index];
    if (child == CHILD_NONE || job->object == NULL)
        return false;
    if (job->kind->endless || blocks.first_block > job->geometry.blocks ||
        blocks.count > job->geometry.blocks - blocks.first_block)
        return false;
    if (kind == CONTROL_HAVE) {
        feed_on_have(job->object, child, blocks.first_block, blocks.count);
        return true;
    }
    if (blocks.count > CONTROL_RESEND_BLOCKS_MAX ||
        !feed_on_resend(job->object, child, blocks.first_block, blocks.count))
        return false;
    node->counters.blocks_resent += blocks.count;
    flow_wake_children(node, job);
    return true;
}

/* From the source: the job is over. From a child: for that one it is. */
static bool on_close_job(struct node *node, struct peer *peer, const uint8_t *body, size_t length,
                         uint64_t now_ns)
{
    struct control_close_job close;
    if (control_close_job_decode(body, length, &close) != WIRE_OK)
        return false;
    site_on_offer_closed(node, peer->index, close.fixed.job);
    struct job *job = job_find(node, close.fixed.job);
    if (job == NULL)
        return true;
    if (job->source == NULL && job->source_peer == peer->index)
        site_on_close(node, job, &close, now_ns);
    else if (job->children.of_peer[peer->index] != CHILD_NONE)
        role_on_child_parted(node, job, peer->index, close.text, now_ns);
    else
        return false;
    return true;
}

static bool on_adjust(struct node *node, struct peer *peer, const uint8_t *body, size_t length,
                      uint64_t now_ns)
{
    struct wire_adjust adjust;
    if (control_adjust_decode(body, length, &adjust) != WIRE_OK)
        return false;
    struct job *job = job_from_source(node, peer, adjust.job);
    if (job != NULL)
        controls_on_message(node, job, &adjust, now_ns);
    return true;
}

static bool on_stream_room(struct node *node, struct peer *peer, const uint8_t *body, size_t length,
                           uint64_t now_ns)
{
    struct wire_stream_room room;
    if (control_stream_room_decode(body, length, &room) != WIRE_OK)
        return false;
    struct job *job = job_find(node, room.job);
    if (job == NULL)
        return true;
    bool site = job->source != NULL && source_site(job, peer->index) != NULL;
    bool child = job->children.of_peer[peer->index] != CHILD_NONE;
    if (job->stream == NULL || (!site && !child))
        return false;
    if (site)
        source_on_room(job, peer->index, room.blocks);
    if (child)
        stream_on_room(node, job, job->children.of_peer[peer->index], room.blocks, now_ns);
    return true;
}

static bool on_stream_end(struct node *node, struct peer *peer, const uint8_t *body, size_t length,
                          uint64_t now_ns)
{
    struct wire_stream_end end;
    if (control_stream_end_decode(body, length, &end) != WIRE_OK)
        return false;
    struct job *job = job_find(node, end.job);
    if (job == NULL)
        return true;
    bool from_source = job->source == NULL && job->source_peer == peer->index;
    if (!from_source || job->stream == NULL || job->object == NULL)
        return false;
    return stream_on_end(node, job, &end, now_ns);
}

static bool on_let_go(struct node *node, struct peer *peer, const uint8_t *body, size_t length,
                      uint64_t now_ns)
{
    struct control_let_go message;
    if (control_let_go_decode(body, length, &message) != WIRE_OK)
        return false;
    struct job *job = job_find(node, message.fixed.job);
    return job == NULL || let_go_on_message(node, job, peer->index, &message, now_ns);
}

static bool on_train_report(struct node *node, struct peer *peer, const uint8_t *body, size_t length,
                            uint64_t now_ns)
{
    struct control_train_report report;
    if (control_train_report_decode(body, length, &report) != WIRE_OK)
        return false;
    prober_on_message(node, peer, &report, now_ns);
    return true;
}

static bool on_available(struct node *node, struct peer *peer, const uint8_t *body, size_t length,
                         uint64_t now_ns)
{
    struct control_available available;
    if (control_available_decode(body, length, &available) != WIRE_OK)
        return false;
    source_take_available(node, peer->index, &available, now_ns);
    return true;
}

static bool on_probe_ask(struct node *node, struct peer *peer, const uint8_t *body, size_t length,
                         uint64_t now_ns)
{
    struct wire_probe_ask ask;
    if (control_probe_ask_decode(body, length, &ask) != WIRE_OK)
        return false;
    asked_take(node, peer->index, &ask, now_ns);
    return true;
}

static bool on_probe_answer(struct node *node, struct peer *peer, const uint8_t *body, size_t length,
                            uint64_t now_ns)
{
    struct control_probe_answer answer;
    struct pair_end end;
    if (control_probe_answer_decode(body, length, &answer) != WIRE_OK ||
        !pairs_on_answer(node, peer->index, &answer, now_ns, &end))
        return false;
    all_on_end(node, &end, now_ns);
    return true;
}

static bool dispatch(struct node *node, struct peer *peer, uint8_t kind, const uint8_t *body, size_t length,
                     uint64_t now_ns)
{
    switch ((enum control_kind)kind) {
    case CONTROL_MEASURE:
        return on_measure(node, peer, body, length, now_ns);
    case CONTROL_MEASUREMENT:
        return on_measurement(node, peer, body, length, now_ns);
    case CONTROL_PART:
        return on_part(node, peer, body, length);
    case CONTROL_TREE:
        return on_tree(node, peer, body, length, now_ns);
    case CONTROL_CONFIRM:
        return on_confirm(node, peer, body, length, now_ns);
    case CONTROL_START:
        return on_start(node, peer, body, length, now_ns);
    case CONTROL_STATUS:
        return on_status(node, peer, body, length, now_ns);
    case CONTROL_HASHES:
        return on_hashes(node, peer, body, length, now_ns);
    case CONTROL_HAVE:
    case CONTROL_RESEND:
        return on_blocks(node, peer, kind, body, length);
    case CONTROL_CLOSE_JOB:
        return on_close_job(node, peer, body, length, now_ns);
    case CONTROL_ADJUST:
        return on_adjust(node, peer, body, length, now_ns);
    case CONTROL_STREAM_ROOM:
        return on_stream_room(node, peer, body, length, now_ns);
    case CONTROL_STREAM_END:
        return on_stream_end(node, peer, body, length, now_ns);
    case CONTROL_LET_GO:
        return on_let_go(node, peer, body, length, now_ns);
    case CONTROL_TRAIN_REPORT:
        return on_train_report(node, peer, body, length, now_ns);
    case CONTROL_AVAILABLE:
        return on_available(node, peer, body, length, now_ns);
    case CONTROL_PROBE_ASK:
        return on_probe_ask(node, peer, body, length, now_ns);
    case CONTROL_PROBE_ANSWER:
        return on_probe_answer(node, peer, body, length, now_ns);
    case CONTROL_KIND_COUNT:
        break;
    }
    return false;
}

void control_on_mail(struct node *node, struct peer *peer, uint64_t now_ns)
{
    uint8_t kind;
    const uint8_t *body;
    size_t length;
    while (mail_receive(&peer->mail, &kind, &body, &length)) {
        digest_add(&node->digest, (uint64_t)kind << 32 ^ length << 8 ^ peer->index);
        if (!dispatch(node, peer, kind, body, length, now_ns))
            node->counters.messages_refused++;
    }
    /* Messages change what is due: let the next tick look at the jobs. */
    core_wake_jobs(node, now_ns);
    core_schedule(node, now_ns);
}
