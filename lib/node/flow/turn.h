/* Whose turn it is on an edge: all jobs between two nodes use one. Among those that may send now, fair
 * queueing with weight 2^priority (core/fair_queue.h): a packet of b wire bytes costs b * 2^(7 - priority).
 * Jobs that always have something get rates as their weights, within two packets, and what one leaves goes
 * to the others. */
#pragma once

#include "node/flow/flow.h"

/* The job whose turn it is on this edge, and its item; NULL: none may send before the horizon. *held_ns: when
 * the first of those may whose own cap holds them; TIME_NEVER: none is. `urgent`: only repairs and what
 * completes a block. One job is asked as a rule: that with the smallest tag of those that are not dry. */
struct job *turn_next_item(struct node *node, struct peer *peer, bool urgent, uint64_t horizon_ns,
                           struct feed_item *item, uint64_t *held_ns);
void turn_on_sent(struct flow *flow, struct job *job, struct child *child, uint32_t wire_bytes,
                  uint64_t depart_ns);
