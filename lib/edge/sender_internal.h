/* What the files of the sender share with each other and with nobody else. */
#pragma once

#include "edge/sender.h"

static inline struct sender_record *sender_record(const struct sender *sender, uint64_t number)
{
    return &sender->records[number & (sender->config.window_packets - 1)];
}

/* Takes a number out of flight, without a word to the owner. */
void sender_settle(struct sender *sender, uint64_t number);
/* What a record in flight notes: whether a newer copy of its content is under way, and out of the budget. */
enum sender_note { SENDER_ONE_COPY, SENDER_HANDED_OUT, SENDER_REPEATED };

/* … as lost. Hands its content back; NULL: another copy of it is in flight or about to be. */
void sender_declare_lost(struct sender *sender, uint64_t number, uint64_t now_ns,
                         const struct sender_events *events);
/* Moves the floor past everything settled. */
void sender_advance_floor(struct sender *sender, uint64_t now_ns);
/* Takes the strategy's rate under the cap into the pacer. */
void sender_apply_rate(struct sender *sender);
/* Departure of the next packet in a silence, whatever it is. */
uint64_t sender_silent_ns(const struct sender *sender);
/* The path lives: an ack came. */
void sender_end_silence(struct sender *sender, uint64_t now_ns);
/* A packet sent fills the budget for repeats, a loss too. */
void sender_earn_repeats(struct sender *sender, uint32_t share);
