#include "sim/cross_edge.h"

#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/units.h"
#include "edge/receiver.h"
#include "edge/sender.h"
#include "sim/clock.h"
#include "wire/data.h"

#define UDP_OVERHEAD_BYTES 28
#define WINDOW_MIN         1024
#define RATE_UNKNOWN_BPS   10000000000ULL /* of a path without limits: sizes the window */
#define REPAIR_NS          (100 * NS_PER_MS)
#define HORIZON_NS         (50 * NS_PER_US) /* what a node commits ahead */
#define OWN_RATE_NS        (100 * NS_PER_MS)
#define CREDIT_PACKETS     (1u << 30)
#define START_UNKNOWN_BPS  10000000ULL /* where no rate is given */

struct cross_edge {
    struct cross_flow *flow;
    struct sender sender;
    struct receiver receiver;
    struct sender_events events;
    void *memory;
    uint64_t repairs_due;
    uint64_t delivered;           /* packets, as counted so far */
    uint64_t rate_ns, rate_bytes; /* start of the span over which the receiver's rate is measured */
    uint64_t rate_bps;
};

struct edge_data {
    uint64_t number, floor;
    uint32_t stamp;
};

struct edge_ack {
    uint32_t stamp;
    struct wire_ack fixed;
    uint8_t runs[WIRE_ACK_RUNS_MAX];
};

bool cross_edge_known(unsigned kind)
{
    return congestion_find(cross_kind_name(kind)) != NULL;
}

/* ---- setting up ---- */

static uint64_t lesser_rate(uint64_t a_bps, uint64_t b_bps)
{
    return a_bps == 0 || b_bps == 0 ? MAX(a_bps, b_bps) : MIN(a_bps, b_bps);
}

static uint64_t path_rate_bps(struct net *net, uint16_t from, uint16_t to)
{
    uint64_t rate_bps = lesser_rate(
        net->ports[from].uplink.config.rate_bps,
        lesser_rate(net_pair(net, from, to)->link.config.rate_bps, net->ports[to].downlink.config.rate_bps));
    return rate_bps != 0 ? rate_bps : RATE_UNKNOWN_BPS;
}

static uint64_t queue_ns(const struct netem_link *link)
{
    return link->queue_ns_max == UINT64_MAX ? 0 : link->queue_ns_max;
}

/* Numbers that two round trips with a full queue can need, as for a node's peers. */
static uint32_t window_for(struct net *net, uint16_t from, uint16_t to, uint32_t wire_bytes)
{
    const struct netem_link *link = &net_pair(net, from, to)->link, *back = &net_pair(net, to, from)->link;
    uint64_t rtt_ns = link->config.delay_ns + link->config.jitter_ns + back->config.delay_ns +
                      back->config.jitter_ns + queue_ns(link) + queue_ns(&net->ports[from].uplink) +
                      queue_ns(&net->ports[to].downlink);
    uint64_t packets =
        bytes_within(path_rate_bps(net, from, to), 2 * rtt_ns + rtt_ns / 4 + REPAIR_NS) / wire_bytes;
    uint32_t window = WINDOW_MIN;
    while (window < packets && window < MIN(SENDER_WINDOW_MAX, RECEIVER_WINDOW_MAX))
        window *= 2;
    return window;
}

static bool on_acked(void *owner, uint64_t content, uint16_t tag)
{
    (void)owner;
    (void)content;
    (void)tag;
    return true;
}

static bool on_lost(void *owner, uint64_t content, uint16_t tag)
{
    struct cross_edge *edge = owner;
    (void)content;
    (void)tag;
    edge->repairs_due++;
    return true;
}

static uint64_t local_ns(uint64_t now_ns)
{
    return CLOCK_BASE_NS + now_ns;
}

struct cross_edge *cross_edge_new(struct cross_flow *flow, uint64_t now_ns)
{
    const struct scenario_cross *config = flow->config;
    struct net *net = flow->net;
    struct cross_edge *edge = calloc(1, sizeof(*edge));
    CHECK(edge != NULL);
    edge->flow = flow;
    flow->ecn = CROSS_ECN_ABLE;
    flow->payload_bytes = flow->packet_bytes - UDP_OVERHEAD_BYTES - WIRE_DATA_BYTES - WIRE_TAG_BYTES;
    struct sender_config sender = {.window_packets =
                                       window_for(net, config->from, config->to, flow->wire_bytes),
                                   .packet_bytes_max = flow->wire_bytes};
    size_t bytes = sender_bytes(&sender) + receiver_bytes(sender.window_packets);
    edge->memory = aligned_alloc(ARENA_ALIGN, arena_need(bytes));
    CHECK(edge->memory != NULL);
    struct arena arena;
    arena_init(&arena, edge->memory, arena_need(bytes));
    sender_init(&edge->sender, &sender, &arena);
    receiver_init(&edge->receiver, sender.window_packets, &arena);
    edge->events =
        (struct sender_events){.on_acked = on_acked, .on_lost = on_lost, .on_probe = on_lost, .owner = edge};
    uint64_t rtt_ns = net_pair(net, config->from, config->to)->link.config.delay_ns +
                      net_pair(net, config->to, config->from)->link.config.delay_ns;
    sender_set_rtt(&edge->sender, rtt_ns);
    receiver_set_rtt(&edge->receiver, rtt_ns);
    sender_set_congestion(&edge->sender, congestion_find(cross_kind_name(config->kind)),
                          config->rate_bps != 0 ? config->rate_bps : START_UNKNOWN_BPS, config->rate_bps != 0,
                          local_ns(now_ns));
    if (config->rate_bps != 0)
        sender_set_cap(&edge->sender, config->rate_bps);
    edge->rate_ns = local_ns(now_ns);
    return edge;
}

