/* Symbols in and out: the hot path.
 *
 * In:  session → peer (node_rx) → packet number → job by forwarding table → symbol buffer → children are
 * woken. Out: among the edges of a port the one that may send earliest; of its jobs, in turn, what the feed
 * offers; the packet points into the symbol buffer and holds its slot until the port reports it. */
#include <string.h>

#include "base/check.h"
#include "base/serial.h"
#include "node/internal.h"

/* Cookie of a data packet: slot of the symbol buffer (24 bits), peer (8), packet number (32). */
static uint64_t cookie_of(uint32_t slot, uint16_t peer, uint64_t number)
{
    return (uint64_t)slot << 40 | (uint64_t)peer << 32 | (uint32_t)number;
}

/* ---- in ---- */

/* What the forwarding table says of the packet: its job, or NULL with a drop counted. */
static struct job *admit(struct node *node, const struct peer *peer, const struct wire_data *data)
{
    const struct forward_entry *entry =
        forward_lookup(node->table, data->job, wire_content_stripe(data->content));
    struct job *job = entry == NULL ? NULL : &node->jobs[entry->job_slot];
    if (job == NULL || job->object == NULL || job->phase == PHASE_OPENING || job->phase == PHASE_CLOSING) {
        node->counters.drop_data_job++;
        return NULL;
    }
    if (entry->parent != peer->index) {
        node->counters.drop_data_parent++;
        return NULL;
    }
    return job;
}

/* True when the packet number is to be acked: stored, known already, or of no use to anybody. */
static bool store_symbols(struct node *node, struct peer *peer, struct job *job,
                          const struct wire_data_view *view)
{
    uint64_t symbol = wire_content_symbol(view->fixed.content);
    uint32_t count = wire_content_count(view->fixed.content);
    uint64_t completed = UINT64_MAX;
    if (job->stream.on) {
        enum stream_where where = stream_place(&job->stream.window, symbol, count, &symbol);
        if (where != STREAM_INSIDE)
            return stream_refuse(node, where);
    }
    enum put_result result =
        object_put(job->object, symbol, count, view->tags, view->body, view->body_bytes, &completed);
    switch (result) {
    case PUT_STORED:
        node->counters.rx_data++;
        peer->credit_symbols = job->geometry.block_symbols;
        peer->run_symbols = MAX(peer->run_symbols, count);
        peer->ack_class = (uint8_t)(job->controls.dscp << 2);
        if (completed != UINT64_MAX)
            job_on_block_complete(node, job, completed);
        if (job->stream.on)
            stream_on_put(node, job);
        if (job->child_count > 0)
            data_wake(node, job);
        return true;
    case PUT_DUPLICATE:
        node->counters.symbols_repeated++;
        return true;
    case PUT_NO_SLOT:
        node->counters.drop_data_memory++;
        return false;
    case PUT_BAD_LENGTH:
    case PUT_OUTSIDE:
        node->counters.drop_data_symbol++;
        return false;
    }
    return false;
}

void data_on_packet(struct node *node, struct peer *peer, const struct wire_header *header,
                    const struct rx_packet *packet, uint64_t now_ns)
{
    struct wire_data_view view;
    enum wire_error error = wire_data_decode(packet->data, packet->length, &view);
    if (error == WIRE_TOO_SHORT) {
        node->counters.drop_short++;
        return;
    }
    if (error != WIRE_OK) {
        node->counters.drop_length++;
        return;
    }
    uint64_t number = receiver_expand(&peer->receiver, header->packet_number);
    uint64_t floor = number - MIN((uint64_t)view.fixed.floor_delta, number);
    enum receiver_verdict verdict = receiver_check(&peer->receiver, number, floor);
    if (verdict == RECEIVER_BEYOND_WINDOW) {
        node->counters.drop_data_window++;
        return;
    }
    if (verdict == RECEIVER_DUPLICATE) {
        node->counters.drop_data_duplicate++;
    } else {
        struct job *job = admit(node, peer, &view.fixed);
        if (job != NULL && !store_symbols(node, peer, job, &view))
            return;
    }
    uint32_t wire_bytes = packet->length + peer->frame_overhead;
    receiver_on_packet(&peer->receiver, number, floor, header->stamp, wire_bytes, packet->ecn == 3,
                       packet->rx_ns);
    if (header->flags & WIRE_FLAG_TAIL)
        receiver_hurry(&peer->receiver);
    if (verdict == RECEIVER_NEW)
        node->ports[peer->port].received_bytes += wire_bytes;
    digest_add(&node->digest, view.fixed.content ^ number << 1);
    uint64_t due_ns = receiver_next_ns(&peer->receiver);
    if (now_ns >= due_ns)
        peer_note_control(node, peer);
    else
        node_schedule(node, due_ns);
}

