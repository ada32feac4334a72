/* Datagrams out: per port first what peers have to say to each other (acks, messages, hellos, probes), then
 * data. The port's own pacer keeps the sum under the uplink's rate; control passes it, data waits for it. */
#include <string.h>

#include "base/check.h"
#include "node/flow/credit.h"
#include "node/flow/depart.h"
#include "node/flow/feedback.h"
#include "node/node.h"
#include "node/top.h"
#include "node/train/out.h"
#include "wire/ack.h"

/* As much as a line's own queue may hold; longer than any probe waits behind acks and data of a port that is as fast as
 * its data. */
#define PORT_BEHIND_NS (250 * NS_PER_MS)

static void address_packet(struct tx_packet *packet, const struct peer *peer, uint64_t depart_ns)
{
    packet->port = peer->port;
    packet->peer = peer->index;
    packet->to = peer->config->address;
    packet->depart_ns = depart_ns;
    packet->cookie = TX_COOKIE_NONE;
    packet->traffic_class = 0;
    packet->body = NULL;
    packet->body_bytes = 0;
    packet->body_sum = 0;
}

static void account(struct node *node, struct peer *peer, const struct tx_packet *packet)
{
    struct pacer *pacer = &node->ports[peer->port].pacer;
    uint32_t wire_bytes = packet->head_bytes + packet->body_bytes + peer->frame_overhead;
    pacer_on_sent(pacer, wire_bytes, MAX(packet->depart_ns, pacer_next_ns(pacer)));
    digest_add(&node->digest, (uint64_t)peer->index << 48 ^ (uint64_t)wire_bytes << 32 ^ packet->depart_ns);
}

/* A datagram that fits the head: sealed there. */
static void seal_head(struct node *node, struct peer *peer, struct tx_packet *packet, size_t length)
{
    packet->head_bytes = (uint16_t)length;
    session_seal(node, peer, packet->head, length);
    node->counters.tx_control++;
}

static bool fill_handshake(struct node *node, struct peer *peer, struct tx_packet *packet, uint64_t now_ns)
{
    size_t length;
    if (!session_next_handshake(node, peer, packet->head, &length, now_ns))
        return false;
    packet->head_bytes = (uint16_t)length;
    node->counters.tx_control++;
    return true;
}
_Static_assert(WIRE_INITIATION_BYTES <= TX_HEAD_BYTES_MAX, "a handshake fits the head");

static void fill_hello(struct node *node, struct peer *peer, struct tx_packet *packet, uint64_t now_ns)
{
    struct wire_hello hello = {.interval_ms =
                                   (uint16_t)MIN(peer->sparing.port_ns / NS_PER_MS, (uint64_t)UINT16_MAX),
                               .key_id = session_key_opened(peer)};
    struct wire_header header = session_header(peer, WIRE_HELLO, now_ns);
    seal_head(node, peer, packet, wire_hello_encode(packet->head, &header, &hello));
    /* A little irregular, so that hellos of many nodes do not stay in step. */
    uint64_t interval_ns = session_hello_interval_ns(node, peer, now_ns);
    peer->hello_due_ns = now_ns + interval_ns - rng_below(&node->rng, interval_ns / 8 + 1);
}

static void fill_close(struct node *node, struct peer *peer, struct tx_packet *packet, uint64_t now_ns)
{
    struct wire_close close = {.reason = peer->close_reason};
    struct wire_header header = session_header(peer, WIRE_CLOSE, now_ns);
    seal_head(node, peer, packet, wire_close_encode(packet->head, &header, &close));
    peer->close_due = false;
    peer->hello_due_ns = TIME_NEVER;
    peer->sessions.initiation_due_ns = TIME_NEVER;
}

static void fill_probe(struct node *node, struct peer *peer, struct tx_packet *packet, enum wire_type type,
                       const struct wire_probe *probe, uint64_t now_ns)
{
    struct wire_header header = session_header(peer, type, now_ns);
    seal_head(node, peer, packet, wire_probe_encode(packet->head, &header, probe));
    CHECK(probe->padding <= sizeof(port_zeros));
    packet->body = port_zeros;
    packet->body_bytes = probe->padding;
}

