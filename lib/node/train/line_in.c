#include "node/train/line_in.h"

#include <string.h>

#include "node/peer/measure.h"
#include "node/peer/path_table.h"
#include "node/peer/post.h"
#include "node/train/asked.h"
#include "node/train/in.h"
#include "node/train/line.h"
#include "node/train/out.h"

#define AGAIN_NS      NS_PER_MS        /* a part whose port is at another train tries again … */
#define LATE_NS       (10 * NS_PER_MS) /* … for so long, or a step: beyond that it would come beside nobody */
#define QUEUE_NS      (200 * NS_PER_MS) /* trains may stand in queues for so long, and the asks for them */
#define PACKETS_LEAST 16u               /* of a train */

_Static_assert(GATHER_SENDERS_MAX <= TRAIN_RECEIVERS_MAX, "senders are chosen as receivers are");
_Static_assert(GATHER_SENDERS_MAX <= TRAIN_IN_MAX, "each sender's train has a slot");

/* ---- parts of others' ---- */

static uint16_t parts_of(const struct line_in *in, uint16_t peer)
{
    uint16_t count = 0;
    for (uint16_t place = 0; place < in->part_count; place++)
        count += in->parts[place].peer == peer;
    return count;
}

static uint32_t wire_bytes_to(const struct node *node, uint16_t peer)
{
    const struct peer *other = &node->peers[peer];
    return MIN(other->mtu.mtu, node->config.ports[other->port].mtu) + WIRE_OVERHEAD_BYTES;
}

static void take_part(struct node *node, uint16_t asker, const struct wire_probe_ask *ask, uint64_t now_ns)
{
    struct line_in *in = node->line_in;
    const struct node_port_config *port = &node->config.ports[node->peers[asker].port];
    uint64_t wait_ns = MIN(ask->wait_us * NS_PER_US, LINE_IN_WAIT_NS_MAX);
    uint64_t packets = ask->bytes / wire_bytes_to(node, asker);
    if (node->config.probe.off || node->peers[asker].config->probe_off ||
        in->part_count == LINE_IN_PARTS_MAX || parts_of(in, asker) >= LINE_IN_OF_ONE_MAX || packets == 0) {
        node->counters.asks_declined++;
        return;
    }
    in->parts[in->part_count++] =
        (struct line_in_part){.peer = asker,
                              .begin_ns = now_ns + wait_ns,
                              .rate_bps = MIN(ask->rate_kbps * UINT64_C(1000), port->rate_bps),
                              .packets = (uint32_t)MIN(packets, (uint64_t)GATHER_PACKETS_MAX)};
    core_schedule(node, now_ns + wait_ns);
}

/* False: not now. */
static bool send_part(struct node *node, const struct line_in_part *part, uint64_t now_ns)
{
    const struct peer *peer = &node->peers[part->peer];
    struct train_shape shape = {.wire_bytes = wire_bytes_to(node, part->peer)};
    uint64_t bytes = (uint64_t)part->packets * shape.wire_bytes;
    if (!train_out_room(node))
        return false;
    bool sent = peer->state == PEER_UP && !core_has_jobs(node) &&
                train_add(&shape, part->packets, part->rate_bps) && asked_left(node, now_ns) >= bytes &&
                train_out_begin(node, peer, &shape, WIRE_TRAIN_GATHERED, now_ns, now_ns) &&
                asked_spend(node, bytes, now_ns);
    node->counters.asks_served += sent;
    node->counters.asks_declined += !sent;
    return true;
}

static uint64_t latest_ns(const struct line_in_part *part, uint32_t wire_bytes)
{
    uint64_t lasts_ns = transmit_ns((uint64_t)part->packets * wire_bytes, part->rate_bps);
    return part->begin_ns + MAX(LATE_NS, lasts_ns / GATHER_STEPS);
}

static void send_parts(struct node *node, uint64_t now_ns)
{
    struct line_in *in = node->line_in;
    uint16_t kept = 0;
    for (uint16_t place = 0; place < in->part_count; place++) {
        struct line_in_part part = in->parts[place];
        bool late = now_ns >= latest_ns(&part, wire_bytes_to(node, part.peer));
        node->counters.asks_declined += late;
        if (now_ns < part.begin_ns || (!late && !send_part(node, &part, now_ns)))
            in->parts[kept++] = part;
    }
    in->part_count = kept;
}

/* ---- its own ---- */

static void decline(struct node *node, enum probe_answer word, const char *why)
{
    struct line_in *in = node->line_in;
    in->open = false;
    asked_decline(node, in->asker, in->id, word, why);
}

