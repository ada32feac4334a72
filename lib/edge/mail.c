/* See mail.h. Numbers are 64 bits here and 32 on the wire. The acknowledgement is the next message to hand
 * out, so that a peer never has more than MAIL_WINDOW messages beyond what the owner took. */
#include "edge/mail.h"

#include "base/serial.h"
#include "base/units.h"

#define RESEND_MIN_NS (20 * NS_PER_MS)
#define RESEND_MAX_NS (2 * NS_PER_S)
#define BACKOFF_MAX   16
/* Before the wait doubles: at 30 % loss both ways every second answer stays out. */
#define TIMEOUTS_AT_ONE_PACE 2u

static struct mail_slot *out_slot(const struct mail *mail, uint64_t number)
{
    return &mail->out[number & (MAIL_QUEUE - 1)];
}

static struct mail_slot *in_slot(const struct mail *mail, uint64_t number)
{
    return &mail->in[number & (MAIL_WINDOW - 1)];
}

size_t mail_bytes(void)
{
    return arena_need(MAIL_QUEUE * sizeof(struct mail_slot)) +
           arena_need(MAIL_WINDOW * sizeof(struct mail_slot));
}

void mail_init(struct mail *mail, struct arena *arena)
{
    *mail = (struct mail){0};
    mail->out = arena_alloc(arena, MAIL_QUEUE * sizeof(struct mail_slot));
    mail->in = arena_alloc(arena, MAIL_WINDOW * sizeof(struct mail_slot));
    mail_set_timeout(mail, RESEND_MIN_NS);
    mail_reset(mail);
}

/* A job's secret may have been in it. */
static void forget_body(struct mail_slot *slot)
{
    memset(slot->body, 0, slot->length);
    slot->length = 0;
}

void mail_reset(struct mail *mail)
{
    for (; mail->out_acked < mail->out_next; mail->out_acked++)
        forget_body(out_slot(mail, mail->out_acked));
    for (uint64_t number = 0; number < MAIL_WINDOW && mail->in_count > 0; number++)
        if (in_slot(mail, number)->present)
            forget_body(in_slot(mail, number));
    *mail = (struct mail){.out = mail->out,
                          .in = mail->in,
                          .resend_at_ns = TIME_NEVER,
                          .rtt_timeout_ns = mail->rtt_timeout_ns,
                          .counters = mail->counters};
    for (uint64_t number = 0; number < MAIL_WINDOW; number++)
        in_slot(mail, number)->present = false;
}

void mail_set_timeout(struct mail *mail, uint64_t rtt_timeout_ns)
{
    mail->rtt_timeout_ns = MIN(MAX(rtt_timeout_ns, RESEND_MIN_NS), RESEND_MAX_NS);
}

size_t mail_room(const struct mail *mail)
{
    return MAIL_QUEUE - (size_t)(mail->out_next - mail->out_acked);
}

bool mail_push(struct mail *mail, uint8_t kind, const uint8_t *body, size_t length)
{
    CHECK(kind != WIRE_MESSAGE_ACK);
    CHECK(length <= WIRE_MESSAGE_BODY_MAX);
    if (mail_room(mail) == 0) {
        mail->counters.queue_full++;
        return false;
    }
    struct mail_slot *slot = out_slot(mail, mail->out_next++);
    slot->kind = kind;
    slot->length = (uint16_t)length;
    slot->marked = slot->seen = slot->lost = slot->secret = false;
    slot->repeats = 0;
    if (length > 0)
        memcpy(slot->body, body, length);
    return true;
}

void mail_repeat_newest(struct mail *mail)
{
    CHECK(mail->out_next > mail->out_acked);
    struct mail_slot *slot = out_slot(mail, mail->out_next - 1);
    slot->marked = true;
    slot->repeats = MAIL_REPEATS;
}

void mail_mark_secret(struct mail *mail)
{
    CHECK(mail->out_next > mail->out_acked);
    out_slot(mail, mail->out_next - 1)->secret = true;
}

static uint64_t wait_ns(const struct mail *mail)
{
    uint32_t doublings = mail->backoff - MIN(mail->backoff, TIMEOUTS_AT_ONE_PACE);
    doublings = MIN(doublings, (uint32_t)BACKOFF_MAX);
    return MIN(mail->rtt_timeout_ns << doublings, RESEND_MAX_NS);
}

/* The first of the oldest MAIL_RESEND_AHEAD messages that are missing to be resent. Its timer runs from its
 * last departure: when an ack uncovers an older hole, that is due at once. */
static uint64_t next_resend(const struct mail *mail)
{
    uint64_t first = mail->out_acked;
    uint32_t missing = 1;
    for (uint64_t number = first + 1; number < mail->out_unsent && missing < MAIL_RESEND_AHEAD; number++) {
        if (out_slot(mail, number)->seen)
            continue;
        missing++;
        if (out_slot(mail, number)->sent_ns < out_slot(mail, first)->sent_ns)
            first = number;
    }
    return first;
}

