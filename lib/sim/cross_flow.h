/* One flow of cross traffic as all kinds of it see it: what it is, the packets it sends, what it counts.
 * cross.h says what cross traffic is. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/rng.h"
#include "edge/pacer.h"
#include "sim/net.h"
#include "sim/scenario.h"

/* The ECN field, RFC 3168. */
#define CROSS_ECN_NONE 0
#define CROSS_ECN_ABLE 2 /* ECT(0) */
#define CROSS_ECN_CE   3

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
    struct net *net;
    struct event_heap *heap;
    uint32_t seconds_count;
    const struct scenario_cross *config;
    uint16_t index;
    uint32_t packet_bytes;  /* IP */
    uint32_t wire_bytes;    /* of a full-size packet */
    uint32_t payload_bytes; /* in it */
    uint8_t ecn;            /* of packets in the flow's direction */
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

/* The word of enum scenario_cross_kind in scenarios and results. */
const char *cross_kind_name(unsigned kind);

/* Sends `bytes` of data (at most 1400) in a packet of ip_bytes; `back`, an ack: against the direction of
 * the flow. */
void cross_send(struct cross_flow *flow, bool back, uint32_t ip_bytes, const void *data, uint32_t bytes,
                uint64_t now_ns);
/* So many full-size packets with new content have come. */
void cross_delivered(struct cross_flow *flow, uint64_t packets, uint64_t now_ns);