/* Why it can't be measured; PROBE_MEASURED: it can. */
static enum probe_answer hindrance(const struct node *node, struct err *err)
{
    enum probe_answer word = PROBE_MEASURED;
    if (node->config.probe.off || node->config.probe.estimator == NULL) {
        word = PROBE_OFF;
        err_set(err, "it measures no paths");
    } else if (line_hindrance(node, err)) {
        word = PROBE_UNKNOWN;
    } else if (core_has_jobs(node)) {
        word = PROBE_JOBS;
        err_set(err, "it has jobs, which trains would be in the way of");
    }
    return word;
}

static void take_line(struct node *node, uint16_t asker, const struct wire_probe_ask *ask, uint64_t now_ns)
{
    struct line_in *in = node->line_in;
    struct err err;
    uint64_t lasts_ns = ask->lasts_ms != 0 ? ask->lasts_ms * NS_PER_MS : ASKED_LASTS_NS;
    enum probe_answer word = hindrance(node, &err);
    if (strcmp(ask->to.text, node->config.name) != 0) {
        word = PROBE_UNKNOWN;
        err_set(&err, "a line in is measured by whose it is");
    } else if (word == PROBE_MEASURED && in->open) {
        word = PROBE_BUSY;
        err_set(&err, "another one measures it already");
    }
    if (word != PROBE_MEASURED) {
        asked_decline(node, asker, ask->ask, word, err.text);
        return;
    }
    in->open = true;
    in->begun = false;
    in->asker = asker;
    in->id = ask->ask;
    in->bytes = ask->bytes != 0 ? MIN(ask->bytes, LINE_IN_BYTES) : LINE_IN_BYTES;
    in->begin_ns = now_ns + MIN(ask->wait_us * NS_PER_US, LINE_IN_WAIT_NS_MAX);
    in->end_ns = in->begin_ns + MIN(lasts_ns, ASKED_LASTS_NS);
    core_schedule(node, in->begin_ns);
}

void line_in_take(struct node *node, uint16_t asker, const struct wire_probe_ask *ask, uint64_t now_ns)
{
    if (ask->what == PROBE_WHAT_PART && asker != PEER_SELF)
        take_part(node, asker, ask, now_ns);
    else
        take_line(node, asker, ask, now_ns);
}

static uint64_t port_in_bps(const struct node *node)
{
    return core_port_in_bps(&node->config.ports[0]);
}

/* Of one train. */
static uint32_t packets_each(const struct node *node)
{
    const struct line_in *in = node->line_in;
    uint32_t wire_bytes = node->config.ports[0].mtu + WIRE_OVERHEAD_BYTES;
    return (uint32_t)MIN(in->bytes / in->count / wire_bytes, (uint64_t)GATHER_PACKETS_MAX);
}

/* False: the queue to that peer is full. */
static bool ask_peer(struct node *node, uint16_t peer, uint64_t wait_ns)
{
    struct wire_probe_ask ask = {
        .wait_us = (uint32_t)(wait_ns / NS_PER_US),
        .bytes = packets_each(node) * (node->config.ports[0].mtu + WIRE_OVERHEAD_BYTES),
        .trains = 1,
        .what = PROBE_WHAT_PART,
        .rate_kbps = (uint32_t)MIN(gather_rate_bps(port_in_bps(node)) / 1000, (uint64_t)UINT32_MAX)};
    name_copy(ask.to.text, NAME_BYTES, node->config.name);
    bool asked = post_has_ample_room(node, peer) && post(node, peer, CONTROL_PROBE_ASK, &ask);
    node->train_in->gather_mask |= (uint64_t)asked << peer;
    return asked;
}

/* One train of each: they begin a step apart, as seen from here. */
static void ask_peers(struct node *node, uint64_t now_ns)
{
    struct line_in *in = node->line_in;
    uint64_t bytes = (uint64_t)packets_each(node) * (node->config.ports[0].mtu + WIRE_OVERHEAD_BYTES);
    uint64_t lasts_ns = transmit_ns(bytes, gather_rate_bps(port_in_bps(node))), farthest_ns = 0;
    unsigned asked = 0;
    for (uint16_t place = 0; place < in->count; place++)
        farthest_ns = MAX(farthest_ns, node->peers[in->peers[place]].rtt_min_ns);
    for (uint16_t place = 0; place < in->count; place++) {
        uint64_t early_ns = farthest_ns - node->peers[in->peers[place]].rtt_min_ns;
        asked += ask_peer(node, in->peers[place], early_ns + place * (lasts_ns / GATHER_STEPS));
    }
    in->asked_trains = asked;
    in->bytes = asked * bytes;
    uint64_t over_ns = now_ns + farthest_ns + (GATHER_STEPS + in->count) * lasts_ns / GATHER_STEPS + QUEUE_NS;
    in->end_ns = MIN(in->end_ns, over_ns);
}

