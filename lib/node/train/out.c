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

/* Which of its receivers packet `index` goes to. */
static uint16_t receiver_at(const struct train_sent *train, uint32_t index)
{
    const struct train_receivers *to = &train->to;
    if (index >= train->in_turn)
        return (uint16_t)((index - train->in_turn) / to->sprint);
    if (!to->halves)
        return (uint16_t)(index % to->count);
    return index % 2 == 0 ? 0 : (uint16_t)(1 + index / 2 % (to->count - 1u));
}

/* From one of that receiver's packets to its next one. */
static uint16_t turns_of(const struct train_receivers *to, uint16_t receiver)
{
    if (!to->halves)
        return to->count;
    return receiver == 0 ? 2 : (uint16_t)(2 * (to->count - 1));
}

/* Which part of the train comes to that receiver: with sprints as if it had a few packets more. */
static void tell_part(const struct train_sent *train, uint16_t receiver, struct wire_train *message)
{
    uint32_t turns = turns_of(&train->to, receiver);
    if (train->to.sprint != 0) {
        uint32_t own = train->own[receiver];
        turns = MAX((train->packets + own - 1) / own, 2u);
        message->count = (uint16_t)(own * turns);
    }
    message->flags |= (uint16_t)(turns << WIRE_TRAIN_TURNS_SHIFT);
}

/* Whether one more of that shape may be under way, as packets of all of its peers' paths. */
static bool can_begin(struct node *node, const struct train_receivers *to, struct train_shape *shape)
{
    struct train_out *out = node->train_out;
    bool fits = train_out_room(node) && (to->count == 1 || train_out_idle(node));
    for (uint16_t receiver = 0; receiver < train_receiver_count(to) && fits; receiver++)
        fits = fits_path(node, &node->peers[to->peers[receiver]], shape);
    uint32_t used = out->head == out->tail ? 0 : out->departure_tail - train_at(out, out->head)->first;
    return fits && used + train_packets(shape) <= TRAIN_OUT_PACKETS;
}

static uint64_t port_bps(const struct node *node, const struct train_receivers *to)
{
    return node->config.ports[node->peers[to->peers[0]].port].rate_bps;
}

static uint64_t farthest_ns(const struct node *node, const struct train_receivers *to)
{
    uint64_t rtt_ns = 0;
    for (uint16_t receiver = 0; receiver < train_receiver_count(to); receiver++)
        rtt_ns = MAX(rtt_ns, node->peers[to->peers[receiver]].rtt_min_ns);
    return rtt_ns;
}

bool train_out_begin_joint(struct node *node, const struct train_receivers *to,
                           const struct train_shape *shape, uint16_t flags, uint64_t start_ns,
                           uint64_t now_ns)
{
    struct train_out *out = node->train_out;
    struct train_shape fitting = *shape;
    uint32_t in_turn = train_packets(shape);
    CHECK(to->count > 0 && to->count <= TRAIN_RECEIVERS_MAX && (!to->halves || to->count > 1));
    if (to->sprint != 0 && !train_add(&fitting, to->sprint * to->sprint_count, port_bps(node, to)))
        return false;
    if (!can_begin(node, to, &fitting))
        return false;
    uint32_t packets = train_packets(&fitting);
    uint64_t burst_ns = node->ports[node->peers[to->peers[0]].port].pacer.burst_ns;
    start_ns = MAX(start_ns, now_ns + TRAIN_LEAD_NS + burst_ns);
    struct train_sent *train = train_at(out, out->tail);
    *train = (struct train_sent){.number = out->next_number++,
                                 .to = *to,
                                 .flags = flags,
                                 .stamp_kind = STAMP_VIRTUAL,
                                 .first = out->departure_tail,
                                 .packets = packets,
                                 .in_turn = in_turn,
                                 .start_ns = start_ns,
                                 .shape = fitting};
    for (uint32_t index = 0; index < packets; index++) {
        *departure(out, train, index) = 0;
        train->own[receiver_at(train, index)]++;
    }
    out->departure_tail += packets;
    out->tail++;
    out->leaving = true;
    out->held = false;
    out->end_ns = start_ns + train_duration_ns(&train->shape);
    train->give_up_ns = out->end_ns + 2 * farthest_ns(node, to) + TRAIN_PATIENCE_NS;
    train_begin(&out->schedule, &train->shape, start_ns);
    core_schedule(node, train->give_up_ns);
    digest_add(&node->digest, (uint64_t)train->number << 32 ^ packets ^ start_ns << 8);
    return true;
}

bool train_out_begin(struct node *node, const struct peer *peer, const struct train_shape *shape,
                     uint16_t flags, uint64_t start_ns, uint64_t now_ns)
{
    const struct train_receivers to = {.count = 1, .peers = {peer->index}};
    return train_out_begin_joint(node, &to, shape, flags, start_ns, now_ns);
}

