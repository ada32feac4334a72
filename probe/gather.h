/* Trains of several senders that reach one receiver beside each other: the line by which all of them come in.
 *
 * By the receiver's clock alone. Where the line holds them up, what it carries in all stays the same while one
 * sender's train begins or ends, and each gets less of it the more others send: so who gets much less at one time
 * than at another, while as much comes in all as ever, was held up by the line, and another one took his place. A
 * path of his own gives each as much throughout. What senders lost between two such times, in all, has to be 0.4 of the
 * line, or 0.6 with what they gained: what others' traffic takes from one of them is missing in all. Unhampered, what
 * came in all is "at least".
 *
 * Sans-IO; rates in bit/s on the wire. */
#pragma once

#include "base/units.h"
#include "probe/estimate.h"

#define GATHER_SENDERS_MAX 6u
#define GATHER_PACKETS_MAX 128u /* of one sender */
#define GATHER_PORT_PART   16u  /* of the receiver's port that one sender's rate is */
#define GATHER_STEPS       4u   /* of a train, from the begin of one to that of the next */

struct gather_arrival {
    uint64_t came_ns;
    uint32_t wire_bytes;
    uint16_t sender, index; /* in that sender's train */
};

struct gather {
    uint32_t count;
    struct gather_arrival arrivals[GATHER_SENDERS_MAX * GATHER_PACKETS_MAX]; /* in the order of their times */
};

/* At which each sends, for a receiver with such a port: 1 Mbit/s at least. */
uint64_t gather_rate_bps(uint64_t port_bps);
/* What one of GATHER_SENDERS_MAX trains takes, which have so many bytes together. */
uint64_t gather_train_ns(uint64_t port_bps, uint64_t bytes);
/* From the begin of one receiver's trains to that of the next one's: they share senders' ports. */
uint64_t gather_apart_ns(uint64_t port_bps, uint64_t bytes);
/* What so many senders bring at a time, less what one brings: a line that is told below that held them up. */
uint64_t gather_offered_bps(uint64_t port_bps, unsigned senders);
/* Nothing has come. */
void gather_begin(struct gather *gather);
/* A packet of the train of a sender below GATHER_SENDERS_MAX, in any order. What there is no place for counts for
 * nothing. */
void gather_take(struct gather *gather, uint16_t sender, uint16_t index, uint64_t came_ns,
                 uint32_t wire_bytes);
/* What the line carries: a value; "at least" where it held up nobody; refused where too little came, or out of
 * order. */
void gather_line(const struct gather *gather, struct estimate *estimate);
