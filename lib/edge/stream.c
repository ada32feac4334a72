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
    slot->marked = slot->seen = slot->lost = false;
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

/* The first of the oldest STREAM_RESEND_AHEAD messages that are missing to be resent. Its timer runs from its
 * last departure: when an ack uncovers an older hole, that is due at once. */
static uint64_t next_resend(const struct stream *stream)
{
    uint64_t first = stream->out_acked;
    uint32_t missing = 1;
    for (uint64_t number = first + 1; number < stream->out_unsent && missing < STREAM_RESEND_AHEAD;
         number++) {
        if (out_slot(stream, number)->seen)
            continue;
        missing++;
        if (out_slot(stream, number)->sent_ns < out_slot(stream, first)->sent_ns)
            first = number;
    }
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

static uint64_t first_lost(const struct stream *stream)
{
    uint64_t number = stream->out_acked;
    while (!out_slot(stream, number)->lost)
        number++;
    return number;
}

static void forget_lost(struct stream *stream, struct stream_slot *slot)
{
    stream->lost_count -= slot->lost;
    slot->lost = false;
}

static void resend(struct stream *stream, uint64_t number)
{
    struct stream_slot *slot = out_slot(stream, number);
    forget_lost(stream, slot);
    stream->counters.resent++;
    repeat_anew(stream, number);
}

/* Chooses the message that goes now; false: none, but perhaps a bare ack. */
static bool choose(struct stream *stream, uint64_t now_ns, uint64_t *number)
{
    unsigned turn;
    if (stream->lost_count > 0) {
        *number = first_lost(stream);
        resend(stream, *number);
        return true;
    }
    if (now_ns >= stream->resend_at_ns) {
        *number = next_resend(stream);
        stream->backoff += *number == stream->out_acked;
        resend(stream, *number);
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

/* A bare ack: tells of holes where there are some. */
static void fill_ack(struct stream *stream, struct wire_message *message, const uint8_t **body)
{
    stream->ack_due = false;
    if (stream->in_count == 0)
        return;
    struct wire_gaps gaps = {.echo = stream->echo};
    for (uint64_t bit = 0; bit < STREAM_WINDOW - 1; bit++) {
        uint64_t early = in_slot(stream, stream->in_next + 1 + bit)->present;
        if (bit < 64)
            gaps.early_low |= early << bit;
        else
            gaps.early_high |= early << (bit - 64);
    }
    wire_gaps_put(stream->gaps, &gaps);
    message->length = WIRE_GAPS_BYTES;
    *body = stream->gaps;
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
        slot->sent_ns = stream->newest_sent_ns = now_ns;
        message->kind = slot->kind;
        message->length = slot->length;
        *number = (uint32_t)chosen;
        *body = slot->body;
        arm_timer(stream);
        stream->ack_due &= stream->in_count > 0; /* an ack of its own tells of holes */
        return true;
    }
    if (!stream->ack_due)
        return false;
    fill_ack(stream, message, body);
    return true;
}

static void on_seen(struct stream *stream, uint64_t number, bool *news)
{
    struct stream_slot *slot = out_slot(stream, number);
    *news |= !slot->seen;
    slot->seen = true;
    slot->repeats = 0;
    forget_lost(stream, slot);
}

/* What left long enough before the newest that came, and is missing, is lost. */
static void judge_missing(struct stream *stream, uint32_t echo)
{
    /* Later than anything that left: a stamp of nothing. */
    if (serial_distance32(echo, wire_stamp(stream->newest_sent_ns)) > 0)
        return;
    uint64_t allowance_ns = MAX(stream->rtt_timeout_ns / 16, STREAM_REORDER_MIN_NS);
    for (uint64_t number = stream->out_acked; number < stream->out_unsent; number++) {
        struct stream_slot *slot = out_slot(stream, number);
        int32_t later = serial_distance32(echo, wire_stamp(slot->sent_ns));
        if (slot->seen || slot->lost || later <= 0 || (uint64_t)later * WIRE_STAMP_UNIT_NS < allowance_ns)
            continue;
        slot->lost = true;
        stream->lost_count++;
    }
}

static void on_ack(struct stream *stream, const struct wire_message_view *message)
{
    uint64_t acked = serial_expand32(stream->out_acked, message->fixed.ack);
    if (acked > stream->out_unsent || acked < stream->out_acked)
        return;
    bool news = acked > stream->out_acked;
    for (; stream->out_acked < acked; stream->out_acked++)
        forget_lost(stream, out_slot(stream, stream->out_acked));
    if (message->fixed.kind == WIRE_MESSAGE_ACK && message->fixed.length == WIRE_GAPS_BYTES) {
        struct wire_gaps gaps;
        wire_gaps_get(message->body, &gaps);
        for (uint64_t bit = 0; bit < STREAM_WINDOW && acked + 1 + bit < stream->out_unsent; bit++)
            if (((bit < 64 ? gaps.early_low >> bit : gaps.early_high >> (bit - 64)) & 1) != 0)
                on_seen(stream, acked + 1 + bit, &news);
        judge_missing(stream, gaps.echo);
    }
    if (!news)
        return;
    stream->backoff = 0;
    arm_timer(stream);
}

static void note_stamp(struct stream *stream, uint32_t stamp)
{
    if (!stream->in_known || serial_distance32(stamp, stream->echo) > 0)
        stream->echo = stamp;
    stream->in_known = true;
}

bool stream_on_datagram(struct stream *stream, uint32_t number, uint32_t stamp,
                        const struct wire_message_view *message)
{
    on_ack(stream, message);
    if (message->fixed.kind == WIRE_MESSAGE_ACK)
        return true;
    stream->ack_due = true;
    note_stamp(stream, stamp);
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
    stream->in_count++;
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
    stream->in_count--;
    *kind = slot->kind;
    *body = slot->body;
    *length = slot->length;
    stream->in_next++;
    stream->ack_due = true;
    return true;
}

uint64_t stream_next_ns(const struct stream *stream)
{
    if (stream->lost_count > 0 || stream->ack_due || has_unsent(stream))
        return 0;
    uint64_t number;
    unsigned turn;
    return MIN(stream->resend_at_ns, repeat_ns(stream, &number, &turn));
}
