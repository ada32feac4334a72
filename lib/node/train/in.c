#include "node/train/in.h"

#include <string.h>

#include "node/peer/post.h"

#define AGAIN_NS    (5 * NS_PER_MS) /* a report that found no room tries again … */
#define TELL_NS_MAX NS_PER_S        /* … for so long */
/* While this node has jobs a train of the background counts so many times, and one that is refused is in the way already:
 * the next one waits so long at least. */
#define JOBS_PART    10
#define JOBS_WAIT_NS (30 * NS_PER_S)
/* Most of the random wait of one that was crossed: the other one waits as well. */
#define CROSSED_NS (300 * NS_PER_MS)

uint64_t train_in_budget(const struct node_config *config)
{
    uint64_t bytes = config->probe.receive_bytes;
    if (bytes != 0)
        return bytes;
    for (uint16_t index = 0; index < config->port_count; index++) {
        const struct node_port_config *port = &config->ports[index];
        uint64_t down_bps = core_port_in_bps(port);
        bytes = MAX(bytes, bytes_within(down_bps, TRAIN_BUDGET_NS / TRAIN_BUDGET_PART));
    }
    return MAX(bytes, TRAIN_BUDGET_MIN);
}

void train_in_init(struct node *node, uint64_t now_ns)
{
    struct train_in *in = node->train_in;
    for (unsigned place = 0; place < TRAIN_IN_MAX; place++)
        in->slots[place].peer = PEER_NONE;
    train_budget_init(&in->budget, train_in_budget(&node->config), now_ns);
}

/* Of that peer; NULL: it has none. PEER_NONE: one that is free. */
static struct train_slot *slot_of(struct train_in *in, uint16_t peer)
{
    for (unsigned place = 0; place < TRAIN_IN_MAX; place++)
        if (in->slots[place].peer == peer)
            return &in->slots[place];
    return NULL;
}

static void free_slot(struct node *node, struct train_slot *slot)
{
    slot->peer = PEER_NONE;
    node->train_in->count--;
}

/* ---- reports ---- */

static struct control_train_report report_of(const struct train_slot *slot)
{
    return (struct control_train_report){
        .fixed = {.train = slot->train,
                  .answer = TRAIN_TAKEN,
                  .stamp_kind = slot->stamp_kind,
                  .noise_ns = slot->noise_ns,
                  .batch = slot->batch,
                  .gap_ns = (uint32_t)MIN(slot->gap_ns, (uint64_t)UINT32_MAX),
                  .wait_ms = slot->beside ? CONTROL_TRAIN_BESIDE : 0,
                  .total = slot->arrived,
                  .first = slot->told}};
}

/* As much as the queue has room for; with the last of it the slot is free. */
static void tell(struct node *node, struct train_slot *slot, uint64_t now_ns)
{
    while (slot->told < slot->arrived) {
        struct control_train_report report = report_of(slot);
        struct control_arrival last;
        if (now_ns >= slot->tell_end_ns)
            break;
        if (!post_has_ample_room(node, slot->peer)) {
            slot->due_ns = now_ns + AGAIN_NS;
            core_schedule(node, slot->due_ns);
            return;
        }
        while (slot->told < slot->arrived && control_arrival_add(&report, &last, &slot->arrivals[slot->told]))
            slot->told++;
        post(node, slot->peer, CONTROL_TRAIN_REPORT, &report);
    }
    free_slot(node, slot);
}

static void is_over(struct train_in *in, uint16_t peer, uint32_t train)
{
    in->over_mask |= 1ULL << peer;
    in->over[peer] = train;
}

static void refuse(struct node *node, uint16_t peer, uint32_t train, enum train_answer answer,
                   uint64_t wait_ns)
{
    uint64_t wait_ms = MIN((wait_ns + NS_PER_MS - 1) / NS_PER_MS, (uint64_t)UINT32_MAX);
    struct control_train_report report = {
        .fixed = {.train = train, .answer = (uint8_t)answer, .wait_ms = (uint32_t)wait_ms}};
    if (post_has_ample_room(node, peer) && post(node, peer, CONTROL_TRAIN_REPORT, &report))
        is_over(node->train_in, peer, train);
}