static void begin(struct node *node, uint64_t now_ns)
{
    struct line_in *in = node->line_in;
    uint16_t peers[TRAIN_RECEIVERS_MAX];
    struct err err;
    enum probe_answer word = hindrance(node, &err);
    if (word != PROBE_MEASURED) {
        decline(node, word, err.text);
        return;
    }
    uint32_t wire_bytes = node->config.ports[0].mtu + WIRE_OVERHEAD_BYTES;
    uint64_t most = MIN(in->bytes / wire_bytes / PACKETS_LEAST, (uint64_t)GATHER_SENDERS_MAX);
    in->count = (uint16_t)MIN((uint64_t)line_receivers(node, peers, TRAIN_RECEIVERS_MAX), most);
    if (in->count < 2) {
        decline(node, PROBE_OVER_BUDGET, "it may take too few bytes");
        return;
    }
    if (in->asker != PEER_SELF && !asked_spend(node, in->bytes, now_ns)) {
        decline(node, PROBE_OVER_BUDGET, "others have asked for what it may spend on them");
        return;
    }
    memcpy(in->peers, peers, in->count * sizeof(peers[0]));
    gather_begin(&in->gather);
    in->begun = true;
    ask_peers(node, now_ns);
    core_schedule(node, in->end_ns);
}

static void take_slot(struct node *node, uint16_t sender, const struct train_slot *slot)
{
    struct line_in *in = node->line_in;
    for (uint16_t place = 0; place < slot->arrived && place < GATHER_PACKETS_MAX; place++)
        gather_take(&in->gather, sender, slot->arrivals[place].index, slot->arrivals[place].came_ns,
                    slot->wire_bytes);
}

/* Trains that are over. False: others are still to come. */
static bool collect(struct node *node)
{
    struct line_in *in = node->line_in;
    for (uint16_t sender = 0; sender < in->count; sender++) {
        struct train_slot *slot = train_in_gathered(node, in->peers[sender]);
        if (slot == NULL)
            continue;
        take_slot(node, sender, slot);
        train_in_release(node, slot);
    }
    return node->train_in->gather_mask == 0;
}

static void finish(struct node *node, uint64_t now_ns)
{
    struct line_in *in = node->line_in;
    struct asked_end end = {.answer = PROBE_MEASURED, .turned_down = TRAIN_TAKEN};
    struct asked_path path = {.asker = in->asker, .to = PEER_SELF, .id = in->id};
    in->open = false;
    train_in_gather_end(node);
    gather_line(&in->gather, &end.estimate);
    estimate_clip(&end.estimate, port_in_bps(node));
    end.estimate.from_ns = end.estimate.until_ns = now_ns;
    end.estimate.trains = in->asked_trains;
    end.estimate.bytes = in->bytes;
    path_table_set_estimate(node->paths, PATH_SITE_ANY, PATH_SITE_SELF, &end.estimate, now_ns);
    if (in->asker < node->peer_count && post_has_ample_room(node, in->asker))
        measure_report_available(node, in->asker, now_ns);
    asked_end(node, &path, &end, now_ns);
    digest_add(&node->digest, end.estimate.avail_bps ^ (uint64_t)end.estimate.kind << 56);
}

void line_in_tick(struct node *node, uint64_t now_ns)
{
    struct line_in *in = node->line_in;
    if (in->part_count > 0)
        send_parts(node, now_ns);
    if (!in->open)
        return;
    if (!in->begun && now_ns >= in->begin_ns)
        begin(node, now_ns);
    if (in->open && in->begun && (collect(node) || now_ns >= in->end_ns))
        finish(node, now_ns);
}

uint64_t line_in_next_ns(const struct node *node)
{
    const struct line_in *in = node->line_in;
    uint64_t next_ns = !in->open ? TIME_NEVER : in->begun ? in->end_ns : in->begin_ns;
    for (uint16_t place = 0; place < in->part_count; place++) {
        uint64_t begin_ns = in->parts[place].begin_ns;
        next_ns = MIN(next_ns, begin_ns > node->now_ns ? begin_ns : node->now_ns + AGAIN_NS);
    }
    return next_ns;
}

void line_in_forget(struct node *node, uint16_t peer)
{
    struct line_in *in = node->line_in;
    uint16_t kept = 0;
    for (uint16_t place = 0; place < in->part_count; place++)
        if (in->parts[place].peer != peer)
            in->parts[kept++] = in->parts[place];
    in->part_count = kept;
    if (in->open && in->asker == peer) {
        in->open = in->begun;
        in->asker = PEER_NONE;
    }
}
