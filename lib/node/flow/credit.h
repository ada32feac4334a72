/* Credit: room in the symbol buffer, told to parents in acks. */
#pragma once

#include "edge/limit.h"
#include "node/flow/flow.h"
#include "wire/ack.h"

/* In packets of this edge, shared among the peers that are parents now. As long as one slot is left, some
 * room is told: many jobs in a small buffer must not wait for each other. */
uint32_t credit_packets(const struct node *node, const struct peer *peer);
/* What an ack is to say of jobs that have few places here, WIRE_ACK_PLACES_MAX at most; returns of how many. The parent
 * sends others meanwhile, so that jobs, and trees of one job, which share an edge do not wait for each other. */
uint8_t credit_places(const struct node *node, struct peer *peer, struct wire_place *places);
/* What keeps credit short: blocks that wait for this node's disk, or children that have not acked. */
enum edge_limit credit_limit(const struct node *node);
/* A sender that was told of no room, or of none for a job, waits for the news that there is some: true when that has
 * come. */
bool credit_has_news(const struct node *node, struct peer *peer);
