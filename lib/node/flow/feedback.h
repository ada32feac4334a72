/* What comes back for symbols that were sent: acks, losses, reports of ports. */
#pragma once

#include "node/flow/flow.h"
#include "node/packet.h"

/* True: the two ends do not speak of the same packet numbers any more; only a new session helps. */
bool feedback_on_ack(struct node *node, struct peer *peer, const struct rx_packet *packet, uint64_t now_ns);
void feedback_on_report(struct node *node, const struct tx_report *report, uint64_t now_ns);
/* The path to the peer has become too narrow for what was sent to it: that goes again, in packets that fit. */
void feedback_on_narrower(struct node *node, struct peer *peer, uint64_t now_ns);
/* Tail probes, silence, credit: of a peer that is up. */
void feedback_tick(struct node *node, struct peer *peer, uint64_t now_ns);
/* Cookie of a data packet: slot of the symbol buffer (24 bits), peer (8), packet number (32). */
static inline uint64_t feedback_cookie(uint32_t slot, uint16_t peer, uint64_t number)
{
    return (uint64_t)slot << 40 | (uint64_t)peer << 32 | (uint32_t)number;
}
