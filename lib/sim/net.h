/* The simulated network. A packet passes three link models in a row: its sender's uplink, the link of the
 * pair, its receiver's downlink. The first two are decided when it is sent, the third when it reaches the
 * receiver, because packets of several senders meet there. Where the pair crosses shared links, these stand
 * behind the uplink, and each is decided when the packet reaches it, the last one together with the link.
 *
 * Only the first packet of each link and each downlink is in the event heap, and of those that an uplink
 * or a shared link sends to another shared link; a packet that would come out before its predecessor (a
 * stray) is there alone. A corrupted packet takes its time on the links and is then dropped by the
 * receiver's port, whose UDP checksum finds every single flipped bit. */
#pragma once

#include <stdint.h>

#include "base/digest.h"
#include "netem/make.h"
#include "netem/truth.h"
#include "node/packet.h"
#include "sim/event.h"
#include "sim/meter.h"
#include "sim/pool.h"
#include "sim/queue.h"
#include "sim/scenario.h"

/* A host takes packets at most so often, as many as have come: an appliance that sleeps between its turns
 * (20 to 100 us) or a NIC that moderates interrupts does the same. Receive times are exact all the same. */
#define NET_TURN_NS 20000

struct net_pair {
    struct netem_link link;
    struct packet_queue queue;
    /* Its packets that the queue of its sender's uplink, a shared link or its receiver's downlink refused. */
    uint64_t port_drops;
    uint64_t shared_lost;           /* its nodes' packets that a shared link dropped because it was down */
    uint64_t flow_lost, flow_drops; /* of cross traffic: contained in the link's and port's counts */
    uint8_t way_count;
    uint8_t way[SCENARIO_WAY_MAX]; /* the shared links that it crosses, in order */
};

struct net_shared {
    struct netem_link link;
    struct packet_queue queue; /* to the next shared link of their way */
    uint64_t carried_bytes;    /* on the wire */
};

struct net_port {
    struct netem_link uplink, downlink;
    struct packet_queue queue;  /* on the downlink */
    struct packet_queue onward; /* on the uplink, to a shared link */
    uint64_t turn_ns;           /* no packets are taken before */
    uint64_t turn_lasts_ns;     /* NET_TURN_NS, or what the scenario says */
    uint64_t ring_bytes_max;    /* what waits for a turn is no more than this; 0: no limit */
    uint32_t ring_packets_max;  /* … nor than this */
    uint64_t ring_ns;           /* the newest turn, and what was waiting at it */
    uint64_t ring_bytes;
    uint32_t ring_packets;
    uint64_t ring_drops;
    uint64_t sent_until_ns;   /* packets are handed to the uplink in order */
    struct netem_truth truth; /* of the downlink where the scenario asks for it */
    struct netem_stamping stamping;
    uint32_t batch_left;     /* packets that the host takes with … */
    uint64_t batch_stamp_ns; /* … this stamp */
    uint64_t down_bytes;     /* delivered */
};

struct net_counters {
    uint64_t sent, delivered, lost, queue_drops, policer_drops, ecn_marked, too_long, down_drops, duplicated,
        corrupt_drops, no_route, ring_drops;
};

/* What became of a cross-traffic flow's packets, acks included. */
struct net_flow {
    uint64_t lost, queue_drops;
};

struct net {
    uint16_t count;
    struct net_pair *pairs; /* [from * count + to] */
    struct net_port *ports;
    uint16_t shared_count;
    struct net_shared *shared;
    struct event_heap *heap;
    struct packet_pool pool;
    struct digest *digest;
    struct net_counters counters;
    struct meter_table meters;
    bool sparse;            /* all bodies in symbol buffers are zeros */
    struct net_flow *flows; /* the cross traffic's, [packet->flow - 1] */
};

void net_init(struct net *net, const struct scenario *scenario, uint64_t seed, struct event_heap *heap,
              struct digest *digest);
void net_free(struct net *net);
struct net_pair *net_pair(struct net *net, uint16_t from, uint16_t to);

/* What truly happened in the host's downlink until until_ns, which is now at the latest: its background is
 * cross traffic, whatever is sent in packets is not. NULL: nobody watches. */
const struct netem_truth *net_truth(struct net *net, uint16_t host, uint64_t until_ns);

/* Sends a copy of the packet at depart_ns, or right behind its predecessor when that was handed over later.
 * Returns when it was handed to the uplink. */
uint64_t net_send(struct net *net, uint16_t from, uint16_t to, const struct tx_packet *packet,
                  uint64_t depart_ns);
/* The same in two steps, for packets that are no node's: a packet of ip_bytes with room for `stored` bytes of
 * its own, then off with it. */
struct sim_packet *net_packet(struct net *net, uint16_t from, uint16_t to, uint32_t ip_bytes,
                              uint32_t stored);
uint64_t net_launch(struct net *net, struct sim_packet *packet, uint64_t depart_ns);
/* The first packet of the link has come out, and with it all that come out by until_ns before anything else
 * happens. Returns how many. */
uint32_t net_on_link(struct net *net, uint32_t index, uint64_t until_ns);
/* The same for the first packet that host or shared link `index` sends to a shared link. */
uint32_t net_on_shared(struct net *net, uint32_t index, uint64_t until_ns);
void net_on_stray(struct net *net, struct sim_packet *packet, uint64_t now_ns);
/* Takes the next packet that leaves the host's downlink at now_ns or before; the caller gives it back with
 * net_done. Its time_ns is when it came, or that of its batch where the host takes batches. NULL: none
 * now. */
struct sim_packet *net_take(struct net *net, uint16_t host, uint64_t now_ns);
/* To be called when net_take has returned NULL: schedules what follows. */
void net_on_port(struct net *net, uint16_t host, uint64_t now_ns);
void net_done(struct net *net, struct sim_packet *packet);
