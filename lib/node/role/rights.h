/* Who may say what. A job's id proves nothing: a message counts from whoever has that part in the job, and is asked for it
 * once it was opened and before it has any effect. */
#pragma once

#include "node/job/job.h"

/* What the sender of a message is to this node. */
enum right {
    RIGHT_PEER = 1,   /* a peer; what it may have is a matter of budgets */
    RIGHT_ASKER = 2,  /* one that may use this node (rights_may_measure) */
    RIGHT_ASKED = 4,  /* one that was asked for measurements from here; AVAILABLE, also for a path or line */
    RIGHT_SOURCE = 8, /* of the job … */
    RIGHT_SITE = 16,  /* … whose source is here */
    RIGHT_PARENT = 32,
    RIGHT_CHILD = 64,
};

/* Who may say each kind of message: any of these. What a PART may do here is asked when it
 * comes, and told by an answer (rights_to_part). */
#define MESSAGE_RIGHTS(ROW)                                                                                  \
    ROW(CONTROL_MEASURE, RIGHT_ASKER)                                                                        \
    ROW(CONTROL_MEASUREMENT, RIGHT_ASKED)                                                                    \
    ROW(CONTROL_PART, RIGHT_PEER) /* in its own name */                                                      \
    ROW(CONTROL_CONFIRM, RIGHT_SITE)                                                                         \
    ROW(CONTROL_START, RIGHT_SOURCE)                                                                         \
    ROW(CONTROL_STATUS, RIGHT_SITE)                                                                          \
    ROW(CONTROL_HASHES, RIGHT_SOURCE)                                                                        \
    ROW(CONTROL_HAVE, RIGHT_CHILD)                                                                           \
    ROW(CONTROL_RESEND, RIGHT_CHILD)                                                                         \
    ROW(CONTROL_CLOSE_JOB, RIGHT_SOURCE | RIGHT_CHILD) /* the job; a child for itself */                     \
    ROW(CONTROL_ADJUST, RIGHT_SOURCE)                                                                        \
    ROW(CONTROL_STREAM_ROOM, RIGHT_CHILD | RIGHT_SITE)                                                       \
    ROW(CONTROL_STREAM_END, RIGHT_SOURCE)                                                                    \
    ROW(CONTROL_TREE, RIGHT_SOURCE)                                                                          \
    ROW(CONTROL_TRAIN_REPORT, RIGHT_PEER)                                                                    \
    ROW(CONTROL_AVAILABLE, RIGHT_ASKED)                                                                      \
    ROW(CONTROL_PROBE_ASK, RIGHT_PEER)                                                                       \
    ROW(CONTROL_PROBE_ANSWER, RIGHT_PEER)                                                                    \
    ROW(CONTROL_LET_GO, RIGHT_PARENT | RIGHT_SITE)

/* What the peer is in the job: SOURCE, SITE, PARENT, CHILD. */
unsigned rights_in_job(struct job *job, uint16_t peer);
/* False: the peer may not say that. *job: the one that is meant; NULL: the message is of none, or none of that id is here. */
bool rights_check(struct node *node, uint16_t peer, uint8_t kind, const uint8_t *body, size_t length,
                  struct job **job);
/* A directory here lists the peer as a source of its, or relay_for names it: what it may have here was somebody's decision. */
bool rights_listed(const struct node *node, uint16_t peer);
/* Where the part's object is to go; NULL: err says why its source may not write there. */
const struct node_directory *rights_directory(const struct node *node, const struct control_part *part,
                                              struct err *err);
/* The peer, as its source, may have that part here: written into a directory that lists it, or passed on by a node that relays
 * for it, if it relays at all. Asked before anything is taken. False: err says why not. */
bool rights_to_part(const struct node *node, uint16_t peer, const struct control_part *part, struct err *err);
/* Jobs of that peer may use this node's memory without writing into a directory of its. */
bool rights_may_relay(const struct node *node, uint16_t peer);
/* It may have this node's paths measured: whose jobs may come here at all. */
bool rights_may_measure(const struct node *node, uint16_t peer);
/* False: err names another job of that id which has to do with a peer of this one: data, acks and what children say could not
 * be told apart. */
bool rights_apart(struct node *node, struct job *job, struct err *err);
