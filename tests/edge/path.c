#include "path.h"

#include <stdlib.h>
#include <string.h>

#include "base/bitmap.h"
#include "base/units.h"

#define CLOCK_OFFSET_NS 7777777777777ULL /* of the receiver */
#define ACK_SLOTS       16384

struct arrival {
    uint64_t at_ns;
    uint64_t number;
    uint64_t floor;
    uint64_t content;
    uint32_t stamp;
    int32_t ack_slot; /* -1: data */
};

struct ack_slot {
    uint32_t stamp;
    struct wire_ack fixed;
    uint8_t runs[WIRE_ACK_RUNS_MAX];
};

struct path {
    struct path_config config;
    struct path_result *result;
    struct rng rng;
    struct sender sender;
    struct receiver receiver;
    void *memory;
    uint64_t now_ns;
    uint64_t steady_from_ns;
    uint64_t busy_until_ns;
    struct arrival *heap;
    size_t heap_count, heap_room;
    struct ack_slot *acks;
    uint32_t ack_next;
    uint64_t next_symbol;
    uint64_t *repairs; /* ring of contents */
    uint64_t repair_head, repair_tail, repair_mask;
    uint64_t *acked, *have;
    uint64_t acked_count, have_count;
    uint64_t floor, floor_ns;
};

static void heap_push(struct path *path, const struct arrival *arrival)
{
    if (path->heap_count == path->heap_room) {
        path->heap_room *= 2;
        path->heap = realloc(path->heap, path->heap_room * sizeof(*path->heap));
        CHECK(path->heap != NULL);
    }
    size_t index = path->heap_count++;
    while (index > 0 && path->heap[(index - 1) / 2].at_ns > arrival->at_ns) {
        path->heap[index] = path->heap[(index - 1) / 2];
        index = (index - 1) / 2;
    }
    path->heap[index] = *arrival;
}

static struct arrival heap_pop(struct path *path)
{
    struct arrival top = path->heap[0];
    struct arrival last = path->heap[--path->heap_count];
    size_t index = 0;
    for (;;) {
        size_t child = 2 * index + 1;
        if (child >= path->heap_count)
            break;
        if (child + 1 < path->heap_count && path->heap[child + 1].at_ns < path->heap[child].at_ns)
            child++;
        if (path->heap[child].at_ns >= last.at_ns)
            break;
        path->heap[index] = path->heap[child];
        index = child;
    }
    path->heap[index] = last;
    return top;
}

static bool on_acked(void *owner, uint64_t content, uint16_t tag)
{
    struct path *path = owner;
    CHECK(tag == (uint16_t)(content * 7));
    if (bitmap_test(path->acked, content)) {
        path->result->repeated_acks++;
        return false;
    }
    bitmap_set(path->acked, content);
    path->acked_count++;
    return true;
}

static bool on_lost(void *owner, uint64_t content, uint16_t tag)
{
    struct path *path = owner;
    CHECK(tag == (uint16_t)(content * 7));
    if (bitmap_test(path->acked, content))
        return false;
    CHECK(path->repair_tail - path->repair_head <= path->repair_mask);
    path->repairs[path->repair_tail++ & path->repair_mask] = content;
    return true;
}

static bool black(const struct path *path, uint64_t at_ns)
{
    return at_ns >= path->config.black_from_ns && at_ns < path->config.black_to_ns;
}

static uint64_t jittered_ns(struct path *path, uint64_t at_ns)
{
    const struct path_config *config = &path->config;
    uint64_t arrive_ns = at_ns + config->delay_ns;
    if (config->jitter_ns > 0)
        arrive_ns += rng_below(&path->rng, config->jitter_ns + 1);
    if (rng_chance_ppb(&path->rng, config->delay_some_ppb))
        arrive_ns += config->delay_some_ns;
    return arrive_ns;
}

static void forward(struct path *path, struct arrival arrival)
{
    const struct path_config *config = &path->config;
    uint64_t silence_ns = config->black_from_ns + MAX(8 * config->delay_ns, NS_PER_S) + 2 * config->delay_ns;
    if (black(path, path->now_ns) && path->now_ns > silence_ns)
        path->result->dark_sent += PATH_PACKET_BYTES;
    uint64_t queue_ns = elapsed_ns(path->busy_until_ns, path->now_ns);
    if (path->now_ns >= path->steady_from_ns && path->next_symbol < config->symbols)
        path->result->queue_ns_max = MAX(path->result->queue_ns_max, queue_ns);
    if (queue_ns > config->buffer_ns) {
        path->result->link_lost++;
        path->result->buffer_drops++;
        return;
    }
    path->busy_until_ns = path->now_ns + queue_ns + transmit_ns(PATH_PACKET_BYTES, config->rate_bps);
    if (black(path, path->now_ns) || rng_chance_ppb(&path->rng, config->loss_ppb)) {
        path->result->link_lost++;
        return;
    }
    arrival.at_ns = jittered_ns(path, path->busy_until_ns);
    heap_push(path, &arrival);
    if (rng_chance_ppb(&path->rng, config->duplicate_ppb)) {
        arrival.at_ns = jittered_ns(path, path->busy_until_ns);
        heap_push(path, &arrival);
    }
}

