#include "app/wanem/wan.h"

#include <stdlib.h>

#include "base/units.h"

#define FRAME_BYTES_MIN    60   /* shorter ones are padded on the wire */
#define HOP_DOWNLINK       0x7f /* of a held packet: it has come out of its link; else: shared links passed */
#define UNLIMITED_QUEUE_NS (100 * NS_PER_MS) /* what is provided for where a queue has no limit */

/* How long packets may wait for this shaper. */
static uint64_t queue_ns(const struct netem_config *config)
{
    uint64_t wait_ns = netem_config_wait_ns(config, FULL_PACKET_WIRE_BYTES);
    return wait_ns == UINT64_MAX ? UNLIMITED_QUEUE_NS : wait_ns;
}

static uint64_t rate_of(const struct netem_config *config)
{
    return config->rate_bps == 0 ? UINT64_MAX : config->rate_bps;
}

static bool sets_link(const struct scenario_fault *fault, uint16_t from, uint16_t to)
{
    return fault->kind == FAULT_LINK_SET && fault->shared == 0 &&
           ((fault->link_from == from && fault->link_to == to) ||
            (fault->symmetric && fault->link_from == to && fault->link_to == from));
}

/* How long a packet is at most on this link, whatever faults make of it. */
static uint64_t link_ns(const struct scenario *scenario, uint16_t from, uint16_t to, uint64_t *rate_bps)
{
    struct netem_config link = scenario->links[from][to];
    uint64_t longest_ns = 0;
    *rate_bps = 0;
    for (uint16_t next = 0;; next++) {
        uint64_t delay_ns = link.delay_ns + link.jitter_ns;
        if (rate_of(&link) < rate_of(&scenario->nodes[from].uplink)) /* else its own queue stays empty */
            delay_ns += queue_ns(&link);
        if (link.delay_some_ppb != 0)
            delay_ns += link.delay_some_ns;
        longest_ns = MAX(longest_ns, delay_ns);
        *rate_bps = MAX(*rate_bps, rate_of(&link));
        while (next < scenario->fault_count && !sets_link(&scenario->faults[next], from, to))
            next++;
        if (next == scenario->fault_count)
            return longest_ns;
        netem_config_change(&link, &scenario->faults[next].set, scenario->faults[next].set_mask);
    }
}

/* The same in the queues of the shared links that the pair crosses. */
static uint64_t shared_ns(const struct scenario *scenario, uint16_t from, uint16_t to)
{
    uint8_t way[SCENARIO_WAY_MAX];
    uint64_t sum_ns = 0;
    for (uint8_t count = scenario_way(scenario, from, to, way); count > 0; count--) {
        uint8_t index = way[count - 1];
        struct netem_config link = scenario->shared[index].link;
        uint64_t longest_ns = queue_ns(&link);
        for (uint16_t fault = 0; fault < scenario->fault_count; fault++) {
            if (scenario->faults[fault].kind != FAULT_LINK_SET || scenario->faults[fault].shared != index + 1)
                continue;
            netem_config_change(&link, &scenario->faults[fault].set, scenario->faults[fault].set_mask);
            longest_ns = MAX(longest_ns, queue_ns(&link));
        }
        sum_ns += longest_ns;
    }
    return sum_ns;
}

/* Bytes on their way from one site to all others: those in its uplink's queue, and for every link what the
 * slower of link and uplink puts on it, but together no more than the uplink carries over the longest. */
