/* Control messages between nodes: check that this peer may say it (role/rights.h), decode, hand on. What makes no sense here
 * is counted and forgotten; the mail goes on. */
#include "node/flow/flow.h"
#include "node/job/object_kind.h"
#include "node/kind/stream.h"
#include "node/peer/measure.h"
#include "node/peer/post.h"
#include "node/role/controls.h"
#include "node/role/let_go.h"
#include "node/role/rights.h"
#include "node/role/role.h"
#include "node/role/site.h"
#include "node/role/source.h"
#include "node/top.h"
#include "seal/wipe.h"
#include "node/train/all.h"
#include "node/train/line_in.h"
#include "node/train/prober.h"

/* A message that its sender may say. */
struct said {
    struct peer *peer;
    struct job *job; /* that it is about; NULL: of none, or none of that id is here */
    uint8_t kind;
    const uint8_t *body;
    size_t length;
    uint64_t now_ns;
};

/* The peer says what it may not: no effect, but that people hear of it. */
static void forbid(struct node *node, const struct said *said)
{
    node->counters.messages_forbidden++;
    misfit_note_right(said->peer, said->kind, core_lived_ns(node));
    struct wire_measure measure;
    /* A source that is answered plans without this node at once. */
    if (said->kind == CONTROL_MEASURE && post_has_ample_room(node, said->peer->index) &&
        control_measure_decode(said->body, said->length, &measure) == WIRE_OK)
        site_refuse_measuring(node, said->peer->index, measure.job);
}

static bool on_measure(struct node *node, const struct said *said)
{
    struct wire_measure measure;
    if (control_measure_decode(said->body, said->length, &measure) != WIRE_OK)
        return false;
    measure_ask(node, said->peer->index, &measure, said->now_ns);
    return true;
}

static bool on_measurement(struct node *node, const struct said *said)
{
    struct control_measurement report;
    if (control_measurement_decode(said->body, said->length, &report) != WIRE_OK)
        return false;
    source_take_records(node, said->peer->index, &report, said->now_ns);
    struct job *job = job_of_source(node, report.fixed.job);
    if (job != NULL)
        source_on_measurement(node, job, said->peer->index, &report, said->now_ns);
    return true;
}

static bool on_part(struct node *node, const struct said *said)
{
    struct control_part part;
    if (control_part_decode(said->body, said->length, &part) != WIRE_OK)
        return false;
    bool own = peer_find(node, part.fixed.source.text) == said->peer->index;
    if (!own || !site_on_part(node, said->peer->index, &part, said->now_ns))
        forbid(node, said);
    wipe(&part.fixed.secret, sizeof(part.fixed.secret));
    return true;
}

static bool on_tree(struct node *node, const struct said *said)
{
    struct control_tree tree;
    return control_tree_decode(said->body, said->length, &tree) == WIRE_OK &&
           site_on_tree(node, said->peer->index, &tree, said->now_ns);
}

static bool on_confirm(struct node *node, const struct said *said)
{
    struct control_confirm confirm;
    if (control_confirm_decode(said->body, said->length, &confirm) != WIRE_OK)
        return false;
    struct job *job = said->job;
    if (job != NULL)
        source_on_confirm(node, job, said->peer->index, &confirm, said->now_ns);
    bool taken = confirm.fixed.answer == CONFIRM_READY || confirm.fixed.answer == CONFIRM_COMPLETE;
    if ((job == NULL || phase_ends(job->phase)) && taken)
        source_tell_end(node, job, confirm.fixed.job, said->peer->index, said->now_ns);
    return true;
}

static bool on_start(struct node *node, const struct said *said)
{
    struct wire_start start;
    if (control_start_decode(said->body, said->length, &start) != WIRE_OK)
        return false;
    if (said->job == NULL || said->job->epoch != start.epoch)
        return false;
    site_on_start(node, said->job, said->now_ns);
    return true;
}

static bool on_status(struct node *node, const struct said *said)
{
    struct control_status status;
    if (control_status_decode(said->body, said->length, &status) != WIRE_OK)
        return false;
    struct job *job = said->job;
    if (job != NULL)
        source_on_status(node, job, said->peer->index, &status, said->now_ns);
    bool over = job == NULL || (phase_ends(job->phase) && !source_awaits_end(node, job, said->peer->index));
    if (over)
        source_tell_end(node, job, status.fixed.job, said->peer->index, said->now_ns);
    return true;
}

static bool on_hashes(struct node *node, const struct said *said)
{
    struct control_hashes hashes;
    if (control_hashes_decode(said->body, said->length, &hashes) != WIRE_OK)
        return false;
    if (said->job != NULL && !phase_ends(said->job->phase))
        said->job->kind->on_hashes(node, said->job, &hashes, said->now_ns);
    return true;
}

