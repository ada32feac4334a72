/* Keeps the path MTU towards one peer true: what a measurement (rtt_probe) has found holds until something
 * refutes it. Sans-IO: asks for padded probes to be sent, is told of replies and of what became of data.
 *
 * Narrower: every MTU_WATCH_PROOF intervals one probe of the size that is known shows that it still passes,
 * unless data of that size was acked since. Without an answer it is tried MTU_WATCH_TRIES times. Data says
 * it sooner: nothing is acked for longer than acks take, or for as long nothing of a size of which
 * MTU_WATCH_LOST were lost (losses are told in batches, so that a count alone says nothing). All that is a
 * doubt, no verdict: the owner measures anew, at once, then after 1, 2, 4 … 16 s until data of full size is
 * acked; in a measurement bare probes tell a path that is dark from one that is narrow. A job that wants
 * the size to be known more newly asks for a proof, which takes a round trip.
 * Wider: while a port could send more, one probe of the next larger candidate, by turns,
 * MTU_WATCH_WIDER_LEAST intervals after the path was found to be narrow, then half as long again each time,
 * up to MTU_WATCH_WIDER_MOST.
 *
 * Cost at one interval a second: 0.4 kbit/s and direction for 1500 bytes, none while data flows; 0.5 more
 * where narrow. Ids have bit 30 set and bit 31 clear, which tells them from those of rtt_watch and
 * rtt_probe. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "wire/probe.h"

#define MTU_WATCH_ID_BIT      0x40000000u
#define MTU_WATCH_PROOF       30
#define MTU_WATCH_WIDER_LEAST 8
#define MTU_WATCH_WIDER_MOST  24
#define MTU_WATCH_TRIES       3
#define MTU_WATCH_LOST        16u
#define MTU_WATCH_SENT        4 /* answers to so many are waited for */

struct mtu_watch {
    uint32_t port_mtu, ip_overhead;
    uint32_t mtu;       /* of the path, IP bytes; the port's until measured */
    uint64_t proven_ns; /* when a packet of that size was last known to pass; 0: never */
    uint64_t proof_ns;  /* the next probe of it */
    uint64_t wider_ns;  /* the next larger one; TIME_NEVER: the port can send none */
    uint16_t wider_intervals;
    uint8_t wider_turn;
    uint8_t tries;     /* proofs without an answer */
    uint64_t asked_ns; /* somebody waits for a proof, since then; 0: nobody */
    uint32_t next_id;
    uint16_t sent[MTU_WATCH_SENT]; /* sizes by id; 0: answered, or never sent */
    bool known;                    /* a packet of that size has passed; else it is the port's word */
    bool unproven;                 /* all tries went without an answer */
    uint32_t lost, lost_bytes;     /* data since one as large was acked, and the least of their sizes … */
    uint64_t lost_ns;              /* … since then */
    uint64_t doubt_from_ns;        /* before, no doubt leads to a measurement */
    uint64_t doubt_gap_ns;
};

void mtu_watch_init(struct mtu_watch *watch, uint32_t port_mtu, uint32_t ip_overhead);
/* The peer came up, maybe by another path: a size that was known before is to be proven at once. */
void mtu_watch_on_up(struct mtu_watch *watch, uint64_t now_ns);
/* A measurement's verdict; 0: it has none, so that what was known before counts no more. */
void mtu_watch_take(struct mtu_watch *watch, uint32_t mtu, uint64_t interval_ns, uint64_t now_ns);

/* Somebody is to wait for a proof: until asked_ns is 0. */
void mtu_watch_ask(struct mtu_watch *watch, uint64_t now_ns);
/* A measurement has ended without a verdict: nobody waits any more. */
void mtu_watch_give_up(struct mtu_watch *watch);

/* The probe that is due, if there is one. */
bool mtu_watch_next(struct mtu_watch *watch, uint64_t interval_ns, uint64_t rtt_ns, uint64_t now_ns,
                    struct wire_probe *message);
uint64_t mtu_watch_next_ns(const struct mtu_watch *watch);
/* False: not an answer to one of the last probes. */
bool mtu_watch_on_reply(struct mtu_watch *watch, const struct wire_probe *reply, uint32_t datagram_bytes,
                        uint64_t now_ns);

/* A data packet of so many IP bytes was acked, or declared lost. */
void mtu_watch_on_acked(struct mtu_watch *watch, uint32_t ip_bytes, uint64_t now_ns);
void mtu_watch_on_lost(struct mtu_watch *watch, uint32_t ip_bytes, uint64_t now_ns);
/* Whether to measure now, which is then to begin. quiet: data has been out without any ack for wait_ns,
 * which is more than acks take. */
bool mtu_watch_doubts(struct mtu_watch *watch, bool quiet, uint64_t wait_ns, uint64_t now_ns);
/* What is known of the path, IP bytes; 0: nothing, since no packet of any size that data needs has passed. */
uint32_t mtu_watch_known(const struct mtu_watch *watch);
/* A packet of the path's size is known to have passed within that age. */
bool mtu_watch_fresh(const struct mtu_watch *watch, uint64_t age_ns, uint64_t now_ns);