void cross_edge_free(struct cross_edge *edge)
{
    if (edge != NULL)
        free(edge->memory);
    free(edge);
}

/* ---- packets ---- */

static void take_counts(struct cross_edge *edge, uint64_t now_ns)
{
    const struct sender_counters *counters = &edge->sender.counters;
    uint64_t delivered = counters->acked_packets - counters->spurious_repairs;
    cross_delivered(edge->flow, delivered - edge->delivered, now_ns);
    edge->delivered = delivered;
    edge->flow->total.lost_packets = counters->lost_packets;
    edge->flow->total.repeated = counters->spurious_repairs;
}

static void on_ack(struct cross_edge *edge, const struct sim_packet *packet, uint64_t now_ns)
{
    struct edge_ack ack;
    memcpy(&ack, packet->data, packet->stored);
    struct wire_ack_view view = {.fixed = ack.fixed, .stamp = ack.stamp, .runs = ack.runs};
    CHECK(sender_on_ack(&edge->sender, &view, local_ns(now_ns), &edge->events));
    take_counts(edge, now_ns);
}

static void on_data(struct cross_edge *edge, const struct sim_packet *packet, uint64_t now_ns)
{
    struct edge_data data;
    memcpy(&data, packet->data, sizeof(data));
    receiver_on_packet(&edge->receiver, data.number, data.floor, data.stamp, packet->wire_bytes,
                       packet->ecn == CROSS_ECN_CE, local_ns(now_ns));
}

void cross_edge_on_packet(struct cross_edge *edge, const struct sim_packet *packet, bool back,
                          uint64_t now_ns)
{
    if (back)
        on_ack(edge, packet, now_ns);
    else
        on_data(edge, packet, now_ns);
}

/* ---- running ---- */

/* What this receiver gets over its edges, of which there is one. */
static uint64_t own_rate_bps(struct cross_edge *edge, uint64_t now_ns)
{
    uint64_t span_ns = local_ns(now_ns) - edge->rate_ns;
    if (span_ns < OWN_RATE_NS)
        return edge->rate_bps;
    uint64_t bytes = edge->receiver.counters.bytes;
    edge->rate_bps = muldiv64((bytes - edge->rate_bytes) * 8, NS_PER_S, span_ns);
    edge->rate_bytes = bytes;
    edge->rate_ns = local_ns(now_ns);
    return edge->rate_bps;
}

static void send_acks(struct cross_edge *edge, uint64_t now_ns)
{
    struct edge_ack ack;
    while (receiver_ack(&edge->receiver, &ack.fixed, ack.runs, local_ns(now_ns))) {
        ack.fixed.credit = CREDIT_PACKETS;
        ack.fixed.own_rate_kbps = (uint32_t)(own_rate_bps(edge, now_ns) / 1000);
        ack.fixed.limited_by = EDGE_LIMIT_none;
        ack.stamp = wire_stamp(local_ns(now_ns));
        cross_send(edge->flow, true, UDP_OVERHEAD_BYTES + WIRE_ACK_BYTES + ack.fixed.run_bytes, &ack,
                   (uint32_t)offsetof(struct edge_ack, runs) + ack.fixed.run_bytes, now_ns);
    }
}

/* Sends what may leave within the horizon; returns when the next packet may. */
static uint64_t send_data(struct cross_edge *edge, uint64_t now_ns)
{
    uint32_t wire_bytes = edge->flow->wire_bytes;
    for (;;) {
        enum edge_limit limit = EDGE_LIMIT_none;
        bool repair = edge->repairs_due != 0;
        uint64_t at_ns = sender_send_ns(&edge->sender, wire_bytes, repair, &limit);
        if (at_ns == TIME_NEVER) {
            sender_on_limited(&edge->sender, limit);
            return TIME_NEVER;
        }
        uint64_t depart_ns = MAX(at_ns, local_ns(now_ns));
        if (depart_ns > local_ns(now_ns) + HORIZON_NS)
            return at_ns - CLOCK_BASE_NS - HORIZON_NS;
        struct edge_data data = {.floor = sender_floor(&edge->sender), .stamp = wire_stamp(depart_ns)};
        data.number = sender_on_sent(&edge->sender, 0, 0, wire_bytes, repair, depart_ns);
        edge->repairs_due -= repair;
        cross_send(edge->flow, false, edge->flow->packet_bytes, &data, sizeof(data),
                   depart_ns - CLOCK_BASE_NS);
    }
}

uint64_t cross_edge_run(struct cross_edge *edge, bool stopped, uint64_t now_ns)
{
    send_acks(edge, now_ns);
    sender_on_tick(&edge->sender, local_ns(now_ns), &edge->events);
    take_counts(edge, now_ns);
    uint64_t next_ns = stopped ? TIME_NEVER : send_data(edge, now_ns);
    uint64_t due_ns = MIN(receiver_next_ns(&edge->receiver), sender_next_ns(&edge->sender));
    if (due_ns != TIME_NEVER)
        next_ns = MIN(next_ns, due_ns - CLOCK_BASE_NS);
    return MAX(next_ns, now_ns + 1);
}
