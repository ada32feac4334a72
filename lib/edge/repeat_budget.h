/* What a sender may spend on repeats at its tail: an account of repairs - losses, in packets / REPEAT_PACKET.
 * It grows by a share of a packet with each new packet and each loss; a repeat costs one packet, given back
 * for each copy that turns out to be lost.
 *
 * Guarantee: from one beginning of a job, or of live input after a pause, to the next no more is earned than
 * the most of these three:
 *   SENDER_REPEATS_SMALL packets, fading to none between REPEAT_FAST_TRIPS and half as many more round trips;
 *   of the packets of one round trip REPEAT_SHARE_TRIP, and REPEAT_SHARE_TRIP_LOST for each lost one up to one
 *   of REPEAT_TRIP_LOSSY: 0.5 % and 1.1 × lost, at most 5 %;
 *   REPEAT_SHARE of the new ones + REPEAT_SHARE_LOST of the lost ones.
 * That a job waits, for memory or for its parent, earns nothing.
 *
 * Why of one round trip: N packets that leave within the last round trip lose pN, and what of that is repaired
 * in time for a second repair loses another p²N. Whatever is open when no repair of a repair would be in time
 * any more, RTT/2 and an ack's delay before the end, has to go out in copies; that is 2 % of N, about, for p
 * up to 5 %, and it takes log(1/pN)/log(p) copies of each, whatever the size of the object.
 *
 * Why it fades: repeats save about a round trip at the end, 4 % of an object of 25 round trips; that is what the
 * first packets may cost. Of a longer one they save less, and where few packets leave in a round trip
 * SENDER_REPEATS_SMALL of them are a large share of even a long object. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define REPEAT_PACKET 4096
#define REPEAT_SHARE  8u /* 0.195 % of new packets … */
/* … 4 % for the first SENDER_REPEATS_SMALL of a job: small objects need it most */
#define REPEAT_SHARE_FAST    168u
#define REPEAT_FAST_TRIPS    25u
#define REPEAT_SHARE_LOST    80u /* 1.95 % of those lost */
#define SENDER_REPEATS_SMALL 32u
/* Where more than one packet of REPEAT_LOSSY is lost the losses pay for more, the others for less: together
 * below 3 % of those lost. */
#define REPEAT_LOSSY            12u
#define REPEAT_SHARE_LOSSY      2u  /* 0.05 % */
#define REPEAT_SHARE_LOSSY_LOST 97u /* 2.37 % */
#define REPEAT_SHARE_TRIP       20u
#define REPEAT_SHARE_TRIP_LOST  4505u
#define REPEAT_TRIP_LOSSY       24u

struct repeat_budget {
    int64_t left; /* below zero: more copies came than chance lets expect */
    /* Earned since the last such beginning: the most counts. */
    uint64_t fast, trip, even;
    uint64_t counted; /* of these, in left */
    uint64_t new_packets;
    uint64_t trip_new, trip_lost; /* packets that earned for trip */
    uint64_t trip_packets;        /* of a round trip */
};

/* So many packets leave in a round trip. */
void repeat_budget_set_trip(struct repeat_budget *budget, uint64_t packets);
/* A new packet left, on a path that loses many (lossy) or few. */
void repeat_budget_on_new(struct repeat_budget *budget, bool lossy);
/* A packet was lost. */
void repeat_budget_on_lost(struct repeat_budget *budget, bool lossy);
/* On a path that was idle a job begins, or live input goes on after a pause: what was earned for the tail before is
 * gone, debts are not. */
void repeat_budget_on_idle(struct repeat_budget *budget);
/* A repeat leaves. */
void repeat_budget_spend(struct repeat_budget *budget);
/* A copy was lost: the other one was no repeat too many. */
void repeat_budget_give_back(struct repeat_budget *budget);
