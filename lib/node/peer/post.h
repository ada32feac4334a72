/* Messages to peers: one call encodes and queues one. */
#pragma once

#include "node/peer/peer.h"

/* `message` is the struct of its kind (wire/control.h). False, and counted: the queue to that peer is full;
 * what must not be lost is posted again later by whoever owes it. Repeated soon unless it is acked, but for
 * STATUS, which comes again anyway, and HASHES, of which most are in no haste. */
bool post(struct node *node, uint16_t peer, enum control_kind kind, const void *message);
/* As post, for a message that must not wait for a timeout when a packet is lost, whatever its kind. */
bool post_surely(struct node *node, uint16_t peer, enum control_kind kind, const void *message);
/* Whether the message fits a datagram; only a PART may not. */
bool post_fits(enum control_kind kind, const void *message);
/* Messages that the queue to the peer still takes. */
uint32_t post_room(const struct node *node, uint16_t peer);
/* More than half of the queue is free: what only tells of progress leaves the rest to what matters more. */
bool post_has_ample_room(const struct node *node, uint16_t peer);