static void send_content(struct path *path, uint64_t content, bool repair, uint64_t depart_ns)
{
    uint64_t number =
        sender_on_sent(&path->sender, content, (uint16_t)(content * 7), PATH_PACKET_BYTES, repair, depart_ns);
    forward(path, (struct arrival){.number = number,
                                   .floor = sender_floor(&path->sender),
                                   .content = content,
                                   .stamp = wire_stamp(depart_ns),
                                   .ack_slot = -1});
}

/* Sends what may go now; returns when the next packet may go. */
static uint64_t send_all(struct path *path)
{
    for (;;) {
        while (path->repair_head < path->repair_tail &&
               bitmap_test(path->acked, path->repairs[path->repair_head & path->repair_mask]))
            path->repair_head++;
        bool repair = path->repair_head < path->repair_tail;
        if (!repair && path->next_symbol == path->config.symbols) {
            sender_on_limited(&path->sender, EDGE_LIMIT_application);
            return TIME_NEVER;
        }
        enum edge_limit limit;
        uint64_t at_ns = sender_send_ns(&path->sender, PATH_PACKET_BYTES, repair, &limit);
        if (at_ns == TIME_NEVER)
            sender_on_limited(&path->sender, limit);
        if (at_ns > path->now_ns)
            return at_ns;
        uint64_t content;
        if (repair) {
            content = path->repairs[path->repair_head++ & path->repair_mask];
        } else {
            content = path->next_symbol++;
            path->result->last_new_ns = path->now_ns;
        }
        send_content(path, content, repair, path->now_ns);
    }
}

static void send_acks(struct path *path)
{
    uint64_t clock_ns = path->now_ns + CLOCK_OFFSET_NS;
    struct ack_slot *slot = &path->acks[path->ack_next % ACK_SLOTS];
    while (receiver_ack(&path->receiver, &slot->fixed, slot->runs, clock_ns)) {
        slot->fixed.credit = path->receiver.window_packets;
        slot->stamp = wire_stamp(clock_ns);
        path->result->feedback_bytes += WIRE_ACK_BYTES + slot->fixed.run_bytes + 66;
        if (!black(path, path->now_ns) && !rng_chance_ppb(&path->rng, path->config.loss_back_ppb)) {
            struct arrival arrival = {.at_ns = jittered_ns(path, path->now_ns),
                                      .ack_slot = (int32_t)(path->ack_next++ % ACK_SLOTS)};
            heap_push(path, &arrival);
        }
        slot = &path->acks[path->ack_next % ACK_SLOTS];
    }
}

static void take_ack(struct path *path, const struct ack_slot *slot, const struct sender_events *events)
{
    struct wire_ack_view view = {.fixed = slot->fixed, .stamp = slot->stamp, .runs = slot->runs};
    CHECK(sender_on_ack(&path->sender, &view, path->now_ns, events));
    /* The books must balance whatever the ack said. */
    struct sender *sender = &path->sender;
    CHECK(sender->in_flight_bytes == sender->in_flight_packets * PATH_PACKET_BYTES);
    CHECK(sender->in_flight_packets <= sender->next_number - sender->floor);
}

static void take_data(struct path *path, const struct arrival *arrival)
{
    struct receiver *receiver = &path->receiver;
    uint64_t number = receiver_expand(receiver, (uint32_t)arrival->number);
    CHECK(number == arrival->number);
    enum receiver_verdict verdict = receiver_check(receiver, number, arrival->floor);
    CHECK(verdict != RECEIVER_BEYOND_WINDOW);
    receiver_on_packet(receiver, number, arrival->floor, arrival->stamp, PATH_PACKET_BYTES, false,
                       path->now_ns + CLOCK_OFFSET_NS);
    if (verdict == RECEIVER_DUPLICATE || bitmap_test(path->have, arrival->content))
        return;
    bitmap_set(path->have, arrival->content);
    path->have_count++;
    if (path->now_ns >= path->steady_from_ns && path->next_symbol < path->config.symbols)
        path->result->steady_bytes += PATH_PACKET_BYTES;
    uint64_t relit_ns = path->config.black_to_ns + 5 * path->config.delay_ns;
    if (path->now_ns > relit_ns && path->now_ns <= relit_ns + 2 * path->config.delay_ns)
        path->result->relit_bytes += PATH_PACKET_BYTES;
    if (path->have_count == path->config.symbols)
        path->result->complete_ns = path->now_ns;
}

