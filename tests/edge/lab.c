#include "lab.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "edge/receiver.h"
#include "edge/sender.h"

#define CLOCK_OFFSET_NS 7777777777777ULL /* of the receivers */
#define SAMPLE_NS       (100 * NS_PER_US)
#define BUCKETS         2000 /* of 100 us: queues to 200 ms */
#define ECT_0           2
#define CE              3

enum lab_kind { LAB_DATA, LAB_ACK, LAB_WAKE };

struct lab_event {
    uint64_t at_ns;
    uint64_t order;
    uint16_t edge;
    uint8_t kind;
    uint64_t number, floor, content;
    uint32_t stamp;
    bool marked;
    struct lab_ack *ack;
};

struct lab_ack {
    uint32_t stamp;
    struct wire_ack fixed;
    struct lab_ack *next; /* in the pool */
    uint8_t runs[WIRE_ACK_RUNS_MAX];
};

struct lab_queue { /* events in order of time: only the first is in the heap */
    struct lab_event *items;
    uint64_t head, tail, mask;
};

struct lab_flow {
    struct lab_edge config;
    struct sender sender;
    struct receiver receiver;
    struct netem_link way, back;
    struct lab_queue data;
    void *memory;
    uint64_t next_content, content_end;
    uint64_t *repairs;
    uint64_t repair_head, repair_tail, repair_mask;
    uint64_t *have;  /* bits of contents received, a ring */
    uint64_t *acked; /* … and acked */
    uint64_t have_mask;
    uint64_t acked_count;
    uint64_t wake_ns; /* of the event in the heap that counts */
    bool running;
};

struct lab {
    const struct lab_config *config;
    struct lab_result *result;
    struct netem_link bottleneck;
    struct lab_flow flows[LAB_EDGES_MAX];
    struct lab_event *heap;
    size_t heap_count, heap_room;
    uint64_t order, now_ns, sample_ns, grain_ns;
    uint32_t grain, step;
    uint64_t queue_buckets[BUCKETS + 1], queue_samples;
    struct lab_ack *free_acks;
    bool down;
    struct rng rng;
};

/* ---- events ---- */

static bool before(const struct lab_event *a, const struct lab_event *b)
{
    return a->at_ns < b->at_ns || (a->at_ns == b->at_ns && a->order < b->order);
}

static void push(struct lab *lab, const struct lab_event *event)
{
    if (lab->heap_count == lab->heap_room) {
        lab->heap_room = lab->heap_room ? lab->heap_room * 2 : 4096;
        lab->heap = realloc(lab->heap, lab->heap_room * sizeof(*lab->heap));
        CHECK(lab->heap != NULL);
    }
    size_t index = lab->heap_count++;
    while (index > 0 && before(event, &lab->heap[(index - 1) / 2])) {
        lab->heap[index] = lab->heap[(index - 1) / 2];
        index = (index - 1) / 2;
    }
    lab->heap[index] = *event;
}

static struct lab_event pop(struct lab *lab)
{
    struct lab_event top = lab->heap[0], last = lab->heap[--lab->heap_count];
    size_t index = 0;
    for (;;) {
        size_t child = 2 * index + 1;
        if (child >= lab->heap_count)
            break;
        if (child + 1 < lab->heap_count && before(&lab->heap[child + 1], &lab->heap[child]))
            child++;
        if (!before(&lab->heap[child], &last))
            break;
        lab->heap[index] = lab->heap[child];
        index = child;
    }
    lab->heap[index] = last;
    return top;
}

static void add(struct lab *lab, struct lab_event event)
{
    event.order = lab->order++;
    push(lab, &event);
}

/* Data of one edge mostly comes in order: a queue in front of the heap keeps that small. */
static void add_data(struct lab *lab, struct lab_flow *flow, struct lab_event event)
{
    struct lab_queue *queue = &flow->data;
    event.order = lab->order++;
    bool empty = queue->head == queue->tail;
    if (!empty && event.at_ns < queue->items[(queue->tail - 1) & queue->mask].at_ns) {
        event.order |= 1ULL << 63; /* not the queue's first: nothing follows it */
        push(lab, &event);
        return;
    }
    CHECK(queue->tail - queue->head <= queue->mask);
    queue->items[queue->tail++ & queue->mask] = event;
    if (empty)
        push(lab, &event);
}

