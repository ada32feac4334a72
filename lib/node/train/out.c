#include "node/train/out.h"

#include <string.h>

#include "base/check.h"

/* Longer than the longest pause of a schedule by this: a receiver that stamps by itself stood still. */
#define STILL_NS (500 * NS_PER_US)

static struct train_sent *train_at(struct train_out *out, uint32_t place)
{
    return &out->trains[place % TRAIN_OUT_MAX];
}

static uint64_t *departure(struct train_out *out, const struct train_sent *train, uint32_t index)
{
    return &out->departures[(train->first + index) % TRAIN_OUT_PACKETS];
}

/* ---- leaving ---- */

static bool fits_path(const struct node *node, const struct peer *peer, struct train_shape *shape)
{
    uint32_t least = WIRE_TRAIN_BYTES + peer->frame_overhead;
    uint32_t most = MIN(peer->mtu.mtu, node->config.ports[peer->port].mtu) + WIRE_OVERHEAD_BYTES;
    shape->wire_bytes = MAX(MIN(shape->wire_bytes, most), least);
    return train_shape_valid(shape) && train_duration_ns(shape) <= TRAIN_LASTS_NS_MAX;
}

bool train_out_room(const struct node *node)
{
    const struct train_out *out = node->train_out;
    return !out->leaving && out->tail - out->head < TRAIN_OUT_MAX;
}

bool train_out_begin(struct node *node, const struct peer *peer, const struct train_shape *shape,
                     uint16_t flags, uint64_t start_ns, uint64_t now_ns)
{
    struct train_out *out = node->train_out;
    if (!train_out_room(node))
        return false;
    struct train_sent *train = train_at(out, out->tail);
    train->shape = *shape;
    if (!fits_path(node, peer, &train->shape))
        return false;
    uint32_t packets = train_packets(&train->shape);
    uint32_t used = out->head == out->tail ? 0 : out->departure_tail - train_at(out, out->head)->first;
    if (used + packets > TRAIN_OUT_PACKETS)
        return false;
    start_ns = MAX(start_ns, now_ns + TRAIN_LEAD_NS + node->ports[peer->port].pacer.burst_ns);
    struct train_shape kept = train->shape;
    *train = (struct train_sent){.number = out->next_number++,
                                 .peer = peer->index,
                                 .flags = flags,
                                 .stamp_kind = STAMP_VIRTUAL,
                                 .first = out->departure_tail,
                                 .packets = packets,
                                 .start_ns = start_ns};
    train->shape = kept;
    for (uint32_t index = 0; index < packets; index++)
        *departure(out, train, index) = 0;
    out->departure_tail += packets;
    out->tail++;
    out->leaving = true;
    out->held = false;
    out->end_ns = start_ns + train_duration_ns(&train->shape);
    train->give_up_ns = out->end_ns + 2 * peer->rtt_min_ns + TRAIN_PATIENCE_NS;
    train_begin(&out->schedule, &train->shape, start_ns);
    core_schedule(node, train->give_up_ns);
    digest_add(&node->digest, (uint64_t)train->number << 32 ^ packets ^ start_ns << 8);
    return true;
}

static struct train_sent *leaving(struct train_out *out)
{
    return train_at(out, out->tail - 1);
}

static const struct peer *leaving_peer(const struct node *node)
{
    return &node->peers[leaving(node->train_out)->peer];
}

/* Of the largest one. */
static uint64_t packet_ns(const struct node *node, uint16_t port)
{
    const struct node_port_config *config = &node->config.ports[port];
    return transmit_ns(config->mtu + WIRE_OVERHEAD_BYTES, config->rate_bps);
}

/* How far the uplink's queue may be behind the pacer: what was caught up with in a burst, which takes time without packets
 * since the last train. */
static uint64_t caught_up_ns(const struct node *node, uint16_t port, uint64_t now_ns)
{
    const struct train_out *out = node->train_out;
    uint64_t since_ns = out->exact_port == port ? out->exact_ns : 0;
    return MIN(node->ports[port].pacer.burst_ns, elapsed_ns(now_ns, since_ns));
}

