/* When each of a few is due next, as a tournament: who is first of all is known at any time, a change costs one match
 * a round (six), and whoever is due is found without looking at the others.
 *
 * Times in ns, TIME_NEVER: not at all. Memory: its own, side by side. No clock. */
#pragma once

#include <stdint.h>

#define DEADLINES_MAX 64 /* one bit each; a power of two */

struct deadlines {
    uint64_t at_ns[DEADLINES_MAX];
    /* The winner of match n, which the winners of 2n and 2n + 1 play; match 1 is the last. */
    uint8_t first[DEADLINES_MAX];
};

/* Nobody is due. */
void deadlines_init(struct deadlines *deadlines);
/* `index` is due then, sooner or later than before. */
void deadlines_set(struct deadlines *deadlines, uint32_t index, uint64_t at_ns);
/* One bit for each that is due by now; these are due no more, until they are set again. */
uint64_t deadlines_take(struct deadlines *deadlines, uint64_t now_ns);

/* When the first of all is due. */
static inline uint64_t deadlines_next_ns(const struct deadlines *deadlines)
{
    return deadlines->at_ns[deadlines->first[1]];
}

/* `index` is due by then, if not before. */
static inline void deadlines_earlier(struct deadlines *deadlines, uint32_t index, uint64_t at_ns)
{
    if (at_ns < deadlines->at_ns[index])
        deadlines_set(deadlines, index, at_ns);
}
