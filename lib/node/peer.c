/* Peers: sessions, liveness and measurements.
 *
 * Timers of a peer, all in ns:
 *   hello_due   every hello interval, at once when its hello does not echo our session; to a peer just lost
 *               HELLO_LOST_NS, later an eighth of the time that it has been down
 *   silence     PEER_SILENT_HELLOS of its own intervals + 1 s without a packet: down, until it is heard again
 *   probe       while a measurement runs; a first one starts when the peer comes up
 *   watch       one bare probe every hello interval while the peer is up
 *   their own   stream, receiver (acks), sender (tail probes, silence)
 *
 * A new incarnation or session in a hello means that the peer lost its state: its edge starts anew under a
 * new session of ours, so that late packets of the old one are refused, and jobs are told. A session of ours
 * that nothing came under yet stays as it is: both sides renewing theirs in answer to each other, while older
 * hellos are on their way, would never agree. */
#include <string.h>

#include "base/check.h"
#include "node/internal.h"

#define HELLO_LOST_NS    (25 * NS_PER_MS)
#define FIRST_MEASURE_NS (200 * NS_PER_MS)
#define PROBE_MEASURE_NS (200 * NS_PER_MS)
#define MEASURE_AGE_MAX_NS                                                                                   \
    (600 * NS_PER_S) /* what is older is not known: as the longest age that jobs may name */

static uint32_t window_packets(const struct node_config *config, const struct node_peer_config *peer)
{
    if (peer->window_packets != 0)
        return peer->window_packets;
    /* Twice what the port's rate puts on the path within the largest RTT: repairs and acks take their time.
     */
    const struct node_port_config *port = &config->ports[peer->port];
    uint64_t rate_bps = MAX(port->rate_bps, port->down_bps);
    uint64_t packets = 9 * bytes_within(rate_bps, config->rtt_max_ns) / 4 / (port->mtu + 38);
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
        .packet_bytes_max = config->ports[peer->port].mtu + ETHERNET_HEADER_BYTES + ETHERNET_OVERHEAD_BYTES,
    };
}

size_t peer_bytes(const struct node_config *config, const struct node_peer_config *peer)
{
    struct sender_config sender = sender_config(config, peer);
    return sender_bytes(&sender) + receiver_bytes(sender.window_packets) + mail_bytes();
}

static uint32_t new_session(struct node *node, uint16_t index)
{
    /* The low byte finds the peer; the rest is random, never 0. */
    return ((uint32_t)rng_next(&node->rng) | 0x100) << 8 | index;
}