static void data_popped(struct lab *lab, struct lab_flow *flow, const struct lab_event *event)
{
    struct lab_queue *queue = &flow->data;
    if (event->order >> 63)
        return;
    queue->head++;
    if (queue->head != queue->tail)
        push(lab, &queue->items[queue->head & queue->mask]);
}

static struct lab_ack *ack_new(struct lab *lab)
{
    struct lab_ack *ack = lab->free_acks;
    if (ack == NULL)
        ack = malloc(sizeof(*ack));
    else
        lab->free_acks = ack->next;
    CHECK(ack != NULL);
    return ack;
}

static void ack_give(struct lab *lab, struct lab_ack *ack)
{
    ack->next = lab->free_acks;
    lab->free_acks = ack;
}

/* ---- clocks ---- */

static uint64_t far_ns(const struct lab *lab, const struct lab_flow *flow)
{
    const struct lab_edge *edge = &flow->config;
    int64_t gained_ns = (int64_t)lab->now_ns / 1000000 * edge->skew_ppm;
    gained_ns += (int64_t)lab->now_ns % 1000000 * edge->skew_ppm / 1000000;
    if (edge->ahead_ns != 0 && lab->now_ns >= edge->ahead_at_ns)
        gained_ns += edge->ahead_ns;
    return lab->now_ns + CLOCK_OFFSET_NS + (uint64_t)gained_ns;
}

/* When the receiver's clock will show that, or a little later. */
static uint64_t when_far_ns(const struct lab *lab, const struct lab_flow *flow, uint64_t clock_ns)
{
    uint64_t wait_ns = elapsed_ns(clock_ns, far_ns(lab, flow));
    return lab->now_ns + wait_ns + (flow->config.skew_ppm != 0 ? wait_ns / 1000 + 1 : 0);
}

/* ---- the owner of a sender ---- */

static bool test_bit(const uint64_t *bits, uint64_t mask, uint64_t n)
{
    return bits[(n & mask) / 64] >> (n & 63) & 1;
}

static bool on_acked(void *owner, uint64_t content, uint16_t tag)
{
    struct lab_flow *flow = owner;
    (void)tag;
    if (content + flow->have_mask < flow->next_content || test_bit(flow->acked, flow->have_mask, content))
        return false;
    flow->acked[(content & flow->have_mask) / 64] |= 1ULL << (content & 63);
    flow->acked_count++;
    return true;
}

static bool on_lost(void *owner, uint64_t content, uint16_t tag)
{
    struct lab_flow *flow = owner;
    (void)tag;
    if (content + flow->have_mask < flow->next_content || test_bit(flow->acked, flow->have_mask, content))
        return false;
    CHECK(flow->repair_tail - flow->repair_head <= flow->repair_mask);
    flow->repairs[flow->repair_tail++ & flow->repair_mask] = content;
    return true;
}

static bool measured(const struct lab *lab)
{
    return lab->now_ns >= lab->config->measure_from_ns && lab->now_ns < lab->config->measure_to_ns;
}

static void transmit(struct lab *lab, struct lab_flow *flow, uint16_t index, uint64_t content, bool repair)
{
    uint64_t number =
        sender_on_sent(&flow->sender, content, 0, flow->config.packet_bytes, repair, lab->now_ns);
    struct netem_decision gate =
        netem_send(&lab->bottleneck, flow->config.packet_bytes, flow->config.packet_bytes - 38, lab->now_ns);
    bool dropped = gate.verdict == NETEM_QUEUE_DROP;
    lab->result->offered_all++;
    lab->result->queue_drops_all += dropped;
    lab->result->offered_series[lab->grain]++;
    lab->result->queue_drops_series[lab->grain] += dropped;
    if (measured(lab)) {
        lab->result->offered++;
        lab->result->queue_drops += dropped;
        lab->result->policer_drops += gate.verdict != NETEM_PASS && gate.verdict != NETEM_QUEUE_DROP;
        lab->result->lost += gate.verdict != NETEM_PASS;
    }
    if (gate.verdict != NETEM_PASS || lab->down)
        return;
    struct netem_decision way =
        netem_send(&flow->way, flow->config.packet_bytes, flow->config.packet_bytes - 38, gate.arrive_ns);
    if (way.verdict != NETEM_PASS) {
        lab->result->lost += measured(lab);
        return;
    }
    add_data(lab, flow,
             (struct lab_event){.at_ns = way.arrive_ns,
                                .edge = index,
                                .kind = LAB_DATA,
                                .number = number,
                                .floor = sender_floor(&flow->sender),
                                .content = content,
                                .marked = netem_mark(&lab->bottleneck, &gate, ECT_0) == CE,
                                .stamp = wire_stamp(lab->now_ns)});
}

