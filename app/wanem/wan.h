/* The emulated WAN: sites, links and what is on its way, without any device or clock. A packet is an opaque
 * pointer; times are arguments.
 *
 * Way of a packet, as in the simulator: uplink shaper of its site → shared links of the pair, each asked in
 * order of time → link (from, to) → held until it comes out there → downlink shaper of the other site, asked
 * in order of time over all links → held until it has left → due. Guarantee: a packet is due exactly when the
 * link model says, whenever wan_run is called late the decisions are the same; packets for one site become
 * due in order of time; nothing that was accepted is ever lost but by the link model, each loss counted by the
 * netem counters of one link, shared link or shaper.
 *
 * Back-pressure, not loss: wan_room says how many packets can be taken now; what the site's device does not
 * take stays due (wan_sent tells how much left). Memory: all taken by wan_create. Thread: one. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "app/wanem/hold.h"
#include "netem/make.h"
#include "sim/scenario.h"

#define WAN_NONE UINT32_MAX

enum wan_place { WAN_AT_UPLINK, WAN_AT_SHARED, WAN_AT_LINK };

/* What became of a packet that reached the WAN. */
struct wan_verdict {
    /* It is on its way to a shared link; the owner's `settle` will be told the rest. */
    bool pending;
    enum netem_verdict verdict; /* but for NETEM_PASS the packet stays the caller's */
    enum wan_place place;       /* who said so */
    bool duplicated;            /* held twice: the caller takes a second reference before wan_run */
    bool corrupted;
    uint32_t corrupt_bit; /* of the IP packet */
    bool congested;       /* it waits so long that it is to be marked: see wan_mark */
};

/* Who owns the packets. */
struct wan_owner {
    void *context;
    void (*release)(void *packet); /* of what a downlink's queue refuses */
    /* The verdict on a packet that wan_rx left pending; within wan_run. One that did not pass is the owner's
     * again. */
    void (*settle)(void *context, uint16_t from, uint16_t to, void *packet,
                   const struct wan_verdict *verdict);
};

/* Shared links that a pair crosses, in order. */
struct wan_way {
    uint8_t count;
    uint8_t shared[SCENARIO_WAY_MAX];
};

/* What left a downlink shaper: a list per site, in order of time. */
struct wan_entry {
    uint64_t due_ns;
    void *packet;
    uint32_t next;
};

struct wan_site {
    struct netem_link uplink, downlink;
    uint32_t head, tail; /* entries due or about to be */
    uint64_t sent_packets;
    uint64_t late_ns_max;  /* of packets handed over: behind the model's time */
    uint64_t late_packets; /* by more than WAN_LATE_NS */
};

#define WAN_LATE_NS 1000000ULL

struct wan {
    const struct scenario *scenario; /* its faults of links are played, from the first packet on */
    uint16_t faults_done;
    uint64_t first_ns; /* of the first packet; TIME_NEVER: none came yet */
    uint16_t site_count;
    struct wan_site *sites;
    struct netem_link *links; /* [from * site_count + to] */
    struct wan_way *ways;     /* the same */
    struct netem_link *shared;
    struct hold hold;   /* on links, and on the way to shared ones */
    uint32_t undecided; /* of those: no link has decided yet, so that each may still become two */
    struct wan_entry *entries;
    uint32_t entry_free;
    uint32_t entry_count; /* in use */
    uint32_t capacity;    /* packets on their way, copies included */
    struct wan_owner owner;
};

/* The scenario must outlive the wan. `capacity`: packets that can be on their way at once. Aborts when there
 * is no memory. */
void wan_create(struct wan *wan, const struct scenario *scenario, uint32_t capacity,
                const struct wan_owner *owner);
void wan_destroy(struct wan *wan);
/* Packets on their way at full load of every link: what capacity and buffers must be, from rates, delays and
 * queues. `wire_bytes` is the size they are counted in; half as many again are added for short packets
 * (acks, probes). */
uint64_t wan_packets_needed(const struct scenario *scenario, uint32_t wire_bytes);

/* How many packets wan_rx takes now for certain, each of which may be duplicated. */
uint32_t wan_room(const struct wan *wan);
/* More than half of the site's uplink queue is taken. Never for an unlimited queue. */
bool wan_uplink_crowded(struct wan *wan, uint16_t site, uint64_t now_ns);
/* A frame of frame_bytes (without FCS) holding an IP packet of ip_bytes left site `from` for site `to` at
 * now_ns, which never runs backwards. */
struct wan_verdict wan_rx(struct wan *wan, uint16_t from, uint16_t to, void *packet, uint32_t frame_bytes,
                          uint32_t ip_bytes, uint64_t now_ns);
/* The ECN field with which a packet goes on that came with `ecn` and got this verdict. Counts marks. */
uint8_t wan_mark(struct wan *wan, uint16_t from, uint16_t to, const struct wan_verdict *verdict, uint8_t ecn);
/* Those of links are played; processes are for others to kill. */
bool wan_plays(const struct scenario_fault *fault);
/* Applies the faults of links that are due: they count from the first packet. To be called before wan_rx.
 * Returns how many. */
unsigned wan_play_faults(struct wan *wan, uint64_t now_ns);
/* Moves on what has come to shared links or out of the links by now_ns. Returns how many packets downlinks
 * refused; they were released. */
uint32_t wan_run(struct wan *wan, uint64_t now_ns);
/* The packets that are due at the site, at most `room`, in order; they stay. */
uint16_t wan_due(const struct wan *wan, uint16_t site, void **packets, uint16_t room, uint64_t now_ns);
/* The first `count` of those are gone. */
void wan_sent(struct wan *wan, uint16_t site, uint16_t count, uint64_t now_ns);
/* When there is something to do, faults apart; TIME_NEVER: nothing is on its way. */
uint64_t wan_next_ns(const struct wan *wan);

/* Packets on their way, copies included. */
static inline uint32_t wan_count(const struct wan *wan)
{
    return wan->hold.count + wan->entry_count;
}

static inline const struct netem_link *wan_link(const struct wan *wan, uint16_t from, uint16_t to)
{
    return &wan->links[(uint32_t)from * wan->site_count + to];
}
