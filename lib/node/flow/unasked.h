/* Data that nobody here wants from whoever sends it: of a job that this node knows nothing of, or that another peer feeds.
 * Its packets are acked all the same, since numbers belong to the edge and not to a job; so the sender would go on for ever.
 * It is told at once that for this node the job is over, and stops feeding it. Whoever had it feed a stranger gets no more out
 * of it than what is on its way meanwhile.
 *
 * Guarantee: UNASKED_JOBS messages a second to each peer, one for each job. */
#pragma once

#include <stdint.h>

#define UNASKED_JOBS 4

struct node;
struct peer;

/* The jobs that a peer was told of last, and when; 0: none. */
struct unasked {
    uint32_t jobs[UNASKED_JOBS];
    uint64_t told_ns[UNASKED_JOBS];
};

/* Such data has come. Told again at the next packet where the queue to the peer has little room. */
void unasked_data(struct node *node, struct peer *peer, uint32_t job, uint64_t now_ns);