/* A relay that waits for its own parent: when it has more; now_ns where it has some already. */
static uint64_t held_until_ns(const struct lab *lab, const struct lab_flow *flow)
{
    const struct lab_edge *edge = &flow->config;
    uint64_t turns = edge->trickle_ns == 0 ? 0 : lab->now_ns / edge->trickle_ns;
    if (lab->now_ns >= edge->hold_until_ns || flow->next_content < edge->hold_packets + turns)
        return lab->now_ns;
    return edge->trickle_ns == 0 ? edge->hold_until_ns
                                 : MIN(edge->hold_until_ns, (turns + 1) * edge->trickle_ns);
}

/* Sends what may go now; returns when the next packet may go. */
static uint64_t send_all(struct lab *lab, struct lab_flow *flow, uint16_t index)
{
    for (;;) {
        while (flow->repair_head < flow->repair_tail &&
               test_bit(flow->acked, flow->have_mask, flow->repairs[flow->repair_head & flow->repair_mask]))
            flow->repair_head++;
        bool repair = flow->repair_head < flow->repair_tail;
        bool none = flow->next_content >= flow->content_end;
        uint64_t held_ns = none ? TIME_NEVER : held_until_ns(lab, flow);
        if (!repair && held_ns > lab->now_ns) {
            sender_on_limited(&flow->sender, EDGE_LIMIT_application);
            return held_ns;
        }
        enum edge_limit limit;
        uint64_t at_ns = sender_send_ns(&flow->sender, flow->config.packet_bytes, repair, &limit);
        if (at_ns == TIME_NEVER)
            sender_on_limited(&flow->sender, limit);
        if (at_ns > lab->now_ns)
            return at_ns;
        uint64_t content =
            repair ? flow->repairs[flow->repair_head++ & flow->repair_mask] : flow->next_content++;
        if (!repair) {
            flow->have[(content & flow->have_mask) / 64] &= ~(1ULL << (content & 63));
            flow->acked[(content & flow->have_mask) / 64] &= ~(1ULL << (content & 63));
        }
        transmit(lab, flow, index, content, repair);
    }
}

static void send_acks(struct lab *lab, struct lab_flow *flow, uint16_t index)
{
    struct lab_ack *ack = ack_new(lab);
    while (receiver_ack(&flow->receiver, &ack->fixed, ack->runs, far_ns(lab, flow))) {
        uint32_t ip_bytes = (uint32_t)WIRE_ACK_BYTES + ack->fixed.run_bytes + 28;
        uint32_t wire_bytes = ip_bytes + 38;
        ack->fixed.credit = flow->receiver.window_packets;
        lab->result->edges[index].feedback_bytes += wire_bytes;
        ack->stamp = wire_stamp(far_ns(lab, flow));
        struct netem_decision back = netem_send(&flow->back, wire_bytes, ip_bytes, lab->now_ns);
        if (back.verdict == NETEM_PASS && !lab->down) {
            bool longer = flow->config.longer_ns != 0 && lab->now_ns >= flow->config.longer_at_ns;
            uint64_t at_ns = back.arrive_ns + (uint64_t)(longer ? flow->config.longer_ns : 0);
            add(lab, (struct lab_event){.at_ns = at_ns, .edge = index, .kind = LAB_ACK, .ack = ack});
            ack = ack_new(lab);
        }
    }
    ack_give(lab, ack);
}

static void take_data(struct lab *lab, struct lab_flow *flow, const struct lab_event *event)
{
    struct lab_edge_result *result = &lab->result->edges[event->edge];
    enum receiver_verdict verdict = receiver_check(&flow->receiver, event->number, event->floor);
    CHECK(verdict != RECEIVER_BEYOND_WINDOW);
    receiver_on_packet(&flow->receiver, event->number, event->floor, event->stamp, flow->config.packet_bytes,
                       event->marked, far_ns(lab, flow));
    if (verdict == RECEIVER_DUPLICATE || test_bit(flow->have, flow->have_mask, event->content))
        return;
    flow->have[(event->content & flow->have_mask) / 64] |= 1ULL << (event->content & 63);
    result->new_packets += measured(lab);
    if (lab->grain < LAB_SERIES_MAX)
        result->series[lab->grain]++;
}

