/* Packets that wait for their predecessors, where jitter keeps the order.
 *
 * The wait is a running maximum: of all packets of late, how much longer than the quickest each was under way,
 * less the time since. Closer packets wait nearer to the longest delay that the jitter spreads them over, so
 * neighbours differ less: by the root of the gap between them. So jumps seen at one rate say what they are at
 * another:
 *
 *     spread   peak of jump^2 / gap, held for PATH_DELAY_JITTER_HOLD_NS to twice that
 *     jump     sqrt(spread gap)
 *     most     spread / 4: for jitter of one width the peak is 4 (after a few packets) to 20 (after many
 *              thousands) times that width
 *     grown    most, above that of the last look at the base, where the spread is half as much again */
#pragma once

#include <stdint.h>

struct path_wait {
    uint64_t spread_ns, spread_before_ns; /* peaks of this and the previous hold time */
    uint64_t start_ns;
    uint64_t look_spread_ns; /* when it was last looked at the base */
};

/* The largest jump that an ack tells of, where packets are gap_ns apart. */
void path_wait_on_jump(struct path_wait *wait, uint64_t jump_ns, uint64_t gap_ns, uint64_t now_ns);
/* What neighbours jump by, gap_ns apart. */
uint64_t path_wait_jump_ns(const struct path_wait *wait, uint64_t gap_ns);
/* What packets wait longer gap_ns apart than seen_gap_ns apart, by what they jump less; jitter_ns: what neighbours
 * differ by at most. */
uint64_t path_wait_longer_ns(const struct path_wait *wait, uint64_t seen_gap_ns, uint64_t gap_ns,
                             uint64_t jitter_ns);
/* What packets wait on an idle path, at most. */
uint64_t path_wait_most_ns(const struct path_wait *wait);
/* The base was seen, or looked for: packets wait above it what the jitter of late lets them. */
void path_wait_on_look(struct path_wait *wait);
/* What packets wait longer, at most, than at the last look; 0: the jitter has hardly grown. */
uint64_t path_wait_grown_ns(const struct path_wait *wait);
