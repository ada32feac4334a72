/* Symbols in: session → peer (node_rx) → packet number → job → symbol buffer → children are woken. */
#pragma once

#include "node/flow/flow.h"
#include "node/packet.h"

void arrive_on_packet(struct node *node, struct peer *peer, const struct wire_header *header,
                      const struct rx_packet *packet, uint64_t now_ns);