static struct train_sent *leaving(struct train_out *out)
{
    return train_at(out, out->tail - 1);
}

/* Whose packet of the train is the next one. */
static struct peer *turn_of(struct node *node, const struct train_sent *train)
{
    return &node->peers[train->to.peers[receiver_at(train, train->handed)]];
}

static uint16_t leaving_port(const struct node *node)
{
    return node->peers[leaving(node->train_out)->to.peers[0]].port;
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
    if (!out->leaving || leaving_port(node) != port)
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
    if (!out->leaving || !out->held || leaving_port(node) != port)
        return at_ns;
    bool fits = at_ns + packet_ns(node, port) <= out->schedule.next_ns;
    return fits ? at_ns : MAX(at_ns, out->schedule.next_ns);
}

static void forget_first(struct train_out *out)
{
    while (out->head != out->tail && train_at(out, out->head)->over)
        out->head++;
}

/* Nothing more is heard of a train that its receiver has asked for beside others'. */
static void end_train(struct node *node, bool cut, uint64_t now_ns)
{
    struct train_out *out = node->train_out;
    leaving(out)->cut |= cut;
    if (leaving(out)->handed == 0)
        leaving(out)->give_up_ns = now_ns; /* nothing will be told of it */
    out->leaving = false;
    out->exact_ns = pacer_next_ns(&node->ports[leaving_port(node)].pacer);
    out->exact_port = leaving_port(node);
    leaving(out)->over |= (leaving(out)->flags & WIRE_TRAIN_GATHERED) != 0;
    forget_first(out);
    core_schedule(node, now_ns); /* the next one may begin */
}

