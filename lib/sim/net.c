#include "sim/net.h"

#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/units.h"

#define FETCH_AHEAD      8 /* packets that are brought into the cache before their turn */
#define WIRE_EXTRA_BYTES (ETHERNET_HEADER_BYTES + ETHERNET_OVERHEAD_BYTES)

/* ---- setting up ---- */

static uint64_t packets_limit(const struct netem_config *config)
{
    return config->queue_unit == NETEM_QUEUE_PACKETS ? MAX(config->queue_limit, 1ULL) : 0;
}

static void link_init(struct netem_link *link, const struct netem_config *config, uint64_t limit,
                      struct rng *seeds)
{
    size_t bytes = netem_memory_bytes(config, limit);
    void *memory = bytes != 0 ? calloc(1, bytes) : NULL;
    CHECK(bytes == 0 || memory != NULL);
    netem_make(link, config, limit, rng_next(seeds), memory);
}

static void watch(struct net_port *port, const struct scenario_node *node)
{
    if (node->watch_ns == 0)
        return;
    uint32_t places = netem_truth_places(&node->downlink, node->watch_ns);
    struct netem_truth_block *blocks = calloc(places, sizeof(*blocks));
    CHECK(blocks != NULL);
    netem_truth_init(&port->truth, blocks, places);
    netem_watch(&port->downlink, &port->truth);
}

const struct netem_truth *net_truth(struct net *net, uint16_t host, uint64_t until_ns)
{
    struct netem_link *downlink = &net->ports[host].downlink;
    netem_catch_up(downlink, until_ns);
    return downlink->truth;
}

/* The longest packet-counted queue that the link ever has, faults included. */
static uint64_t longest_limit(const struct scenario *scenario, const struct netem_config *config)
{
    uint64_t limit = packets_limit(config);
    for (uint16_t fault = 0; fault < scenario->fault_count; fault++)
        if (scenario->faults[fault].kind == FAULT_LINK_SET)
            limit = MAX(limit, packets_limit(&scenario->faults[fault].set));
    return limit;
}

static void pair_init(struct net *net, const struct scenario *scenario, uint16_t from, uint16_t to,
                      struct rng *seeds)
{
    struct net_pair *pair = net_pair(net, from, to);
    const struct netem_config *config = &scenario->links[from][to];
    link_init(&pair->link, config, longest_limit(scenario, config), seeds);
    pair->way_count = scenario_way(scenario, from, to, pair->way);
}

/* After everything else, so that a scenario without them draws the same seeds. */
static void shared_init(struct net *net, const struct scenario *scenario, struct rng *seeds)
{
    net->shared_count = scenario->shared_count;
    net->shared = calloc(MAX(net->shared_count, (uint16_t)1), sizeof(*net->shared));
    CHECK(net->shared != NULL);
    for (uint16_t index = 0; index < net->shared_count; index++) {
        const struct netem_config *config = &scenario->shared[index].link;
        link_init(&net->shared[index].link, config, longest_limit(scenario, config), seeds);
    }
}

void net_init(struct net *net, const struct scenario *scenario, uint64_t seed, struct event_heap *heap,
              struct digest *digest)
{
    uint16_t count = scenario->node_count;
    *net =
        (struct net){.count = count, .heap = heap, .digest = digest, .sparse = scenario_is_sparse(scenario)};
    net->pairs = calloc((size_t)count * count, sizeof(*net->pairs));
    net->ports = calloc(count, sizeof(*net->ports));
    CHECK(net->pairs != NULL && net->ports != NULL);
    pool_init(&net->pool);
    meter_init(&net->meters, scenario);
    struct rng seeds;
    rng_init(&seeds, seed);
    for (uint16_t host = 0; host < count; host++) {
        struct net_port *port = &net->ports[host];
        const struct scenario_node *node = &scenario->nodes[host];
        port->stamping = node->stamping;
        port->turn_lasts_ns = node->turn_ns != 0 ? node->turn_ns : NET_TURN_NS;
        port->ring_bytes_max = node->ring_bytes;
        port->ring_packets_max = node->ring_packets;
        link_init(&port->uplink, &node->uplink, packets_limit(&node->uplink), &seeds);
        link_init(&port->downlink, &node->downlink, packets_limit(&node->downlink), &seeds);
        watch(port, node);
    }
    for (uint16_t from = 0; from < count; from++)
        for (uint16_t to = 0; to < count; to++)
            pair_init(net, scenario, from, to, &seeds);
    shared_init(net, scenario, &seeds);
}

