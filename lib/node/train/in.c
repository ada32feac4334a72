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
        uint64_t down_bps = port->down_bps != 0 ? port->down_bps : port->rate_bps;
        bytes = MAX(bytes, bytes_within(down_bps, TRAIN_BUDGET_NS / TRAIN_BUDGET_PART));
    }
    return MAX(bytes, TRAIN_BUDGET_MIN);
}

void train_in_init(struct node *node, uint64_t now_ns)
{
    struct train_in *in = node->train_in;
    in->peer = PEER_NONE;
    train_budget_init(&in->budget, train_in_budget(&node->config), now_ns);
}

/* ---- reports ---- */

static struct control_train_report report_of(const struct train_in *in)
{
    return (struct control_train_report){.fixed = {.train = in->train,
                                                   .answer = TRAIN_TAKEN,
                                                   .stamp_kind = in->stamp_kind,
                                                   .batch = in->batch,
                                                   .gap_ns = (uint32_t)MIN(in->gap_ns, (uint64_t)UINT32_MAX),
                                                   .total = in->arrived,
                                                   .first = in->told}};
}

/* As much as the queue has room for; with the last of it the buffer is free. */
static void tell(struct node *node, uint64_t now_ns)
{
    struct train_in *in = node->train_in;
    while (in->told < in->arrived) {
        struct control_train_report report = report_of(in);
        struct control_arrival last;
        if (now_ns >= in->tell_end_ns)
            break;
        if (!post_has_ample_room(node, in->peer)) {
            in->due_ns = now_ns + AGAIN_NS;
            core_schedule(node, in->due_ns);
            return;
        }
        while (in->told < in->arrived && control_arrival_add(&report, &last, &in->arrivals[in->told]))
            in->told++;
        post(node, in->peer, CONTROL_TRAIN_REPORT, &report);
    }
    in->peer = PEER_NONE;
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

static void finish(struct node *node, uint64_t now_ns)
{
    struct train_in *in = node->train_in;
    if (!in->telling) {
        is_over(in, in->peer, in->train);
        in->tell_end_ns = now_ns + TELL_NS_MAX;
        in->telling = true;
        if (in->crossed) {
            refuse(node, in->peer, in->train, TRAIN_BUSY, rng_below(&node->rng, CROSSED_NS));
            in->peer = PEER_NONE;
            return;
        }
    }
    tell(node, now_ns);
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

/* A train that was not heard of before: true, it is the one in the buffer now. */
static bool admit(struct node *node, const struct peer *peer, const struct wire_train *train,
                  uint32_t wire_bytes, uint64_t now_ns)
{
    struct train_in *in = node->train_in;
    uint64_t wait_ns = 0;
    if (in->peer == peer->index)
        finish(node, now_ns);
    if (peer->config->probe_off || node->config.probe.off) {
        node->counters.drop_train_off++;
        refuse(node, peer->index, train->train, TRAIN_OFF, 0);
        return false;
    }
    if (in->peer != PEER_NONE) {
        node->counters.drop_train_busy++;
        refuse(node, peer->index, train->train, TRAIN_BUSY, elapsed_ns(in->due_ns, now_ns));
        return false;
    }
    bool beside_jobs = (train->flags & WIRE_TRAIN_BACKGROUND) != 0 && core_has_jobs(node);
    uint64_t bytes = (uint64_t)train->count * wire_bytes * (beside_jobs ? JOBS_PART : 1);
    if (!budget_takes(node, bytes, now_ns, &wait_ns)) {
        node->counters.drop_train_budget++;
        refuse(node, peer->index, train->train, TRAIN_OVER_BUDGET,
               beside_jobs ? MAX(wait_ns, JOBS_WAIT_NS) : wait_ns);
        return false;
    }
    in->peer = peer->index;
    in->train = train->train;
    in->count = train->count;
    in->telling = in->crossed = false;
    in->told = in->arrived = in->batch = in->run = 0;
    in->stamp_kind = STAMP_VIRTUAL;
    in->stamp_ns = in->gap_ns = in->newest_gap_ns = 0;
    in->begun_ns = in->turn_ns = now_ns;
    memset(in->seen, 0, sizeof(in->seen));
    return true;
}

/* Those with the newest stamp, which the port took when more stood there, are of one batch with what it took next: when
 * any of them came is known of the last one alone. */
static void join_batch(struct train_in *in, uint64_t stamp_ns)
{
    for (uint16_t place = (uint16_t)(in->arrived - in->run); place < in->arrived; place++)
        in->arrivals[place].came_ns = stamp_ns;
    in->stamp_ns = stamp_ns;
}

/* A packet of a train that is not taken: where it came by the port of the one that is, it was in its way. */
static void note_crossing(struct node *node, const struct peer *peer)
{
    struct train_in *in = node->train_in;
    bool other = in->peer != PEER_NONE && in->peer != peer->index;
    in->crossed |= other && node->peers[in->peer].port == peer->port;
}

static void take(struct node *node, const struct wire_train *train, const struct rx_packet *packet,
                 uint64_t now_ns)
{
    struct train_in *in = node->train_in;
    uint64_t bit = 1ULL << train->index % 64, *seen = &in->seen[train->index / 64];
    if ((*seen & bit) != 0) {
        node->counters.drop_value++;
        return;
    }
    node->counters.rx_trains++;
    *seen |= bit;
    if (packet->waited)
        join_batch(in, packet->rx_ns);
    in->arrivals[in->arrived++] = (struct control_arrival){.index = train->index, .came_ns = packet->rx_ns};
    in->run = packet->rx_ns == in->stamp_ns ? (uint16_t)(in->run + 1) : 1;
    in->batch = MAX(in->batch, in->run);
    in->stamp_ns = packet->rx_ns;
    in->gap_ns = MAX(in->gap_ns, in->newest_gap_ns);
    in->newest_gap_ns = 0;
    in->stamp_kind = MIN(in->stamp_kind, packet->stamp_kind);
    uint64_t rest_ns = MIN(train->rest_us * NS_PER_US, TRAIN_REST_NS_MAX);
    in->due_ns = MAX(in->arrived == 1 ? 0 : in->due_ns, now_ns + rest_ns + TRAIN_GRACE_NS);
    in->due_ns = MIN(in->due_ns, in->begun_ns + TRAIN_KEEP_NS_MAX);
    if (in->arrived == 1)
        core_schedule(node, in->due_ns);
    if (in->arrived == in->count)
        finish(node, now_ns);
}

void train_in_on_packet(struct node *node, const struct peer *peer, const struct wire_train *train,
                        const struct rx_packet *packet, uint64_t now_ns)
{
    struct train_in *in = node->train_in;
    bool of_buffer = in->peer == peer->index && !in->telling && in->train == train->train;
    if (!of_buffer) {
        note_crossing(node, peer);
        bool over =
            (in->over_mask >> peer->index & 1) != 0 && (int32_t)(train->train - in->over[peer->index]) <= 0;
        if (over) {
            node->counters.drop_train_late++;
            return;
        }
        if (!admit(node, peer, train, packet->length + peer->frame_overhead, now_ns))
            return;
    }
    if (train->count != in->count) {
        node->counters.drop_value++;
        return;
    }
    take(node, train, packet, now_ns);
}

void train_in_tick(struct node *node, uint64_t now_ns)
{
    struct train_in *in = node->train_in;
    if (in->peer != PEER_NONE && now_ns >= in->due_ns)
        finish(node, now_ns);
}

uint64_t train_in_next_ns(const struct node *node)
{
    return node->train_in->peer == PEER_NONE ? TIME_NEVER : node->train_in->due_ns;
}

void train_in_forget(struct node *node, uint16_t peer)
{
    struct train_in *in = node->train_in;
    in->over_mask &= ~(1ULL << peer);
    if (in->peer == peer)
        in->peer = PEER_NONE;
}