/* This node still waits for it. */
static bool is_awaited(const struct train_in *in, const struct train_slot *slot)
{
    return slot->gathered && (in->gather_mask >> slot->peer & 1) != 0;
}

static void finish(struct node *node, struct train_slot *slot, uint64_t now_ns)
{
    if (!slot->telling) {
        is_over(node->train_in, slot->peer, slot->train);
        slot->tell_end_ns = now_ns + TELL_NS_MAX;
        slot->telling = true;
        if (is_awaited(node->train_in, slot)) {
            slot->due_ns = slot->tell_end_ns;
            core_schedule(node, now_ns);
            return;
        }
        if (slot->crossed) {
            refuse(node, slot->peer, slot->train, TRAIN_BUSY, rng_below(&node->rng, CROSSED_NS));
            free_slot(node, slot);
            return;
        }
    }
    if (slot->gathered)
        free_slot(node, slot);
    else
        tell(node, slot, now_ns);
}

struct train_slot *train_in_gathered(struct node *node, uint16_t peer)
{
    struct train_slot *slot = slot_of(node->train_in, peer);
    return slot != NULL && slot->gathered && slot->telling ? slot : NULL;
}

void train_in_release(struct node *node, struct train_slot *slot)
{
    node->train_in->gather_mask &= ~(UINT64_C(1) << slot->peer);
    free_slot(node, slot);
}

void train_in_gather_end(struct node *node)
{
    struct train_in *in = node->train_in;
    in->gather_mask = 0;
    for (unsigned place = 0; place < TRAIN_IN_MAX && in->count > 0; place++) {
        struct train_slot *slot = &in->slots[place];
        if (slot->peer == PEER_NONE || !slot->gathered)
            continue;
        is_over(in, slot->peer, slot->train);
        free_slot(node, slot);
    }
}

/* ---- coming in ---- */

/* Bytes that may come, refilled as time passes. */
static bool budget_takes(struct node *node, uint64_t bytes, uint64_t now_ns, uint64_t *wait_ns)
{
    struct train_in *in = node->train_in;
    uint64_t most = train_in_budget(&node->config);
    train_budget_refill(&in->budget, most, now_ns);
    *wait_ns = 0;
    if (bytes <= in->budget.bytes) {
        in->budget.bytes -= bytes;
        return true;
    }
    *wait_ns = bytes > most ? TRAIN_BUDGET_NS : muldiv64(bytes - in->budget.bytes, TRAIN_BUDGET_NS, most);
    return false;
}

/* Packets of the train that come here: all of it, or of a joint train this node's part. */
static uint16_t own_count(const struct wire_train *train)
{
    unsigned turns = train->flags >> WIRE_TRAIN_TURNS_SHIFT;
    if (turns < 2)
        return train->count;
    return (uint16_t)((train->count - train->index % turns + turns - 1) / turns);
}

/* One that this node has asked for. */
static bool is_gathered(const struct train_in *in, uint16_t peer, const struct wire_train *train)
{
    return (train->flags & WIRE_TRAIN_GATHERED) != 0 && (in->gather_mask >> peer & 1) != 0;
}

/* What stands in the way of one more train; NULL: nothing does. Joint ones bear each other. */
static const struct train_slot *obstacle(const struct train_in *in, bool joint)
{
    for (unsigned place = 0; place < TRAIN_IN_MAX && in->count > 0; place++) {
        const struct train_slot *slot = &in->slots[place];
        if (slot->peer != PEER_NONE && (!joint || !slot->joint || in->count == TRAIN_IN_MAX))
            return slot;
    }
    return NULL;
}

/* Trains that come by one port at a time may have held up each other. */
static bool note_beside(struct node *node, const struct peer *peer)
{
    struct train_in *in = node->train_in;
    bool beside = false;
    for (unsigned place = 0; place < TRAIN_IN_MAX; place++) {
        struct train_slot *slot = &in->slots[place];
        bool other = slot->peer != PEER_NONE && slot->peer != peer->index && !slot->telling;
        if (other && node->peers[slot->peer].port == peer->port)
            beside = slot->beside = true;
    }
    return beside;
}

