#include "node/flow/depart.h"

#include "base/check.h"
#include "edge/gather.h"
#include "node/flow/feedback.h"
#include "node/flow/pieces.h"
#include "node/flow/turn.h"
#include "node/job/object_kind.h"
#include "node/train/out.h"
#include "wire/data.h"

#define ECT_0 2 /* congestion may be marked instead of dropped (RFC 3168) */

/* What an edge would send next. */
struct candidate {
    struct job *job;
    struct feed_item item;
    uint32_t body_bytes, wire_bytes;
    uint32_t pieces;       /* that it leaves in: 1, unless the path has become too narrow */
    uint64_t at_ns;        /* when it may leave; TIME_NEVER: not yet known */
    enum edge_limit limit; /* what decides that */
};

static void measure_item(const struct peer *peer, struct candidate *next)
{
    const struct feed_item *item = &next->item;
    next->body_bytes = (uint32_t)geometry_run_length(&next->job->geometry, item->symbol, item->count);
    uint32_t datagram_bytes = WIRE_DATA_BYTES + item->count * WIRE_TAG_BYTES + next->body_bytes;
    next->pieces = pieces_needed(datagram_bytes, peer->mtu.mtu, peer->frame_overhead - WIRE_OVERHEAD_BYTES);
    next->wire_bytes = pieces_wire_bytes(datagram_bytes, next->pieces, peer->frame_overhead);
}

static void set_catch_up(struct node_port *port, struct peer *peer, struct child *child)
{
    uint64_t catch_up_ns = port_catch_up_ns(port);
    pacer_set_catch_up(&port->pacer, catch_up_ns);
    pacer_set_catch_up(&peer->sender.pacer, catch_up_ns);
    pacer_set_catch_up(&child->pacer, catch_up_ns);
}

static void fill_data(struct node *node, struct peer *peer, const struct candidate *next, uint64_t depart_ns,
                      struct tx_packet *packet)
{
    struct job *job = next->job;
    const struct feed_item *item = &next->item;
    const struct slot *slot = &node->store.slots[item->slot];
    uint64_t symbol = kind_number(job, item->symbol);
    uint64_t content = wire_content(symbol, item->count, slot->stripe, (uint8_t)job->epoch);
    uint32_t wire_bytes = next->wire_bytes;
    uint16_t tag = (uint16_t)(job->generation << 8 | job->slot);
    struct node_port *port = &node->ports[peer->port];
    struct child *child = &job->children.of[job->children.of_peer[peer->index]];
    set_catch_up(port, peer, child);
    uint64_t number = sender_on_sent(&peer->sender, content, tag, wire_bytes, item->repair, depart_ns);
    feed_on_sent(job->object, job->children.of_peer[peer->index], item);
    turn_on_sent(flow_of(node, peer), job, child, wire_bytes, depart_ns);
    uint64_t floor_delta = MIN(number - sender_floor(&peer->sender), (uint64_t)UINT32_MAX);
    struct wire_data data = {.floor_delta = (uint32_t)floor_delta, .job = job->id, .content = content};
    struct wire_header header = session_data_header(peer, number, depart_ns);
    header.flags = sender_at_tail(&peer->sender, depart_ns) ? WIRE_FLAG_TAIL : 0;
    packet->port = peer->port;
    packet->peer = peer->index;
    packet->to = peer->config->address;
    packet->depart_ns = depart_ns;
    packet->traffic_class = (uint8_t)(job->controls.dscp << 2 | ECT_0);
    packet->cookie = feedback_cookie(item->slot, peer->index, number);
    packet->head_bytes = (uint16_t)wire_data_encode(packet->head, &header, &data,
                                                    slot_tags(slot, &job->geometry, item->symbol));
    session_seal_data(node, peer, packet->head, packet->head_bytes, number);
    packet->body = slot_symbol(slot, &job->geometry, item->symbol);
    packet->body_bytes = (uint16_t)next->body_bytes;
    packet->body_sum = slot_sum(&node->store, slot, &job->geometry, item->symbol, item->count);
    pacer_on_sent(&port->pacer, wire_bytes, depart_ns);
    digest_add(&node->digest, content ^ depart_ns << 8 ^ peer->index);
    node->counters.tx_data++;
    if (next->pieces > 1)
        pieces_begin(node, packet, next->pieces);
}

/* Why no job has anything for this peer. */
static enum edge_limit why_nothing(const struct node *node, const struct peer *peer)
{
    enum edge_limit why = EDGE_LIMIT_none;
    for (uint16_t mask = peer->jobs_out; mask != 0; mask &= (uint16_t)(mask - 1)) {
        const struct job *job = &node->jobs[__builtin_ctz(mask)];
        uint8_t child = job->children.of_peer[peer->index];
        if (job->controls.paused || !flow_owes(job, child))
            continue;
        enum edge_limit this_one =
            feed_lacks_place(job->object, child) ? EDGE_LIMIT_credit : job->kind->why_waits(job, child);
        if (this_one > why)
            why = this_one; /* one's own disk and memory before what others do not bring */
    }
    return why;
}