static void fill(struct node *node, struct train_sent *train, uint64_t depart_ns, struct tx_packet *packet)
{
    struct peer *peer = turn_of(node, train);
    uint64_t rest_ns = elapsed_ns(node->train_out->end_ns, depart_ns);
    struct wire_train message = {
        .train = train->number,
        .index = (uint16_t)train->handed,
        .count = (uint16_t)train->packets,
        .rest_us = (uint32_t)((rest_ns + NS_PER_US - 1) / NS_PER_US),
        .padding = (uint16_t)(train->shape.wire_bytes - peer->frame_overhead - WIRE_TRAIN_BYTES),
        .flags = train->flags};
    if (train->to.count > 1)
        tell_part(train, receiver_at(train, train->handed), &message);
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
 * veth more. Where the program says itself when a packet left, it errs while it is late, and that part is smaller;
 * before a train's first report it is as with the one before. */
static uint64_t late_ns(const struct train_out *out, const struct train_sent *train)
{
    uint64_t lasts_ns = train_duration_ns(&train->shape);
    if ((train->reported > 0 ? train->stamp_kind : out->stamp_kind) == STAMP_SOFTWARE)
        return MAX(TRAIN_LATE_NS, lasts_ns / TRAIN_LATE_PART);
    return MAX(TRAIN_LATE_KNOWN_NS, lasts_ns / TRAIN_LATE_KNOWN_PART);
}

bool train_out_next(struct node *node, uint64_t horizon_ns, struct tx_packet *packet, uint64_t now_ns)
{
    struct train_out *out = node->train_out;
    if (!out->leaving || out->schedule.next_ns > horizon_ns)
        return false;
    struct train_sent *train = leaving(out);
    const struct peer *peer = turn_of(node, train);
    struct pacer *pacer = &node->ports[peer->port].pacer;
    uint64_t depart_ns = MAX(out->schedule.next_ns, pacer_next_ns(pacer));
    if (now_ns > out->schedule.next_ns + late_ns(out, train) || peer->state != PEER_UP) {
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

static void close_train(struct node *node, struct train_sent *train)
{
    struct train_out *out = node->train_out;
    train->over = true;
    out->stamp_kind = train->reported > 0 ? train->stamp_kind : out->stamp_kind;
    out->closed = (uint32_t)(train - out->trains);
    if (out->leaving && train == leaving(out))
        out->leaving = false;
    forget_first(out);
}

/* What spoils it: departures against the schedule. */
static uint32_t marks_of(struct train_out *out, const struct train_sent *train)
{
    uint64_t most_ns = late_ns(out, train);
    uint32_t marks = train->cut || train->left < train->packets ? TRAIN_CUT : 0;
    struct train_schedule schedule;
    train_begin(&schedule, &train->shape, train->start_ns);
    uint64_t before_ns = 0, due_last_ns = train->start_ns;
    for (uint32_t index = 0; index < train->packets; index++, train_step(&schedule)) {
        uint64_t left_ns = *departure(out, train, index), due_ns = schedule.next_ns;
        if (left_ns == 0)
            continue;
        marks |= left_ns > due_ns + most_ns ? TRAIN_REANCHORED : 0;
        marks |= left_ns <= before_ns && due_ns - due_last_ns > most_ns ? TRAIN_MERGED : 0;
        before_ns = left_ns;
        due_last_ns = due_ns;
    }
    return marks;
}

/* The longest time by the schedule in which that receiver has no packet of it. */
static uint64_t pause_of(const struct train_sent *train, uint16_t receiver)
{
    struct train_schedule schedule;
    uint64_t before_ns = train->start_ns, pause_ns = 0;
    train_begin(&schedule, &train->shape, train->start_ns);
    for (uint32_t index = 0; index < train->packets; index++, train_step(&schedule)) {
        if (receiver_at(train, index) != receiver)
            continue;
        pause_ns = MAX(pause_ns, schedule.next_ns - before_ns);
        before_ns = schedule.next_ns;
    }
    return pause_ns;
}

/* That receiver's report begins, or begins anew. */
static void begin_part(struct train_told *told, const struct train_sent *train, uint16_t receiver)
{
    told->came[receiver] = 0;
    told->spoiled_mask &= (uint16_t) ~(1u << receiver);
    told->beside_mask &= (uint16_t) ~(1u << receiver);
    for (uint32_t index = 0; index < train->packets; index++)
        if (receiver_at(train, index) == receiver)
            told->arrivals[index].index = UINT32_MAX;
}

/* False: it contradicts itself, or what was sent. */
static bool take_arrivals(struct train_told *told, const struct train_sent *train, uint16_t receiver,
                          const struct control_train_report *report)
{
    struct control_arrivals at = {0};
    struct control_arrival arrival;
    if (told->came[receiver] != report->fixed.first)
        return false;
    while (control_arrival_next(report, &at, &arrival)) {
        bool sent = arrival.index < train->packets && receiver_at(train, arrival.index) == receiver;
        if (!sent || told->arrivals[arrival.index].index != UINT32_MAX)
            return false;
        told->arrivals[arrival.index] = (struct train_sample){
            .received_ns = arrival.came_ns, .index = arrival.index, .arrival = told->came[receiver]++};
    }
    told->floors[receiver] = (struct train_floor){.noise_ns = report->fixed.noise_ns,
                                                  .granularity_ns = report->fixed.granularity_ns,
                                                  .gap_ns = report->fixed.gap_ns,
                                                  .batch = report->fixed.batch,
                                                  .stamp_kind = report->fixed.stamp_kind};
    if ((report->fixed.wait_ms & CONTROL_TRAIN_BESIDE) != 0)
        told->beside_mask |= (uint16_t)(1u << receiver);
    return true;
}

/* Those that went to the port as one leave it one behind the other; when is known where it is not the program that says so. */
static uint64_t left_port_ns(const struct train_sent *train, uint64_t left_ns, uint64_t before_ns,
                             uint64_t packet_ns)
{
    bool known = train->stamp_kind != STAMP_SOFTWARE || before_ns == 0;
    return known ? left_ns : MAX(left_ns, before_ns + packet_ns);
}

/* Of the packets in turn, or of the sprint. */
static void make_record(struct node *node, const struct train_sent *train, uint16_t receiver, bool sprint)
{
    struct train_out *out = node->train_out;
    const struct train_told *told = &out->told;
    struct train_record *record = &out->record;
    const struct train_floor *floor = &told->floors[receiver];
    uint64_t rate_bps = port_bps(node, &train->to), before_ns = 0;
    uint64_t packet_ns = muldiv64(train->shape.wire_bytes * 8ULL, NS_PER_S, rate_bps);
    record->id = train->number;
    record->shape = train->shape;
    if (sprint) {
        record->shape.piece_count = 0;
        train_add(&record->shape, train->to.sprint, rate_bps);
    } else {
        record->shape.piece_count -= train->to.sprint != 0;
    }
    record->start_ns = train->start_ns;
    record->turns = sprint ? 1 : turns_of(&train->to, receiver);
    record->beside = (told->beside_mask >> receiver & 1) != 0;
    record->marks = marks_of(out, train);
    record->sender = (struct train_floor){.stamp_kind = train->stamp_kind};
    record->receiver = *floor;
    if (floor->stamp_kind == STAMP_SOFTWARE && floor->gap_ns > pause_of(train, receiver) + STILL_NS)
        record->marks |= TRAIN_STOOD_STILL;
    record->sent = record->count = 0;
    for (uint32_t index = 0; index < train->packets; index++) {
        struct train_sample sample = told->arrivals[index];
        uint64_t left_ns = *departure(out, train, index);
        if (left_ns == 0)
            continue;
        sample.sent_ns = before_ns = left_port_ns(train, left_ns, before_ns, packet_ns);
        if (receiver_at(train, index) != receiver || (index >= train->in_turn) != sprint)
            continue;
        record->sent++;
        if (sample.index != UINT32_MAX)
            record->samples[record->count++] = sample;
    }
}

static const struct train_record *record_of(struct node *node, uint16_t receiver, bool sprint)
{
    struct train_out *out = node->train_out;
    const struct train_sent *train = train_at(out, out->closed);
    if (receiver >= (sprint ? train->to.sprint_count : train->to.count) || !out->told.begun ||
        out->told.number != train->number || (train->told_mask >> receiver & 1) == 0)
        return NULL;
    make_record(node, train, receiver, sprint);
    return &out->record;
}

const struct train_record *train_out_part(struct node *node, uint16_t receiver)
{
    return record_of(node, receiver, false);
}

const struct train_record *train_out_sprint(struct node *node, uint16_t receiver)
{
    return record_of(node, receiver, true);
}

/* Which of the train's receivers it is; their count: none. */
static uint16_t receiver_of(const struct train_sent *train, uint16_t peer)
{
    uint16_t receiver = 0;
    while (receiver < train_receiver_count(&train->to) && train->to.peers[receiver] != peer)
        receiver++;
    return receiver;
}

/* True: all of that receiver's part is known. */
static bool take_report(struct node *node, const struct train_sent *train, uint16_t receiver,
                        const struct control_train_report *report)
{
    struct train_told *told = &node->train_out->told;
    uint16_t bit = (uint16_t)(1u << receiver);
    if (!told->begun || told->number != train->number)
        *told = (struct train_told){.begun = true, .number = train->number};
    if (report->fixed.first == 0)
        begin_part(told, train, receiver);
    if ((told->spoiled_mask & bit) != 0 || !take_arrivals(told, train, receiver, report)) {
        told->spoiled_mask |= bit;
        node->counters.messages_refused++;
        return false;
    }
    return told->came[receiver] >= report->fixed.total;
}

/* Of a joint train two parts will do: the others' are waited for as long as a report takes that is not lost. */
static void hurry(struct node *node, struct train_sent *train)
{
    if (__builtin_popcount(train->told_mask) < 2)
        return;
    uint64_t rtt_ns = farthest_ns(node, &train->to);
    train->give_up_ns =
        MIN(train->give_up_ns, node->train_out->end_ns + rtt_ns + rtt_ns / 4 + TRAIN_HURRY_NS);
    core_schedule(node, train->give_up_ns);
}

enum train_news train_out_on_message(struct node *node, const struct peer *peer,
                                     const struct control_train_report *report)
{
    struct train_out *out = node->train_out;
    struct train_sent *train = find(out, report->fixed.train, UINT32_MAX);
    uint16_t receiver = train == NULL ? 0 : receiver_of(train, peer->index);
    if (train == NULL || receiver == train_receiver_count(&train->to) || train->handed == 0 ||
        (train->ended_mask >> receiver & 1) != 0)
        return TRAIN_NONE;
    bool taken = report->fixed.answer == TRAIN_TAKEN;
    if (taken && !take_report(node, train, receiver, report))
        return TRAIN_NONE;
    train->told_mask |= (uint16_t)(taken << receiver);
    train->ended_mask |= (uint16_t)(1u << receiver);
    if (train->ended_mask != (1u << train_receiver_count(&train->to)) - 1) {
        hurry(node, train);
        return TRAIN_NONE;
    }
    close_train(node, train);
    if (train->told_mask == 0)
        return TRAIN_REFUSED;
    train_out_part(node, 0);
    return TRAIN_RECORDED;
}

/* Of a train that never left. */
static const struct train_record *unsent(struct train_out *out, const struct train_sent *train)
{
    struct train_record *record = &out->record;
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
        bool own =
            (train->flags & WIRE_TRAIN_GATHERED) == 0; /* not another one's, of which nobody here waits */
        *record = train->handed == 0 ? unsent(out, train) : NULL;
        close_train(node, train);
        if (own)
            return true;
    }
    return false;
}

bool train_out_withdraw(struct node *node)
{
    struct train_out *out = node->train_out;
    if (!out->leaving || leaving(out)->handed > 0 || (leaving(out)->flags & WIRE_TRAIN_GATHERED) != 0)
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

static bool gathered_leaves(struct train_out *out)
{
    return out->leaving && (leaving(out)->flags & WIRE_TRAIN_GATHERED) != 0;
}

void train_out_stop(struct node *node)
{
    struct train_out *out = node->train_out;
    out->leaving = gathered_leaves(out);
    out->head = out->tail - out->leaving;
}

bool train_out_idle(const struct node *node)
{
    struct train_out *out = node->train_out;
    return out->head == out->tail - gathered_leaves(out);
}
