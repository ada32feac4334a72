#include "node/flow/arrive.h"

#include "node/core/key_room.h"
#include "node/flow/pieces.h"
#include "node/job/object_kind.h"
#include "wire/data.h"
#include "wire/ethernet.h"

/* Whether this node takes data of the job at all; the source of one takes none of it. */
static bool takes_data(const struct job *job)
{
    return job != NULL && job->source == NULL && job->object != NULL &&
           (job->phase == PHASE_READY || phase_runs(job->phase));
}

/* The block of these symbols travels in the stripe that the packet says. */
static bool stripe_is_right(const struct job *job, uint64_t content)
{
    uint8_t stripe = wire_content_stripe(content);
    if (stripe >= job->trees.schedule.count)
        return false;
    return trees_stripe_of(job, kind_block(job, wire_content_symbol(content))) == stripe;
}

/* The job of the packet, or NULL with a drop counted. */
static struct job *admit(struct node *node, struct peer *peer, const struct wire_data *data, uint64_t now_ns)
{
    struct job *job = job_fed_by(node, data->job, peer->index);
    if (job == NULL)
        unasked_data(node, peer, data->job, now_ns);
    else
        job_on_fed(node, job);
    if (job == NULL && takes_data(job_find(node, data->job))) {
        node->counters.drop_data_parent++;
        return NULL;
    }
    if (!takes_data(job)) {
        node->counters.drop_data_job++;
        return NULL;
    }
    if (!stripe_is_right(job, data->content)) {
        node->counters.drop_data_stripe++;
        return NULL;
    }
    if (job->trees.parent[wire_content_stripe(data->content)] != peer->index) {
        node->counters.drop_data_parent++;
        return NULL;
    }
    return job;
}

static void on_stored(struct node *node, struct flow *flow, struct job *job, uint32_t count,
                      uint64_t completed)
{
    node->counters.rx_data++;
    flow->credit_symbols = job->geometry.block_symbols;
    flow->run_symbols = MAX(flow->run_symbols, count);
    flow->ack_class = (uint8_t)(job->controls.dscp << 2);
    if (completed != UINT64_MAX)
        job->kind->on_block(node, job, completed);
    if (job->kind->on_put != NULL)
        job->kind->on_put(node, job);
    if (job->children.count > 0)
        flow_wake_children(node, job);
}

/* False: some body is not what was sealed at the source. The run is of `number` on in the job's own count; where this node
 * alone wants it, it becomes the text. What has a wrong length is left to object_put. */
static bool open_bodies(struct node *node, const struct job *job, uint64_t number, struct symbol_run *run)
{
    struct key_room *room = node->key_room;
    uint32_t most = run->count * job->geometry.symbol_bytes;
    if (!job_seals(node) || run->count == 0 || run->body_bytes > most ||
        run->body_bytes <= most - job->geometry.symbol_bytes || run->body_bytes > sizeof(room->clear))
        return true;
    uint64_t group = number / job->geometry.block_symbols / BODY_GROUP_BLOCKS;
    struct body_cipher *cipher = &room->bodies[job->slot][group % KEY_ROOM_GROUPS];
    if (!body_open(cipher, job->secret, number, run->body, run->body_bytes, room->clear, run->tags))
        return false;
    if (job->object->sealed)
        return true;
    run->body = room->clear;
    run->body_sum = 0;
    return true;
}

/* True when the packet number is to be acked: stored, known already, or of no use to anybody. */
static bool store_symbols(struct node *node, struct flow *flow, struct job *job,
                          const struct rx_packet *packet, const struct wire_data_view *view)
{
    uint64_t completed = UINT64_MAX;
    struct symbol_run run = {
        .symbol = wire_content_symbol(view->fixed.content),
        .count = wire_content_count(view->fixed.content),
        .body_bytes = view->body_bytes,
        .body = view->body,
        .tags = view->tags,
        .body_sum = checksum_without(packet->data_sum, packet->data, (size_t)(view->body - packet->data)),
    };
    switch (kind_place(job, run.count, &run.symbol)) {
    case PLACE_INSIDE:
        break;
    case PLACE_KNOWN:
        node->counters.symbols_repeated++;
        return true;
    case PLACE_REFUSED:
        node->counters.drop_data_memory++;
        return false;
    }
    if (!open_bodies(node, job, kind_number(job, run.symbol), &run)) {
        node->counters.drop_data_body++;
        return false;
    }
    switch (object_put(job->object, &run, &completed)) {
    case PUT_STORED:
        on_stored(node, flow, job, run.count, completed);
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

/* What leaves no mark has no effect but its count. True: both ends do not speak of the same numbers. */
static bool refuse_number(struct node *node, struct receiver *receiver, enum receiver_verdict verdict,
                          uint64_t number, uint64_t rx_ns)
{
    if (verdict == RECEIVER_DUPLICATE)
        node->counters.drop_data_duplicate++;
    else
        node->counters.drop_data_window++;
    receiver_on_refused(receiver, verdict, number, rx_ns);
    return receiver_lost_sync(receiver, rx_ns);
}

/* wire_bytes: what it took on the wire. */
static bool take_packet(struct node *node, struct peer *peer, const struct wire_header *header,
                        const struct rx_packet *packet, uint32_t wire_bytes, uint64_t now_ns)
{
    struct wire_data_view view;
    if (!flow_is_decoded(node, wire_data_decode(packet->data, packet->length, &view)))
        return false;
    struct receiver *receiver = &peer->receiver;
    uint64_t number = receiver_expand(receiver, header->packet_number);
    uint64_t floor = number - MIN((uint64_t)view.fixed.floor_delta, number);
    enum receiver_verdict verdict = receiver_check(receiver, number, floor);
    if (verdict != RECEIVER_NEW)
        return refuse_number(node, receiver, verdict, number, packet->rx_ns);
    struct job *job = admit(node, peer, &view.fixed, now_ns);
    if (job != NULL && !store_symbols(node, flow_of(node, peer), job, packet, &view))
        return false;
    flow_on_packet(node, peer, now_ns);
    receiver_set_wait(receiver, packet->wait_ns);
    receiver_on_packet(receiver, number, floor, header->stamp, wire_bytes, packet->ecn == 3, packet->rx_ns);
    if (header->flags & WIRE_FLAG_TAIL)
        receiver_hurry(receiver);
    node->ports[peer->port].received_bytes += wire_bytes;
    digest_add(&node->digest, view.fixed.content ^ number << 1);
    uint64_t due_ns = receiver_next_ns(receiver);
    if (now_ns >= due_ns)
        peer_note_control(node, peer);
    else
        peer_schedule(node, peer, due_ns);
    return false;
}

bool arrive_on_packet(struct node *node, struct peer *peer, const struct wire_header *header,
                      const struct rx_packet *packet, uint64_t now_ns)
{
    return take_packet(node, peer, header, packet, packet->length + peer->frame_overhead, now_ns);
}

bool arrive_on_piece(struct node *node, struct peer *peer, const struct wire_header *header,
                     const struct rx_packet *packet, uint64_t now_ns)
{
    struct wire_header whole_header = *header;
    struct rx_packet whole;
    uint32_t wire_bytes;
    if (!pieces_on_packet(node, packet, &whole_header, &whole, peer->frame_overhead, &wire_bytes))
        return false;
    return take_packet(node, peer, &whole_header, &whole, wire_bytes, now_ns);
}
