/* What one lcore spent on packets: the turns that did something, how long they took and what they moved.
 *
 * Turns longer than TALLY_LONG_NS were interrupted by the machine, or touched memory for the first time; they are kept
 * apart with the packets that they moved, so that one number says what the program does and another how often the
 * machine was in the way. Times in ns. No clock, no memory of its own. */
#pragma once

#include <stdint.h>

#include "base/report.h"

#define TALLY_LONG_NS 300000

struct tally {
    uint64_t turns, ns;
    uint64_t packets;                           /* data packets that came in: what figures are per */
    uint64_t frames;                            /* everything that came in */
    uint64_t long_turns, long_ns, long_packets; /* not in the above */
};

/* A turn that took `ns` and received `packets` among `frames`. */
void tally_turn(struct tally *tally, uint64_t ns, uint64_t packets, uint64_t frames);
/* ns_per_packet, ns_per_packet_all (long turns included), frames_per_turn, turns, turns_long. */
void tally_report(const struct tally *tally, struct report *report);
