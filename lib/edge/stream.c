/* See stream.h. Numbers are 64 bits here and 32 on the wire. The acknowledgement is the next message to hand
 * out, so that a peer never has more than STREAM_WINDOW messages beyond what the owner took. */
#include "edge/stream.h"

#include "base/serial.h"
#include "base/units.h"

#define RESEND_MIN_NS (20 * NS_PER_MS)
#define RESEND_MAX_NS (2 * NS_PER_S)
#define BACKOFF_MAX   16
/* Before the wait doubles: at 30 % loss both ways every second answer stays out. */
#define TIMEOUTS_AT_ONE_PACE 2u
#define SAME_ACKS            3

static struct stream_slot *out_slot(const struct stream *stream, uint64_t number)
{
    return &stream->out[number & (STREAM_QUEUE - 1)];
}

static struct stream_slot *in_slot(const struct stream *stream, uint64_t number)
{
    return &stream->in[number & (STREAM_WINDOW - 1)];
}

size_t stream_bytes(void)
{
    return arena_need(STREAM_QUEUE * sizeof(struct stream_slot)) +
           arena_need(STREAM_WINDOW * sizeof(struct stream_slot));
}

void stream_init(struct stream *stream, struct arena *arena)
{
    *stream = (struct stream){0};
    stream->out = arena_alloc(arena, STREAM_QUEUE * sizeof(struct stream_slot));
    stream->in = arena_alloc(arena, STREAM_WINDOW * sizeof(struct stream_slot));
    stream_set_timeout(stream, RESEND_MIN_NS);
    stream_reset(stream);
}

void stream_reset(struct stream *stream)
{
    *stream = (struct stream){.out = stream->out,
                              .in = stream->in,
                              .resend_at_ns = TIME_NEVER,
                              .rtt_timeout_ns = stream->rtt_timeout_ns,
                              .counters = stream->counters};
    for (uint64_t number = 0; number < STREAM_WINDOW; number++)
        in_slot(stream, number)->present = false;
}

void stream_set_timeout(struct stream *stream, uint64_t rtt_timeout_ns)
{
    stream->rtt_timeout_ns = MIN(MAX(rtt_timeout_ns, RESEND_MIN_NS), RESEND_MAX_NS);
}

size_t stream_room(const struct stream *stream)
{
    return STREAM_QUEUE - (size_t)(stream->out_next - stream->out_acked);
}

bool stream_push(struct stream *stream, uint8_t kind, const uint8_t *body, size_t length)
{
    CHECK(kind != WIRE_MESSAGE_ACK);
    CHECK(length <= WIRE_MESSAGE_BODY_MAX);
    if (stream_room(stream) == 0) {
        stream->counters.queue_full++;
        return false;
    }
    struct stream_slot *slot = out_slot(stream, stream->out_next++);
    slot->kind = kind;
    slot->length = (uint16_t)length;
    slot->marked = false;
    slot->repeats = 0;
    if (length > 0)
        memcpy(slot->body, body, length);
    return true;
}

void stream_repeat_newest(struct stream *stream)
{
    CHECK(stream->out_next > stream->out_acked);
    struct stream_slot *slot = out_slot(stream, stream->out_next - 1);
    slot->marked = true;
    slot->repeats = STREAM_REPEATS;
}

static uint64_t wait_ns(const struct stream *stream)
{
    uint32_t doublings = stream->backoff - MIN(stream->backoff, TIMEOUTS_AT_ONE_PACE);
    doublings = MIN(doublings, (uint32_t)BACKOFF_MAX);
    return MIN(stream->rtt_timeout_ns << doublings, RESEND_MAX_NS);
}

/* The first of the oldest STREAM_RESEND_AHEAD messages in flight to be resent. Its timer runs from its last
 * departure: when an ack uncovers an older hole, that is due at once. */
static uint64_t next_resend(const struct stream *stream)
{
    uint64_t end = MIN(stream->out_unsent, stream->out_acked + STREAM_RESEND_AHEAD);
    uint64_t first = stream->out_acked;
    for (uint64_t number = first + 1; number < end; number++)
        if (out_slot(stream, number)->sent_ns < out_slot(stream, first)->sent_ns)
            first = number;
    return first;
}

static void arm_timer(struct stream *stream)
{
    stream->resend_at_ns = stream->out_acked == stream->out_unsent
                               ? TIME_NEVER
                               : out_slot(stream, next_resend(stream))->sent_ns + wait_ns(stream);
}

static bool has_unsent(const struct stream *stream)
{
    return stream->out_unsent < stream->out_next && stream->out_unsent - stream->out_acked < STREAM_WINDOW;
}

/* When the next of the marked messages in flight is to be repeated early, and for which time; TIME_NEVER:
 * none is. Each repetition goes through them in order, behind the one before it. */
