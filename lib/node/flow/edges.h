/* The edges of a job begin and end to carry it. */
#pragma once

#include "node/flow/flow.h"

/* The job runs from now on: an edge that carried none starts at the rate that the job knows for its path,
 * else as its strategy does where nothing is known. */
void edges_start(struct node *node, struct job *job, uint64_t now_ns);
/* What is known of the MTU of the path to that peer has changed: packets are as large as it allows from now on. True: that is
 * less than before. */
bool edges_follow_mtu(struct node *node, struct peer *peer, uint64_t now_ns);
/* The child gets no more of the job; nothing happens to one that is gone, or no child. */
void edges_drop(struct node *node, struct job *job, uint16_t peer);
/* The child and the source are to be told why it gets no more of the job: role/let_go.h. */
void edges_note_gone(struct node *node, struct job *job, uint8_t child, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* All of them, at the job's end. */
void edges_stop(struct node *node, struct job *job);
