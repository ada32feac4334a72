/* Datagrams in: a validation ladder, then one switch. Each datagram that is not used increments exactly one
 * drop counter. */
#include "base/check.h"
#include "node/flow/arrive.h"
#include "node/flow/feedback.h"
#include "node/flow/flow.h"
#include "node/node.h"
#include "node/peer/measure.h"
#include "node/top.h"
#include "node/train/in.h"
#include "wire/train.h"

static void renew_session(struct node *node, struct peer *peer, uint64_t now_ns)
{
    session_renew(node, peer, now_ns);
    peer_state_lost(node, peer, now_ns);
}

/* What a session has brought about, before anything that came under it is looked at. */
static void on_session(struct node *node, struct peer *peer, unsigned events, uint64_t now_ns)
{
    if ((events & SESSION_LOST) != 0)
        peer_state_lost(node, peer, now_ns);
    if ((events & SESSION_CAME_UP) != 0)
        flow_on_up(flow_of(node, peer));
}

static void on_hello(struct node *node, struct peer *peer, const struct wire_header *header,
                     const struct rx_packet *packet, uint64_t now_ns)
{
    struct wire_hello hello;
    if (!flow_is_decoded(node, wire_hello_decode(packet->data, packet->length, &hello)))
        return;
    node->counters.rx_hellos++;
    flow_on_packet(node, peer, now_ns);
    session_on_hello(node, peer, &hello, now_ns);
    session_update_on_hello(node, peer, header->session, hello.key_id);
}

/* Under a session that is left it may have been held back. */
static void on_close(struct node *node, struct peer *peer, const struct wire_header *header,
                     const struct rx_packet *packet, uint64_t now_ns)
{
    struct wire_close close;
    if (header->session != peer_session(peer)->in) {
        node->counters.drop_session++;
        return;
    }
    if (!flow_is_decoded(node, wire_close_decode(packet->data, packet->length, &close)))
        return;
    session_on_close(node, peer, now_ns);
    node->counters.rx_closes++;
    peer_state_lost(node, peer, now_ns);
}

static void on_message(struct node *node, struct peer *peer, const struct wire_header *header,
                       const struct rx_packet *packet, uint64_t now_ns)
{
    struct wire_message_view view;
    if (!flow_is_decoded(node, wire_message_decode(packet->data, packet->length, &view)))
        return;
    flow_on_packet(node, peer, now_ns);
    if (!mail_on_datagram(&peer->mail, header->stamp, &view)) {
        node->counters.drop_message_window++;
        return;
    }
    node->counters.rx_messages++;
    control_on_mail(node, peer, now_ns);
    peer_schedule(node, peer, now_ns);
}

static void on_probe(struct node *node, struct peer *peer, const struct wire_header *header,
                     const struct rx_packet *packet, uint64_t now_ns)
{
    struct wire_probe probe;
    if (!flow_is_decoded(node, wire_probe_decode(packet->data, packet->length, &probe)))
        return;
    flow_on_packet(node, peer, now_ns);
    if (header->type == WIRE_PROBE_REPLY) {
        if (rtt_watch_on_reply(&peer->watch, &probe, packet->length, packet->rx_ns)) {
            measure_on_reply(node, peer);
        } else if (!mtu_watch_on_reply(&peer->mtu, &probe, packet->length, now_ns) &&
                   !rtt_probe_on_reply(&peer->probe, &probe, packet->length, packet->rx_ns)) {
            node->counters.drop_probe_reply++;
            return;
        }
        node->counters.rx_probe_replies++;
        peer_schedule(node, peer, now_ns);
        return;
    }
    uint32_t overhead_bytes = address_overhead_bytes(peer->config->address.family);
    if (packet->length + overhead_bytes > node->config.ports[peer->port].mtu) {
        node->counters.drop_length++; /* the reply is as long, and would not leave */
        return;
    }
    if (peer->reply_count == PROBE_REPLIES_MAX) {
        node->counters.drop_probe_busy++;
        return;
    }
    probe.t2_ns = packet->rx_ns;
    peer->replies[peer->reply_count++] = probe;
    node->counters.rx_probes++;
    peer_note_control(node, peer);
}

/* Trains are no sign of life: a peer that is down says hello first. */
static void on_train(struct node *node, struct peer *peer, const struct rx_packet *packet, uint64_t now_ns)
{
    struct wire_train train;
    if (!flow_is_decoded(node, wire_train_decode(packet->data, packet->length, &train)))
        return;
    if (peer->state != PEER_UP) {
        node->counters.drop_session++;
        return;
    }
    flow_on_packet(node, peer, now_ns);
    train_in_on_packet(node, peer, &train, packet, now_ns);
}

