#include "node/peer/post.h"

#include "base/check.h"
#include "seal/wipe.h"

static size_t encode(enum control_kind kind, const void *message, uint8_t *body)
{
    switch (kind) {
    case CONTROL_MEASURE:
        return control_measure_encode(body, message);
    case CONTROL_MEASUREMENT:
        return control_measurement_encode(body, message);
    case CONTROL_PART:
        return control_part_encode(body, message);
    case CONTROL_TREE:
        return control_tree_encode(body, message);
    case CONTROL_CONFIRM:
        return control_confirm_encode(body, message);
    case CONTROL_START:
        return control_start_encode(body, message);
    case CONTROL_STATUS:
        return control_status_encode(body, message);
    case CONTROL_HASHES:
        return control_hashes_encode(body, message);
    case CONTROL_HAVE:
    case CONTROL_RESEND:
        return control_blocks_encode(body, message);
    case CONTROL_CLOSE_JOB:
        return control_close_job_encode(body, message);
    case CONTROL_ADJUST:
        return control_adjust_encode(body, message);
    case CONTROL_STREAM_ROOM:
        return control_stream_room_encode(body, message);
    case CONTROL_STREAM_END:
        return control_stream_end_encode(body, message);
    case CONTROL_LET_GO:
        return control_let_go_encode(body, message);
    case CONTROL_TRAIN_REPORT:
        return control_train_report_encode(body, message);
    case CONTROL_AVAILABLE:
        return control_available_encode(body, message);
    case CONTROL_PROBE_ASK:
        return control_probe_ask_encode(body, message);
    case CONTROL_PROBE_ANSWER:
        return control_probe_answer_encode(body, message);
    case CONTROL_KIND_COUNT:
        break;
    }
    return 0;
}

static bool queue(struct node *node, uint16_t index, enum control_kind kind, const void *message, bool surely)
{
    CHECK(index < node->peer_count);
    uint8_t body[WIRE_MESSAGE_BODY_MAX];
    size_t length = encode(kind, message, body);
    CHECK(length > 0 && length <= WIRE_MESSAGE_BODY_MAX);
    struct peer *peer = &node->peers[index];
    if (post_room(node, index) == MAIL_QUEUE)
        peer->answered_ns = core_lived_ns(node); /* nothing has waited for an answer before */
    bool pushed = mail_push(&peer->mail, (uint8_t)kind, body, length);
    if (kind == CONTROL_PART)
        wipe(body, length); /* the job's secret */
    if (!pushed) {
        node->counters.messages_unsent++;
        return false;
    }
    if (kind == CONTROL_PART)
        mail_mark_secret(&peer->mail);
    if (surely)
        mail_repeat_newest(&peer->mail);
    peer_note_control(node, peer);
    return true;
}

bool post(struct node *node, uint16_t peer, enum control_kind kind, const void *message)
{
    return queue(node, peer, kind, message, kind != CONTROL_STATUS && kind != CONTROL_HASHES);
}

bool post_surely(struct node *node, uint16_t peer, enum control_kind kind, const void *message)
{
    return queue(node, peer, kind, message, true);
}

bool post_fits(enum control_kind kind, const void *message)
{
    uint8_t body[WIRE_MESSAGE_BODY_MAX];
    return encode(kind, message, body) > 0;
}

uint32_t post_room(const struct node *node, uint16_t peer)
{
    return mail_room(&node->peers[peer].mail);
}

bool post_has_ample_room(const struct node *node, uint16_t peer)
{
    return post_room(node, peer) > MAIL_QUEUE / 2;
}
