/* Measurements of the paths to all peers: RTTs are kept fresh in the background, by a bare probe per
 * hello interval, path MTUs by data or padded probes (probe/mtu_watch.h); a whole measurement, path MTU included, is made when a
 * peer first comes up, where a job wants newer RTTs, and where the path MTU is in doubt, and reported to whoever asked. Whoever asks waits for what is under way then,
 * for another job or since the peer came up, for what is begun for him, and for a peer's very first; not
 * for what others have begun since. */
#pragma once

#include "node/peer/peer.h"

/* A node runs no more jobs than this: where one asks for another, its oldest is over. */
#define MEASURE_ASKS_MAX NODE_JOBS_MAX

/* One asker's jobs, in order. */
struct measure_asks {
    uint16_t count;
    uint32_t jobs[MEASURE_ASKS_MAX];
    uint64_t asked_ns[MEASURE_ASKS_MAX];
};

struct measure {
    struct measure_asks of_peer[NODE_PEERS_MAX];
    uint64_t asking_mask;    /* bit per peer that may wait for answers */
    uint64_t asked_mask;     /* … that was asked for its own */
    struct measure_asks own; /* jobs whose source is here */
};

/* `asker`: PEER_SELF for a job whose source is here. Peers whose RTT is not older than the wanted age are not
 * measured anew; their path MTU is proven where it is older. */
void measure_ask(struct node *node, uint16_t asker, const struct wire_measure *wanted, uint64_t now_ns);
/* Asks a peer for its own; false: the queue is full. From then on what it says of its paths is an answer. */
bool measure_ask_peer(struct node *node, uint16_t peer, const struct wire_measure *wanted);
bool measure_was_asked(const struct node *node, uint16_t peer);
/* A peer came up: its first measurement, unless it was measured before. */
void measure_first(struct node *node, struct peer *peer, uint64_t now_ns);
void measure_on_reply(struct node *node, struct peer *peer); /* the watch has a new sample */
/* Takes over the result of a measurement that is over, and begins one where the path MTU is in doubt. */
void measure_tick_peer(struct node *node, struct peer *peer, uint64_t now_ns);
/* The peer has lost its state: nothing that it has asked is answered any more. */
void measure_forget(struct node *node, uint16_t peer);
/* Answers whoever has waited long enough; peers that are lost or deaf are forgotten. Returns how many of them
 * are jobs of this node, and their ids. */
uint16_t measure_tick(struct node *node, uint64_t now_ns, uint32_t own_jobs[MEASURE_ASKS_MAX]);
/* The part of this node's report that begins at peer *next, which is moved on. False: that was the last. */
bool measure_report(const struct node *node, uint32_t job, uint64_t now_ns, uint16_t *next,
                    struct control_measurement *report);