void peer_init(struct node *node, uint16_t index, struct arena *arena, uint64_t now_ns)
{
    struct peer *peer = &node->peers[index];
    const struct node_peer_config *config = &node->config.peers[index];
    struct sender_config sender = sender_config(&node->config, config);
    peer->config = config;
    peer->index = index;
    peer->port = config->port;
    peer->frame_overhead =
        address_overhead_bytes(config->address.family) + ETHERNET_HEADER_BYTES + ETHERNET_OVERHEAD_BYTES;
    peer->session_in = new_session(node, index);
    peer->down_since_ns = now_ns;
    peer->path_mtu = node->config.ports[config->port].mtu;
    peer->ready_ns = TIME_NEVER;
    peer->credit_symbols = BLOCK_BYTES_TARGET / SYMBOL_BYTES_MAX;
    peer->run_symbols = 1;
    peer->credit_told = UINT32_MAX;
    /* Spread over the interval, so that many nodes started together do not beat in step. */
    peer->hello_due_ns = now_ns + rng_below(&node->rng, node->config.hello_interval_ns / 8 + 1);
    sender_init(&peer->sender, &sender, arena);
    sender_reset(&peer->sender, now_ns);
    receiver_init(&peer->receiver, sender.window_packets, arena);
    mail_init(&peer->mail, arena);
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

static void start_probe(struct node *node, struct peer *peer, uint64_t duration_ns, uint64_t now_ns)
{
    rtt_probe_start(&peer->probe, node->config.ports[peer->port].mtu,
                    address_overhead_bytes(peer->config->address.family), duration_ns, now_ns);
    node_schedule(node, now_ns);
}

static void edge_reset(struct node *node, struct peer *peer, uint64_t now_ns)
{
    sender_reset(&peer->sender, now_ns);
    receiver_reset(&peer->receiver);
    mail_reset(&peer->mail);
    peer->reply_count = 0;
    peer->ready_ns = TIME_NEVER;
    peer->credit_told = UINT32_MAX;
    peer->session_in = new_session(node, peer->index);
    peer->session_used = false;
    node->counters.peers_reset++;
    job_on_peer_lost(node, peer->index, true, now_ns);
}

static void come_up(struct node *node, struct peer *peer, uint64_t now_ns)
{
    peer->state = PEER_UP;
    peer->session_used = true;
    peer->down_since_ns = 0;
    digest_add(&node->digest, 0x7570ULL << 32 | peer->index);
    if (peer->rtt_min_ns == 0 && !peer->probe.active)
        start_probe(node, peer, FIRST_MEASURE_NS, now_ns);
    peer->ready_ns = 0;
}

/* What comes under our session is as good as a hello that echoes it. */
void peer_on_packet(struct node *node, struct peer *peer, const struct wire_header *header, uint64_t now_ns)
{
    bool ours = header->type != WIRE_HELLO && header->type != WIRE_CLOSE;
    if (peer->state == PEER_DOWN && ours)
        come_up(node, peer, now_ns);
    if (peer->state == PEER_UP)
        peer->heard_ns = now_ns;
}

void peer_on_hello(struct node *node, struct peer *peer, const struct wire_hello *hello, uint64_t now_ns)
{
    bool strange = hello->incarnation != peer->incarnation || hello->session != peer->session_out;
    if (strange) {
        bool had_state = peer->known && (peer->session_used || hello->incarnation != peer->incarnation);
        peer->known = true;
        peer->incarnation = hello->incarnation;
        peer->session_out = hello->session;
        peer->state = PEER_DOWN;
        peer->down_since_ns = now_ns;
        if (had_state)
            edge_reset(node, peer, now_ns);
    }
    peer->heard_ns = now_ns;
    sender_set_window_limit(&peer->sender, hello->window);
    peer->silence_ns = (uint64_t)hello->interval_ms * PEER_SILENT_HELLOS * NS_PER_MS + NS_PER_S;
    bool echoed = hello->echo_session == peer->session_in;
    if (!echoed || strange)
        peer->hello_due_ns = now_ns;
    if (echoed && peer->state == PEER_DOWN)
        come_up(node, peer, now_ns);
    node_schedule(node, now_ns);
}

void peer_on_close(struct node *node, struct peer *peer, const struct wire_close *close, uint64_t now_ns)
{
    if (!peer->known || close->incarnation != peer->incarnation)
        return;
    peer->state = PEER_DOWN;
    peer->down_since_ns = now_ns;
    peer->known = false;
    peer->session_out = 0;
    peer->incarnation = 0;
    edge_reset(node, peer, now_ns);
}

/* A path that was dark comes back any time; its edges wait for the first hello. */
uint64_t peer_hello_interval_ns(const struct node *node, const struct peer *peer, uint64_t now_ns)
{
    uint64_t interval_ns = node->config.hello_interval_ns;
    if (peer->state == PEER_UP || !peer->known)
        return interval_ns;
    uint64_t lost_ns = MAX(elapsed_ns(now_ns, peer->down_since_ns) / 8, HELLO_LOST_NS);
    return MIN(interval_ns, lost_ns);
}

static void fall_silent(struct node *node, struct peer *peer, uint64_t now_ns)
{
    peer->state = PEER_DOWN;
    peer->down_since_ns = now_ns;
    peer->hello_due_ns = MIN(peer->hello_due_ns, now_ns + HELLO_LOST_NS);
    node->counters.peers_lost++;
    digest_add(&node->digest, 0x646e ^ (uint64_t)peer->index << 32);
    job_on_peer_lost(node, peer->index, false, now_ns);
}

void peer_on_rtt(struct node *node, struct peer *peer)
{
    peer->rtt_min_ns = rtt_watch_min_ns(&peer->watch);
    /* An ack of a message is sent at once: half an RTT is for jitter and hosts. */
    mail_set_timeout(&peer->mail, peer->watch.smoothed_ns + peer->watch.smoothed_ns / 2);
    digest_add(&node->digest, peer->rtt_min_ns);
}

static void finish_probe(struct node *node, struct peer *peer, uint64_t now_ns)
{
    peer->probe.active = false;
    if (peer->probe.answered == 0)
        return;
    rtt_watch_take(&peer->watch, peer->probe.smoothed_ns, now_ns);
    rtt_watch_take(&peer->watch, peer->probe.min_ns, now_ns);
    if (peer->probe.mtu_answered != 0)
        peer->path_mtu = peer->probe.mtu_answered;
    peer_on_rtt(node, peer);
    receiver_set_rtt(&peer->receiver, peer->rtt_min_ns);
    /* Sizes the first flight: else a path longer than the default RTT would stall at the start. */
    sender_set_rtt(&peer->sender, peer->rtt_min_ns);
}

void peer_tick(struct node *node, struct peer *peer, uint64_t now_ns)
{
    if (peer->state == PEER_UP && now_ns >= later_ns(peer->heard_ns, peer->silence_ns))
        fall_silent(node, peer, now_ns);
    if (peer->probe.active && rtt_probe_finished(&peer->probe, now_ns))
        finish_probe(node, peer, now_ns);
    if (peer->state != PEER_UP)
        return;
    if (now_ns >= sender_next_ns(&peer->sender))
        data_tick(node, peer, now_ns);
    /* A sender that was told of no room waits for the news that there is some. */
    if (peer->credit_told < RECEIVER_ACK_PACKETS && data_credit_packets(node, peer) >= RECEIVER_ACK_PACKETS) {
        peer->credit_told = UINT32_MAX;
        receiver_remind(&peer->receiver, now_ns);
    }
    if (peer->jobs_out != 0 && peer->ready_ns == TIME_NEVER)
        peer->ready_ns = 0; /* a tail probe may have given something back, or the window may have opened */
}

uint64_t peer_message_ns(const struct peer *peer)
{
    uint64_t next_ns = mail_next_ns(&peer->mail);
    return peer->jobs_out == 0 ? next_ns : MAX(next_ns, pacer_next_ns(&peer->sender.pacer));
}

/* … and when that may be handed to the port. */
static uint64_t message_due_ns(const struct peer *peer)
{
    uint64_t at_ns = peer_message_ns(peer);
    return at_ns == TIME_NEVER ? TIME_NEVER : elapsed_ns(at_ns, TX_HORIZON_NS);
}

bool peer_control_due(const struct peer *peer, uint64_t now_ns)
{
    if (now_ns >= peer->hello_due_ns || peer->close_due || peer->reply_count > 0)
        return true;
    if (peer->state != PEER_UP)
        return false;
    return now_ns >= receiver_next_ns(&peer->receiver) || now_ns >= message_due_ns(peer) ||
           (peer->probe.active && now_ns >= rtt_probe_next_ns(&peer->probe)) || now_ns >= peer->watch.next_ns;
}

uint64_t peer_next_ns(const struct peer *peer)
{
    uint64_t next_ns = peer->hello_due_ns;
    /* A peer that is down is sent no probes: only the measurement's end is still to come. */
    if (peer->probe.active)
        next_ns = MIN(next_ns, peer->state == PEER_UP ? rtt_probe_next_ns(&peer->probe) : peer->probe.end_ns);
    if (peer->state != PEER_UP)
        return next_ns;
    next_ns = MIN(next_ns, later_ns(peer->heard_ns, peer->silence_ns));
    next_ns = MIN(next_ns, peer->watch.next_ns);
    next_ns = MIN(next_ns, receiver_next_ns(&peer->receiver));
    next_ns = MIN(next_ns, message_due_ns(peer));
    return MIN(next_ns, sender_next_ns(&peer->sender));
}

void peer_note_control(struct node *node, struct peer *peer)
{
    node->ports[peer->port].control_mask |= 1ULL << peer->index;
}

bool peer_send(struct node *node, uint16_t index, uint8_t kind, const uint8_t *body, size_t length)
{
    CHECK(index < node->peer_count);
    CHECK(length <= WIRE_MESSAGE_BODY_MAX);
    struct peer *peer = &node->peers[index];
    if (!mail_push(&peer->mail, kind, body, length)) {
        node->counters.messages_unsent++;
        return false;
    }
    if (kind != CONTROL_STATUS)
        mail_repeat_newest(&peer->mail);
    peer_note_control(node, peer);
    return true;
}

/* ---- measurements of all peers, on behalf of jobs ---- */

static bool is_fresh(const struct peer *peer, uint64_t age_ns, uint64_t now_ns)
{
    return age_ns > 0 && rtt_watch_fresh(&peer->watch, age_ns, now_ns);
}

/* Measurements that are under way, for another job or since the peer came up, are waited for. */
static void start_measuring(struct node *node, const struct wire_measure *wanted, uint64_t now_ns)
{
    uint64_t duration_ns = MIN(wanted->duration_ms * NS_PER_MS, 10 * NS_PER_S);
    uint64_t age_ns = wanted->age_ms * NS_PER_MS;
    for (uint16_t index = 0; index < node->peer_count; index++) {
        struct peer *peer = &node->peers[index];
        if (peer->state != PEER_UP || is_fresh(peer, age_ns, now_ns) || (age_ns > 0 && peer->probe.active))
            continue;
        start_probe(node, peer, duration_ns, now_ns);
    }
}

void measure_ask(struct node *node, uint16_t asker, const struct wire_measure *wanted, uint64_t now_ns)
{
    struct measure *measure = &node->measure;
    for (uint16_t index = 0; index < measure->asker_count; index++)
        if (measure->askers[index].peer == asker && measure->askers[index].job == wanted->job)
            return;
    if (measure->asker_count == sizeof(measure->askers) / sizeof(measure->askers[0])) {
        node->counters.messages_refused++;
        return;
    }
    measure->askers[measure->asker_count].peer = asker;
    measure->askers[measure->asker_count].job = wanted->job;
    measure->asker_count++;
    if (!measure->running) {
        measure->running = true;
        start_measuring(node, wanted, now_ns);
    }
    node_schedule(node, now_ns);
}

static void measured(const struct peer *peer, uint64_t now_ns, struct wire_measured *entry)
{
    memset(entry, 0, sizeof(*entry));
    name_copy(entry->peer.text, sizeof(entry->peer.text), peer->config->name);
    bool known = peer->state == PEER_UP && rtt_watch_fresh(&peer->watch, MEASURE_AGE_MAX_NS, now_ns);
    entry->rtt_min_us = known ? (uint32_t)MAX(peer->rtt_min_ns / NS_PER_US, 1ULL) : UINT32_MAX;
    entry->rtt_smoothed_us = known ? (uint32_t)(peer->watch.smoothed_ns / NS_PER_US) : UINT32_MAX;
    entry->answered = peer->state == PEER_UP ? peer->probe.answered : 0;
    entry->sent = peer->probe.sent;
    entry->mtu = (uint16_t)peer->path_mtu;
}

/* All messages of a report, or none for now. */
static bool report_fits(const struct node *node, uint16_t asker)
{
    size_t messages = node->peer_count / CONTROL_MEASUREMENTS_MAX + 1;
    return asker == PEER_SELF || mail_room(&node->peers[asker].mail) >= messages;
}

static void report_to(struct node *node, uint16_t asker, uint32_t job, uint64_t now_ns)
{
    struct control_measurement report;
    uint8_t body[WIRE_MESSAGE_BODY_MAX];
    uint16_t next = 0;
    do {
        memset(&report, 0, sizeof(report));
        report.fixed.job = job;
        report.fixed.total = node->peer_count;
        report.fixed.up_bps = node->config.ports[0].rate_bps;
        report.fixed.down_bps = node->config.ports[0].down_bps;
        while (next < node->peer_count && report.fixed.count < CONTROL_MEASUREMENTS_MAX)
            measured(&node->peers[next++], now_ns, &report.peers[report.fixed.count++]);
        if (asker == PEER_SELF) {
            struct job *own = job_find(node, job);
            if (own != NULL && own->is_source)
                source_on_measurement(node, own, PEER_SELF, &report, now_ns);
            continue;
        }
        size_t length = control_measurement_encode(body, &report);
        CHECK(length > 0);
        peer_send(node, asker, CONTROL_MEASUREMENT, body, length);
    } while (next < node->peer_count);
}

void measure_tick(struct node *node, uint64_t now_ns)
{
    struct measure *measure = &node->measure;
    if (!measure->running)
        return;
    for (uint16_t index = 0; index < node->peer_count; index++)
        if (node->peers[index].probe.active)
            return;
    uint16_t count = measure->asker_count;
    measure->asker_count = 0;
    for (uint16_t index = 0; index < count; index++) {
        if (report_fits(node, measure->askers[index].peer))
            report_to(node, measure->askers[index].peer, measure->askers[index].job, now_ns);
        else
            measure->askers[measure->asker_count++] = measure->askers[index];
    }
    measure->running = measure->asker_count > 0;
    if (measure->running)
        node_schedule(node, now_ns + JOB_TICK_NS);
}
