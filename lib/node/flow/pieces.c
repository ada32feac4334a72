#include "node/flow/pieces.h"

#include <string.h>

#include "base/check.h"

uint32_t pieces_needed(uint32_t datagram_bytes, uint32_t mtu, uint32_t ip_overhead)
{
    uint32_t total = datagram_bytes - WIRE_HEADER_BYTES;
    if (datagram_bytes + ip_overhead <= mtu || total > WIRE_PIECE_TOTAL_MAX)
        return 1;
    uint32_t before = ip_overhead + WIRE_PIECE_BYTES;
    /* The first one has all that stands before the symbols. */
    if (mtu < before + WIRE_DATA_HEADER_MAX)
        return 1;
    uint32_t room = mtu - before, count = (total + room - 1) / room;
    return count <= WIRE_PIECE_COUNT_MAX ? count : 1;
}

uint32_t pieces_wire_bytes(uint32_t datagram_bytes, uint32_t count, uint32_t frame_overhead)
{
    if (count == 1)
        return datagram_bytes + frame_overhead;
    uint32_t around = (uint32_t)WIRE_PIECE_BYTES + frame_overhead;
    return datagram_bytes - (uint32_t)WIRE_HEADER_BYTES + count * around;
}

/* ---- out ---- */

/* Bytes [from, to) of the whole behind its common header. */
static void cut(const struct tx_packet *whole, uint32_t from, uint32_t to, struct tx_packet *packet)
{
    uint32_t head = whole->head_bytes - WIRE_HEADER_BYTES;
    uint32_t of_head = from < head ? MIN(to, head) - from : 0;
    memcpy(packet->head + WIRE_PIECE_BYTES, whole->head + WIRE_HEADER_BYTES + from, of_head);
    packet->head_bytes = (uint16_t)(WIRE_PIECE_BYTES + of_head);
    packet->body = whole->body + (from + of_head - head);
    packet->body_bytes = (uint16_t)(to - from - of_head);
}

bool pieces_left(const struct node *node, uint16_t port)
{
    return node->pieces->out[port].index < node->pieces->out[port].count;
}

bool pieces_next(struct node *node, uint16_t port, struct tx_packet *packet)
{
    struct pieces_out *out = &node->pieces->out[port];
    if (out->index >= out->count)
        return false;
    const struct tx_packet *whole = &out->whole;
    uint32_t total = whole->head_bytes + whole->body_bytes - WIRE_HEADER_BYTES;
    uint32_t size = WIRE_PIECE_SIZE(total, out->count), from = out->index * size;
    struct peer *peer = &node->peers[whole->peer];
    struct wire_header header, of_whole;
    wire_header_get(whole->head, &of_whole);
    struct wire_piece piece = {
        .whole = of_whole.packet_number, .total = (uint16_t)total, .index = out->index, .count = out->count};
    *packet = *whole;
    cut(whole, from, MIN(from + size, total), packet);
    packet->body_sum = 0;
    uint32_t wire_bytes = packet->head_bytes + packet->body_bytes + peer->frame_overhead;
    packet->depart_ns += out->index * transmit_ns(wire_bytes, node->config.ports[port].rate_bps);
    /* Where that edge has ended nobody takes it, but who sends it has to report it. */
    bool ended = !peer_is_known(peer) || out->edge != peer->sessions.edge;
    header = ended ? (struct wire_header){.version = WIRE_VERSION, .type = WIRE_PIECE}
                   : session_header(peer, WIRE_PIECE, packet->depart_ns);
    header.flags = of_whole.flags;
    wire_piece_encode(packet->head, &header, &piece);
    if (!ended)
        session_seal(node, peer, packet->head, packet->head_bytes);
    out->index++;
    return true;
}

void pieces_begin(struct node *node, struct tx_packet *packet, uint32_t count)
{
    struct pieces_out *out = &node->pieces->out[packet->port];
    CHECK(out->index == out->count);
    out->whole = *packet;
    out->edge = node->peers[packet->peer].sessions.edge;
    out->index = 0;
    out->count = (uint8_t)count;
    for (uint32_t more = 1; more < count; more++)
        store_hold(&node->store, (uint32_t)(packet->cookie >> 40));
    pieces_next(node, packet->port, packet);
}

/* ---- in ---- */

/* Parts of a packet come one behind the other, so the newest is asked first. */
static struct pieces_in *find(struct pieces *pieces, uint64_t session, const struct wire_piece *piece)
{
    for (uint32_t back = 1; back <= PIECES_WAITING; back++) {
        struct pieces_in *in = &pieces->in[(pieces->next_in - back) % PIECES_WAITING];
        if (in->count == piece->count && in->session == session && in->total == piece->total)
            return in;
    }
    struct pieces_in *in = &pieces->in[pieces->next_in++ % PIECES_WAITING];
    in->session = session;
    in->total = piece->total;
    in->count = piece->count;
    in->came = 0;
    in->ecn = 0;
    in->wire_bytes = 0;
    return in;
}

bool pieces_on_packet(struct node *node, const struct rx_packet *packet, struct wire_header *header,
                      struct rx_packet *whole, uint32_t frame_overhead, uint32_t *wire_bytes)
{
    struct wire_piece_view view;
    if (!flow_is_decoded(node, wire_piece_decode(packet->data, packet->length, &view)))
        return false;
    struct pieces_in *in =
        find(node->pieces, (uint64_t)header->session << 32 | view.fixed.whole, &view.fixed);
    if ((in->came >> view.fixed.index & 1) != 0) {
        node->counters.drop_data_duplicate++;
        return false;
    }
    uint8_t *datagram = node->pieces->datagrams[in - node->pieces->in];
    memcpy(datagram + WIRE_HEADER_BYTES + view.from, view.bytes, view.length);
    in->came |= (uint8_t)(1u << view.fixed.index);
    in->ecn = MAX(in->ecn, packet->ecn); /* of a packet that is ECN-capable, 3 is the mark */
    in->wire_bytes += packet->length + frame_overhead;
    if (in->came != (1u << in->count) - 1) {
        node->counters.rx_pieces++;
        return false;
    }
    in->count = 0; /* free; what it holds stays until the next one comes */
    header->type = WIRE_DATA;
    header->packet_number = view.fixed.whole;
    wire_header_put(datagram, header);
    *wire_bytes = in->wire_bytes;
    *whole = *packet;
    whole->data = datagram;
    whole->length = WIRE_HEADER_BYTES + in->total;
    whole->data_sum = 0;
    whole->ecn = in->ecn;
    return true;
}
