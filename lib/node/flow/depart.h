/* Symbols out: of a port's edges that are due the one whose turn it is by its share of the port, else the one
 * that is due first; of its jobs the one whose turn it is (turn.h), and what its feed offers. The packet
 * points into the symbol buffer and holds its slot until the port reports it. */
#pragma once

#include "node/flow/flow.h"
#include "node/packet.h"

/* The next data packet of a port; false: none may leave before the horizon. */
bool depart_next(struct node *node, uint16_t port, uint64_t horizon_ns, struct tx_packet *packet,
                 uint64_t now_ns);
/* When the next one may be asked for; TIME_NEVER: woken by an event. */
uint64_t depart_next_ns(const struct node *node);
/* How long what may leave can wait for more, on the edge that bears least. */
uint64_t depart_gather_ns(const struct node *node);
