/* Data packets in pieces: where a path's MTU has fallen below what a symbol needs, its packet leaves in pieces (wire/piece.h)
 * under one number, and is a data packet again once all have come. Edge, feeds and store know nothing of it: a piece that
 * is lost is the packet's loss.
 *
 * Out: one packet a port at a time; its pieces leave one behind the other at the port's rate, each with a hold on the
 * slot and a report of its own. In: PIECES_WAITING packets of all peers wait for the rest of them, the oldest gives way:
 * then it counts as any lost packet does. */
#pragma once

#include "node/flow/flow.h"
#include "node/packet.h"
#include "wire/piece.h"

#define PIECES_WAITING 64

/* A packet that leaves in pieces; count 0: none does. */
struct pieces_out {
    struct tx_packet whole;
    uint64_t edge; /* that it is a packet of */
    uint8_t index, count;
};

/* One of which pieces have come; count 0: none. */
struct pieces_in {
    uint64_t session; /* ours with that peer, and the packet's number */
    uint16_t total;
    uint8_t count, came; /* came: a bit each */
    uint8_t ecn;
    uint32_t wire_bytes;
};

struct pieces {
    struct pieces_out out[NODE_PORTS_MAX];
    struct pieces_in in[PIECES_WAITING];
    uint8_t datagrams[PIECES_WAITING][WIRE_HEADER_BYTES + WIRE_PIECE_TOTAL_MAX]; /* of each as a whole */
    uint32_t next_in;                                                            /* the oldest */
};

/* Into how many pieces a DATA datagram of so many bytes goes on a path of that MTU: 1, it fits, or no number of pieces
 * helps. */
uint32_t pieces_needed(uint32_t datagram_bytes, uint32_t mtu, uint32_t ip_overhead);
/* Wire bytes of all of them, frame_overhead being what is around a datagram. */
uint32_t pieces_wire_bytes(uint32_t datagram_bytes, uint32_t count, uint32_t frame_overhead);

/* `packet` is a whole data packet that leaves in `count` pieces: becomes the first of them. Holds the slot for all. */
void pieces_begin(struct node *node, struct tx_packet *packet, uint32_t count);
/* The next piece of what the port has begun to send; false: nothing is left of it. */
bool pieces_next(struct node *node, uint16_t port, struct tx_packet *packet);
bool pieces_left(const struct node *node, uint16_t port);

/* A piece came. True: it was the last one, and *whole is the data packet, its header *header, of so many wire bytes. Else it
 * is kept, or dropped and counted. `whole` is a view, until the next call. */
bool pieces_on_packet(struct node *node, const struct rx_packet *packet, struct wire_header *header,
                      struct rx_packet *whole, uint32_t frame_overhead, uint32_t *wire_bytes);
