/* Measurements that others ask this node for: each is a path from here to one of its peers, or, asked for by this node's own
 * name, its line (line.h), begun at a time that the asker names, over at another one.
 *
 * Asked is who is up; an answer goes out for each, and what can't be done is answered at once. Nobody makes this node send
 * more than it takes of others: trains for others have a budget of their own, as large as that of trains that come in
 * (train/in.h), whoever asks and however often. The prober (train/prober.h) takes what is due and measures it. */
#pragma once

#include "node/packet.h"
#include "node/peer/peer.h"
#include "node/train/budget.h"
#include "probe/estimate.h"
#include "wire/control.h"

#define ASKED_MAX         16 /* at a time … */
#define ASKED_OF_ONE_MAX  6  /* … and of one asker */
#define ASKED_WAIT_NS_MAX (60 * NS_PER_S)
#define ASKED_LASTS_NS    (30 * NS_PER_S) /* where the asker has not said less */
#define ASKED_BYTES_LEAST 100000u         /* with less than that left nothing is begun */

struct asked_path {
    uint16_t asker;  /* PEER_SELF: this node's own round of all pairs; PEER_NONE: who has forgotten it */
    uint16_t to;     /* PEER_SELF: the line */
    uint16_t trains; /* at most; 0: any number */
    /* The asker has said how long it may last: as soon as can be, whatever this node's own period. */
    bool quick;
    uint32_t id;    /* of the asker */
    uint64_t bytes; /* at most */
    uint64_t begin_ns, end_ns;
};

struct asked {
    uint16_t count;
    struct asked_path paths[ASKED_MAX];
    struct train_budget budget; /* what may be sent */
    uint16_t own_count;         /* answers to PEER_SELF, until they are taken */
    struct control_probe_answer own[ASKED_MAX];
};

/* What came of one. */
struct asked_end {
    enum probe_answer answer;
    struct estimate estimate; /* MEASURED */
    uint8_t turned_down;      /* enum train_answer: why the receiver took no train */
    uint64_t spent_bytes;     /* on the wire */
};

void asked_init(struct node *node, uint64_t now_ns);
/* It is kept until it is due, or answered at once. */
void asked_take(struct node *node, uint16_t asker, const struct wire_probe_ask *ask, uint64_t now_ns);
/* What may be sent for others by now. */
uint64_t asked_left(struct node *node, uint64_t now_ns);
/* Bytes to be sent, or brought in, for others beside that, off the same budget. False: there are not so many left. */
bool asked_spend(struct node *node, uint64_t bytes, uint64_t now_ns);
/* What was asked for by that number can't be measured. */
void asked_decline(struct node *node, uint16_t asker, uint32_t id, enum probe_answer word, const char *why);
/* The first whose time has come, with the bytes that it may take, which are off the budget. False: there is none. What can't be
 * done any more is answered. */
bool asked_due(struct node *node, uint64_t now_ns, struct asked_path *path);
/* When that is; TIME_NEVER: nothing is kept. */
uint64_t asked_next_ns(const struct node *node);
/* When the last of those kept is over; 0: there is none. */
uint64_t asked_last_ns(const struct node *node);
/* How it ended. */
void asked_end(struct node *node, const struct asked_path *path, const struct asked_end *end,
               uint64_t now_ns);
/* An answer to this node itself; false: there is none. */
bool asked_take_own(struct node *node, struct control_probe_answer *answer);
/* The peer has lost its state: it waits for nothing any more. */
void asked_forget(struct node *node, uint16_t peer);