static void begin(struct node *node, struct train_slot *slot, const struct peer *peer,
                  const struct wire_train *train, uint32_t wire_bytes, uint64_t now_ns)
{
    bool beside = note_beside(node, peer);
    slot->peer = peer->index;
    slot->train = train->train;
    slot->wire_bytes = wire_bytes;
    slot->count = train->count;
    slot->own_count = own_count(train);
    slot->gathered = is_gathered(node->train_in, peer->index, train);
    slot->joint = slot->gathered || slot->own_count != train->count;
    slot->beside = beside;
    slot->telling = slot->crossed = false;
    slot->told = slot->arrived = slot->batch = slot->run = 0;
    slot->stamp_kind = STAMP_VIRTUAL;
    slot->noise_ns = 0;
    slot->stamp_ns = slot->gap_ns = slot->newest_gap_ns = 0;
    slot->begun_ns = now_ns;
    memset(slot->seen, 0, sizeof(slot->seen));
    node->train_in->count++;
}

/* A train that was not heard of before: its slot; NULL: it is not taken. */
static struct train_slot *admit(struct node *node, const struct peer *peer, const struct wire_train *train,
                                uint32_t wire_bytes, uint64_t now_ns)
{
    struct train_in *in = node->train_in;
    struct train_slot *slot = slot_of(in, peer->index);
    uint64_t wait_ns = 0;
    if (slot != NULL)
        finish(node, slot, now_ns);
    if (slot != NULL && slot->peer == peer->index) { /* its report waits */
        node->counters.drop_train_busy++;
        refuse(node, peer->index, train->train, TRAIN_BUSY, AGAIN_NS);
        return NULL;
    }
    if (peer->config->probe_off || node->config.probe.off) {
        node->counters.drop_train_off++;
        refuse(node, peer->index, train->train, TRAIN_OFF, 0);
        return NULL;
    }
    bool joint = own_count(train) != train->count || is_gathered(in, peer->index, train);
    const struct train_slot *other = obstacle(in, joint);
    slot = slot_of(in, PEER_NONE);
    if (other != NULL) {
        node->counters.drop_train_busy++;
        refuse(node, peer->index, train->train, TRAIN_BUSY, elapsed_ns(other->due_ns, now_ns));
        return NULL;
    }
    bool beside_jobs = (train->flags & WIRE_TRAIN_BACKGROUND) != 0 && core_has_jobs(node);
    uint64_t bytes = (uint64_t)own_count(train) * wire_bytes * (beside_jobs ? JOBS_PART : 1);
    if (!budget_takes(node, bytes, now_ns, &wait_ns)) {
        node->counters.drop_train_budget++;
        refuse(node, peer->index, train->train, TRAIN_OVER_BUDGET,
               beside_jobs ? MAX(wait_ns, JOBS_WAIT_NS) : wait_ns);
        return NULL;
    }
    begin(node, slot, peer, train, wire_bytes, now_ns);
    return slot;
}

/* Those with the newest stamp, which the port took when more stood there, are of one batch with what it took next: when
 * any of them came is known of the last one alone. */
static void join_batch(struct train_slot *slot, uint64_t stamp_ns)
{
    for (uint16_t place = (uint16_t)(slot->arrived - slot->run); place < slot->arrived; place++)
        slot->arrivals[place].came_ns = stamp_ns;
    slot->stamp_ns = stamp_ns;
}

/* A packet of a train that is not taken: where it came by the port of those that are, it was in their way. */
static void note_crossing(struct node *node, const struct peer *peer)
{
    struct train_in *in = node->train_in;
    for (unsigned place = 0; place < TRAIN_IN_MAX && in->count > 0; place++) {
        struct train_slot *slot = &in->slots[place];
        bool other = slot->peer != PEER_NONE && slot->peer != peer->index;
        slot->crossed |= other && node->peers[slot->peer].port == peer->port;
    }
}