static void wake_at(struct lab *lab, struct lab_flow *flow, uint16_t index, uint64_t at_ns)
{
    at_ns = MAX(at_ns, lab->now_ns + 1);
    if (at_ns >= flow->wake_ns)
        return;
    flow->wake_ns = at_ns;
    add(lab, (struct lab_event){.at_ns = at_ns, .edge = index, .kind = LAB_WAKE});
}

/* Everything that an edge's two ends want to do now. */
static void turn(struct lab *lab, uint16_t index)
{
    struct lab_flow *flow = &lab->flows[index];
    const struct sender_events events = {
        .on_acked = on_acked, .on_lost = on_lost, .on_probe = on_lost, .owner = flow};
    if (!flow->running || (flow->config.stop_ns > 0 && lab->now_ns >= flow->config.stop_ns))
        return;
    send_acks(lab, flow, index);
    sender_on_tick(&flow->sender, lab->now_ns, &events);
    uint64_t next_ns = send_all(lab, flow, index);
    next_ns = MIN(next_ns, sender_next_ns(&flow->sender));
    uint64_t receiver_ns = receiver_next_ns(&flow->receiver);
    if (receiver_ns != TIME_NEVER)
        next_ns = MIN(next_ns, when_far_ns(lab, flow, receiver_ns));
    struct lab_edge_result *result = &lab->result->edges[index];
    result->in_flight_max_packets = MAX(result->in_flight_max_packets, flow->sender.in_flight_packets);
    if (flow->acked_count == flow->content_end && result->complete_ns == 0)
        result->complete_ns = lab->now_ns;
    if (next_ns != TIME_NEVER)
        wake_at(lab, flow, index, next_ns);
}

/* ---- set-up ---- */

static uint32_t power_above(uint64_t value, uint32_t least)
{
    uint32_t power = least;
    while (power < value && power < 1u << 22)
        power *= 2;
    return power;
}

static void flow_open(struct lab *lab, uint16_t index)
{
    const struct lab_config *config = lab->config;
    struct lab_flow *flow = &lab->flows[index];
    flow->config = config->edges[index];
    struct lab_edge *edge = &flow->config;
    edge->packet_bytes = edge->packet_bytes > 0 ? edge->packet_bytes : LAB_PACKET_BYTES;
    uint64_t rate_max = config->bottleneck.rate_bps;
    for (uint32_t step = 0; step < config->step_count; step++)
        rate_max = MAX(rate_max, config->steps[step].rate_bps);
    uint64_t span_ns = edge->rtt_ns + 2 * edge->jitter_ns + edge->delay_some_ns + 250 * NS_PER_MS;
    uint32_t window = power_above(5 * bytes_within(rate_max, span_ns) / edge->packet_bytes / 2, 4096);
    struct sender_config sender_config = {.window_packets = window, .packet_bytes_max = edge->packet_bytes};
    size_t bytes = sender_bytes(&sender_config) + receiver_bytes(window);
    struct arena arena;
    flow->memory = aligned_alloc(ARENA_ALIGN, bytes);
    CHECK(flow->memory != NULL);
    arena_init(&arena, flow->memory, bytes);
    sender_init(&flow->sender, &sender_config, &arena);
    receiver_init(&flow->receiver, window, &arena);
    struct netem_config way = {.delay_ns = edge->rtt_ns / 2,
                               .jitter_ns = edge->jitter_ns,
                               .reorder = edge->reorder,
                               .loss_ppb = edge->loss_ppb,
                               .delay_some_ppb = edge->delay_some_ppb,
                               .delay_some_ns = edge->delay_some_ns};
    netem_init(&flow->way, &way, rng_next(&lab->rng), NULL, 0);
    way.loss_ppb = edge->loss_back_ppb;
    netem_init(&flow->back, &way, rng_next(&lab->rng), NULL, 0);
    flow->data.mask = window - 1;
    flow->data.items = malloc(window * sizeof(*flow->data.items));
    flow->repair_mask = 2 * (uint64_t)window - 1;
    flow->repairs = malloc((flow->repair_mask + 1) * sizeof(*flow->repairs));
    flow->have_mask = 8 * (uint64_t)window - 1;
    flow->have = calloc((flow->have_mask + 1) / 64, 8);
    flow->acked = calloc((flow->have_mask + 1) / 64, 8);
    CHECK(flow->data.items && flow->repairs && flow->have && flow->acked);
    flow->content_end = edge->limit_bytes ? edge->limit_bytes / edge->packet_bytes : UINT64_MAX;
    flow->wake_ns = edge->start_ns;
    add(lab, (struct lab_event){.at_ns = edge->start_ns, .edge = index, .kind = LAB_WAKE});
}