void net_free(struct net *net)
{
    for (uint32_t pair = 0; pair < (uint32_t)net->count * net->count; pair++) {
        free(net->pairs[pair].link.memory);
        queue_free(&net->pairs[pair].queue);
    }
    for (uint16_t host = 0; host < net->count; host++) {
        queue_free(&net->ports[host].queue);
        queue_free(&net->ports[host].onward);
        free(net->ports[host].uplink.memory);
        free(net->ports[host].downlink.memory);
        free(net->ports[host].truth.blocks);
    }
    for (uint16_t index = 0; index < net->shared_count; index++) {
        free(net->shared[index].link.memory);
        queue_free(&net->shared[index].queue);
    }
    free(net->pairs);
    free(net->ports);
    free(net->shared);
    meter_free(&net->meters);
    pool_free_all(&net->pool);
}

struct net_pair *net_pair(struct net *net, uint16_t from, uint16_t to)
{
    CHECK(from < net->count && to < net->count);
    return &net->pairs[(uint32_t)from * net->count + to];
}

/* ---- packets ---- */

/* The heap holds the event of the first in the queue. */
static void link_schedule(struct net *net, const struct sim_packet *packet, uint32_t index)
{
    event_push(net->heap, &(struct event){packet->time_ns, packet->sequence, EVENT_LINK, index, NULL});
}

/* The host takes what has come when its next turn is due, see NET_TURN_NS. */
static void port_schedule(struct net *net, const struct net_port *port, uint32_t host)
{
    const struct sim_packet *first = queue_first(&port->queue);
    bool waits = port->stamping.batch > 1 && port->batch_left == 0;
    if (first != NULL)
        event_add(net->heap, MAX(first->time_ns + (waits ? port->stamping.batch_ns : 0), port->turn_ns),
                  EVENT_PORT, host, NULL);
}

/* The packet comes out of its link at arrive_ns. */
static void fly(struct net *net, struct sim_packet *packet, uint64_t arrive_ns)
{
    uint32_t index = (uint32_t)packet->from * net->count + packet->to;
    struct packet_queue *queue = &net->pairs[index].queue;
    packet->time_ns = arrive_ns;
    const struct sim_packet *last = queue_last(queue);
    if (last != NULL && arrive_ns < last->time_ns) {
        event_add(net->heap, arrive_ns, EVENT_STRAY, index, packet);
        return;
    }
    packet->sequence = event_ticket(net->heap);
    if (queue_join(queue, packet))
        link_schedule(net, packet, index);
}

/* at_port: not the link of the pair refused it but its sender's uplink, a shared link or its receiver's
 * downlink. */
static void count_drop(struct net *net, const struct sim_packet *packet, enum netem_verdict verdict,
                       bool at_port)
{
    struct net_pair *pair = net_pair(net, packet->from, packet->to);
    bool queue = verdict == NETEM_QUEUE_DROP;
    pair->port_drops += at_port && queue;
    pair->shared_lost += at_port && verdict == NETEM_DOWN && packet->flow == 0;
    if (packet->flow != 0) {
        struct net_flow *flow = &net->flows[packet->flow - 1];
        flow->queue_drops += queue;
        flow->lost += !queue;
        pair->flow_drops += queue;
        pair->flow_lost += !at_port && (verdict == NETEM_LOST || verdict == NETEM_DOWN);
    }
    switch (verdict) {
    case NETEM_PASS:
        break;
    case NETEM_LOST:
        net->counters.lost++;
        break;
    case NETEM_QUEUE_DROP:
        net->counters.queue_drops++;
        break;
    case NETEM_TOO_LONG:
        net->counters.too_long++;
        break;
    case NETEM_DOWN:
        net->counters.down_drops++;
        break;
    case NETEM_POLICED:
        net->counters.policer_drops++;
        break;
    }
}

static bool all_zero(const uint8_t *data, uint32_t length)
{
    return data[0] == 0 && memcmp(data, data + 1, length - 1) == 0;
}

struct sim_packet *net_packet(struct net *net, uint16_t from, uint16_t to, uint32_t ip_bytes, uint32_t stored)
{
    struct sim_packet *packet = pool_take(&net->pool, stored);
    packet->from = from;
    packet->to = to;
    packet->ip_bytes = ip_bytes;
    packet->wire_bytes = ip_bytes + WIRE_EXTRA_BYTES;
    packet->length = (uint16_t)(ip_bytes - address_overhead_bytes(ADDRESS_IPV4));
    packet->ecn = 0;
    packet->corrupted = false;
    packet->hop = 0;
    packet->flow = 0;
    return packet;
}