/* The edge waits for `limit` from now on. Where credit is short, the receiver has said why. */
static void edge_waits(const struct node *node, struct peer *peer, enum edge_limit limit)
{
    enum edge_limit told = peer->sender.receiver_limit;
    bool receivers = limit == EDGE_LIMIT_credit && told != EDGE_LIMIT_none;
    sender_on_limited(&peer->sender, limit == EDGE_LIMIT_none ? EDGE_LIMIT_application : limit);
    enum edge_limit cause = receivers ? told : sender_cause(&peer->sender, limit, node->now_ns);
    causes_set(&flow_of(node, peer)->causes, cause, node->now_ns);
}

/* When the item may leave; TIME_NEVER with its limit. Credit is asked for to begin a block, never to complete
 * one: else parent and child could each wait for the other to let go of a block that is not whole. */
static void time_item(const struct peer *peer, struct candidate *next)
{
    const struct feed_item *item = &next->item;
    measure_item(peer, next);
    next->at_ns = sender_send_ns(&peer->sender, next->wire_bytes, item->repair, &next->limit);
    if (next->at_ns == TIME_NEVER && next->limit == EDGE_LIMIT_credit && item->begun)
        next->at_ns = pacer_next_ns(&peer->sender.pacer);
    /* The strategy would allow no more than the cap: a higher cap is what would help. */
    else if (next->at_ns != TIME_NEVER && next->limit == EDGE_LIMIT_congestion &&
             peer->sender.rate_cap_bps <= peer->sender.congestion.rate_bps)
        next->limit = EDGE_LIMIT_cap;
}

/* The item to be sent: what is next, or, where that is held, what may pass. False: none; at_ns says when a job's
 * pacer may give one. */
static bool choose_item(struct node *node, struct peer *peer, uint64_t horizon_ns, struct candidate *next)
{
    struct flow *flow = flow_of(node, peer);
    uint64_t held_ns;
    next->job = turn_next_item(node, peer, false, horizon_ns, &next->item, &held_ns);
    flow->job_held = next->job == NULL && held_ns != TIME_NEVER;
    next->at_ns = held_ns;
    if (next->job == NULL) {
        edge_waits(node, peer, flow->job_held ? EDGE_LIMIT_cap : why_nothing(node, peer));
        return false;
    }
    time_item(peer, next);
    if (next->at_ns != TIME_NEVER)
        return true;
    edge_waits(node, peer, next->limit);
    if (next->item.repair || next->item.begun)
        return false;
    next->job = turn_next_item(node, peer, true, horizon_ns, &next->item, &held_ns);
    if (next->job != NULL)
        time_item(peer, next);
    return next->job != NULL && next->at_ns != TIME_NEVER;
}

/* What held a packet that leaves lag_ns behind its edge's pacer. One behind by more than the catch-up has
 * lost that time for good: the port was busy with others, or this node was not called in time. That ends when
 * it has caught up by a quarter: packets of several edges do not come at even distances. */
static void note_limit(const struct node *node, struct peer *peer, uint64_t lag_ns, uint64_t depart_ns,
                       bool port_busy, enum edge_limit limit)
{
    struct flow *flow = flow_of(node, peer);
    bool behind = flow->causes.holds == EDGE_LIMIT_uplink || flow->causes.holds == EDGE_LIMIT_cpu;
    uint64_t burst_ns = peer->sender.pacer.burst_ns;
    if (lag_ns <= (behind ? burst_ns - burst_ns / 4 : burst_ns)) {
        causes_set(&flow->causes, sender_cause(&peer->sender, limit, node->now_ns), node->now_ns);
        return;
    }
    enum edge_limit cause = port_busy ? EDGE_LIMIT_uplink : EDGE_LIMIT_cpu;
    if (!behind)
        causes_lost(&flow->causes, cause, elapsed_ns(lag_ns, burst_ns), node->now_ns);
    if (port_busy) {
        edge_waits(node, peer, cause);
        return;
    }
    if (lag_ns > burst_ns)
        sender_on_lag(&peer->sender, lag_ns, depart_ns);
    causes_set(&flow->causes, cause, node->now_ns);
}

/* Tries one edge: true when its packet was filled. Else ready_ns says when to try again; it is later than
 * before. */
