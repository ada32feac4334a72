/* Measurements of the paths to all peers: RTTs are kept fresh in the background, by a bare probe per
 * hello interval, path MTUs by data or padded probes (probe/mtu_watch.h); a whole measurement, path MTU included, is made when a
 * peer first comes up, where a job wants newer RTTs, and where the path MTU is in doubt, and reported to whoever asked.
 * Whoever asks waits for what is under way then, for another job or since the peer came up, for what is begun for him, and
 * for a peer's very first; not for what others have begun since, and no longer than the slowest path takes that can be
 * measured: one path's trouble is not told as all paths' silence. What is not known then is told as not known. */
#pragma once

#include "node/peer/peer.h"

/* A node runs no more jobs than this: where one asks for another, its oldest is over. */
#define MEASURE_ASKS_MAX NODE_JOBS_MAX

/* Between two measurements that the same peer has begun; further asks are answered with what is known, or under way. */
#define MEASURE_AGAIN_NS NS_PER_S

/* One asker's jobs, in order. */
struct measure_asks {
    uint16_t count;
    uint64_t begun_ns; /* the last measurement for it; 0: none */
    uint32_t jobs[MEASURE_ASKS_MAX];
    uint64_t asked_ns[MEASURE_ASKS_MAX];
    uint64_t until_ns[MEASURE_ASKS_MAX]; /* lived time */
    uint64_t peers[MEASURE_ASKS_MAX];    /* bit per peer whose measurement is waited for */
};

struct measure {
    struct measure_asks of_peer[NODE_PEERS_MAX];
    uint64_t asking_mask;    /* bit per peer that may wait for answers */
    uint64_t asked_mask;     /* … that was asked for its own */
    struct measure_asks own; /* jobs whose source is here */
    uint64_t next_ns; /* when asks are to be looked at, whatever else happens; TIME_NEVER: not for that */
};

/* `asker`: PEER_SELF for a job whose source is here. Peers whose RTT is not older than the wanted age are not
 * measured anew; their path MTU is proven where it is older. */
void measure_ask(struct node *node, uint16_t asker, const struct wire_measure *wanted, uint64_t now_ns);
/* A job whose source is here waits for these peers alone, one bit each; without that for all. */
void measure_wait_for(struct node *node, uint32_t job, uint64_t peers);
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
/* Tells that peer what trains from here have measured, of this node's line in its own name; nothing where that is nothing. */
void measure_report_available(struct node *node, uint16_t asker, uint64_t now_ns);