static struct job *job_of_tag(struct node *node, uint16_t tag)
{
    struct job *job = &node->jobs[(tag & 0xff) % NODE_JOBS_MAX];
    return job->in_use && job->object != NULL && job->generation == tag >> 8 ? job : NULL;
}

/* The events of a sender carry no peer: the one whose ack is being processed is kept here for the time of the
 * call. */
struct event_scope {
    struct node *node;
    uint16_t peer;
};

static struct job *event_job(const struct event_scope *scope, uint16_t tag, uint32_t *child)
{
    struct job *job = job_of_tag(scope->node, tag);
    if (job == NULL || job->child_of_peer[scope->peer] == UINT8_MAX)
        return NULL;
    *child = job->child_of_peer[scope->peer];
    return job->children[*child].gone ? NULL : job;
}

static bool on_acked(void *owner, uint64_t content, uint16_t tag)
{
    const struct event_scope *scope = owner;
    uint32_t child;
    struct job *job = event_job(scope, tag, &child);
    if (job == NULL)
        return false;
    uint64_t symbol = wire_content_symbol(content);
    uint32_t count = wire_content_count(content);
    if (job->stream.on && stream_place(&job->stream.window, symbol, count, &symbol) != STREAM_INSIDE)
        return false;
    scope->node->peers[scope->peer].acked_payload_bytes += geometry_run_length(&job->geometry, symbol, count);
    return feed_on_acked(job->object, child, symbol, count);
}

static bool on_lost(void *owner, uint64_t content, uint16_t tag)
{
    const struct event_scope *scope = owner;
    uint32_t child;
    struct job *job = event_job(scope, tag, &child);
    if (job == NULL)
        return false;
    uint64_t symbol = wire_content_symbol(content);
    uint32_t count = wire_content_count(content);
    if (job->stream.on && stream_place(&job->stream.window, symbol, count, &symbol) != STREAM_INSIDE)
        return false;
    return feed_on_lost(job->object, child, symbol, count);
}

static struct sender_events events_for(struct event_scope *scope)
{
    return (struct sender_events){
        .on_acked = on_acked, .on_lost = on_lost, .on_probe = on_lost, .owner = scope};
}

void data_tick(struct node *node, struct peer *peer, uint64_t now_ns)
{
    struct event_scope scope = {.node = node, .peer = peer->index};
    struct sender_events events = events_for(&scope);
    sender_on_tick(&peer->sender, now_ns, &events);
}

/* An edge that waits for its pacer finds out by itself, one that is due already keeps the time since when. */
static void edge_wake(struct peer *peer, uint64_t now_ns)
{
    if (peer->ready_ns == TIME_NEVER || (peer->job_held && peer->ready_ns > now_ns))
        peer->ready_ns = 0;
}

void ack_on_packet(struct node *node, struct peer *peer, const struct rx_packet *packet, uint64_t now_ns)
{
    struct wire_ack_view view;
    enum wire_error error = wire_ack_decode(packet->data, packet->length, &view);
    if (error == WIRE_TOO_SHORT) {
        node->counters.drop_short++;
        return;
    }
    if (error != WIRE_OK) {
        node->counters.drop_length++;
        return;
    }
    struct event_scope scope = {.node = node, .peer = peer->index};
    struct sender_events events = events_for(&scope);
    if (!sender_on_ack(&peer->sender, &view, packet->rx_ns, &events)) {
        node->counters.drop_ack++;
        return;
    }
    node->counters.rx_acks++;
    if (peer->jobs_out != 0)
        edge_wake(peer, now_ns);
    node_schedule(node, MAX(now_ns, sender_next_ns(&peer->sender)));
}

void node_tx_done(struct node *node, const struct tx_report *reports, uint16_t count, uint64_t now_ns)
{
    for (uint16_t index = 0; index < count; index++) {
        const struct tx_report *report = &reports[index];
        CHECK(report->cookie != TX_COOKIE_NONE);
        struct peer *peer = &node->peers[report->cookie >> 32 & 0xff];
        if (report->status == TX_REFUSED) {
            struct event_scope scope = {.node = node, .peer = peer->index};
            struct sender_events events = events_for(&scope);
            uint64_t number = serial_expand32(peer->sender.next_number, (uint32_t)report->cookie);
            sender_on_refused(&peer->sender, number, &events);
            sender_on_limited(&peer->sender, EDGE_LIMIT_port);
            /* The port is full: try again when it may have drained, not at once. */
            peer->ready_ns = now_ns + TX_HORIZON_NS;
            node->counters.tx_refused++;
        }
        if (report->released)
            store_release(&node->store, (uint32_t)(report->cookie >> 40));
    }
}

