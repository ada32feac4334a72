/* Datagrams in: a validation ladder, then one switch. Each datagram that is not used increments exactly one
 * drop counter. */
#include "base/check.h"
#include "node/flow/arrive.h"
#include "node/flow/feedback.h"
#include "node/flow/flow.h"
#include "node/node.h"
#include "node/peer/measure.h"
#include "node/role/role.h"
#include "node/top.h"
#include "node/train/in.h"
#include "node/train/pairs.h"
#include "node/train/prober.h"
#include "wire/train.h"

/* The peer has forgotten everything: so does this node of what was between them. */
static void on_state_lost(struct node *node, struct peer *peer, uint64_t now_ns)
{
    flow_on_reset(node, peer);
    train_in_forget(node, peer->index);
    prober_forget(node, peer->index);
    asked_forget(node, peer->index);
    pairs_forget(node, peer->index, now_ns);
    role_on_peer_lost(node, peer->index, true, now_ns);
}

static void renew_session(struct node *node, struct peer *peer, uint64_t now_ns)
{
    session_renew(node, peer, now_ns);
    on_state_lost(node, peer, now_ns);
}

static void on_replayed(struct node *node, struct peer *peer, uint64_t now_ns)
{
    node->counters.drop_replay++;
    if (replay_lost_sync(&peer->replay, now_ns))
        renew_session(node, peer, now_ns);
}

static void on_hello(struct node *node, struct peer *peer, const struct wire_header *header,
                     const struct rx_packet *packet, uint64_t now_ns)
{
    struct wire_hello hello;
    if (!flow_is_decoded(node, wire_hello_decode(packet->data, packet->length, &hello)))
        return;
    bool is_he = peer_find(node, hello.name.text) == peer->index;
    if (!is_he || peer_find(node, hello.peer.text) != PEER_SELF) {
        node->counters.drop_name++;
        misfit_note_name(peer, is_he ? MISFIT_CALLED : MISFIT_NAME,
                         is_he ? hello.peer.text : hello.name.text);
        return;
    }
    if (hello.incarnation == 0 || hello.session == 0 || hello.interval_ms == 0) {
        node->counters.drop_value++;
        return;
    }
    if (!session_take_hello(peer, &hello, header->packet_number, now_ns)) {
        on_replayed(node, peer, now_ns);
        return;
    }
    enum session_meeting meeting = session_on_hello(node, peer, &hello, now_ns);
    if (meeting == SESSION_REFUSED) {
        node->counters.drop_session++;
        return;
    }
    node->counters.rx_hellos++;
    if (meeting == SESSION_UNPROVED)
        return;
    if (meeting == SESSION_LOST)
        on_state_lost(node, peer, now_ns);
    if (session_greet(node, peer, &hello, now_ns))
        flow_on_up(flow_of(node, peer));
}

static void on_close(struct node *node, struct peer *peer, const struct rx_packet *packet, uint64_t now_ns)
{
    struct wire_close close;
    if (!flow_is_decoded(node, wire_close_decode(packet->data, packet->length, &close)))
        return;
    if (!session_on_close(node, peer, &close, now_ns)) {
        node->counters.drop_session++;
        return;
    }
    node->counters.rx_closes++;
    on_state_lost(node, peer, now_ns);
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

/* The peer behind session and address, or NULL with a drop counted. A hello is known by address alone: it
 * brings the session. */
static struct peer *find_peer(struct node *node, const struct wire_header *header,
                              const struct rx_packet *packet)
{
    if (header->type == WIRE_HELLO) {
        uint16_t index = peer_by_address(node, &packet->from);
        if (index == PEER_NONE) {
            node->counters.drop_source++;
            misfit_note_hello(node, packet);
        }
        return index == PEER_NONE ? NULL : &node->peers[index];
    }
    struct peer *peer = peer_of_session(node, header->session);
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
    if (!peer->known) {
        node->counters.drop_session++;
        return NULL;
    }
    return peer;
}

/* DATA has numbers and a window of its own; which session a hello belongs to is in its body. */
static bool is_replayed(struct node *node, struct peer *peer, const struct wire_header *header,
                        uint64_t now_ns)
{
    if (header->type == WIRE_DATA || header->type == WIRE_HELLO ||
        replay_take(&peer->replay, replay_expand(&peer->replay, header->packet_number), now_ns))
        return false;
    on_replayed(node, peer, now_ns);
    return true;
}

static void on_datagram(struct node *node, const struct rx_packet *packet, uint64_t now_ns)
{
    struct wire_header header;
    if (!flow_is_decoded(node, wire_header_decode(packet->data, packet->length, &header)))
        return;
    struct peer *peer = find_peer(node, &header, packet);
    if (peer == NULL || is_replayed(node, peer, &header, now_ns))
        return;
    switch ((enum wire_type)header.type) {
    case WIRE_DATA:
        if (arrive_on_packet(node, peer, &header, packet, now_ns))
            renew_session(node, peer, now_ns);
        break;
    case WIRE_PIECE:
        if (arrive_on_piece(node, peer, &header, packet, now_ns))
            renew_session(node, peer, now_ns);
        break;
    case WIRE_ACK:
        if (feedback_on_ack(node, peer, packet, now_ns))
            renew_session(node, peer, now_ns);
        break;
    case WIRE_MESSAGE:
        on_message(node, peer, &header, packet, now_ns);
        break;
    case WIRE_PROBE:
    case WIRE_PROBE_REPLY:
        on_probe(node, peer, &header, packet, now_ns);
        break;
    case WIRE_HELLO:
        on_hello(node, peer, &header, packet, now_ns);
        break;
    case WIRE_CLOSE:
        on_close(node, peer, packet, now_ns);
        break;
    case WIRE_TRAIN:
        on_train(node, peer, packet, now_ns);
        break;
    case WIRE_TYPE_COUNT:
        node->counters.drop_type++;
        break;
    }
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