/* A datagram made in scratch memory: its first bytes travel by value, the rest by reference. */
static void seal_and_split(struct node *node, struct peer *peer, struct tx_packet *packet, uint8_t *datagram,
                           size_t length)
{
    session_seal(node, peer, datagram, length);
    size_t head = MIN(length, (size_t)TX_HEAD_BYTES_MAX);
    memcpy(packet->head, datagram, head);
    packet->head_bytes = (uint16_t)head;
    packet->body = datagram + head;
    packet->body_bytes = (uint16_t)(length - head);
}

static bool fill_ack(struct node *node, struct peer *peer, struct tx_packet *packet, uint64_t now_ns)
{
    struct flow *flow = flow_of(node, peer);
    struct wire_ack ack = {0};
    struct wire_place places[WIRE_ACK_PLACES_MAX];
    uint8_t runs[WIRE_ACK_RUNS_MAX];
    if (!receiver_ack(&peer->receiver, &ack, runs, now_ns))
        return false;
    ack.credit = credit_packets(node, peer);
    flow->credit_told = ack.credit;
    ack.own_rate_kbps = port_in_rate_kbps(&node->ports[peer->port], now_ns);
    ack.missed = (uint32_t)node->ports[peer->port].missed_frames;
    ack.place_count = credit_places(node, peer, places);
    bool is_short = ack.credit < RECEIVER_ACK_PACKETS || flow->jobs_full != 0;
    node->short_mask &= ~(1ULL << peer->index);
    node->short_mask |= (uint64_t)is_short << peer->index;
    ack.limited_by = (uint8_t)(is_short ? credit_limit(node) : EDGE_LIMIT_none);
    packet->traffic_class = flow->ack_class;
    struct wire_header header = session_header(peer, WIRE_ACK, now_ns);
    uint8_t *scratch = node->scratch->datagrams[node->scratch->used++];
    seal_and_split(node, peer, packet, scratch, wire_ack_encode(scratch, &header, &ack, runs, places));
    flow->feedback_bytes += packet->head_bytes + packet->body_bytes + peer->frame_overhead;
    node->counters.tx_acks++;
    return true;
}

static bool fill_message(struct node *node, struct peer *peer, struct tx_packet *packet, uint64_t now_ns)
{
    struct wire_message message = {0};
    const uint8_t *body = NULL;
    uint64_t depart_ns = MAX(peer_message_ns(peer), now_ns);
    if (depart_ns > now_ns + TX_HORIZON_NS || !mail_next(&peer->mail, depart_ns, &message, &body))
        return false;
    struct wire_header header = session_header(peer, WIRE_MESSAGE, depart_ns);
    packet->depart_ns = depart_ns;
    uint8_t *scratch = node->scratch->datagrams[node->scratch->used++];
    seal_and_split(node, peer, packet, scratch, wire_message_encode(scratch, &header, &message, body));
    node->counters.tx_control++;
    return true;
}

/* Of what the port may send, others have taken so much that a probe would wait too long to tell anything. */
static bool is_behind(const struct node *node, const struct peer *peer, uint64_t now_ns)
{
    return pacer_next_ns(&node->ports[peer->port].pacer) > later_ns(now_ns, PORT_BEHIND_NS);
}