/* What keeps credit short: blocks that wait for this node's disk, or children that have not acked. */
enum edge_limit data_credit_limit(const struct node *node)
{
    uint64_t writing = 0;
    for (uint32_t slot = 0; slot < NODE_JOBS_MAX; slot++)
        if (node->jobs[slot].in_use && !node->jobs[slot].is_source)
            writing += node->jobs[slot].disk_outstanding;
    return writing > node->store.slot_count / 2 ? EDGE_LIMIT_receiver_disk : EDGE_LIMIT_credit;
}

/* Room in the symbol buffer, in packets of this edge, shared among the peers that are parents now. As long as
 * one slot is left, some room is told: many jobs in a small buffer must not wait for each other. */
uint32_t data_credit_packets(const struct node *node, const struct peer *peer)
{
    uint64_t parents = 0, jobs = 0;
    for (uint32_t slot = 0; slot < NODE_JOBS_MAX; slot++) {
        const struct job *job = &node->jobs[slot];
        if (!job->in_use || job->object == NULL || job->parent >= NODE_PEERS_MAX)
            continue;
        parents |= 1ULL << job->parent;
        jobs++;
    }
    uint64_t slots = store_available(&node->store);
    if (slots == 0)
        return 0;
    slots = slots > jobs + 2 ? slots - jobs - 1 : 1;
    uint64_t share = MAX((uint64_t)__builtin_popcountll(parents), 1ULL);
    uint64_t packets = slots * peer->credit_symbols / (share * peer->run_symbols);
    return (uint32_t)MIN(MAX(packets, (uint64_t)RECEIVER_ACK_PACKETS), (uint64_t)INT32_MAX);
}

/* ---- out ---- */

void data_wake(struct node *node, const struct job *job)
{
    for (uint16_t child = 0; child < job->child_count; child++) {
        edge_wake(&node->peers[job->children[child].peer], node->now_ns);
    }
}

static uint32_t body_bytes_of(const struct job *job, const struct feed_item *item)
{
    return (uint32_t)geometry_run_length(&job->geometry, item->symbol, item->count);
}

static uint32_t wire_bytes_of(const struct peer *peer, const struct job *job, const struct feed_item *item)
{
    return WIRE_DATA_BYTES + item->count * WIRE_TAG_BYTES + body_bytes_of(job, item) + peer->frame_overhead;
}

static void fill_data(struct node *node, struct peer *peer, struct job *job, const struct feed_item *item,
                      uint32_t body_bytes, uint64_t depart_ns, struct tx_packet *packet)
{
    const struct slot *slot = &node->store.slots[item->slot];
    uint64_t symbol = job->stream.on ? stream_number(&job->stream.window, item->symbol) : item->symbol;
    uint64_t content = wire_content(symbol, item->count, 0, (uint8_t)job->epoch);
    uint32_t wire_bytes = wire_bytes_of(peer, job, item);
    uint16_t tag = (uint16_t)(job->generation << 8 | job->slot);
    uint64_t number = sender_on_sent(&peer->sender, content, tag, wire_bytes, item->repair, depart_ns);
    struct child *child = &job->children[job->child_of_peer[peer->index]];
    feed_on_sent(job->object, job->child_of_peer[peer->index], item);
    adjust_on_sent(peer, job, child, wire_bytes, depart_ns);
    uint64_t floor_delta = MIN(number - sender_floor(&peer->sender), (uint64_t)UINT32_MAX);
    struct wire_data data = {.floor_delta = (uint32_t)floor_delta, .job = job->id, .content = content};
    struct wire_header header = {.version = WIRE_VERSION,
                                 .type = WIRE_DATA,
                                 .flags = sender_at_tail(&peer->sender, depart_ns) ? WIRE_FLAG_TAIL : 0,
                                 .session = peer->session_out,
                                 .packet_number = (uint32_t)number,
                                 .stamp = wire_stamp(depart_ns)};
    packet->port = peer->port;
    packet->peer = peer->index;
    packet->to = peer->config->address;
    packet->depart_ns = depart_ns;
    packet->traffic_class = adjust_traffic_class(job);
    packet->cookie = cookie_of(item->slot, peer->index, number);
    packet->head_bytes = (uint16_t)wire_data_encode(packet->head, &header, &data,
                                                    slot_tags(slot, &job->geometry, item->symbol));
    packet->body = slot_symbol(slot, &job->geometry, item->symbol);
    packet->body_bytes = (uint16_t)body_bytes;
    pacer_on_sent(&node->ports[peer->port].pacer, wire_bytes, depart_ns);
    digest_add(&node->digest, content ^ depart_ns << 8 ^ peer->index);
    node->counters.tx_data++;
}

