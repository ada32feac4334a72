/* What the files of the sender share with each other and with nobody else. They call downwards, in this
 * order: sender.c, sender_ack.c, sender_liveness.c, sender_silence.c, sender_probe.c, sender_repeat.c, sender_rate.c,
 * sender_record.c. */
#pragma once

#include "edge/sender.h"

/* ---- sender_record.c ---- */

/* What a record in flight notes: whether a newer copy of its content is under way, and out of the budget. */
enum sender_note { SENDER_ONE_COPY, SENDER_HANDED_OUT, SENDER_REPEATED };

static inline struct sender_record *sender_record(const struct sender *sender, uint64_t number)
{
    return &sender->records[number & (sender->config.window_packets - 1)];
}

/* Takes a number out of flight, without a word to the owner. */
void sender_settle(struct sender *sender, uint64_t number);
/* … as lost. Hands its content back; NULL: another copy of it is in flight or about to be. */
void sender_declare_lost(struct sender *sender, uint64_t number, uint64_t now_ns,
                         const struct sender_events *events);
/* Moves the floor past everything settled. */
void sender_advance_floor(struct sender *sender, uint64_t now_ns);
/* Whether the path loses many packets. */
bool sender_lossy(const struct sender *sender);

/* ---- sender_liveness.c ---- */

/* The strategy was told of an ack: another look at whether the edge lives. */
void sender_look(struct sender *sender, const struct congestion_sample *sample);

/* ---- sender_rate.c ---- */

/* Gives the strategy's rate under the cap to the pacer. */
void sender_apply_rate(struct sender *sender);

/* ---- sender_repeat.c ---- */

/* Has the owner send a content again. False: he does not want it any more. Otherwise the verdict of this
 * record is the copy's from now on. */
bool sender_hand_out(struct sender *sender, struct sender_record *record, const struct sender_events *events);
/* When contents are to be repeated next; TIME_NEVER: not at all. */
uint64_t sender_repeat_ns(const struct sender *sender);
/* Hands out again, once, what left long enough ago that chance rarely strikes both. */
void sender_repeat_contents(struct sender *sender, uint64_t now_ns, const struct sender_events *events);
/* When a packet is to leave by which the newest ones get their verdict; TIME_NEVER: not at all. */
uint64_t sender_cover_ns(const struct sender *sender);
/* Has the owner send one: a copy of the newest that has none. */
void sender_cover_newest(struct sender *sender, const struct sender_events *events);

/* ---- sender_probe.c ---- */

/* When the tail is to be probed. */
uint64_t sender_probe_ns(const struct sender *sender);
/* Probes it; where the owner had no use for the probe before, gives up. */
void sender_probe_tail(struct sender *sender, uint64_t now_ns, const struct sender_events *events);
/* Has the owner send the newest content in flight again, past the in-flight limit. */
void sender_ask_probe(struct sender *sender, const struct sender_events *events);
/* The owner had no use for a probe, so no ack will ever judge what is in flight: all of it is lost. */
void sender_give_up(struct sender *sender, uint64_t now_ns, const struct sender_events *events);

/* ---- sender_silence.c ---- */

/* When the path counts as silent, if no ack comes. */
uint64_t sender_silence_ns(const struct sender *sender);
/* Tells the strategy, too. */
void sender_begin_silence(struct sender *sender, uint64_t now_ns);
/* The path lives: an ack came. */
void sender_end_silence(struct sender *sender, uint64_t now_ns);
/* Departure of the next packet in a silence, whatever it is. */
uint64_t sender_silent_departure_ns(const struct sender *sender);
/* In a silence: when the owner is to be given something to send, after the newest packet and attempt. */
uint64_t sender_silent_probe_ns(const struct sender *sender);
/* Gives him the newest in flight, or the oldest where the window is full. What he sends may be another. */
void sender_probe_silently(struct sender *sender, uint64_t now_ns, const struct sender_events *events);