static struct sim_packet *copy_of(struct net *net, uint16_t from, uint16_t to, const struct tx_packet *packet)
{
    bool zeros = packet->body_bytes == 0 || (net->sparse && packet->cookie != TX_COOKIE_NONE) ||
                 all_zero(packet->body, packet->body_bytes);
    uint32_t ip_bytes = packet->head_bytes + packet->body_bytes + address_overhead_bytes(packet->to.family);
    struct sim_packet *copy =
        net_packet(net, from, to, ip_bytes, (uint32_t)packet->head_bytes + (zeros ? 0 : packet->body_bytes));
    copy->length = (uint16_t)(packet->head_bytes + packet->body_bytes);
    copy->ecn = packet->traffic_class & 3;
    memcpy(copy->data, packet->head, packet->head_bytes);
    if (!zeros)
        memcpy(copy->data + packet->head_bytes, packet->body, packet->body_bytes);
    return copy;
}

static void fly_duplicate(struct net *net, const struct sim_packet *packet, uint64_t arrive_ns)
{
    struct sim_packet *copy = pool_take(&net->pool, packet->stored);
    uint8_t size_class = copy->size_class;
    memcpy(copy, packet, sizeof(*packet) + packet->stored);
    copy->size_class = size_class;
    net->counters.duplicated++;
    fly(net, copy, arrive_ns);
}

static struct meter_packet metered(const struct sim_packet *packet)
{
    return (struct meter_packet){.from = packet->from,
                                 .to = packet->to,
                                 .head = packet->data,
                                 .length = packet->length,
                                 .wire_bytes = packet->wire_bytes};
}

/* A link, a shared one or a shaper has refused it at now_ns. */
static void refused(struct net *net, struct sim_packet *packet, enum netem_verdict verdict, bool at_port,
                    uint64_t now_ns)
{
    struct meter_packet seen = metered(packet);
    count_drop(net, packet, verdict, at_port);
    if (packet->flow == 0)
        meter_on_refused(&net->meters, &seen, verdict, now_ns);
    pool_give(&net->pool, packet);
}

static void mark(struct net *net, struct netem_link *link, const struct netem_decision *decision,
                 struct sim_packet *packet)
{
    uint64_t before = link->counters.marked;
    packet->ecn = netem_mark(link, decision, packet->ecn);
    net->counters.ecn_marked += link->counters.marked - before;
}

/* What the link of the pair made of it. */
static void settle(struct net *net, struct sim_packet *packet, const struct netem_decision *way)
{
    struct netem_link *link = &net_pair(net, packet->from, packet->to)->link;
    packet->corrupted = way->corrupted;
    mark(net, link, way, packet);
    if (way->duplicated)
        fly_duplicate(net, packet, way->duplicate_ns);
    fly(net, packet, way->arrive_ns);
}

static struct netem_decision enter_link(struct net *net, struct sim_packet *packet, uint64_t now_ns)
{
    struct netem_link *link = &net_pair(net, packet->from, packet->to)->link;
    packet->queued_ns += netem_queue_ns(link, now_ns);
    return netem_send(link, packet->wire_bytes, packet->ip_bytes, now_ns);
}

/* It comes to the next shared link of its way at arrive_ns, from what feeds it: a host's uplink or a shared
 * link. */
static void head_for_shared(struct net *net, struct sim_packet *packet, struct packet_queue *queue,
                            uint32_t feeder, uint64_t arrive_ns)
{
    packet->time_ns = arrive_ns;
    packet->sequence = event_ticket(net->heap);
    if (queue_join(queue, packet))
        event_push(net->heap, &(struct event){packet->time_ns, packet->sequence, EVENT_SHARED, feeder, NULL});
}