static uint64_t site_bytes(const struct scenario *scenario, uint16_t from)
{
    const struct netem_config *uplink = &scenario->nodes[from].uplink;
    uint64_t sum = 0, longest_ns = 0;
    for (uint16_t to = 0; to < scenario->node_count; to++) {
        if (to == from)
            continue;
        uint64_t link_bps;
        uint64_t delay_ns = link_ns(scenario, from, to, &link_bps) + shared_ns(scenario, from, to) +
                            queue_ns(&scenario->nodes[to].downlink);
        uint64_t narrow = MIN(link_bps, rate_of(uplink));
        uint64_t rate = MIN(narrow, 100000000000ULL);
        sum += bytes_within(rate, delay_ns);
        longest_ns = MAX(longest_ns, delay_ns);
    }
    if (uplink->rate_bps != 0)
        sum = MIN(sum, bytes_within(uplink->rate_bps, longest_ns));
    return uplink->rate_bps == 0 ? sum : sum + bytes_within(uplink->rate_bps, queue_ns(uplink));
}

uint64_t wan_packets_needed(const struct scenario *scenario, uint32_t wire_bytes)
{
    uint64_t bytes = 0;
    for (uint16_t from = 0; from < scenario->node_count; from++)
        bytes += site_bytes(scenario, from);
    return bytes / wire_bytes * 3 / 2 + 1024;
}

/* ---- start ---- */

static void *take(size_t count, size_t bytes)
{
    void *memory = calloc(count, bytes);
    CHECK(memory != NULL);
    return memory;
}

static uint64_t packets_limit(const struct netem_config *config)
{
    return config->queue_unit == NETEM_QUEUE_PACKETS ? MAX(config->queue_limit, 1ULL) : 0;
}

/* `limit`: the longest queue counted in packets that it ever has; 0: none. */
static void link_init(struct netem_link *link, const struct netem_config *config, uint64_t limit,
                      uint64_t seed)
{
    size_t bytes = netem_memory_bytes(config, limit);
    netem_make(link, config, limit, seed, bytes != 0 ? take(1, bytes) : NULL);
}

static uint64_t link_limit(const struct scenario *scenario, uint16_t from, uint16_t to)
{
    uint64_t limit = packets_limit(&scenario->links[from][to]);
    for (uint16_t fault = 0; fault < scenario->fault_count; fault++)
        if (sets_link(&scenario->faults[fault], from, to))
            limit = MAX(limit, packets_limit(&scenario->faults[fault].set));
    return limit;
}

static void site_init(struct wan_site *site, const struct scenario_node *node, struct rng *seeds)
{
    link_init(&site->uplink, &node->uplink, packets_limit(&node->uplink), rng_next(seeds));
    link_init(&site->downlink, &node->downlink, packets_limit(&node->downlink), rng_next(seeds));
    site->head = site->tail = WAN_NONE;
}

static uint64_t shared_limit(const struct scenario *scenario, uint16_t index)
{
    uint64_t limit = packets_limit(&scenario->shared[index].link);
    for (uint16_t fault = 0; fault < scenario->fault_count; fault++)
        if (scenario->faults[fault].shared == index + 1)
            limit = MAX(limit, packets_limit(&scenario->faults[fault].set));
    return limit;
}

static void shared_init(struct wan *wan, const struct scenario *scenario, struct rng *seeds)
{
    uint16_t count = scenario->node_count;
    wan->ways = take((size_t)count * count, sizeof(*wan->ways));
    wan->shared = take(MAX(scenario->shared_count, (uint16_t)1), sizeof(*wan->shared));
    for (uint16_t index = 0; index < scenario->shared_count; index++)
        link_init(&wan->shared[index], &scenario->shared[index].link, shared_limit(scenario, index),
                  rng_next(seeds));
    for (uint16_t from = 0; from < count; from++)
        for (uint16_t to = 0; to < count; to++) {
            struct wan_way *way = &wan->ways[(uint32_t)from * count + to];
            way->count = scenario_way(scenario, from, to, way->shared);
        }
}

