/* Measurements of the paths to all peers: RTTs are kept fresh in the background, by a bare probe per hello
 * interval; a whole measurement, path MTU included, is made when a peer first comes up and where a job wants
 * newer RTTs, and reported to whoever asked. Those that are under way, for another job or since the peer came
 * up, are waited for. */
#pragma once

#include "node/peer/peer.h"

#define MEASURE_ASKERS_MAX (NODE_JOBS_MAX * 2)

struct measure {
    bool running;
    uint16_t asker_count;
    struct {
        uint16_t peer; /* PEER_SELF: a job whose source is here */
        uint32_t job;
    } askers[MEASURE_ASKERS_MAX];
};

/* Peers whose RTT is not older than the wanted age are not measured anew. */
void measure_ask(struct node *node, uint16_t asker, const struct wire_measure *wanted, uint64_t now_ns);
/* A peer came up: its first measurement, unless it was measured before. */
void measure_first(struct node *node, struct peer *peer, uint64_t now_ns);
void measure_on_reply(struct node *node, struct peer *peer); /* the watch has a new sample */
/* Takes over the result of a measurement that is over. */
void measure_tick_peer(struct node *node, struct peer *peer, uint64_t now_ns);
/* Once no measurement is under way: answers whoever asked. Returns how many of them are jobs of this node,
 * and their ids. */
uint16_t measure_tick(struct node *node, uint64_t now_ns, uint32_t own_jobs[MEASURE_ASKERS_MAX]);
/* The part of this node's report that begins at peer *next, which is moved on. False: that was the last. */
bool measure_report(const struct node *node, uint32_t job, uint64_t now_ns, uint16_t *next,
                    struct control_measurement *report);