/* Once the port's data keeps clear, all that is in the uplink's queue has gone by the pacer's time. */
uint64_t train_out_clear_ns(struct node *node, uint16_t port, uint64_t now_ns)
{
    struct train_out *out = node->train_out;
    if (!out->leaving || leaving_peer(node)->port != port)
        return TIME_NEVER;
    struct pacer *pacer = &node->ports[port].pacer;
    uint64_t next_ns = out->schedule.next_ns, largest_ns = packet_ns(node, port);
    if (!out->held && next_ns > now_ns + TRAIN_LEAD_NS + pacer->burst_ns + largest_ns)
        return TIME_NEVER;
    pacer_skip(pacer, out->held ? now_ns : pacer_next_ns(pacer) + caught_up_ns(node, port, now_ns));
    out->held = true;
    return elapsed_ns(next_ns, largest_ns);
}

uint64_t train_out_beside_ns(const struct node *node, uint16_t port, uint64_t at_ns)
{
    const struct train_out *out = node->train_out;
    if (!out->leaving || !out->held || leaving_peer(node)->port != port)
        return at_ns;
    bool fits = at_ns + packet_ns(node, port) <= out->schedule.next_ns;
    return fits ? at_ns : MAX(at_ns, out->schedule.next_ns);
}

static void end_train(struct node *node, bool cut, uint64_t now_ns)
{
    struct train_out *out = node->train_out;
    leaving(out)->cut |= cut;
    if (leaving(out)->handed == 0)
        leaving(out)->give_up_ns = now_ns; /* nothing will be told of it */
    out->leaving = false;
    out->exact_ns = pacer_next_ns(&node->ports[leaving_peer(node)->port].pacer);
    out->exact_port = leaving_peer(node)->port;
    core_schedule(node, now_ns); /* the next one may begin */
}

static void fill(struct node *node, struct train_sent *train, uint64_t depart_ns, struct tx_packet *packet)
{
    struct peer *peer = &node->peers[train->peer];
    uint64_t rest_ns = elapsed_ns(node->train_out->end_ns, depart_ns);
    struct wire_train message = {
        .train = train->number,
        .index = (uint16_t)train->handed,
        .count = (uint16_t)train->packets,
        .rest_us = (uint32_t)((rest_ns + NS_PER_US - 1) / NS_PER_US),
        .padding = (uint16_t)(train->shape.wire_bytes - peer->frame_overhead - WIRE_TRAIN_BYTES),
        .flags = train->flags};
    struct wire_header header = session_header(peer, WIRE_TRAIN, depart_ns);
    *packet = (struct tx_packet){
        .port = peer->port,
        .peer = peer->index,
        .to = peer->config->address,
        .depart_ns = depart_ns,
        .cookie = TX_COOKIE_TIMED | (uint64_t)(train->number & 0xffff) << 16 | train->handed,
        .body = port_zeros,
        .body_bytes = message.padding,
    };
    packet->head_bytes = (uint16_t)wire_train_encode(packet->head, &header, &message);
    session_seal(node, peer, packet->head, packet->head_bytes);
    pacer_on_sent(&node->ports[peer->port].pacer, train->shape.wire_bytes, depart_ns);
    node->train_out->sent_bytes += train->shape.wire_bytes;
    node->counters.tx_trains++;
    node->counters.tx_train_bytes += train->shape.wire_bytes;
    digest_add(&node->digest, (uint64_t)train->number << 32 ^ train->handed ^ depart_ns << 8);
}

/* What lateness spoils a train: when each packet left is known, so that it is no error by itself, but a train of another shape is
 * another question. A good part of the train is that; a timer's interrupt, each ms, makes some 10 us of it, one frame through a
 * veth more. */
static uint64_t late_ns(const struct train_sent *train)
{
    return MAX(TRAIN_LATE_NS, train_duration_ns(&train->shape) / TRAIN_LATE_PART);
}

bool train_out_next(struct node *node, uint64_t horizon_ns, struct tx_packet *packet, uint64_t now_ns)
{
    struct train_out *out = node->train_out;
    if (!out->leaving || out->schedule.next_ns > horizon_ns)
        return false;
    struct train_sent *train = leaving(out);
    const struct peer *peer = &node->peers[train->peer];
    struct pacer *pacer = &node->ports[peer->port].pacer;
    uint64_t depart_ns = MAX(out->schedule.next_ns, pacer_next_ns(pacer));
    if (now_ns > out->schedule.next_ns + late_ns(train) || peer->state != PEER_UP) {
        end_train(node, true, now_ns);
        return false;
    }
    pacer_skip(pacer, depart_ns);
    fill(node, train, depart_ns, packet);
    train->handed++;
    train_step(&out->schedule);
    if (out->schedule.next_ns == TIME_NEVER)
        end_train(node, false, now_ns);
    return true;
}

