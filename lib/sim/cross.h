/* Cross traffic: flows between two hosts of a scenario whose packets pass the same uplink, link and downlink
 * as the nodes' packets, and whose acks come back over the links of the other direction. They carry numbers
 * only, no content, and never reach a node.
 *
 * Open loops (cbr, poisson, onoff) send at a rate. Competitors (cubic, bbr1) are TCP as the network sees it:
 * competitor.h. Edges (bql, scavenger, fixed) are a sender and a receiver of lib/edge joined by the
 * simulated path, with a source that always has something to send: cross_edge.c.
 *
 * Each flow counts, second by second, the wire bytes of packets that came, each content once: open loops when
 * they arrive, the others when the sender learns of it. One thread; memory is allocated at start and, for the
 * competitors' windows, as they grow. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "sim/cross_flow.h"

#define CROSS_PACKET_BYTES 1500 /* where the scenario says nothing */
#define CROSS_SECONDS_MAX  3600 /* of the series; what comes later counts in the total alone */

struct cross {
    uint16_t count;
    struct cross_flow *flows;
    struct net *net;
    struct net_flow *drops;
    struct event_heap *heap;
    uint32_t seconds_count;
};

/* Puts the first wake of every flow into the heap. `limit_ns`: the longest run. False and err: a flow that
 * cannot be. */
bool cross_init(struct cross *cross, const struct scenario *scenario, uint64_t seed, uint64_t limit_ns,
                struct net *net, struct event_heap *heap, struct err *err);
void cross_free(struct cross *cross);
void cross_on_wake(struct cross *cross, uint32_t index, uint64_t now_ns);
/* A packet of a flow has come through its downlink; it stays the caller's. */
void cross_on_packet(struct cross *cross, const struct sim_packet *packet, uint64_t now_ns);
/* When the last flow stops; 0: there are none, TIME_NEVER: one never stops. */
uint64_t cross_end_ns(const struct cross *cross);