void wan_create(struct wan *wan, const struct scenario *scenario, uint32_t capacity,
                const struct wan_owner *owner)
{
    uint16_t count = scenario->node_count;
    *wan = (struct wan){.scenario = scenario,
                        .first_ns = TIME_NEVER,
                        .site_count = count,
                        .capacity = capacity,
                        .owner = *owner};
    wan->sites = take(count, sizeof(*wan->sites));
    wan->links = take((size_t)count * count, sizeof(*wan->links));
    wan->entries = take(capacity, sizeof(*wan->entries));
    hold_init(&wan->hold, take(capacity, sizeof(*wan->hold.items)), capacity);
    for (uint32_t index = 0; index < capacity; index++)
        wan->entries[index].next = index + 1 < capacity ? index + 1 : WAN_NONE;
    struct rng seeds;
    rng_init(&seeds, scenario->seed);
    for (uint16_t site = 0; site < count; site++) {
        site_init(&wan->sites[site], &scenario->nodes[site], &seeds);
        for (uint16_t to = 0; to < count; to++)
            link_init(&wan->links[(uint32_t)site * count + to], &scenario->links[site][to],
                      link_limit(scenario, site, to), rng_next(&seeds));
    }
    shared_init(wan, scenario, &seeds);
}

void wan_destroy(struct wan *wan)
{
    for (uint16_t site = 0; site < wan->site_count; site++) {
        free(wan->sites[site].uplink.memory);
        free(wan->sites[site].downlink.memory);
        for (uint16_t to = 0; to < wan->site_count; to++)
            free(wan->links[(uint32_t)site * wan->site_count + to].memory);
    }
    for (uint16_t index = 0; index < wan->scenario->shared_count; index++)
        free(wan->shared[index].memory);
    free(wan->shared);
    free(wan->ways);
    free(wan->sites);
    free(wan->links);
    free(wan->entries);
    free(wan->hold.items);
    *wan = (struct wan){0};
}

/* ---- running ---- */

uint32_t wan_room(const struct wan *wan)
{
    return (wan->capacity - wan_count(wan) - wan->undecided) / 2;
}

static uint32_t wire_bytes_of(uint32_t frame_bytes)
{
    return MAX(frame_bytes, (uint32_t)FRAME_BYTES_MIN) + ETHERNET_OVERHEAD_BYTES;
}

static void hold_until(struct wan *wan, const struct hold_item *packet, uint64_t time_ns, uint8_t hop)
{
    struct hold_item item = *packet;
    item.time_ns = time_ns;
    item.hop = hop;
    hold_put(&wan->hold, &item);
}

/* The packet reaches the link of its pair at at_ns. */
static struct wan_verdict cross_link(struct wan *wan, const struct hold_item *packet, uint64_t at_ns)
{
    struct netem_link *link = &wan->links[(uint32_t)packet->from * wan->site_count + packet->to];
    struct netem_decision across = netem_send(link, packet->bytes, packet->ip_bytes, at_ns);
    struct wan_verdict verdict = {.verdict = across.verdict, .place = WAN_AT_LINK};
    if (across.verdict != NETEM_PASS)
        return verdict;
    verdict.duplicated = across.duplicated;
    verdict.corrupted = across.corrupted;
    verdict.corrupt_bit = across.corrupt_bit;
    verdict.congested = across.congested || packet->congested;
    hold_until(wan, packet, across.arrive_ns, HOP_DOWNLINK);
    if (across.duplicated)
        hold_until(wan, packet, across.duplicate_ns, HOP_DOWNLINK);
    return verdict;
}

/* The packet has come to its next shared link. Behind the last one of its way comes the link of the pair at
 * once: all of the pair's packets come through here, in order. */
static void cross_shared(struct wan *wan, const struct hold_item *packet)
{
    const struct wan_way *way = &wan->ways[(uint32_t)packet->from * wan->site_count + packet->to];
    struct netem_link *shared = &wan->shared[way->shared[packet->hop]];
    struct netem_decision decision = netem_send(shared, packet->bytes, packet->ip_bytes, packet->time_ns);
    struct wan_verdict verdict = {.verdict = decision.verdict, .place = WAN_AT_SHARED};
    uint8_t next = (uint8_t)(packet->hop + 1);
    struct hold_item onward = *packet;
    onward.congested |= decision.congested;
    if (decision.verdict == NETEM_PASS && next < way->count) {
        hold_until(wan, &onward, decision.arrive_ns, next);
        return;
    }
    wan->undecided--;
    if (decision.verdict == NETEM_PASS)
        verdict = cross_link(wan, &onward, decision.arrive_ns);
    wan->owner.settle(wan->owner.context, packet->from, packet->to, packet->packet, &verdict);
}