static void arm_timer(struct mail *mail)
{
    mail->resend_at_ns = mail->out_acked == mail->out_unsent
                             ? TIME_NEVER
                             : out_slot(mail, next_resend(mail))->sent_ns + wait_ns(mail);
}

static bool has_unsent(const struct mail *mail)
{
    return mail->out_unsent < mail->out_next && mail->out_unsent - mail->out_acked < MAIL_WINDOW;
}

/* A marked message in flight that is to be repeated early. */
struct repeat {
    uint64_t due_ns; /* TIME_NEVER: none is */
    uint64_t number;
    unsigned pass; /* for which time, from 0 */
};

/* The one that comes next. Each repetition goes through the marked messages in order, behind the one before
 * it. */
static struct repeat next_repeat(const struct mail *mail)
{
    struct repeat next = {.due_ns = TIME_NEVER};
    uint64_t end = mail->out_unsent;
    for (unsigned pass = 0; pass < MAIL_REPEATS; pass++) {
        uint64_t found = MAX(mail->out_repeated[pass], mail->out_acked);
        while (found < end && out_slot(mail, found)->repeats != MAIL_REPEATS - pass)
            found++;
        if (found < end && out_slot(mail, found)->sent_ns + MAIL_REPEAT_NS < next.due_ns)
            next = (struct repeat){out_slot(mail, found)->sent_ns + MAIL_REPEAT_NS, found, pass};
        end = MIN(end, found);
    }
    return next;
}

static void repeat_anew(struct mail *mail, uint64_t number)
{
    if (!out_slot(mail, number)->marked)
        return;
    out_slot(mail, number)->repeats = MAIL_REPEATS;
    for (unsigned turn = 0; turn < MAIL_REPEATS; turn++)
        mail->out_repeated[turn] = MIN(mail->out_repeated[turn], number);
}

static uint64_t first_lost(const struct mail *mail)
{
    uint64_t number = mail->out_acked;
    while (!out_slot(mail, number)->lost)
        number++;
    return number;
}

static void forget_lost(struct mail *mail, struct mail_slot *slot)
{
    mail->lost_count -= slot->lost;
    slot->lost = false;
}

static void note_resend(struct mail *mail, uint64_t number)
{
    struct mail_slot *slot = out_slot(mail, number);
    forget_lost(mail, slot);
    mail->counters.resent++;
    repeat_anew(mail, number);
}

/* Chooses the message that goes now; false: none, but perhaps a bare ack. */
static bool choose_message(struct mail *mail, uint64_t now_ns, uint64_t *number)
{
    if (mail->lost_count > 0) {
        *number = first_lost(mail);
        note_resend(mail, *number);
        return true;
    }
    if (now_ns >= mail->resend_at_ns) {
        *number = next_resend(mail);
        mail->backoff += *number == mail->out_acked;
        note_resend(mail, *number);
        return true;
    }
    struct repeat repeat = next_repeat(mail);
    if (now_ns >= repeat.due_ns) {
        *number = repeat.number;
        mail->out_repeated[repeat.pass] = *number + 1;
        out_slot(mail, *number)->repeats--;
        mail->counters.repeated++;
        return true;
    }
    if (!has_unsent(mail))
        return false;
    *number = mail->out_unsent++;
    mail->counters.sent++;
    return true;
}

/* A bare ack: tells of holes where there are some. */
static void fill_ack(struct mail *mail, struct wire_message *message, const uint8_t **body)
{
    mail->ack_due = false;
    if (mail->in_count == 0)
        return;
    struct wire_gaps gaps = {.echo = mail->echo};
    for (uint64_t bit = 0; bit < MAIL_WINDOW - 1; bit++) {
        uint64_t early = in_slot(mail, mail->in_next + 1 + bit)->present;
        if (bit < 64)
            gaps.early_low |= early << bit;
        else
            gaps.early_high |= early << (bit - 64);
    }
    wire_gaps_put(mail->gaps, &gaps);
    message->length = WIRE_GAPS_BYTES;
    *body = mail->gaps;
}

bool mail_next(struct mail *mail, uint64_t now_ns, struct wire_message *message, const uint8_t **body)
{
    uint64_t chosen;
    *message = (struct wire_message){.ack = (uint32_t)mail->in_next, .kind = WIRE_MESSAGE_ACK};
    *body = NULL;
    if (choose_message(mail, now_ns, &chosen)) {
        struct mail_slot *slot = out_slot(mail, chosen);
        slot->sent_ns = mail->newest_sent_ns = now_ns;
        message->kind = slot->kind;
        message->length = slot->length;
        message->sequence = (uint32_t)chosen;
        *body = slot->body;
        arm_timer(mail);
        mail->ack_due &= mail->in_count > 0; /* an ack of its own tells of holes */
        return true;
    }
    if (!mail->ack_due)
        return false;
    fill_ack(mail, message, body);
    return true;
}

