/* Who is who, and what a peer has to say when. Its timers are listed in session.c. */
#include "node/peer/peer.h"

#include <string.h>

#include "base/arena.h"
#include "wire/ethernet.h"

#define QUIET_NS          (250 * NS_PER_MS) /* besides three round trips: what hosts and delayed acks take */
#define CAP_PACKET_NS_MAX (100 * NS_PER_MS)

static uint32_t window_packets(const struct node_config *config, const struct node_peer_config *peer)
{
    if (peer->window_packets != 0)
        return peer->window_packets;
    /* Twice what the port's rate puts on the path within the largest RTT: repairs and acks take their time.
     */
    const struct node_port_config *port = &config->ports[peer->port];
    uint64_t rate_bps = MAX(port->rate_bps, port->down_bps);
    uint64_t packets = 9 * bytes_within(rate_bps, config->rtt_max_ns) / 4 / (port->mtu + WIRE_OVERHEAD_BYTES);
    uint64_t window = 4096;
    while (window < packets && window < SENDER_WINDOW_MAX)
        window *= 2;
    return (uint32_t)window;
}

static struct sender_config sender_config(const struct node_config *config,
                                          const struct node_peer_config *peer)
{
    return (struct sender_config){
        .window_packets = window_packets(config, peer),
        .packet_bytes_max = config->ports[peer->port].mtu + WIRE_OVERHEAD_BYTES,
    };
}

size_t peer_bytes(const struct node_config *config, const struct node_peer_config *peer)
{
    struct sender_config sender = sender_config(config, peer);
    return sender_bytes(&sender) + receiver_bytes(sender.window_packets) + mail_bytes();
}

static uint32_t peers_at_port(const struct node_config *config, uint16_t port)
{
    uint32_t count = 0;
    for (uint16_t index = 0; index < config->peer_count; index++)
        count += config->peers[index].port == port;
    return count;
}

void peer_init(struct node *node, uint16_t index, struct arena *arena, uint64_t now_ns)
{
    struct peer *peer = &node->peers[index];
    const struct node_peer_config *config = &node->config.peers[index];
    struct sender_config sender = sender_config(&node->config, config);
    peer->config = config;
    peer->index = index;
    peer->port = config->port;
    peer->frame_overhead = address_overhead_bytes(config->address.family) + WIRE_OVERHEAD_BYTES;
    peer->hello_due_ns = TIME_NEVER;
    peer->down_since_ns = now_ns;
    mtu_watch_init(&peer->mtu, node->config.ports[config->port].mtu,
                   address_overhead_bytes(config->address.family));
    sparing_init(&peer->sparing, node->config.hello_interval_ns, peers_at_port(&node->config, config->port),
                 node->config.ports[config->port].rate_bps, now_ns);
    sender_init(&peer->sender, &sender, arena);
    sender_reset(&peer->sender, now_ns);
    receiver_init(&peer->receiver, sender.window_packets, arena);
    mail_init(&peer->mail, arena);
    peer_schedule(node, peer, now_ns);
}

uint16_t peer_find(const struct node *node, const char *name)
{
    if (strcmp(name, node->config.name) == 0)
        return PEER_SELF;
    for (uint16_t index = 0; index < node->peer_count; index++)
        if (strcmp(name, node->config.peers[index].name) == 0)
            return index;
    return PEER_NONE;
}

uint16_t peer_by_address(const struct node *node, const struct net_address *address)
{
    for (uint16_t index = 0; index < node->peer_count; index++)
        if (address_equal(&node->config.peers[index].address, address))
            return index;
    return PEER_NONE;
}

const char *peer_name(const struct node *node, uint16_t peer)
{
    return peer < node->peer_count ? node->config.peers[peer].name : node->config.name;
}

const char *peer_why_lost(const struct node *node, uint16_t peer, const char *otherwise)
{
    return node->peers[peer].sessions.bond_count == 0 ? "has no key in the roster any more" : otherwise;
}

/* The cap of a job, not a full queue, is what a pacer waits for that lets a
 * full packet depart more seldom. */
static bool is_capped_low(const struct peer *peer)
{
    const struct sender *sender = &peer->sender;
    return bytes_within(sender->rate_cap_bps, CAP_PACKET_NS_MAX) < sender->config.packet_bytes_max;
}

