/* What truly happened at a link, for those who judge what others say of it: when each packet of its cross
 * traffic came and left, and what the packets that were sent through it did to that traffic. Only harnesses
 * and the simulator's results look at it; nothing that is measured ever sees it.
 *
 * It records while it is attached to a link (link.h, netem_watch), exactly, packet by packet, in a ring of
 * blocks: some ten bytes a packet, so 2.5 s of 5 Gbit/s in full-size packets take 11 MB. A link that is
 * watched passes over none of its cross traffic. Besides it keeps a second queue, of the cross traffic
 * alone, as it would be without what was sent. What a link has taken in only counts: netem_catch_up(link,
 * until_ns) comes before a question. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "netem/config.h"
#include "netem/shaper.h"

#define NETEM_TRUTH_BLOCK 64

struct netem_truth_block {
    uint64_t start_ns;                 /* its first packet came */
    uint64_t taken_bits, refused_bits; /* all those before it */
    uint32_t count;
    uint32_t after_ns[NETEM_TRUTH_BLOCK]; /* behind start_ns: each one came … */
    uint32_t wait_ns[NETEM_TRUTH_BLOCK];  /* … and its last bit left so long after it came */
    uint16_t bytes[NETEM_TRUTH_BLOCK];    /* on the wire; NETEM_TRUTH_REFUSED besides: the queue was full */
};
#define NETEM_TRUTH_REFUSED 0x8000u

struct netem_truth {
    struct netem_truth_block *blocks; /* a ring */
    struct netem_truth_block *filling;
    uint64_t newest; /* number of that one, from 0 */
    uint32_t places;
    uint64_t taken_bits, refused_bits;
    /* The most that packets that were sent have added to the queue, themselves included. */
    uint64_t own_queue_ns_max, own_queue_bytes_max;
    /* Of the cross traffic: packets that came, those that the queue refused, and those that it would have
     * refused without the others. */
    uint64_t packets, refused, refused_alone;
    struct netem_shaper alone;
};

/* Blocks that hold duration_ns of what `config` brings on average and half as much again; at least a few. */
uint32_t netem_truth_places(const struct netem_config *config, uint64_t duration_ns);
/* `places` > 1 blocks: the caller's. The alone queue begins empty. */
void netem_truth_init(struct netem_truth *truth, struct netem_truth_block *blocks, uint32_t places);
/* Whether windows that begin at from_ns are recorded still. */
bool netem_truth_covers(const struct netem_truth *truth, uint64_t from_ns);
/* Bits on the wire of the cross traffic that joined the queue in (from_ns, until_ns]: what came at the
 * very moment of a packet that was sent stands before it. So between two sent packets it is what is served
 * between them. */
uint64_t netem_truth_cross_bits(const struct netem_truth *truth, uint64_t from_ns, uint64_t until_ns);
/* Those that the full queue refused in that time, or the link while it was down. */
uint64_t netem_truth_refused_bits(const struct netem_truth *truth, uint64_t from_ns, uint64_t until_ns);
/* Those whose last bit left in that time, whole packets. */
uint64_t netem_truth_served_bits(const struct netem_truth *truth, uint64_t from_ns, uint64_t until_ns);

/* ---- the link's ---- */

/* A packet of the cross traffic came at at_ns; left_ns: its last bit leaves (refused: that of the packet
 * before). */
void netem_truth_note(struct netem_truth *truth, uint64_t at_ns, uint64_t left_ns, uint32_t bytes,
                      bool refused);
