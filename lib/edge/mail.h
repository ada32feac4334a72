/* Mail: the reliable, ordered exchange of small messages between two peers, both directions in one object.
 *
 * Sending: a queue of MAIL_QUEUE messages; up to MAIL_WINDOW of them are in flight. An ack tells which
 * came in spite of holes before them, and echoes the newest stamp that came: what left
 * max(MAIL_REORDER_MIN_NS, rtt_timeout/16) before that and is still missing is lost, and resent at once
 * (RACK's rule, RFC 8985; a stamp leaves no doubt which copy came). Where acks stay out, each of the oldest
 * MAIL_RESEND_AHEAD missing is resent after rtt_timeout (at least 20 ms), from the oldest's third time on
 * doubling up to 2 s. A message marked by mail_repeat_newest is repeated MAIL_REPEATS times, MAIL_REPEAT_NS
 * apart, unless its ack has come: what a whole job waits for must not cost a timeout when a packet or two are
 * lost. Receiving: in order; messages that came early are kept (MAIL_WINDOW of them). Guarantee: mail_receive
 * hands out each message of a session once, in order; what was
 * handed out is overwritten. Memory: mail_bytes() from the arena. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "wire/message.h"

#define MAIL_QUEUE          512 /* power of two */
#define MAIL_WINDOW         128 /* power of two */
#define MAIL_RESEND_AHEAD   8
#define MAIL_REPEAT_NS      5000000ULL
#define MAIL_REORDER_MIN_NS 2000000ULL
#define MAIL_REPEATS        2

struct mail_slot {
    uint64_t sent_ns; /* 0: never */
    uint16_t length;
    uint8_t kind;
    uint8_t present;
    bool marked;     /* each departure is followed by others without waiting for the timeout */
    uint8_t repeats; /* so many of them are still to come */
    bool seen;       /* the peer has it, and waits for one before it */
    bool lost;       /* to be resent at once */
    bool secret;     /* overwritten when it is acked */
    uint8_t body[WIRE_MESSAGE_BODY_MAX];
};

struct mail_counters {
    uint64_t sent, resent, repeated, received, duplicates, queue_full;
};

struct mail {
    struct mail_slot *out;               /* number & (MAIL_QUEUE - 1) */
    uint64_t out_next;                   /* number of the next message queued */
    uint64_t out_unsent;                 /* first never sent */
    uint64_t out_acked;                  /* first not acked */
    uint64_t out_repeated[MAIL_REPEATS]; /* of each repetition: the first message that it may be due for */
    uint64_t resend_at_ns;
    uint64_t newest_sent_ns;
    uint32_t backoff;
    uint32_t lost_count;
    struct mail_slot *in; /* number & (MAIL_WINDOW - 1) */
    uint64_t in_next;     /* next number to hand out */
    uint32_t in_count;    /* present */
    uint32_t echo;        /* newest stamp that came, once in_known */
    bool in_known;
    bool ack_due;
    uint8_t gaps[WIRE_GAPS_BYTES]; /* body of the ack under way */
    uint64_t rtt_timeout_ns;
    struct mail_counters counters;
};

/* Memory that mail_init takes from the arena. */
size_t mail_bytes(void);
void mail_init(struct mail *mail, struct arena *arena);
/* A new session: what was queued is forgotten, counters run on. */
void mail_reset(struct mail *mail);
/* How long an answer may take. */
void mail_set_timeout(struct mail *mail, uint64_t rtt_timeout_ns);
/* False: the queue is full (counted); the caller keeps the message and tries again later. */
bool mail_push(struct mail *mail, uint8_t kind, const uint8_t *body, size_t length);
/* The message pushed last leaves MAIL_REPEATS times more, unless its ack is faster. */
void mail_repeat_newest(struct mail *mail);
/* The message pushed last is overwritten once the peer has it. */
void mail_mark_secret(struct mail *mail);
size_t mail_room(const struct mail *mail); /* messages that mail_push would take now */
/* The next datagram to send now, new, repeated or a bare ack; false: none. `body` stays valid until the next
 * call. */
bool mail_next(struct mail *mail, uint64_t now_ns, struct wire_message *message, const uint8_t **body);
/* A datagram came: handles its ack, keeps its message. False: outside the window (dropped, to be counted).
 * `stamp` is its header's. */
bool mail_on_datagram(struct mail *mail, uint32_t stamp, const struct wire_message_view *message);
/* The next message in order, valid until the next call on this mail; false: none. */
bool mail_receive(struct mail *mail, uint8_t *kind, const uint8_t **body, size_t *length);
/* When mail_next has something to send; 0: now. */
uint64_t mail_next_ns(const struct mail *mail);
