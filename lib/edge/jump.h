/* Jumps of the one-way delay between packets sent next to each other: how much the path's delay moves within
 * a time in which no queue can move that far.
 *
 *     jump = |OWD(n) - OWD(n - 1)| - (send time(n) - send time(n - 1)), at least 0
 *
 * over pairs of packet numbers that both came, in whatever order. A queue that drains changes the OWD by at
 * most the send gap, so what is left over is jitter.
 *
 * A ring remembers JUMP_RING packets until their neighbour comes. At rates where that would be a shorter time
 * than asked for, only every 2^shift-th pair is looked at; which ones depends on the numbers alone, so
 * reordering and loss cost pairs, never wrong ones. All times in stamp units (16 ns, modulo 2^32). */
#pragma once

#include <stdint.h>

#include "base/serial.h"
#include "base/units.h"

#define JUMP_RING 1024u

struct jump_entry {
    uint32_t number; /* low half */
    uint32_t stamp;  /* the sender's */
    uint32_t owd;
    uint32_t wait; /* by so much it may be less: the packet stood before it was taken */
};

struct jump {
    struct jump_entry ring[JUMP_RING];
    uint32_t shift; /* 0: every pair */
    uint32_t peak;  /* since the owner took it */
};

/* No packet is remembered. */
void jump_init(struct jump *jump);
/* Chooses the shift so that the ring spans this many packet numbers. */
void jump_set_span(struct jump *jump, uint64_t numbers);
/* The largest jump since it was read last. */
uint32_t jump_read_peak(struct jump *jump);

static inline struct jump_entry *jump_slot(struct jump *jump, uint32_t number)
{
    uint32_t index = jump->shift == 0 ? number : (number >> jump->shift << 1 | (number & 1));
    return &jump->ring[index % JUMP_RING];
}

static inline void jump_compare(struct jump *jump, const struct jump_entry *entry, uint32_t neighbour)
{
    const struct jump_entry *other = jump_slot(jump, neighbour);
    if (other->number != neighbour)
        return;
    int32_t owd_change = serial_distance32(entry->owd, other->owd);
    int32_t gap = serial_distance32(entry->stamp, other->stamp);
    int64_t beyond = (owd_change < 0 ? -(int64_t)owd_change : owd_change) - (gap < 0 ? -(int64_t)gap : gap);
    beyond -= owd_change < 0 ? other->wait : entry->wait;
    if (beyond > (int64_t)jump->peak)
        jump->peak = (uint32_t)beyond;
}

/* A packet came, for the first time; the OWD is what it says, or less by up to `wait`. */
static inline void jump_on_packet(struct jump *jump, uint32_t number, uint32_t stamp, uint32_t owd,
                                  uint32_t wait)
{
    if ((number & ((1u << jump->shift) - 1)) > 1)
        return;
    struct jump_entry *entry = jump_slot(jump, number);
    *entry = (struct jump_entry){.number = number, .stamp = stamp, .owd = owd, .wait = wait};
    if (jump->shift != 0) {
        jump_compare(jump, entry, number ^ 1);
        return;
    }
    jump_compare(jump, entry, number - 1);
    jump_compare(jump, entry, number + 1);
}
