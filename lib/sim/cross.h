/* Cross traffic: flows between two hosts of a scenario whose packets pass the same uplink, link and downlink
 * as the nodes' packets, and whose acks come back over the links of the other direction. They carry numbers
 * only, no content, and never reach a node.
 *
 * Open loops (cbr, poisson, onoff) send at a rate. Competitors (cubic, bbr1) are TCP as the network sees it:
 * competitor.h. Edges (bql, scavenger, fixed, delay) are a sender and a receiver of lib/edge joined by the
 * simulated path, with a source that always has something to send: cross_edge.c.
 *
 * Each flow counts, second by second, the wire bytes of packets that came, each content once: open loops when
 * they arrive, the others when the sender learns of it. One thread; memory is allocated at start and, for the
 * competitors' windows, as they grow. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/rng.h"
#include "edge/pacer.h"
#include "sim/net.h"
#include "sim/scenario.h"

#define CROSS_PACKET_BYTES 1500 /* where the scenario says nothing */
#define CROSS_SECONDS_MAX  3600 /* of the series; what comes later counts in the total alone */

struct competitor;
struct cross_edge;

struct cross_total {
    uint64_t sent_packets; /* in the flow's direction */
    uint64_t sent_bytes;   /* on the wire */
    uint64_t delivered_packets;
    uint64_t delivered_bytes; /* payload */
    uint64_t lost_packets;    /* as the sender sees it: open loops 0 */
    uint64_t repeated;        /* sent again although the first copy arrived */
};

struct cross_flow {
    struct cross *cross;
    const struct scenario_cross *config;
    uint16_t index;
    uint32_t packet_bytes;  /* IP */
    uint32_t wire_bytes;    /* of a full-size packet */
    uint32_t payload_bytes; /* in it */
    uint64_t wake_ns;       /* the wake event that counts; TIME_NEVER: none */
    struct rng rng;
    uint64_t open_next_ns; /* open loops: the next packet */
    struct pacer pacer;    /* cbr, onoff */
    uint64_t open_turn_ns; /* onoff: end of the on time; TIME_NEVER in the others */
    struct competitor *competitor;
    struct cross_edge *edge;
    struct cross_total total;
    struct wait_histogram waits; /* of packets in the flow's direction */
    uint64_t *seconds;           /* wire bytes delivered */
};

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

const char *cross_kind_name(unsigned kind);

/* ---- for the kinds of flows ---- */

/* Sends `bytes` of data (at most 1400) in a packet of ip_bytes: `back`, an ack, against the direction of the
 * flow.
 */
void cross_send(struct cross_flow *flow, bool back, uint32_t ip_bytes, const void *data, uint32_t bytes,
                uint64_t now_ns);
/* So many full-size packets with new content have come. */
void cross_delivered(struct cross_flow *flow, uint64_t packets, uint64_t now_ns);