bool wan_uplink_crowded(struct wan *wan, uint16_t site, uint64_t now_ns)
{
    struct netem_link *uplink = &wan->sites[site].uplink;
    uint64_t wait_ns = netem_config_wait_ns(&uplink->config, FULL_PACKET_WIRE_BYTES);
    /* Before the first packet nothing waits, and the cross traffic has not begun. */
    return wan->first_ns != TIME_NEVER && uplink->config.rate_bps != 0 &&
           netem_queue_ns(uplink, now_ns) > wait_ns / 2;
}

/* Time begins with the first packet: the cross traffic of the links, too. */
static void begin(struct wan *wan, uint64_t now_ns)
{
    uint16_t count = wan->site_count;
    wan->first_ns = now_ns;
    for (uint16_t site = 0; site < count; site++) {
        netem_background_from(&wan->sites[site].uplink, now_ns);
        netem_background_from(&wan->sites[site].downlink, now_ns);
        for (uint16_t to = 0; to < count; to++)
            netem_background_from(&wan->links[(uint32_t)site * count + to], now_ns);
    }
    for (uint16_t index = 0; index < wan->scenario->shared_count; index++)
        netem_background_from(&wan->shared[index], now_ns);
}

struct wan_verdict wan_rx(struct wan *wan, uint16_t from, uint16_t to, void *packet, uint32_t frame_bytes,
                          uint32_t ip_bytes, uint64_t now_ns)
{
    CHECK(from < wan->site_count && to < wan->site_count && from != to);
    uint32_t wire_bytes = wire_bytes_of(frame_bytes);
    if (wan->first_ns == TIME_NEVER)
        begin(wan, now_ns);
    struct netem_decision up = netem_send(&wan->sites[from].uplink, wire_bytes, ip_bytes, now_ns);
    if (up.verdict != NETEM_PASS)
        return (struct wan_verdict){.verdict = up.verdict, .place = WAN_AT_UPLINK};
    struct hold_item item = {.packet = packet,
                             .bytes = wire_bytes & 0xffffff,
                             .ip_bytes = (uint16_t)ip_bytes,
                             .from = (uint8_t)from,
                             .to = (uint8_t)to};
    if (wan->ways[(uint32_t)from * wan->site_count + to].count == 0)
        return cross_link(wan, &item, up.arrive_ns);
    wan->undecided++;
    hold_until(wan, &item, up.arrive_ns, 0);
    return (struct wan_verdict){.pending = true};
}

uint8_t wan_mark(struct wan *wan, uint16_t from, uint16_t to, const struct wan_verdict *verdict, uint8_t ecn)
{
    struct netem_decision decision = {.congested = verdict->congested};
    return netem_mark(&wan->links[(uint32_t)from * wan->site_count + to], &decision, ecn);
}

/* ---- faults ---- */

static void fault_link(struct netem_link *link, const struct scenario_fault *fault, uint64_t now_ns)
{
    netem_catch_up(link, now_ns);
    if (fault->kind == FAULT_LINK_SET) {
        struct netem_config config = link->config;
        netem_config_change(&config, &fault->set, fault->set_mask);
        netem_set(link, &config);
        return;
    }
    uint64_t up_ns = later_ns(now_ns, fault->duration_ns);
    netem_down(link, fault->holds, up_ns);
}

bool wan_plays(const struct scenario_fault *fault)
{
    return fault->kind == FAULT_LINK_SET || fault->kind == FAULT_LINK_DOWN;
}