static void on_seen(struct mail *mail, uint64_t number, bool *news)
{
    struct mail_slot *slot = out_slot(mail, number);
    *news |= !slot->seen;
    slot->seen = true;
    slot->repeats = 0;
    forget_lost(mail, slot);
}

/* What left long enough before the newest that came, and is missing, is lost. */
static void judge_missing(struct mail *mail, uint32_t echo)
{
    /* Later than anything that left: a stamp of nothing. */
    if (serial_distance32(echo, wire_stamp(mail->newest_sent_ns)) > 0)
        return;
    uint64_t allowance_ns = MAX(mail->rtt_timeout_ns / 16, MAIL_REORDER_MIN_NS);
    for (uint64_t number = mail->out_acked; number < mail->out_unsent; number++) {
        struct mail_slot *slot = out_slot(mail, number);
        int32_t later = serial_distance32(echo, wire_stamp(slot->sent_ns));
        if (slot->seen || slot->lost || later <= 0 || (uint64_t)later * WIRE_STAMP_UNIT_NS < allowance_ns)
            continue;
        slot->lost = true;
        mail->lost_count++;
    }
}

static void on_ack(struct mail *mail, const struct wire_message_view *message)
{
    uint64_t acked = serial_expand32(mail->out_acked, message->fixed.ack);
    if (acked > mail->out_unsent || acked < mail->out_acked)
        return;
    bool news = acked > mail->out_acked;
    for (; mail->out_acked < acked; mail->out_acked++) {
        forget_lost(mail, out_slot(mail, mail->out_acked));
        if (out_slot(mail, mail->out_acked)->secret)
            forget_body(out_slot(mail, mail->out_acked));
    }
    if (message->fixed.kind == WIRE_MESSAGE_ACK && message->fixed.length == WIRE_GAPS_BYTES) {
        struct wire_gaps gaps;
        wire_gaps_get(message->body, &gaps);
        for (uint64_t bit = 0; bit < MAIL_WINDOW && acked + 1 + bit < mail->out_unsent; bit++)
            if (((bit < 64 ? gaps.early_low >> bit : gaps.early_high >> (bit - 64)) & 1) != 0)
                on_seen(mail, acked + 1 + bit, &news);
        judge_missing(mail, gaps.echo);
    }
    if (!news)
        return;
    mail->backoff = 0;
    arm_timer(mail);
}

static void note_stamp(struct mail *mail, uint32_t stamp)
{
    if (!mail->in_known || serial_distance32(stamp, mail->echo) > 0)
        mail->echo = stamp;
    mail->in_known = true;
}

bool mail_on_datagram(struct mail *mail, uint32_t stamp, const struct wire_message_view *message)
{
    on_ack(mail, message);
    if (message->fixed.kind == WIRE_MESSAGE_ACK)
        return true;
    mail->ack_due = true;
    note_stamp(mail, stamp);
    uint64_t full = serial_expand32(mail->in_next, message->fixed.sequence);
    if (full < mail->in_next || (full < mail->in_next + MAIL_WINDOW && in_slot(mail, full)->present)) {
        mail->counters.duplicates++;
        return true;
    }
    if (full >= mail->in_next + MAIL_WINDOW || message->fixed.length > WIRE_MESSAGE_BODY_MAX)
        return false;
    struct mail_slot *slot = in_slot(mail, full);
    slot->present = true;
    mail->in_count++;
    slot->kind = message->fixed.kind;
    slot->length = message->fixed.length;
    if (slot->length > 0)
        memcpy(slot->body, message->body, slot->length);
    mail->counters.received++;
    return true;
}

bool mail_receive(struct mail *mail, uint8_t *kind, const uint8_t **body, size_t *length)
{
    struct mail_slot *slot = in_slot(mail, mail->in_next);
    if (mail->in_next > 0 && !in_slot(mail, mail->in_next - 1)->present)
        forget_body(in_slot(mail, mail->in_next - 1)); /* handed out by the call before */
    if (!slot->present)
        return false;
    slot->present = false;
    mail->in_count--;
    *kind = slot->kind;
    *body = slot->body;
    *length = slot->length;
    mail->in_next++;
    mail->ack_due = true;
    return true;
}

uint64_t mail_next_ns(const struct mail *mail)
{
    if (mail->lost_count > 0 || mail->ack_due || has_unsent(mail))
        return 0;
    return MIN(mail->resend_at_ns, next_repeat(mail).due_ns);
}