uint64_t net_launch(struct net *net, struct sim_packet *packet, uint64_t depart_ns)
{
    uint16_t from = packet->from, to = packet->to;
    struct net_port *port = &net->ports[from];
    uint64_t sent_ns = MAX(depart_ns, port->sent_until_ns);
    port->sent_until_ns = sent_ns;
    net->counters.sent++;
    struct meter_packet seen = metered(packet);
    if (packet->flow == 0)
        meter_on_sent(&net->meters, &seen, sent_ns);
    packet->queued_ns = netem_queue_ns(&port->uplink, sent_ns);
    struct netem_decision up = netem_send(&port->uplink, packet->wire_bytes, packet->ip_bytes, sent_ns);
    struct netem_decision way = {.verdict = up.verdict};
    bool shared = up.verdict == NETEM_PASS && net_pair(net, from, to)->way_count != 0;
    if (up.verdict == NETEM_PASS && !shared)
        way = enter_link(net, packet, up.arrive_ns);
    digest_add(net->digest, sent_ns);
    digest_add(net->digest, (uint64_t)from << 48 | (uint64_t)to << 32 | packet->length);
    digest_add(net->digest, (uint64_t)way.verdict << 1 | way.corrupted);
    if (way.verdict != NETEM_PASS)
        refused(net, packet, way.verdict, up.verdict != NETEM_PASS, sent_ns);
    else if (shared)
        head_for_shared(net, packet, &port->onward, from, up.arrive_ns);
    else
        settle(net, packet, &way);
    return sent_ns;
}

uint64_t net_send(struct net *net, uint16_t from, uint16_t to, const struct tx_packet *packet,
                  uint64_t depart_ns)
{
    return net_launch(net, copy_of(net, from, to, packet), depart_ns);
}

/* The packet reaches a shared link. Behind the last one of its way comes the link of the pair at once: all of
 * the pair's packets come through here, in order. */
static void enter_shared(struct net *net, struct sim_packet *packet, uint64_t now_ns)
{
    const struct net_pair *pair = net_pair(net, packet->from, packet->to);
    uint16_t index = pair->way[packet->hop++];
    struct net_shared *shared = &net->shared[index];
    packet->queued_ns += netem_queue_ns(&shared->link, now_ns);
    struct netem_decision decision = netem_send(&shared->link, packet->wire_bytes, packet->ip_bytes, now_ns);
    bool passed = decision.verdict == NETEM_PASS, last = packet->hop == pair->way_count;
    uint64_t leaves_ns = decision.arrive_ns;
    if (passed) {
        shared->carried_bytes += packet->wire_bytes;
        mark(net, &shared->link, &decision, packet);
    }
    if (passed && !last) {
        head_for_shared(net, packet, &shared->queue, (uint32_t)net->count + index, leaves_ns);
        return;
    }
    if (passed)
        decision = enter_link(net, packet, leaves_ns);
    digest_add(net->digest, now_ns);
    digest_add(net->digest,
               (uint64_t)packet->hop << 8 | (uint64_t)decision.verdict << 1 | decision.corrupted);
    if (decision.verdict == NETEM_PASS)
        settle(net, packet, &decision);
    else
        refused(net, packet, decision.verdict, !passed, now_ns);
}

uint32_t net_on_shared(struct net *net, uint32_t index, uint64_t until_ns)
{
    struct packet_queue *queue =
        index < net->count ? &net->ports[index].onward : &net->shared[index - net->count].queue;
    for (uint32_t done = 1;; done++) {
        struct sim_packet *packet = queue_leave(queue);
        enter_shared(net, packet, packet->time_ns);
        const struct sim_packet *next = queue_first(queue);
        if (next == NULL)
            return done;
        if (next->time_ns <= until_ns && event_is_first(net->heap, next->time_ns, next->sequence))
            continue;
        event_push(net->heap, &(struct event){next->time_ns, next->sequence, EVENT_SHARED, index, NULL});
        return done;
    }
}

/* The packet has come through its link: into the receiver's downlink. */
static void enter_downlink(struct net *net, struct sim_packet *packet, uint64_t now_ns)
{
    struct net_port *port = &net->ports[packet->to];
    uint64_t queue_ns = netem_queue_ns(&port->downlink, now_ns);
    struct netem_decision down = netem_send(&port->downlink, packet->wire_bytes, packet->ip_bytes, now_ns);
    if (down.verdict != NETEM_PASS) {
        digest_add(net->digest, now_ns ^ (uint64_t)down.verdict << 60);
        refused(net, packet, down.verdict, true, now_ns);
        return;
    }
    packet->queued_ns += queue_ns;
    packet->time_ns = down.arrive_ns;
    if (queue_join(&port->queue, packet))
        port_schedule(net, port, packet->to);
}