static void take(struct node *node, struct train_slot *slot, const struct wire_train *train,
                 const struct rx_packet *packet, uint64_t now_ns)
{
    uint64_t bit = 1ULL << train->index % 64, *seen = &slot->seen[train->index / 64];
    if ((*seen & bit) != 0) {
        node->counters.drop_value++;
        return;
    }
    node->counters.rx_trains++;
    *seen |= bit;
    if (packet->waited)
        join_batch(slot, packet->rx_ns);
    slot->arrivals[slot->arrived++] =
        (struct control_arrival){.index = train->index, .came_ns = packet->rx_ns};
    slot->run = packet->rx_ns == slot->stamp_ns ? (uint16_t)(slot->run + 1) : 1;
    slot->batch = MAX(slot->batch, slot->run);
    slot->stamp_ns = packet->rx_ns;
    slot->gap_ns = MAX(slot->gap_ns, slot->newest_gap_ns);
    slot->newest_gap_ns = 0;
    slot->stamp_kind = MIN(slot->stamp_kind, packet->stamp_kind);
    slot->noise_ns = MAX(slot->noise_ns, packet->noise_ns);
    uint64_t rest_ns = MIN(train->rest_us * NS_PER_US, TRAIN_REST_NS_MAX);
    uint64_t grace_ns = slot->joint ? TRAIN_GRACE_JOINT_NS : TRAIN_GRACE_NS;
    slot->due_ns = MAX(slot->arrived == 1 ? 0 : slot->due_ns, now_ns + rest_ns + grace_ns);
    slot->due_ns = MIN(slot->due_ns, slot->begun_ns + TRAIN_KEEP_NS_MAX);
    if (slot->arrived == 1)
        core_schedule(node, slot->due_ns);
    if (slot->arrived == slot->own_count)
        finish(node, slot, now_ns);
}

static bool is_over_already(const struct train_in *in, uint16_t peer, uint32_t train)
{
    return (in->over_mask >> peer & 1) != 0 && (int32_t)(train - in->over[peer]) <= 0;
}

void train_in_on_packet(struct node *node, const struct peer *peer, const struct wire_train *train,
                        const struct rx_packet *packet, uint64_t now_ns)
{
    struct train_in *in = node->train_in;
    struct train_slot *slot = in->count > 0 ? slot_of(in, peer->index) : NULL;
    if (slot == NULL || slot->telling || slot->train != train->train) {
        bool over = is_over_already(in, peer->index, train->train);
        node->counters.drop_train_late += over;
        slot = over ? NULL : admit(node, peer, train, packet->length + peer->frame_overhead, now_ns);
        if (slot == NULL) {
            note_crossing(node, peer);
            return;
        }
    }
    if (train->count != slot->count) {
        node->counters.drop_value++;
        return;
    }
    take(node, slot, train, packet, now_ns);
}

void train_in_tick(struct node *node, uint64_t now_ns)
{
    struct train_in *in = node->train_in;
    for (unsigned place = 0; place < TRAIN_IN_MAX && in->count > 0; place++) {
        struct train_slot *slot = &in->slots[place];
        if (slot->peer != PEER_NONE && now_ns >= slot->due_ns)
            finish(node, slot, now_ns);
    }
}

uint64_t train_in_next_ns(const struct node *node)
{
    const struct train_in *in = node->train_in;
    uint64_t next_ns = TIME_NEVER;
    for (unsigned place = 0; place < TRAIN_IN_MAX && in->count > 0; place++)
        if (in->slots[place].peer != PEER_NONE)
            next_ns = MIN(next_ns, in->slots[place].due_ns);
    return next_ns;
}

void train_in_forget(struct node *node, uint16_t peer)
{
    struct train_in *in = node->train_in;
    struct train_slot *slot = slot_of(in, peer);
    in->over_mask &= ~(1ULL << peer);
    if (slot != NULL)
        free_slot(node, slot);
}
