/* All pairs of N nodes, one train after the other on each: who sends to whom, and when.
 *
 * In round k of N - 1 node i sends to node (i + k) mod N: no node sends two trains at once, or receives
 * two. Nodes of one group leave through one way out: where a round has more trains that leave a group than
 * its way out may take at a time, it is cut into slots, and no slot has more. A slot lasts a train and a
 * guard, however long the round trips are: the next one begins before the answers to this one are back. A
 * pass is all rounds once; each pass gives every wanted pair a train.
 *
 * A node that answers nothing is left out from then on: its trains are those that left within one timeout,
 * and nobody waits for them at the end. It is back as soon as an answer to one of them comes.
 *
 *     rotation_init(&rotation, &goal, now, &err)
 *     while ((step = rotation_next(..., now, &train)) != ROTATION_DONE)
 *         TRAIN: send it at train.at_ns; PASS: what is wanted may be said anew; WAIT: for answers, or until train.at_ns
 *         rotation_take(..., from, to, answered)      once for each train: answered, or its timeout is over
 *
 * No IO, no allocation; times are the caller's. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

#define ROTATION_NODES_MAX 64 /* one bit each */

struct rotation_goal {
    uint16_t node_count;  /* 2 to ROTATION_NODES_MAX */
    uint32_t passes;      /* > 0 */
    uint64_t train_ns;    /* the longest train's duration, > 0 */
    uint64_t train_bytes; /* and bytes on the wire */
    uint64_t train_bps;   /* its fastest piece: what it takes of a way out */
    uint64_t guard_ns;    /* between the end of one train and the begin of the next: clocks differ by less */
    uint64_t timeout_ns;  /* how long the driver waits for an answer; for the time that is told only */
    uint16_t group_of[ROTATION_NODES_MAX];  /* below node_count */
    uint64_t group_bps[ROTATION_NODES_MAX]; /* the group's way out; 0: as wide as all its nodes */
    uint32_t share_ppm;                     /* of a way out that trains may take at a time; 0: all of it */
    bool one_per_group;                     /* and no more than one train */
};

/* Told before anything is sent, of all passes and pairs. */
struct rotation_cost {
    uint32_t pairs, trains;
    uint64_t bytes;       /* all trains */
    uint64_t node_bytes;  /* that each node sends, and receives */
    uint64_t duration_ns; /* until the last answer is back or given up */
    uint32_t load_ppm;    /* of train_bps, that each node sends while it lasts */
};

struct rotation_train {
    uint16_t from, to;
    uint32_t pass; /* from 0 */
    uint64_t at_ns;
};

struct rotation_progress {
    uint32_t pairs, pairs_answered; /* wanted ones; those with an answer at least */
    uint32_t trains, sent, answered, missed;
    uint64_t bytes;
    uint64_t left_ns; /* as far as is known by now */
    uint64_t silent;  /* bits: nodes that answer nothing */
};

enum rotation_step { ROTATION_WAIT, ROTATION_TRAIN, ROTATION_PASS, ROTATION_DONE };

struct rotation {
    struct rotation_goal goal;
    uint64_t wanted[ROTATION_NODES_MAX]; /* [from]: bit `to` */
    uint64_t silent;
    uint32_t pass;
    uint16_t round; /* from 1; 0: the pass has not begun */
    uint16_t at, count, slot;
    uint64_t slot_ns; /* when the running slot begins */
    bool slot_used;   /* a train has left in it */
    struct {
        uint8_t from, to, slot;
    } trains[ROTATION_NODES_MAX]; /* of the running round, by slots */
    uint32_t sent, answered, missed;
    uint8_t misses[ROTATION_NODES_MAX]; /* in a row, of trains whose other end is not silent */
    uint16_t open[ROTATION_NODES_MAX][ROTATION_NODES_MAX]; /* trains without an answer yet */
    uint16_t answers[ROTATION_NODES_MAX][ROTATION_NODES_MAX];
};

/* Trains that may leave a group at a time; 0: not even one. UINT16_MAX: any number. */
uint16_t rotation_group_most(const struct rotation_goal *goal, uint16_t group);
/* Of a valid goal. */
struct rotation_cost rotation_cost(const struct rotation_goal *goal);
/* Every pair is wanted. False: the goal contradicts itself, err says how. */
bool rotation_init(struct rotation *rotation, const struct rotation_goal *goal, uint64_t now_ns,
                   struct err *err);
/* To whom `from` is to send, as bits; from the next round on. */
void rotation_want(struct rotation *rotation, uint16_t from, uint64_t to_bits);
/* Does not answer, is known to be down: as if it had been found out. */
void rotation_leave_out(struct rotation *rotation, uint16_t node);
/* PASS comes behind each pass but the last. */
enum rotation_step rotation_next(struct rotation *rotation, uint64_t now_ns, struct rotation_train *train);
void rotation_take(struct rotation *rotation, uint16_t from, uint16_t to, bool answered);
struct rotation_progress rotation_progress(const struct rotation *rotation);