uint64_t peer_message_ns(const struct peer *peer)
{
    uint64_t next_ns = mail_next_ns(&peer->mail);
    if (peer->jobs_out == 0 || is_capped_low(peer))
        return next_ns;
    return MAX(next_ns, pacer_next_ns(&peer->sender.pacer));
}

/* … and when that may be handed to the port. */
static uint64_t message_due_ns(const struct peer *peer)
{
    uint64_t at_ns = peer_message_ns(peer);
    return at_ns == TIME_NEVER ? TIME_NEVER : elapsed_ns(at_ns, TX_HORIZON_NS);
}

bool peer_control_due(const struct node *node, const struct peer *peer, uint64_t now_ns)
{
    if (node->shutting_down)
        return peer->close_due;
    if (sessions_due(&peer->sessions, now_ns) || now_ns >= peer->hello_due_ns || peer->close_due ||
        peer->reply_count > 0)
        return true;
    if (peer->state != PEER_UP)
        return false;
    return now_ns >= receiver_next_ns(&peer->receiver) || now_ns >= message_due_ns(peer) ||
           (peer->probe.active && now_ns >= rtt_probe_next_ns(&peer->probe)) ||
           now_ns >= peer->watch.next_ns || now_ns >= mtu_watch_next_ns(&peer->mtu);
}

uint64_t peer_quiet_ns(const struct peer *peer)
{
    return 3 * peer->sender.rtt.smoothed_ns + QUIET_NS;
}

uint64_t peer_doubt_ns(const struct peer *peer)
{
    const struct sender *sender = &peer->sender;
    if (peer->probe.active || sender->in_flight_packets == 0)
        return TIME_NEVER;
    return MAX(sender->quiet_from_ns + peer_quiet_ns(peer), peer->mtu.doubt_from_ns);
}

uint64_t peer_next_ns(const struct node *node, const struct peer *peer)
{
    if (node->shutting_down)
        return peer->close_due ? node->now_ns : TIME_NEVER;
    uint64_t next_ns = MIN(peer->hello_due_ns, peer->sessions.initiation_due_ns);
    next_ns = MIN(next_ns, peer->sessions.keys_due_ns);
    /* A peer that is down is sent no probes: only the measurement's end is still to come. */
    if (peer->probe.active)
        next_ns = MIN(next_ns, peer->state == PEER_UP ? rtt_probe_next_ns(&peer->probe) : peer->probe.end_ns);
    if (peer->state != PEER_UP)
        return next_ns;
    next_ns = MIN(next_ns, later_ns(peer->heard_ns + node->still_ns, peer->silence_ns));
    next_ns = MIN(next_ns, peer->watch.next_ns);
    next_ns = MIN(next_ns, mtu_watch_next_ns(&peer->mtu));
    next_ns = MIN(next_ns, peer_doubt_ns(peer));
    next_ns = MIN(next_ns, receiver_next_ns(&peer->receiver));
    next_ns = MIN(next_ns, message_due_ns(peer));
    return MIN(next_ns, sender_next_ns(&peer->sender));
}

void peer_note_answers(const struct node *node, struct peer *peer)
{
    if (peer->mail.out_acked == peer->mail.out_next || peer->mail.out_acked != peer->answered_messages)
        peer->answered_ns = core_lived_ns(node);
    peer->answered_messages = peer->mail.out_acked;
}

bool peer_is_lost(const struct node *node, const struct peer *peer)
{
    uint64_t stall_ns = node->config.stall_timeout_ns;
    return peer->state != PEER_UP && core_lived_ns(node) >= later_ns(peer->down_since_ns, stall_ns);
}

bool peer_is_deaf(const struct node *node, const struct peer *peer)
{
    return peer->mail.out_acked != peer->mail.out_next &&
           core_lived_ns(node) >= later_ns(peer->answered_ns, 2 * node->config.stall_timeout_ns);
}

void peer_note_control(struct node *node, const struct peer *peer)
{
    node->ports[peer->port].control_mask |= 1ULL << peer->index;
    peer_changed(node, peer);
}

void peer_on_standstill(struct peer *peer, uint64_t gap_ns)
{
    sender_on_standstill(&peer->sender, gap_ns);
    rtt_probe_on_standstill(&peer->probe, gap_ns);
}