static void observe(struct path *path)
{
    const struct sender *sender = &path->sender;
    struct path_result *result = path->result;
    result->in_flight_max = MAX(result->in_flight_max, sender->in_flight_packets);
    result->floor_lag_max = MAX(result->floor_lag_max, sender->next_number - sender->floor);
    if (sender->floor != path->floor || sender->in_flight_packets == 0) {
        path->floor = sender->floor;
        path->floor_ns = path->now_ns;
    }
    result->floor_still_ns = MAX(result->floor_still_ns, path->now_ns - path->floor_ns);
}

static void path_open(struct path *path)
{
    struct path_config *config = &path->config;
    struct sender_config sender_config = {.window_packets = config->window_packets,
                                          .packet_bytes_max = PATH_PACKET_BYTES};
    uint32_t receiver_window = config->receiver_window ? config->receiver_window : config->window_packets;
    size_t bytes = sender_bytes(&sender_config) + receiver_bytes(receiver_window);
    struct arena arena;
    path->memory = aligned_alloc(ARENA_ALIGN, bytes);
    CHECK(path->memory != NULL);
    arena_init(&arena, path->memory, bytes);
    sender_init(&path->sender, &sender_config, &arena);
    receiver_init(&path->receiver, receiver_window, &arena);
    CHECK(arena.used == arena.size);
    sender_set_rtt(&path->sender, 2 * config->delay_ns);
    sender_set_congestion(&path->sender, config->type, config->initial_bps, config->known, 0);
    if (config->cap_bps > 0)
        sender_set_cap(&path->sender, config->cap_bps);
    receiver_set_rtt(&path->receiver, 2 * config->delay_ns);
    rng_init(&path->rng, config->seed);
    path->heap_room = 1 << 16;
    path->heap = malloc(path->heap_room * sizeof(*path->heap));
    path->acks = malloc(ACK_SLOTS * sizeof(*path->acks));
    path->repair_mask = 2 * (uint64_t)config->window_packets - 1;
    path->repairs = malloc((path->repair_mask + 1) * sizeof(*path->repairs));
    path->acked = calloc(BITMAP_WORDS(config->symbols), 8);
    path->have = calloc(BITMAP_WORDS(config->symbols), 8);
    CHECK(path->heap && path->acks && path->repairs && path->acked && path->have);
}

static void path_close(struct path *path)
{
    const struct sender_counters *counters = &path->sender.counters;
    struct path_result *result = path->result;
    result->sent = counters->sent_packets;
    result->data_bytes = counters->sent_bytes;
    result->repairs = counters->repairs;
    result->spurious = counters->spurious_repairs;
    result->tail_probes = counters->tail_probes;
    result->declared_lost = counters->lost_packets;
    result->steady_ns = elapsed_ns(result->last_new_ns, path->steady_from_ns);
    free(path->memory);
    free(path->heap);
    free(path->acks);
    free(path->repairs);
    free(path->acked);
    free(path->have);
}

static bool settled(const struct path *path)
{
    return path->acked_count == path->config.symbols && path->sender.floor == path->sender.next_number;
}

void path_run(const struct path_config *config, uint64_t steady_from_ns, struct path_result *result)
{
    struct path path = {.config = *config, .result = result, .steady_from_ns = steady_from_ns};
    const struct sender_events events = {
        .on_acked = on_acked, .on_lost = on_lost, .on_probe = on_lost, .owner = &path};
    *result = (struct path_result){0};
    path_open(&path);
    while (path.now_ns < config->limit_ns) {
        while (path.heap_count > 0 && path.heap[0].at_ns <= path.now_ns) {
            struct arrival arrival = heap_pop(&path);
            if (arrival.ack_slot >= 0)
                take_ack(&path, &path.acks[arrival.ack_slot], &events);
            else
                take_data(&path, &arrival);
        }
        send_acks(&path);
        sender_on_tick(&path.sender, path.now_ns, &events);
        uint64_t next_ns = send_all(&path);
        observe(&path);
        next_ns = MIN(next_ns, sender_next_ns(&path.sender));
        uint64_t receiver_ns = receiver_next_ns(&path.receiver);
        if (receiver_ns != TIME_NEVER)
            next_ns = MIN(next_ns, receiver_ns - CLOCK_OFFSET_NS);
        if (path.heap_count > 0)
            next_ns = MIN(next_ns, path.heap[0].at_ns);
        if (settled(&path))
            break;
        CHECK(next_ns != TIME_NEVER);
        path.now_ns = MAX(path.now_ns, MIN(next_ns, config->limit_ns));
    }
    result->completed = settled(&path);
    result->settled_ns = path.now_ns;
    path_close(&path);
}