static void flow_start(struct lab *lab, struct lab_flow *flow)
{
    const struct lab_edge *edge = &flow->config;
    flow->running = true;
    sender_set_rtt(&flow->sender, edge->rtt_ns);
    receiver_set_rtt(&flow->receiver, edge->rtt_ns);
    sender_set_congestion(&flow->sender, edge->type, edge->initial_bps, edge->known, lab->now_ns);
    if (edge->cap_bps > 0)
        sender_set_cap(&flow->sender, edge->cap_bps);
}

static void flow_close(struct lab *lab, uint16_t index)
{
    struct lab_flow *flow = &lab->flows[index];
    struct lab_edge_result *result = &lab->result->edges[index];
    const struct sender_counters *counters = &flow->sender.counters;
    result->sent = counters->sent_packets;
    result->repairs = counters->repairs;
    result->spurious = counters->spurious_repairs;
    result->tail_probes = counters->tail_probes;
    result->data_bytes = counters->sent_bytes;
    free(flow->memory);
    free(flow->data.items);
    free(flow->repairs);
    free(flow->have);
    free(flow->acked);
}

/* ---- watching ---- */

static void sample_queue(struct lab *lab)
{
    for (; lab->sample_ns <= lab->now_ns; lab->sample_ns += SAMPLE_NS) {
        uint64_t queue_ns = netem_queue_ns(&lab->bottleneck, lab->sample_ns);
        if (lab->sample_ns < lab->config->measure_from_ns || lab->sample_ns >= lab->config->measure_to_ns)
            continue;
        lab->queue_buckets[MIN(queue_ns / SAMPLE_NS, (uint64_t)BUCKETS)]++;
        lab->queue_samples++;
        lab->result->queue_max_ns = MAX(lab->result->queue_max_ns, queue_ns);
    }
}

static uint64_t queue_percentile(const struct lab *lab, uint64_t percent)
{
    uint64_t seen = 0, bucket = 0;
    for (; bucket < BUCKETS; bucket++) {
        seen += lab->queue_buckets[bucket];
        if (seen * 100 >= lab->queue_samples * percent)
            break;
    }
    return bucket * SAMPLE_NS;
}

static void print_grain(const struct lab *lab)
{
    const struct lab_config *config = lab->config;
    printf("%8.3f q %7.2f ms", (double)lab->grain_ns / 1e9,
           (double)lab->result->queue_series_us[lab->grain] / 1e3);
    for (uint32_t index = 0; index < config->edge_count; index++) {
        const struct lab_flow *flow = &lab->flows[index];
        double got = lab->result->edges[index].series[lab->grain] * flow->config.packet_bytes * 8e9 /
                     (double)config->series_ns;
        if (flow->running)
            printf(" | %8.2f got %8.2f", (double)flow->sender.congestion.rate_bps / 1e6, got / 1e6);
    }
    struct congestion_view view;
    const struct congestion *congestion =
        &lab->flows[MIN(config->trace, config->edge_count) - 1].sender.congestion;
    if (congestion->type != NULL && congestion->type->view != NULL) {
        congestion->type->view(congestion, &view);
        printf(" %s q %.2f ms q* %.2f J %.2f C %.1f p0 %.2f%% limit %.2f", view.phase,
               (double)view.queue_ns / 1e6, (double)view.target_ns / 1e6, (double)view.jitter_ns / 1e6,
               (double)view.capacity_bps / 1e6, view.base_loss_ppm / 1e4,
               view.buffer_ns == TIME_NEVER ? -1.0 : (double)view.buffer_ns / 1e6);
    }
    printf("\n");
}