uint32_t net_on_link(struct net *net, uint32_t index, uint64_t until_ns)
{
    struct packet_queue *queue = &net->pairs[index].queue;
    for (uint32_t done = 1;; done++) {
        struct sim_packet *packet = queue_leave(queue);
        /* Here and not in a function of its own: GCC drops calls of functions that only prefetch. */
        const struct sim_packet *ahead = queue_ahead(queue, FETCH_AHEAD);
        if (ahead != NULL) {
            __builtin_prefetch(ahead);
            __builtin_prefetch(&ahead->data[16]);
        }
        enter_downlink(net, packet, packet->time_ns);
        const struct sim_packet *next = queue_first(queue);
        if (next == NULL)
            return done;
        /* Nothing else happens before the next one: it need not pass the heap. */
        if (next->time_ns <= until_ns && event_is_first(net->heap, next->time_ns, next->sequence))
            continue;
        link_schedule(net, next, index);
        return done;
    }
}

void net_on_stray(struct net *net, struct sim_packet *packet, uint64_t now_ns)
{
    enter_downlink(net, packet, now_ns);
}

/* Whether the first packet of the port belongs to a batch that is complete. */
static bool batch_is_there(struct net_port *port, uint64_t now_ns)
{
    uint64_t times_ns[NETEM_BATCH_MAX];
    uint32_t count = 0;
    const struct sim_packet *packet;
    if (port->batch_left > 0)
        return true;
    while (count < port->stamping.batch && (packet = queue_ahead(&port->queue, count)) != NULL &&
           packet->time_ns <= now_ns)
        times_ns[count++] = packet->time_ns;
    port->batch_left = netem_stamp_batch(&port->stamping, times_ns, count, now_ns, &port->batch_stamp_ns);
    return port->batch_left > 0;
}

/* All that came since the turn before stands in the host's ring, the first as far as it had room. */
static bool ring_overflows(struct net_port *port, const struct sim_packet *packet, uint64_t now_ns)
{
    if (port->ring_bytes_max == 0 && port->ring_packets_max == 0)
        return false;
    if (now_ns != port->ring_ns) {
        port->ring_ns = now_ns;
        port->ring_bytes = 0;
        port->ring_packets = 0;
    }
    if ((port->ring_bytes_max != 0 && port->ring_bytes + packet->wire_bytes > port->ring_bytes_max) ||
        (port->ring_packets_max != 0 && port->ring_packets == port->ring_packets_max))
        return true;
    port->ring_bytes += packet->wire_bytes;
    port->ring_packets++;
    return false;
}

/* The host never saw it. */
static void drop_at_host(struct net *net, struct sim_packet *packet, uint64_t *counter)
{
    struct meter_packet seen = metered(packet);
    (*counter)++;
    if (packet->flow == 0)
        meter_on_corrupted(&net->meters, &seen, packet->time_ns);
    pool_give(&net->pool, packet);
}

struct sim_packet *net_take(struct net *net, uint16_t host, uint64_t now_ns)
{
    struct net_port *port = &net->ports[host];
    for (;;) {
        struct sim_packet *packet = queue_first(&port->queue);
        if (packet == NULL || packet->time_ns > now_ns)
            return NULL;
        bool batched = port->stamping.batch > 1;
        if (batched && !batch_is_there(port, now_ns))
            return NULL;
        port->batch_left -= batched;
        queue_leave(&port->queue);
        digest_add(net->digest, packet->time_ns);
        digest_add(net->digest, (uint64_t)packet->from << 48 | (uint64_t)host << 32 | packet->length);
        if (ring_overflows(port, packet, now_ns)) {
            drop_at_host(net, packet, &net->counters.ring_drops);
            port->ring_drops++;
            continue;
        }
        if (packet->corrupted) {
            drop_at_host(net, packet, &net->counters.corrupt_drops);
            continue;
        }
        struct meter_packet seen = metered(packet);
        if (packet->flow == 0)
            meter_on_delivered(&net->meters, &seen, packet->queued_ns, packet->time_ns);
        port->down_bytes += packet->wire_bytes;
        net->counters.delivered++;
        packet->time_ns = batched ? port->batch_stamp_ns : packet->time_ns;
        return packet;
    }
}

void net_on_port(struct net *net, uint16_t host, uint64_t now_ns)
{
    struct net_port *port = &net->ports[host];
    const struct sim_packet *first = queue_first(&port->queue);
    port->turn_ns = now_ns;
    if (first == NULL || first->time_ns > now_ns)
        port->turn_ns += port->turn_lasts_ns;
    port_schedule(net, port, host);
}

void net_done(struct net *net, struct sim_packet *packet)
{
    pool_give(&net->pool, packet);
}