static uint64_t repeat_ns(const struct stream *stream, uint64_t *number, unsigned *turn)
{
    uint64_t due_ns = TIME_NEVER, end = stream->out_unsent;
    for (unsigned pass = 0; pass < STREAM_REPEATS; pass++) {
        uint64_t found = MAX(stream->out_repeated[pass], stream->out_acked);
        while (found < end && out_slot(stream, found)->repeats != STREAM_REPEATS - pass)
            found++;
        if (found < end && out_slot(stream, found)->sent_ns + STREAM_REPEAT_NS < due_ns) {
            due_ns = out_slot(stream, found)->sent_ns + STREAM_REPEAT_NS;
            *number = found;
            *turn = pass;
        }
        end = MIN(end, found);
    }
    return due_ns;
}

static void repeat_anew(struct stream *stream, uint64_t number)
{
    if (!out_slot(stream, number)->marked)
        return;
    out_slot(stream, number)->repeats = STREAM_REPEATS;
    for (unsigned turn = 0; turn < STREAM_REPEATS; turn++)
        stream->out_repeated[turn] = MIN(stream->out_repeated[turn], number);
}

/* Chooses the message that goes now; false: none, but perhaps a bare ack. */
static bool choose(struct stream *stream, uint64_t now_ns, uint64_t *number)
{
    unsigned turn;
    if (stream->resend_now || now_ns >= stream->resend_at_ns) {
        *number = stream->resend_now ? stream->out_acked : next_resend(stream);
        stream->backoff += !stream->resend_now && *number == stream->out_acked;
        stream->resend_now = false;
        stream->counters.resent++;
        repeat_anew(stream, *number);
        return true;
    }
    if (now_ns >= repeat_ns(stream, number, &turn)) {
        stream->out_repeated[turn] = *number + 1;
        out_slot(stream, *number)->repeats--;
        stream->counters.repeated++;
        return true;
    }
    if (!has_unsent(stream))
        return false;
    *number = stream->out_unsent++;
    stream->counters.sent++;
    return true;
}

bool stream_next(struct stream *stream, uint64_t now_ns, struct wire_message *message, uint32_t *number,
                 const uint8_t **body)
{
    uint64_t chosen;
    *message = (struct wire_message){.ack = (uint32_t)stream->in_next, .kind = WIRE_MESSAGE_ACK};
    *number = 0;
    *body = NULL;
    if (choose(stream, now_ns, &chosen)) {
        struct stream_slot *slot = out_slot(stream, chosen);
        slot->sent_ns = now_ns;
        message->kind = slot->kind;
        message->length = slot->length;
        *number = (uint32_t)chosen;
        *body = slot->body;
        arm_timer(stream);
    } else if (!stream->ack_due) {
        return false;
    }
    stream->ack_due = false;
    return true;
}

static void on_ack(struct stream *stream, uint32_t low, bool bare)
{
    uint64_t acked = serial_expand32(stream->out_acked, low);
    if (acked > stream->out_unsent || acked < stream->out_acked)
        return;
    if (acked > stream->out_acked) {
        stream->out_acked = acked;
        stream->same_acks = 0;
        stream->backoff = 0;
        stream->resend_now = false;
        arm_timer(stream);
        return;
    }
    /* Once per oldest message: further ones are its own echoes, and the timer takes over. */
    if (bare && acked < stream->out_unsent && ++stream->same_acks == SAME_ACKS)
        stream->resend_now = true;
}

bool stream_on_datagram(struct stream *stream, uint32_t number, const struct wire_message_view *message,
                        uint64_t now_ns)
{
    (void)now_ns;
    bool bare = message->fixed.kind == WIRE_MESSAGE_ACK;
    on_ack(stream, message->fixed.ack, bare);
    if (bare)
        return true;
    stream->ack_due = true;
    uint64_t full = serial_expand32(stream->in_next, number);
    if (full < stream->in_next ||
        (full < stream->in_next + STREAM_WINDOW && in_slot(stream, full)->present)) {
        stream->counters.duplicates++;
        return true;
    }
    if (full >= stream->in_next + STREAM_WINDOW || message->fixed.length > WIRE_MESSAGE_BODY_MAX)
        return false;
    struct stream_slot *slot = in_slot(stream, full);
    slot->present = true;
    slot->kind = message->fixed.kind;
    slot->length = message->fixed.length;
    if (slot->length > 0)
        memcpy(slot->body, message->body, slot->length);
    stream->counters.received++;
    return true;
}

bool stream_receive(struct stream *stream, uint8_t *kind, const uint8_t **body, size_t *length)
{
    struct stream_slot *slot = in_slot(stream, stream->in_next);
    if (!slot->present)
        return false;
    slot->present = false;
    *kind = slot->kind;
    *body = slot->body;
    *length = slot->length;
    stream->in_next++;
    stream->ack_due = true;
    return true;
}

uint64_t stream_next_ns(const struct stream *stream)
{
    if (stream->resend_now || stream->ack_due || has_unsent(stream))
        return 0;
    uint64_t number;
    unsigned turn;
    return MIN(stream->resend_at_ns, repeat_ns(stream, &number, &turn));
}
