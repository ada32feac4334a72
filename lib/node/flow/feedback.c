#include "node/flow/feedback.h"

#include "base/check.h"
#include "base/serial.h"
#include "edge/receiver.h"
#include "node/flow/credit.h"
#include "node/job/object_kind.h"
#include "wire/ack.h"
#include "wire/data.h"

static struct job *job_of_tag(struct node *node, uint16_t tag)
{
    struct job *job = &node->jobs[(tag & 0xff) % NODE_JOBS_MAX];
    return job->object != NULL && job->generation == tag >> 8 ? job : NULL;
}

/* The events of a sender carry no peer: the one whose ack is being processed is kept here for the time of the
 * call. */
struct event_scope {
    struct node *node;
    uint16_t peer;
};

/* The record's job, child and place in the object; NULL: they are gone. */
static struct job *event_job(const struct event_scope *scope, uint64_t content, uint16_t tag, uint32_t *child,
                             uint64_t *symbol)
{
    struct job *job = job_of_tag(scope->node, tag);
    if (job == NULL || job->children.of_peer[scope->peer] == CHILD_NONE)
        return NULL;
    *child = job->children.of_peer[scope->peer];
    if (job->children.of[*child].gone)
        return NULL;
    *symbol = wire_content_symbol(content);
    return kind_place(job, wire_content_count(content), symbol) == PLACE_INSIDE ? job : NULL;
}

/* A packet's IP bytes as far as the path goes: what is longer left in pieces. */
static uint32_t ip_bytes(const struct peer *peer, const struct job *job, uint64_t symbol, uint32_t count)
{
    uint32_t body_bytes = (uint32_t)geometry_run_length(&job->geometry, symbol, count);
    uint32_t around = WIRE_DATA_BYTES + count * WIRE_TAG_BYTES + peer->frame_overhead - WIRE_OVERHEAD_BYTES;
    return MIN(around + body_bytes, peer->mtu.mtu);
}

static bool on_acked(void *owner, uint64_t content, uint16_t tag)
{
    const struct event_scope *scope = owner;
    uint32_t child, count = wire_content_count(content);
    uint64_t symbol;
    struct job *job = event_job(scope, content, tag, &child, &symbol);
    if (job == NULL)
        return false;
    struct peer *peer = &scope->node->peers[scope->peer];
    mtu_watch_on_acked(&peer->mtu, ip_bytes(peer, job, symbol, count), scope->node->now_ns);
    scope->node->flows[scope->peer].acked_payload_bytes += geometry_run_length(&job->geometry, symbol, count);
    return feed_on_acked(job->object, child, symbol, count);
}

static bool on_probe(void *owner, uint64_t content, uint16_t tag)
{
    uint32_t child;
    uint64_t symbol;
    struct job *job = event_job(owner, content, tag, &child, &symbol);
    return job != NULL && feed_on_lost(job->object, child, symbol, wire_content_count(content));
}

static bool on_lost(void *owner, uint64_t content, uint16_t tag)
{
    const struct event_scope *scope = owner;
    struct peer *peer = &scope->node->peers[scope->peer];
    uint32_t child, count = wire_content_count(content);
    uint64_t symbol;
    struct job *job = event_job(scope, content, tag, &child, &symbol);
    if (job == NULL)
        return false;
    mtu_watch_on_lost(&peer->mtu, ip_bytes(peer, job, symbol, count), scope->node->now_ns);
    return feed_on_lost(job->object, child, symbol, count);
}

static struct sender_events events_for(struct event_scope *scope)
{
    return (struct sender_events){
        .on_acked = on_acked, .on_lost = on_lost, .on_probe = on_probe, .owner = scope};
}

/* Places are told in whole: a job that is not spoken of has enough. */
static void note_places(struct node *node, struct peer *peer, const struct wire_ack_view *ack)
{
    struct flow *flow = flow_of(node, peer);
    if (ack->fixed.place_count == 0 && !flow->places_there)
        return;
    flow_forget_places(node, peer);
    flow->places_there = ack->fixed.place_count != 0;
    const uint8_t *in = ack->places;
    for (unsigned index = 0; index < ack->fixed.place_count; index++) {
        struct wire_place place;
        in = wire_place_get(in, &place);
        struct job *job = job_feeding(node, place.job, peer->index);
        if (job != NULL && job->object != NULL && (peer->jobs_out >> job->slot & 1) != 0)
            feed_set_places(job->object, job->children.of_peer[peer->index], place.full_stripes, place.room);
    }
}

bool feedback_on_ack(struct node *node, struct peer *peer, const struct rx_packet *packet, uint64_t now_ns)
{
    struct wire_ack_view view;
    if (!flow_is_decoded(node, wire_ack_decode(packet->data, packet->length, &view)))
        return false;
    flow_on_packet(node, peer, now_ns);
    struct event_scope scope = {.node = node, .peer = peer->index};
    struct sender_events events = events_for(&scope);
    uint64_t stale = peer->sender.counters.stale_acks;
    sender_set_wait(&peer->sender, packet->wait_ns);
    if (!sender_on_ack(&peer->sender, &view, packet->rx_ns, &events)) {
        node->counters.drop_ack++;
        return sender_lost_sync(&peer->sender);
    }
    node->counters.rx_acks++;
    if (peer->sender.counters.stale_acks == stale)
        note_places(node, peer, &view);
    if (peer->jobs_out != 0)
        flow_wake(flow_of(node, peer), FLOW_ALL_JOBS, now_ns);
    peer_schedule(node, peer, MAX(now_ns, sender_next_ns(&peer->sender)));
    return false;
}

static void on_refused(struct node *node, struct peer *peer, uint64_t cookie, uint64_t now_ns)
{
    struct event_scope scope = {.node = node, .peer = peer->index};
    struct sender_events events = events_for(&scope);
    uint64_t number = serial_expand32(peer->sender.next_number, (uint32_t)cookie);
    sender_on_refused(&peer->sender, number, &events);
    sender_on_limited(&peer->sender, EDGE_LIMIT_port);
    peer_changed(node, peer);
    /* The port is full: try again when it may have drained, not at once. */
    flow_begin(flow_of(node, peer));
    flow_of(node, peer)->ready_ns = now_ns + TX_HORIZON_NS;
    node->counters.tx_refused++;
}

void feedback_on_report(struct node *node, const struct tx_report *report, uint64_t now_ns)
{
    CHECK(report->cookie != TX_COOKIE_NONE);
    if (report->status == TX_REFUSED)
        on_refused(node, &node->peers[report->cookie >> 32 & 0xff], report->cookie, now_ns);
    if (report->released)
        store_release(&node->store, (uint32_t)(report->cookie >> 40), report->released);
}

void feedback_on_narrower(struct node *node, struct peer *peer, uint64_t now_ns)
{
    struct event_scope scope = {.node = node, .peer = peer->index};
    struct sender_events events = events_for(&scope);
    sender_on_narrower(&peer->sender, now_ns, &events);
    flow_begin(flow_of(node, peer));
}

void feedback_tick(struct node *node, struct peer *peer, uint64_t now_ns)
{
    if (now_ns >= sender_next_ns(&peer->sender)) {
        struct event_scope scope = {.node = node, .peer = peer->index};
        struct sender_events events = events_for(&scope);
        sender_on_tick(&peer->sender, now_ns, &events);
    }
    if (credit_has_news(node, peer))
        receiver_remind(&peer->receiver, now_ns);
}