uint64_t train_out_next_ns(const struct node *node)
{
    const struct train_out *out = node->train_out;
    return out->leaving ? elapsed_ns(out->schedule.next_ns, TX_HORIZON_NS) : TIME_NEVER;
}

/* ---- what became of them ---- */

/* By the low bits of its number; NULL: it is over. */
static struct train_sent *find(struct train_out *out, uint32_t number, uint32_t mask)
{
    for (uint32_t place = out->head; place != out->tail; place++) {
        struct train_sent *train = train_at(out, place);
        if (((train->number ^ number) & mask) == 0 && !train->over)
            return train;
    }
    return NULL;
}

void train_out_on_report(struct node *node, const struct tx_report *report)
{
    struct train_out *out = node->train_out;
    uint32_t index = (uint32_t)report->cookie & 0xffff;
    struct train_sent *train = find(out, (uint32_t)(report->cookie >> 16), 0xffff);
    if (report->status == TX_REFUSED)
        node->counters.tx_trains_refused++;
    if (train == NULL || index >= train->packets || *departure(out, train, index) != 0)
        return;
    train->reported++;
    if (report->status == TX_REFUSED) {
        train->cut = true;
        return;
    }
    *departure(out, train, index) = report->sent_ns + node->ahead_ns;
    train->stamp_kind = MIN(train->stamp_kind, report->stamp_kind);
    train->left++;
}

static void forget_first(struct train_out *out)
{
    while (out->head != out->tail && train_at(out, out->head)->over)
        out->head++;
}

static void close_train(struct node *node, struct train_sent *train)
{
    struct train_out *out = node->train_out;
    train->over = true;
    if (out->leaving && train == leaving(out))
        out->leaving = false;
    forget_first(out);
}

/* What spoils it: departures against the schedule, the longest pause of which comes back. */
static uint32_t marks_of(struct train_out *out, const struct train_sent *train, uint64_t *pause_ns)
{
    uint64_t most_ns = late_ns(train);
    uint32_t marks = train->cut || train->left < train->packets ? TRAIN_CUT : 0;
    struct train_schedule schedule;
    train_begin(&schedule, &train->shape, train->start_ns);
    uint64_t before_ns = 0, due_before_ns = train->start_ns, due_last_ns = train->start_ns;
    *pause_ns = 0;
    for (uint32_t index = 0; index < train->packets; index++, train_step(&schedule)) {
        uint64_t left_ns = *departure(out, train, index), due_ns = schedule.next_ns;
        *pause_ns = MAX(*pause_ns, due_ns - due_before_ns);
        due_before_ns = due_ns;
        if (left_ns == 0)
            continue;
        marks |= left_ns > due_ns + most_ns ? TRAIN_REANCHORED : 0;
        marks |= left_ns <= before_ns && due_ns - due_last_ns > most_ns ? TRAIN_MERGED : 0;
        before_ns = left_ns;
        due_last_ns = due_ns;
    }
    return marks;
}

static void begin_record(struct train_record *record, const struct train_sent *train)
{
    record->id = train->number;
    record->shape = train->shape;
    record->start_ns = train->start_ns;
    record->count = 0;
    for (uint32_t index = 0; index < train->packets; index++)
        record->samples[index] = (struct train_sample){.index = UINT32_MAX};
}

/* False: it contradicts itself, or what was sent. */
static bool take_arrivals(struct train_record *record, const struct train_sent *train,
                          const struct control_train_report *report)
{
    struct control_arrivals at = {0};
    struct control_arrival arrival;
    if (record->count != report->fixed.first)
        return false;
    while (control_arrival_next(report, &at, &arrival)) {
        if (arrival.index >= train->packets || record->samples[arrival.index].index != UINT32_MAX)
            return false;
        record->samples[arrival.index] = (struct train_sample){
            .received_ns = arrival.came_ns, .index = arrival.index, .arrival = record->count++};
    }
    return true;
}

/* Those that went to the port as one leave it one behind the other. */
static uint64_t left_port_ns(uint64_t left_ns, uint64_t before_ns, uint64_t packet_ns)
{
    return before_ns == 0 ? left_ns : MAX(left_ns, before_ns + packet_ns);
}