static bool edge_send(struct node *node, struct peer *peer, uint64_t horizon_ns, struct tx_packet *packet,
                      uint64_t now_ns)
{
    struct flow *flow = flow_of(node, peer);
    struct candidate next = {.at_ns = TIME_NEVER, .limit = EDGE_LIMIT_none};
    uint64_t before_ns = flow->ready_ns;
    bool chosen = choose_item(node, peer, horizon_ns, &next);
    flow->ready_ns = next.at_ns;
    if (!chosen) {
        peer_changed(node, peer); /* its tail may begin */
        return false;
    }
    struct node_port *port = &node->ports[peer->port];
    uint64_t port_ns = pacer_next_ns(&port->pacer);
    uint64_t due_ns = MAX(port_ns, now_ns);
    if (next.at_ns > MAX(due_ns, before_ns))
        return false; /* another edge may be due before */
    uint64_t depart_ns = MAX(next.at_ns, due_ns);
    CHECK(depart_ns <= horizon_ns);
    /* Woken by an event: its pacer's time is that of a pause, not of a delay. */
    uint64_t lag_ns = before_ns == 0 ? 0 : elapsed_ns(depart_ns, MAX(next.at_ns, before_ns));
    if (before_ns != 0 && port_ns < now_ns)
        port_note_lag(port, lag_ns, now_ns);
    note_limit(node, peer, lag_ns, depart_ns, port_ns >= now_ns, next.limit);
    fill_data(node, peer, &next, depart_ns, packet);
    fair_on_sent(&port->share, &flow->port_share, fair_rate_cost(next.wire_bytes, peer->sender.rate_cap_bps));
    flow->ready_ns = sender_send_ns(&peer->sender, next.wire_bytes, true, &next.limit);
    if (flow->ready_ns == TIME_NEVER)
        flow->ready_ns = 0; /* found out, and counted, by the next try */
    peer_schedule(node, peer, sender_next_ns(&peer->sender));
    return true;
}

/* Whose packet is next on the port. Of the edges that are due when the port is free again, the one whose
 * share it is; else the one that is due first. NULL: none before the horizon. */
static struct peer *choose_edge(struct node *node, uint16_t port, uint64_t due_ns, uint64_t horizon_ns)
{
    const struct node_port *from = &node->ports[port];
    struct peer *best = NULL;
    uint64_t best_tag = UINT64_MAX, best_ns = horizon_ns;
    uint64_t before = (1ULL << from->turn) - 1; /* those that are asked last */
    uint64_t later = from->edges_mask & before, mask = from->edges_mask & ~before;
    for (; (mask | later) != 0; mask &= mask - 1) {
        if (mask == 0) {
            mask = later;
            later = 0;
        }
        uint32_t index = (uint32_t)__builtin_ctzll(mask);
        struct peer *peer = &node->peers[index];
        const struct flow *flow = &node->flows[index];
        if (peer->state != PEER_UP || flow->ready_ns > best_ns)
            continue;
        bool due = flow->ready_ns <= due_ns;
        uint64_t tag = due ? fair_tag(&from->share, &flow->port_share) : UINT64_MAX;
        if (best != NULL && (due ? tag >= best_tag : flow->ready_ns >= best_ns))
            continue;
        best = peer;
        best_tag = tag;
        best_ns = MAX(flow->ready_ns, due_ns);
    }
    return best;
}

bool depart_next(struct node *node, uint16_t port, uint64_t horizon_ns, struct tx_packet *packet,
                 uint64_t now_ns)
{
    uint64_t due_ns = MAX(pacer_next_ns(&node->ports[port].pacer), now_ns);
    if (pieces_next(node, port, packet))
        return true;
    if (due_ns > horizon_ns)
        return false;
    for (;;) {
        struct peer *peer = choose_edge(node, port, due_ns, horizon_ns);
        if (peer == NULL)
            return false;
        if (!edge_send(node, peer, horizon_ns, packet, now_ns))
            continue;
        node->ports[port].turn = (uint16_t)((peer->index + 1) % node->peer_count);
        return true;
    }
}

uint64_t depart_next_ns(const struct node *node)
{
    uint64_t next_ns = TIME_NEVER;
    for (uint16_t number = 0; number < node->config.port_count; number++) {
        const struct node_port *port = &node->ports[number];
        if (pieces_left(node, number))
            return node->now_ns;
        for (uint64_t mask = port->edges_mask; mask != 0; mask &= mask - 1) {
            uint32_t index = (uint32_t)__builtin_ctzll(mask);
            const struct flow *flow = &node->flows[index];
            if (flow->ready_ns == TIME_NEVER || node->peers[index].state != PEER_UP)
                continue;
            uint64_t at_ns = MAX(flow->ready_ns, pacer_next_ns(&port->pacer));
            if (node->train_out->leaving)
                at_ns = train_out_beside_ns(node, number, at_ns);
            next_ns = MIN(next_ns, elapsed_ns(at_ns, node->horizon_ns));
        }
    }
    return next_ns;
}

uint64_t depart_gather_ns(const struct node *node)
{
    uint64_t least_ns = GATHER_NS_MAX;
    for (uint16_t number = 0; number < node->config.port_count; number++) {
        for (uint64_t mask = node->ports[number].edges_mask; mask != 0; mask &= mask - 1) {
            uint32_t index = (uint32_t)__builtin_ctzll(mask);
            if (node->flows[index].ready_ns != TIME_NEVER && node->peers[index].state == PEER_UP)
                least_ns = MIN(least_ns, sender_gather_ns(&node->peers[index].sender));
        }
    }
    return least_ns;
}
