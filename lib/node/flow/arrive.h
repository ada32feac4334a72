/* Symbols in: session → peer (node_rx) → packet number → job → symbol buffer → children are woken. */
#pragma once

#include "node/flow/flow.h"
#include "node/packet.h"

/* True: the two ends do not speak of the same packet numbers any more; only a new session helps. */
bool arrive_on_packet(struct node *node, struct peer *peer, const struct wire_header *header,
                      const struct rx_packet *packet, uint64_t now_ns);
/* A piece of one; the last that comes makes it whole. */
bool arrive_on_piece(struct node *node, struct peer *peer, const struct wire_header *header,
                     const struct rx_packet *packet, uint64_t now_ns);