bool data_owed(const struct job *job, uint8_t child)
{
    return job->object != NULL && job->phase != PHASE_CLOSING && !job->children[child].gone &&
           !feed_done(job->object, child);
}

/* Why the job has nothing for a child that lacks some of it: blocks are on their way from this node's disk,
 * there is no memory to read them to, or its own parent (a stream's input) has not brought more yet. None:
 * the rest is on its way to the child. */
static enum edge_limit why_waits(const struct job *job, uint8_t child)
{
    const struct object *object = job->object;
    if (job->stream.on)
        return EDGE_LIMIT_application;
    if (job->loads_outstanding > 0)
        return EDGE_LIMIT_sender_disk;
    bool unread = job->is_source && object->read_next < object->geometry.blocks;
    if (unread || object->feeds[child].backlog_count > 0)
        return EDGE_LIMIT_sender_memory;
    return object->received_bytes < object->geometry.size_bytes && !job->is_source ? EDGE_LIMIT_application
                                                                                   : EDGE_LIMIT_none;
}

/* Why no job has anything for this peer. */
static enum edge_limit why_nothing(const struct node *node, const struct peer *peer)
{
    enum edge_limit why = EDGE_LIMIT_none;
    for (uint16_t mask = peer->jobs_out; mask != 0; mask &= (uint16_t)(mask - 1)) {
        const struct job *job = &node->jobs[__builtin_ctz(mask)];
        uint8_t child = job->child_of_peer[peer->index];
        if (job->controls.paused || !data_owed(job, child))
            continue;
        enum edge_limit this_one = why_waits(job, child);
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
    causes_set(&peer->causes, receivers ? told : limit, node->now_ns);
}

/* When the item may leave; TIME_NEVER with *limit. Credit is asked for to begin a block, never to complete
 * one: else parent and child could each wait for the other to let go of a block that is not whole. */
static uint64_t item_send_ns(const struct peer *peer, const struct job *job, const struct feed_item *item,
                             enum edge_limit *limit)
{
    uint64_t at_ns = sender_send_ns(&peer->sender, wire_bytes_of(peer, job, item), item->repair, limit);
    if (at_ns == TIME_NEVER && *limit == EDGE_LIMIT_credit && item->begun)
        return pacer_next_ns(&peer->sender.pacer);
    /* The strategy would allow no more than the cap: a higher cap is what would help. */
    if (at_ns != TIME_NEVER && *limit == EDGE_LIMIT_congestion &&
        peer->sender.rate_cap_bps <= peer->sender.congestion.rate_bps)
        *limit = EDGE_LIMIT_cap;
    return at_ns;
}

/* The item to be sent, when, and what decides that time: what is next, or, where that is held, what may pass.
 */
static struct job *choose_item(struct node *node, struct peer *peer, uint64_t horizon_ns,
                               struct feed_item *item, uint64_t *at_ns, enum edge_limit *limit)
{
    uint64_t held_ns;
    struct job *job = adjust_next_item(node, peer, false, horizon_ns, item, &held_ns);
    peer->job_held = job == NULL && held_ns != TIME_NEVER;
    *at_ns = held_ns;
    if (job == NULL) {
        edge_waits(node, peer, peer->job_held ? EDGE_LIMIT_cap : why_nothing(node, peer));
        return NULL;
    }
    *at_ns = item_send_ns(peer, job, item, limit);
    if (*at_ns != TIME_NEVER)
        return job;
    edge_waits(node, peer, *limit);
    if (item->repair || item->begun)
        return NULL;
    job = adjust_next_item(node, peer, true, horizon_ns, item, &held_ns);
    if (job != NULL)
        *at_ns = item_send_ns(peer, job, item, limit);
    return job == NULL || *at_ns == TIME_NEVER ? NULL : job;
}

/* What held a packet that leaves lag_ns behind its edge's pacer. One behind by more than the catch-up has
 * lost that time for good: the port was busy with others, or this node was not called in time. That ends when
 * it has caught up by a quarter: packets of several edges do not come at even distances. */
static void note_limit(const struct node *node, struct peer *peer, uint64_t lag_ns, bool port_busy,
                       enum edge_limit limit)
{
    bool behind = peer->causes.holds == EDGE_LIMIT_uplink || peer->causes.holds == EDGE_LIMIT_cpu;
    uint64_t burst_ns = peer->sender.pacer.burst_ns;
    if (lag_ns <= (behind ? burst_ns - burst_ns / 4 : burst_ns)) {
        causes_set(&peer->causes, limit, node->now_ns);
        return;
    }
    enum edge_limit cause = port_busy ? EDGE_LIMIT_uplink : EDGE_LIMIT_cpu;
    if (!behind)
        causes_lost(&peer->causes, cause, elapsed_ns(lag_ns, burst_ns), node->now_ns);
    edge_waits(node, peer, cause);
}

/* Tries one edge: true when its packet was filled. Else ready_ns says when to try again; it is later than
 * before. */
static bool edge_send(struct node *node, struct peer *peer, uint64_t horizon_ns, struct tx_packet *packet,
                      uint64_t now_ns)
{
    struct feed_item item;
    uint64_t at_ns = TIME_NEVER, before_ns = peer->ready_ns;
    enum edge_limit limit = EDGE_LIMIT_none;
    struct job *job = choose_item(node, peer, horizon_ns, &item, &at_ns, &limit);
    peer->ready_ns = at_ns;
    if (job == NULL)
        return false;
    struct node_port *port = &node->ports[peer->port];
    uint64_t port_ns = pacer_next_ns(&port->pacer);
    uint64_t due_ns = MAX(port_ns, now_ns);
    if (at_ns > MAX(due_ns, before_ns))
        return false; /* another edge may be due before */
    uint64_t depart_ns = MAX(at_ns, due_ns);
    CHECK(depart_ns <= horizon_ns);
    /* Woken by an event: its pacer's time is that of a pause, not of a delay. */
    uint64_t lag_ns = before_ns == 0 ? 0 : elapsed_ns(depart_ns, MAX(at_ns, before_ns));
    note_limit(node, peer, lag_ns, port_ns >= now_ns, limit);
    uint32_t wire_bytes = wire_bytes_of(peer, job, &item);
    fill_data(node, peer, job, &item, body_bytes_of(job, &item), depart_ns, packet);
    share_on_sent(&port->share, &peer->port_share, wire_bytes, peer->sender.rate_cap_bps);
    peer->ready_ns = sender_send_ns(&peer->sender, wire_bytes, true, &limit);
    if (peer->ready_ns == TIME_NEVER)
        peer->ready_ns = 0; /* found out, and counted, by the next try */
    node_schedule(node, sender_next_ns(&peer->sender));
    return true;
}

/* Whose packet is next on the port. Of the edges that are due when the port is free again, the one whose
 * share it is; else the one that is due first. NULL: none before the horizon. */
static struct peer *choose_edge(struct node *node, uint16_t port, uint64_t due_ns, uint64_t horizon_ns)
{
    const struct node_port *from = &node->ports[port];
    struct peer *best = NULL;
    uint64_t best_tag = UINT64_MAX, best_ns = horizon_ns;
    for (uint16_t step = 0; step < node->peer_count; step++) {
        uint16_t index = (uint16_t)(from->turn + step);
        if (index >= node->peer_count)
            index = (uint16_t)(index - node->peer_count);
        struct peer *peer = &node->peers[index];
        if (peer->jobs_out == 0 || peer->port != port || peer->state != PEER_UP || peer->ready_ns > best_ns)
            continue;
        bool due = peer->ready_ns <= due_ns;
        uint64_t tag = due ? share_tag(&from->share, &peer->port_share) : UINT64_MAX;
        if (best != NULL && (due ? tag >= best_tag : peer->ready_ns >= best_ns))
            continue;
        best = peer;
        best_tag = tag;
        best_ns = MAX(peer->ready_ns, due_ns);
    }
    return best;
}

bool data_next(struct node *node, uint16_t port, uint64_t horizon_ns, struct tx_packet *packet,
               uint64_t now_ns)
{
    uint64_t due_ns = MAX(pacer_next_ns(&node->ports[port].pacer), now_ns);
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