/* HAVE and RESEND, from a child about its own copy. */
static bool on_blocks(struct node *node, const struct said *said)
{
    struct wire_blocks blocks;
    if (control_blocks_decode(said->body, said->length, &blocks) != WIRE_OK)
        return false;
    struct job *job = said->job;
    if (job == NULL)
        return true;
    uint8_t child = job->children.of_peer[said->peer->index];
    if (job->object == NULL || job->kind->endless || blocks.first_block > job->geometry.blocks ||
        blocks.count > job->geometry.blocks - blocks.first_block)
        return false;
    if (said->kind == CONTROL_HAVE) {
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
static bool on_close_job(struct node *node, const struct said *said)
{
    struct control_close_job close;
    if (control_close_job_decode(said->body, said->length, &close) != WIRE_OK)
        return false;
    site_on_offer_closed(node, said->peer->index, close.fixed.job);
    struct job *job = said->job;
    if (job == NULL)
        return true;
    if (job->source == NULL && job->source_peer == said->peer->index)
        site_on_close(node, job, &close, said->now_ns);
    else
        role_on_child_parted(node, job, said->peer->index, close.text, said->now_ns);
    return true;
}

static bool on_adjust(struct node *node, const struct said *said)
{
    struct wire_adjust adjust;
    if (control_adjust_decode(said->body, said->length, &adjust) != WIRE_OK)
        return false;
    if (said->job != NULL)
        controls_on_message(node, said->job, &adjust, said->now_ns);
    return true;
}

static bool on_stream_room(struct node *node, const struct said *said)
{
    struct wire_stream_room room;
    if (control_stream_room_decode(said->body, said->length, &room) != WIRE_OK)
        return false;
    struct job *job = said->job;
    if (job == NULL)
        return true;
    uint8_t child = job->children.of_peer[said->peer->index];
    if (job->stream == NULL)
        return false;
    if (job->source != NULL)
        source_on_room(job, said->peer->index, room.blocks);
    if (child != CHILD_NONE)
        stream_on_room(node, job, child, room.blocks, said->now_ns);
    return true;
}

static bool on_stream_end(struct node *node, const struct said *said)
{
    struct wire_stream_end end;
    if (control_stream_end_decode(said->body, said->length, &end) != WIRE_OK)
        return false;
    struct job *job = said->job;
    if (job == NULL)
        return true;
    if (job->stream == NULL || job->object == NULL)
        return false;
    return stream_on_end(node, job, &end, said->now_ns);
}

static bool on_let_go(struct node *node, const struct said *said)
{
    struct control_let_go message;
    if (control_let_go_decode(said->body, said->length, &message) != WIRE_OK)
        return false;
    struct job *job = said->job;
    return job == NULL || let_go_on_message(node, job, said->peer->index, &message, said->now_ns);
}

static bool on_train_report(struct node *node, const struct said *said)
{
    struct control_train_report report;
    if (control_train_report_decode(said->body, said->length, &report) != WIRE_OK)
        return false;
    prober_on_message(node, said->peer, &report, said->now_ns);
    return true;
}

static bool on_available(struct node *node, const struct said *said)
{
    struct control_available available;
    if (control_available_decode(said->body, said->length, &available) != WIRE_OK)
        return false;
    source_take_available(node, said->peer->index, &available, said->now_ns);
    return true;
}

static bool on_probe_ask(struct node *node, const struct said *said)
{
    struct wire_probe_ask ask;
    if (control_probe_ask_decode(said->body, said->length, &ask) != WIRE_OK)
        return false;
    if (ask.what == PROBE_WHAT_PATH)
        asked_take(node, said->peer->index, &ask, said->now_ns);
    else
        line_in_take(node, said->peer->index, &ask, said->now_ns);
    return true;
}

static bool on_probe_answer(struct node *node, const struct said *said)
{
    struct control_probe_answer answer;
    struct pair_end end;
    if (control_probe_answer_decode(said->body, said->length, &answer) != WIRE_OK ||
        !pairs_on_answer(node, said->peer->index, &answer, said->now_ns, &end))
        return false;
    all_on_end(node, &end, said->now_ns);
    return true;
}

static bool dispatch(struct node *node, const struct said *said)
{
    switch ((enum control_kind)said->kind) {
    case CONTROL_MEASURE:
        return on_measure(node, said);
    case CONTROL_MEASUREMENT:
        return on_measurement(node, said);
    case CONTROL_PART:
        return on_part(node, said);
    case CONTROL_TREE:
        return on_tree(node, said);
    case CONTROL_CONFIRM:
        return on_confirm(node, said);
    case CONTROL_START:
        return on_start(node, said);
    case CONTROL_STATUS:
        return on_status(node, said);
    case CONTROL_HASHES:
        return on_hashes(node, said);
    case CONTROL_HAVE:
    case CONTROL_RESEND:
        return on_blocks(node, said);
    case CONTROL_CLOSE_JOB:
        return on_close_job(node, said);
    case CONTROL_ADJUST:
        return on_adjust(node, said);
    case CONTROL_STREAM_ROOM:
        return on_stream_room(node, said);
    case CONTROL_STREAM_END:
        return on_stream_end(node, said);
    case CONTROL_LET_GO:
        return on_let_go(node, said);
    case CONTROL_TRAIN_REPORT:
        return on_train_report(node, said);
    case CONTROL_AVAILABLE:
        return on_available(node, said);
    case CONTROL_PROBE_ASK:
        return on_probe_ask(node, said);
    case CONTROL_PROBE_ANSWER:
        return on_probe_answer(node, said);
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
        struct said said = {.peer = peer, .kind = kind, .body = body, .length = length, .now_ns = now_ns};
        if (!rights_check(node, peer->index, kind, body, length, &said.job))
            forbid(node, &said);
        else if (!dispatch(node, &said))
            node->counters.messages_refused++;
    }
    /* Messages change what is due: let the next tick look at the jobs. */
    core_wake_jobs(node, now_ns);
    core_schedule(node, now_ns);
}
