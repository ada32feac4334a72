/* Trains of others that come in: one at a time, joint ones (out.h) up to TRAIN_IN_MAX, and the reports of how they came.
 *
 * Nobody asks beforehand: a train of a peer that is up is taken when no other is in its way and the budget has room for all
 * of it; else its sender is told why, once, and its packets are dropped. A report follows when every packet came, or
 * when the last one is overdue by TRAIN_GRACE_NS (TRAIN_GRACE_JOINT_NS of joint ones), or the next train of the same peer begins. One that another peer's
 * train came between is no measurement, whoever was first: its report says busy, too. No packet is ever answered by
 * itself, and all that trains can make a node send is about three bytes a packet that it took. No report follows of one
 * that this node gathers (line_in.h). */
#pragma once

#include "node/packet.h"
#include "node/peer/peer.h"
#include "node/train/budget.h"
#include "wire/control.h"

#define TRAIN_IN_MAX   8               /* joint ones at a time */
#define TRAIN_GRACE_NS (5 * NS_PER_MS) /* packets may be late by so much */
/* … and of joint trains by as much as a queue holds that the first of them have made. */
#define TRAIN_GRACE_JOINT_NS (20 * NS_PER_MS)
#define TRAIN_REST_NS_MAX    NS_PER_S /* nobody keeps a slot for longer after a packet, whatever he says … */
#define TRAIN_KEEP_NS_MAX    (3 * NS_PER_S) /* … nor after a train's first one */
#define TRAIN_BUDGET_MIN     4000000ULL     /* bytes in that time */
#define TRAIN_BUDGET_PART    25 /* else such a part of what may come in: several peers have their 1 % at once */

/* One that comes in. */
struct train_slot {
    uint16_t peer; /* whose it is; PEER_NONE: the slot is free */
    bool joint;    /* others may come beside it: a part of a joint train, or gathered */
    bool gathered; /* one of several that this node has asked for: train_in_gathered takes it */
    bool crossed;  /* packets of another peer's train that was not taken came by its port meanwhile … */
    bool beside;   /* … or of one that was */
    bool telling;  /* it is over; its report follows as the queue to the peer has room … */
    uint16_t told; /* … for arrivals */
    uint32_t train;
    uint32_t wire_bytes; /* of its first packet */
    uint16_t count;      /* of its packets … */
    uint16_t own_count;  /* … and of those that come here */
    uint16_t arrived;
    uint16_t batch, run;    /* the most that had one stamp; of late */
    uint8_t stamp_kind;     /* the worst of all */
    uint16_t noise_ns;      /* the most of all */
    uint64_t begun_ns;      /* its first packet came */
    uint64_t due_ns;        /* what has not come by then won't */
    uint64_t tell_end_ns;   /* its report is given up then: the peer takes no messages */
    uint64_t stamp_ns;      /* of the one that came last */
    uint64_t gap_ns;        /* the longest time that the node was not called, between two packets … */
    uint64_t newest_gap_ns; /* … and since the last one */
    uint64_t seen[WIRE_TRAIN_PACKETS_MAX / 64];
    struct control_arrival arrivals[WIRE_TRAIN_PACKETS_MAX];
};

struct train_in {
    uint16_t count;             /* of slots that are not free */
    uint64_t turn_ns;           /* when the node was called last */
    uint64_t gather_mask;       /* bit per peer that a train is waited for from, to come beside others */
    struct train_budget budget; /* what may come */
    uint64_t over_mask;         /* bit per peer: trains up to over[] are over */
    uint32_t over[NODE_PEERS_MAX];
    struct train_slot slots[TRAIN_IN_MAX];
};

void train_in_init(struct node *node, uint64_t now_ns);
/* A train's packet of a peer that is up. Counted as taken, or as dropped by one counter. */
void train_in_on_packet(struct node *node, const struct peer *peer, const struct wire_train *train,
                        const struct rx_packet *packet, uint64_t now_ns);
/* The train of a peer of gather_mask, once it is over; NULL: it is not. It is kept until it is released. */
struct train_slot *train_in_gathered(struct node *node, uint16_t peer);
void train_in_release(struct node *node, struct train_slot *slot);
/* None is waited for any more: what has come of them is forgotten. */
void train_in_gather_end(struct node *node);
/* What is overdue; reports that found no room. */
void train_in_tick(struct node *node, uint64_t now_ns);
/* When that is due; TIME_NEVER: no train is coming in. */
uint64_t train_in_next_ns(const struct node *node);
/* The peer has lost its state, or is another: nothing of its trains is known any more. */
void train_in_forget(struct node *node, uint16_t peer);
/* Bytes on the wire that trains may take in any TRAIN_BUDGET_NS. */
uint64_t train_in_budget(const struct node_config *config);

/* The node is called: how long it was not while trains came. */
static inline void train_in_on_turn(struct train_in *in, uint64_t now_ns)
{
    for (unsigned place = 0; place < TRAIN_IN_MAX && in->count > 0; place++)
        in->slots[place].newest_gap_ns = MAX(in->slots[place].newest_gap_ns, now_ns - in->turn_ns);
    in->turn_ns = now_ns;
}