static void end_grains(struct lab *lab)
{
    while (lab->config->series_ns > 0 && lab->now_ns >= lab->grain_ns + lab->config->series_ns &&
           lab->grain + 1 < LAB_SERIES_MAX) {
        lab->grain_ns += lab->config->series_ns;
        lab->result->queue_series_us[lab->grain] =
            (uint32_t)(netem_queue_ns(&lab->bottleneck, lab->grain_ns) / NS_PER_US);
        if (lab->config->trace > 0)
            print_grain(lab);
        lab->grain++;
    }
}

static void take_steps(struct lab *lab)
{
    while (lab->step < lab->config->step_count && lab->config->steps[lab->step].at_ns <= lab->now_ns) {
        const struct lab_step *step = &lab->config->steps[lab->step++];
        struct netem_config config = lab->bottleneck.config;
        if (step->rate_bps > 0)
            config.rate_bps = step->rate_bps;
        netem_set(&lab->bottleneck, &config);
        lab->down = step->down;
    }
}

static void handle(struct lab *lab, const struct lab_event *event)
{
    struct lab_flow *flow = &lab->flows[event->edge];
    const struct sender_events events = {
        .on_acked = on_acked, .on_lost = on_lost, .on_probe = on_lost, .owner = flow};
    switch ((enum lab_kind)event->kind) {
    case LAB_DATA:
        data_popped(lab, flow, event);
        take_data(lab, flow, event);
        if (receiver_next_ns(&flow->receiver) > far_ns(lab, flow)) {
            wake_at(lab, flow, event->edge, when_far_ns(lab, flow, receiver_next_ns(&flow->receiver)));
            return;
        }
        break;
    case LAB_ACK: {
        struct wire_ack_view view = {
            .fixed = event->ack->fixed, .stamp = event->ack->stamp, .runs = event->ack->runs};
        CHECK(sender_on_ack(&flow->sender, &view, lab->now_ns, &events));
        ack_give(lab, event->ack);
        break;
    }
    case LAB_WAKE:
        if (!flow->running && lab->now_ns >= flow->config.start_ns)
            flow_start(lab, flow);
        if (flow->wake_ns != lab->now_ns)
            return; /* an earlier one took its place */
        flow->wake_ns = TIME_NEVER;
        break;
    }
    turn(lab, event->edge);
}

void lab_run(const struct lab_config *config, struct lab_result *result)
{
    struct lab *lab = calloc(1, sizeof(*lab));
    CHECK(lab != NULL);
    memset(result, 0, sizeof(*result));
    lab->config = config;
    lab->result = result;
    rng_init(&lab->rng, config->seed);
    netem_init(&lab->bottleneck, &config->bottleneck, rng_next(&lab->rng), NULL, 0);
    for (uint16_t index = 0; index < config->edge_count; index++)
        flow_open(lab, index);
    while (lab->heap_count > 0 && lab->heap[0].at_ns < config->end_ns) {
        struct lab_event event = pop(lab);
        lab->now_ns = event.at_ns;
        take_steps(lab);
        sample_queue(lab);
        end_grains(lab);
        handle(lab, &event);
        result->events++;
    }
    result->queue_p50_ns = queue_percentile(lab, 50);
    result->queue_p99_ns = queue_percentile(lab, 99);
    for (uint16_t index = 0; index < config->edge_count; index++)
        flow_close(lab, index);
    while (lab->heap_count > 0) {
        struct lab_event event = pop(lab);
        if (event.kind == LAB_ACK)
            free(event.ack);
    }
    while (lab->free_acks != NULL) {
        struct lab_ack *next = lab->free_acks->next;
        free(lab->free_acks);
        lab->free_acks = next;
    }
    free(lab->heap);
    free(lab);
}

uint64_t lab_jain_permille(const struct lab_result *result, uint32_t edges)
{
    uint64_t sum = 0, squares = 0;
    for (uint32_t index = 0; index < edges; index++) {
        uint64_t packets = result->edges[index].new_packets;
        sum += packets;
        squares += packets * packets;
    }
    return muldiv64(sum, sum * 1000, MAX(squares * edges, (uint64_t)1));
}