unsigned wan_play_faults(struct wan *wan, uint64_t now_ns)
{
    unsigned played = 0;
    if (wan->first_ns == TIME_NEVER)
        return 0;
    for (; wan->faults_done < wan->scenario->fault_count; wan->faults_done++) {
        const struct scenario_fault *fault = &wan->scenario->faults[wan->faults_done];
        uint64_t due_ns = later_ns(wan->first_ns, fault->at_ns);
        if (due_ns > now_ns)
            break;
        if (!wan_plays(fault))
            continue;
        played++;
        if (fault->shared != 0) {
            fault_link(&wan->shared[fault->shared - 1], fault, due_ns);
            continue;
        }
        fault_link(&wan->links[(uint32_t)fault->link_from * wan->site_count + fault->link_to], fault, due_ns);
        if (fault->symmetric)
            fault_link(&wan->links[(uint32_t)fault->link_to * wan->site_count + fault->link_from], fault,
                       due_ns);
    }
    return played;
}

/* ---- to sites ---- */

static void site_append(struct wan *wan, struct wan_site *site, void *packet, uint64_t due_ns)
{
    uint32_t index = wan->entry_free;
    CHECK(index != WAN_NONE);
    struct wan_entry *entry = &wan->entries[index];
    wan->entry_free = entry->next;
    wan->entry_count++;
    *entry = (struct wan_entry){.due_ns = due_ns, .packet = packet, .next = WAN_NONE};
    if (site->tail == WAN_NONE)
        site->head = index;
    else
        wan->entries[site->tail].next = index;
    site->tail = index;
}

uint32_t wan_run(struct wan *wan, uint64_t now_ns)
{
    struct hold_item item;
    uint32_t refused = 0;
    while (hold_take(&wan->hold, now_ns, &item)) {
        if (item.hop != HOP_DOWNLINK) {
            cross_shared(wan, &item);
            continue;
        }
        struct wan_site *site = &wan->sites[item.to];
        /* The length limit was the link's and the uplink's affair: 0 passes any. */
        struct netem_decision down = netem_send(&site->downlink, item.bytes, 0, item.time_ns);
        if (down.verdict == NETEM_PASS) {
            site_append(wan, site, item.packet, down.arrive_ns);
            continue;
        }
        wan->owner.release(item.packet);
        refused++;
    }
    return refused;
}

uint16_t wan_due(const struct wan *wan, uint16_t site, void **packets, uint16_t room, uint64_t now_ns)
{
    uint16_t count = 0;
    uint32_t index = wan->sites[site].head;
    while (count < room && index != WAN_NONE && wan->entries[index].due_ns <= now_ns) {
        packets[count++] = wan->entries[index].packet;
        index = wan->entries[index].next;
    }
    return count;
}

void wan_sent(struct wan *wan, uint16_t site_index, uint16_t count, uint64_t now_ns)
{
    struct wan_site *site = &wan->sites[site_index];
    for (; count > 0; count--) {
        uint32_t index = site->head;
        CHECK(index != WAN_NONE);
        struct wan_entry *entry = &wan->entries[index];
        uint64_t late_ns = elapsed_ns(now_ns, entry->due_ns);
        site->late_ns_max = MAX(site->late_ns_max, late_ns);
        site->late_packets += late_ns > WAN_LATE_NS;
        site->sent_packets++;
        site->head = entry->next;
        if (site->head == WAN_NONE)
            site->tail = WAN_NONE;
        entry->next = wan->entry_free;
        wan->entry_free = index;
        wan->entry_count--;
    }
}

uint64_t wan_next_ns(const struct wan *wan)
{
    uint64_t next_ns = hold_next_ns(&wan->hold);
    for (uint16_t site = 0; site < wan->site_count; site++)
        if (wan->sites[site].head != WAN_NONE)
            next_ns = MIN(next_ns, wan->entries[wan->sites[site].head].due_ns);
    return next_ns;
}