/* One thing that this peer is to be told now; false: nothing more. */
static bool control_next(struct node *node, struct peer *peer, struct tx_packet *packet, uint64_t now_ns)
{
    address_packet(packet, peer, now_ns);
    if (peer->close_due) {
        fill_close(node, peer, packet, now_ns);
        return true;
    }
    if (node->shutting_down)
        return false;
    if (fill_handshake(node, peer, packet, now_ns))
        return true;
    if (!peer_is_known(peer))
        return false;
    if (now_ns >= peer->hello_due_ns) {
        fill_hello(node, peer, packet, now_ns);
        return true;
    }
    bool behind = is_behind(node, peer, now_ns);
    if (peer->reply_count > 0 && behind) {
        node->counters.tx_probes_dropped += peer->reply_count;
        peer->reply_count = 0;
    }
    if (peer->reply_count > 0) {
        struct wire_probe *reply = &peer->replies[--peer->reply_count];
        reply->t3_ns = now_ns;
        fill_probe(node, peer, packet, WIRE_PROBE_REPLY, reply, now_ns);
        return true;
    }
    if (peer->state != PEER_UP)
        return false;
    if (node->scratch->used < SCRATCH_COUNT &&
        (fill_ack(node, peer, packet, now_ns) || fill_message(node, peer, packet, now_ns)))
        return true;
    struct wire_probe probe;
    while ((peer->probe.active && rtt_probe_next(&peer->probe, now_ns, &probe)) ||
           rtt_watch_next(&peer->watch, peer->sparing.interval_ns, now_ns, &probe) ||
           mtu_watch_next(&peer->mtu, peer->sparing.interval_ns, peer->watch.smoothed_ns, now_ns, &probe)) {
        if (behind) {
            node->counters.tx_probes_dropped++;
            continue;
        }
        fill_probe(node, peer, packet, WIRE_PROBE, &probe, now_ns);
        return true;
    }
    return false;
}

static uint16_t control_tx(struct node *node, uint16_t port, struct tx_packet *packets, uint16_t room,
                           uint64_t now_ns)
{
    uint16_t count = 0;
    uint64_t mask = node->ports[port].control_mask;
    while (mask != 0 && count < room) {
        uint32_t index = (uint32_t)__builtin_ctzll(mask);
        struct peer *peer = &node->peers[index];
        mask &= mask - 1;
        bool more = true;
        while (count < room && more) {
            more = control_next(node, peer, &packets[count], now_ns);
            if (more)
                account(node, peer, &packets[count++]);
        }
        if (!more && !(node->scratch->used == SCRATCH_COUNT && peer_control_due(node, peer, now_ns)))
            node->ports[port].control_mask &= ~(1ULL << index);
        peer_schedule(node, peer, peer_next_ns(node, peer));
    }
    return count;
}

/* Data, or the next packet of a train that leaves by this port, in the order of their departures. */
static bool timed_next(struct node *node, uint16_t port, struct tx_packet *packet, uint64_t now_ns)
{
    uint64_t horizon_ns = now_ns + node->horizon_ns;
    if (!node->train_out->leaving)
        return depart_next(node, port, horizon_ns, packet, now_ns);
    uint64_t clear_ns = train_out_clear_ns(node, port, now_ns);
    if (depart_next(node, port, MIN(horizon_ns, clear_ns), packet, now_ns))
        return true;
    return clear_ns != TIME_NEVER && train_out_next(node, now_ns + TX_HORIZON_NS, packet, now_ns);
}

uint16_t node_tx(struct node *node, uint16_t port, struct tx_packet *packets, uint16_t room, uint64_t now_ns)
{
    CHECK(port < node->config.port_count);
    now_ns = node_enter(node, now_ns);
    node->scratch->used = 0;
    uint16_t count = 0;
    if (node->ports[port].control_mask != 0)
        count = control_tx(node, port, packets, room, now_ns);
    while (count < room && !node->shutting_down && timed_next(node, port, &packets[count], now_ns))
        count++;
    for (uint16_t index = 0; index < count; index++)
        packets[index].depart_ns -= node->ahead_ns;
    return count;
}

void node_tx_done(struct node *node, const struct tx_report *reports, uint16_t count, uint64_t now_ns)
{
    for (uint16_t index = 0; index < count; index++) {
        if (reports[index].cookie >= TX_COOKIE_TIMED)
            train_out_on_report(node, &reports[index]);
        else
            feedback_on_report(node, &reports[index], now_ns + node->ahead_ns);
    }
}