static void finish_record(struct node *node, const struct train_sent *train,
                          const struct wire_train_report *told)
{
    struct train_out *out = node->train_out;
    struct train_record *record = &out->record;
    uint64_t rate_bps = node->config.ports[node->peers[train->peer].port].rate_bps, before_ns = 0;
    uint64_t packet_ns = muldiv64(train->shape.wire_bytes * 8ULL, NS_PER_S, rate_bps);
    uint64_t pause_ns;
    uint32_t kept = 0;
    record->marks = marks_of(out, train, &pause_ns);
    record->sent = train->left;
    record->sender = (struct train_floor){.stamp_kind = train->stamp_kind};
    record->receiver = (struct train_floor){.noise_ns = told->noise_ns,
                                            .granularity_ns = told->granularity_ns,
                                            .gap_ns = told->gap_ns,
                                            .batch = told->batch,
                                            .stamp_kind = told->stamp_kind};
    if (told->stamp_kind == STAMP_SOFTWARE && told->gap_ns > pause_ns + STILL_NS)
        record->marks |= TRAIN_STOOD_STILL;
    for (uint32_t index = 0; index < train->packets; index++) {
        struct train_sample sample = record->samples[index];
        uint64_t left_ns = *departure(out, train, index);
        if (left_ns == 0)
            continue;
        sample.sent_ns = before_ns = left_port_ns(left_ns, before_ns, packet_ns);
        if (sample.index != UINT32_MAX)
            record->samples[kept++] = sample;
    }
    record->count = kept;
}

enum train_news train_out_on_message(struct node *node, const struct peer *peer,
                                     const struct control_train_report *report)
{
    struct train_out *out = node->train_out;
    struct train_sent *train = find(out, report->fixed.train, UINT32_MAX);
    if (train == NULL || train->peer != peer->index || train->handed == 0)
        return TRAIN_NONE;
    if (report->fixed.answer != TRAIN_TAKEN) {
        close_train(node, train);
        return TRAIN_REFUSED;
    }
    if (report->fixed.first == 0) {
        begin_record(&out->record, train);
        out->record_spoiled = false;
    }
    out->record_spoiled |= out->record.id != train->number || !take_arrivals(&out->record, train, report);
    if (out->record_spoiled) {
        node->counters.messages_refused++;
        return TRAIN_NONE;
    }
    if (out->record.count < report->fixed.total)
        return TRAIN_NONE;
    finish_record(node, train, &report->fixed);
    close_train(node, train);
    return TRAIN_RECORDED;
}

/* Of a train that never left. NULL: another one's report is coming into the record. */
static const struct train_record *unsent(struct train_out *out, const struct train_sent *train)
{
    struct train_record *record = &out->record;
    if (record->count > 0 && find(out, record->id, UINT32_MAX) != NULL)
        return NULL;
    *record = (struct train_record){
        .id = train->number, .marks = TRAIN_CUT, .shape = train->shape, .start_ns = train->start_ns};
    return record;
}

bool train_out_give_up(struct node *node, uint64_t now_ns, const struct train_record **record)
{
    struct train_out *out = node->train_out;
    for (uint32_t place = out->head; place != out->tail; place++) {
        struct train_sent *train = train_at(out, place);
        if (train->over || now_ns < train->give_up_ns)
            continue;
        *record = train->handed == 0 ? unsent(out, train) : NULL;
        close_train(node, train);
        return true;
    }
    return false;
}

bool train_out_withdraw(struct node *node)
{
    struct train_out *out = node->train_out;
    if (!out->leaving || leaving(out)->handed > 0)
        return false;
    close_train(node, leaving(out));
    return true;
}

uint64_t train_out_give_up_ns(const struct node *node)
{
    const struct train_out *out = node->train_out;
    uint64_t next_ns = TIME_NEVER;
    for (uint32_t place = out->head; place != out->tail; place++) {
        const struct train_sent *train = &out->trains[place % TRAIN_OUT_MAX];
        if (!train->over)
            next_ns = MIN(next_ns, train->give_up_ns);
    }
    return next_ns;
}

void train_out_stop(struct node *node)
{
    struct train_out *out = node->train_out;
    out->head = out->tail;
    out->leaving = false;
}

bool train_out_idle(const struct node *node)
{
    return node->train_out->head == node->train_out->tail;
}
