/* Holes in what this host sent, because it stood still: the edge had something to send, its pacer allowed
 * it, and nobody was there to do it.
 *
 * Short ones, below HOLES_MIN_NS, happen to every host; where they are more than 1/HOLES_LIMIT_PART of the
 * last round trip the host is what limits the edge. A longer one is a pause that has nothing to do with the
 * path, and each is told once: when the first packet behind it is known to have come, so that nobody takes
 * the hole in the deliveries for the path's. What left shortly before a hole may have left at its end,
 * later than its stamp says: what was handed out ahead of its time waits in the device's queue or in the
 * host's.
 *
 * The newest HOLES_MAX are remembered until they are told; older ones are forgotten. Times in ns of this
 * host's clock. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define HOLES_MAX        16u
#define HOLES_MIN_NS     1000000ULL
#define HOLES_AHEAD_NS   100000ULL /* packets are handed out that much before their time at most */
#define HOLES_LIMIT_PART 8

struct hole {
    uint64_t number; /* of the first packet behind it */
    uint64_t first;  /* the first of those before it whose stamps it may have spoilt */
    uint64_t lasted_ns;
};

struct holes {
    struct hole ring[HOLES_MAX];
    uint32_t head, tail; /* free-running */
    uint64_t short_ns;   /* lost in short ones since … */
    uint64_t since_ns;
};

void holes_init(struct holes *holes);
/* Numbers begin anew. */
void holes_forget(struct holes *holes);
/* Before a departure at depart_ns so much time was lost. True: short holes take so much that this host is the limit. */
bool holes_on_lag(struct holes *holes, uint64_t lost_ns, uint64_t depart_ns, uint64_t rtt_ns);
/* A long one: `number` is the packet's, `first` that of the first which left within HOLES_AHEAD_NS before
 * it or later. */
void holes_add(struct holes *holes, const struct hole *hole);
/* Whether what an ack that knows `largest` is the first to tell, behind `before`, may be spoilt by a hole. */
bool holes_spoil(const struct holes *holes, uint64_t before, uint64_t largest);
/* The next hole that lies before `largest`; false: there is none. */
bool holes_pass(struct holes *holes, uint64_t largest, struct hole *hole);