static void on_handshake(struct node *node, const struct wire_header *header, const struct rx_packet *packet,
                         uint64_t now_ns)
{
    if (!flow_is_decoded(node, wire_handshake_check(header, packet->length)))
        return;
    uint16_t index = peer_by_address(node, &packet->from);
    if (index == PEER_NONE) {
        node->counters.drop_source++;
        session_note_stranger(node, packet);
        return;
    }
    struct peer *peer = &node->peers[index];
    on_session(node, peer, session_on_handshake(node, peer, header, packet->data, packet->length, now_ns),
               now_ns);
}

/* The peer behind session and address, or NULL with a drop counted. */
static struct peer *find_peer(struct node *node, const struct wire_header *header,
                              const struct rx_packet *packet)
{
    struct peer *peer = session_peer(node, header->session);
    if (peer == NULL) {
        if (peer_by_address(node, &packet->from) == PEER_NONE)
            node->counters.drop_source++;
        else
            node->counters.drop_session++;
        return NULL;
    }
    if (!address_equal(&peer->config->address, &packet->from)) {
        node->counters.drop_source++;
        misfit_note_address(peer, &packet->from);
        return NULL;
    }
    return peer;
}

/* It was opened, and comes for the first time. */
static void on_opened(struct node *node, struct peer *peer, const struct wire_header *header,
                      const struct rx_packet *packet, uint64_t now_ns)
{
    switch ((enum wire_type)header->type) {
    case WIRE_DATA:
        if (arrive_on_packet(node, peer, header, packet, now_ns))
            renew_session(node, peer, now_ns);
        break;
    case WIRE_PIECE:
        if (arrive_on_piece(node, peer, header, packet, now_ns))
            renew_session(node, peer, now_ns);
        break;
    case WIRE_ACK:
        if (feedback_on_ack(node, peer, packet, now_ns))
            renew_session(node, peer, now_ns);
        break;
    case WIRE_MESSAGE:
        on_message(node, peer, header, packet, now_ns);
        break;
    case WIRE_PROBE:
    case WIRE_PROBE_REPLY:
        on_probe(node, peer, header, packet, now_ns);
        break;
    case WIRE_HELLO:
        on_hello(node, peer, header, packet, now_ns);
        break;
    case WIRE_CLOSE:
        on_close(node, peer, header, packet, now_ns);
        break;
    case WIRE_TRAIN:
        on_train(node, peer, packet, now_ns);
        break;
    case WIRE_INITIATION:
    case WIRE_RESPONSE:
    case WIRE_TYPE_COUNT:
        node->counters.drop_type++;
        break;
    }
}

static void on_datagram(struct node *node, const struct rx_packet *packet, uint64_t now_ns)
{
    struct wire_header header;
    struct rx_packet opened;
    unsigned events;
    if (!flow_is_decoded(node, wire_header_decode(packet->data, packet->length, &header)))
        return;
    if (header.type == WIRE_INITIATION || header.type == WIRE_RESPONSE) {
        on_handshake(node, &header, packet, now_ns);
        return;
    }
    struct peer *peer = find_peer(node, &header, packet);
    if (peer == NULL)
        return;
    bool good = session_open(node, peer, &header, packet, &opened, &events, now_ns);
    on_session(node, peer, events, now_ns);
    if (good)
        on_opened(node, peer, &header, &opened, now_ns);
}

static void on_received(struct node *node, const struct rx_packet *packet, uint64_t now_ns)
{
    if (node->ahead_ns == 0) {
        on_datagram(node, packet, now_ns);
        return;
    }
    /* Stamped by the caller's clock; those received before that was set back are new by ours. */
    struct rx_packet moved = *packet;
    moved.rx_ns = MIN(packet->rx_ns + node->ahead_ns, now_ns);
    on_datagram(node, &moved, now_ns);
}

void node_missed(struct node *node, uint16_t port, uint64_t frames)
{
    CHECK(port < node->config.port_count);
    if (node->ports[port].missed_frames == frames)
        return;
    node->ports[port].missed_frames = frames;
    digest_add(&node->digest, frames);
}

void node_rx(struct node *node, const struct rx_packet *packets, uint16_t count, uint64_t now_ns)
{
    now_ns = node_enter(node, now_ns);
    for (uint16_t index = 0; index < count; index++)
        __builtin_prefetch(packets[index].data);
    node->counters.rx_datagrams += count;
    for (uint16_t index = 0; index < count; index++)
        on_received(node, &packets[index], now_ns);
}
