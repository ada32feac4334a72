#include "app/probe/hop.h"

#include <stdlib.h>

#include "base/units.h"

/* What rounding of departures to whole ns may make of an equality. */
#define ROUNDING_NS 3

static uint64_t drain_bps(const struct netem_config *config)
{
    uint64_t rate_bps = netem_config_drain_bps(config);
    return config->policer_bps != 0 ? MIN(rate_bps, config->policer_bps) : rate_bps;
}

static uint64_t rate_after(const struct hop_config *config, unsigned steps)
{
    return steps == 0 ? drain_bps(&config->link) : config->steps[steps - 1].rate_bps;
}

uint64_t hop_capacity_bps(const struct hop *hop, uint64_t now_ns)
{
    unsigned steps = 0;
    while (steps < hop->config->step_count && hop->begin_ns + hop->config->steps[steps].at_ns <= now_ns)
        steps++;
    return rate_after(hop->config, steps);
}

uint64_t hop_capacity_bits(const struct hop *hop, uint64_t from_ns, uint64_t until_ns)
{
    const struct hop_config *config = hop->config;
    uint64_t bits = 0, at_ns = from_ns;
    for (unsigned step = 0; step <= config->step_count && at_ns < until_ns; step++) {
        uint64_t end_ns =
            step < config->step_count ? MIN(until_ns, hop->begin_ns + config->steps[step].at_ns) : until_ns;
        if (end_ns <= at_ns)
            continue;
        bits += muldiv64(rate_after(config, step), end_ns - at_ns, NS_PER_S);
        at_ns = end_ns;
    }
    return bits;
}

void hop_begin(struct hop *hop, const struct hop_config *config, uint64_t seed, uint64_t begin_ns,
               uint64_t cross_ns, bool harm)
{
    struct hop_mark *marks = hop->marks;
    size_t room = hop->mark_room;
    *hop =
        (struct hop){.config = config, .begin_ns = begin_ns, .harm = harm, .marks = marks, .mark_room = room};
    netem_init(&hop->link, &config->link, seed, NULL, 0);
    for (unsigned i = 0; i < config->link.load_count; i++) {
        const struct netem_load *load = &config->link.loads[i];
        /* Draws of its own, or two loads of a kind would be one of twice the size. */
        netem_background_of(&hop->loads[i], load, seed ^ i * 0x9E3779B97F4A7C15ULL,
                            load->kind == NETEM_LOAD_ONOFF ? &hop->onoffs[i] : NULL);
        netem_join(&hop->link, &hop->loads[i]);
    }
    netem_background_from(&hop->link, cross_ns);
    if (!harm)
        return;
    netem_truth_init(&hop->truth, hop->blocks, HOP_TRUTH_BLOCKS);
    netem_watch(&hop->link, &hop->truth);
}

void hop_end(struct hop *hop)
{
    free(hop->marks);
    *hop = (struct hop){0};
}

static void catch_up(struct hop *hop, uint64_t now_ns)
{
    const struct hop_config *config = hop->config;
    while (hop->steps_done < config->step_count &&
           hop->begin_ns + config->steps[hop->steps_done].at_ns <= now_ns) {
        const struct hop_step *step = &config->steps[hop->steps_done++];
        netem_catch_up(&hop->link, hop->begin_ns + step->at_ns);
        struct netem_config changed = hop->link.config;
        changed.rate_bps = step->rate_bps;
        netem_set(&hop->link, &changed);
    }
    netem_catch_up(&hop->link, now_ns);
}

static void mark(struct hop *hop, uint64_t departed_ns, uint64_t came_ns, uint64_t bits)
{
    if (hop->mark_count > 0 && hop->marks[hop->mark_count - 1].departed_ns >= departed_ns)
        return; /* it was overtaken */
    if (hop->mark_count == hop->mark_room) {
        hop->mark_room = MAX(2 * hop->mark_room, (size_t)4096);
        hop->marks = realloc(hop->marks, hop->mark_room * sizeof(*hop->marks));
        CHECK(hop->marks != NULL);
    }
    hop->marks[hop->mark_count++] = (struct hop_mark){departed_ns, came_ns, bits};
}

/* The part is over. */
static void end_part(struct hop *hop)
{
    const struct hop_part *part = &hop->part;
    if (part->packets >= HOP_PART_LEAST) {
        hop->busy.packets += part->packets;
        hop->busy.ns += part->ns;
        hop->busy.cross_bits += part->cross_bits;
        hop->busy.capacity_bits += part->capacity_bits;
    }
    hop->part = (struct hop_part){0};
}

void hop_train(struct hop *hop)
{
    end_part(hop);
    hop->running = false;
}

/* Whether nothing was idle since the packet before; then the time between them is one of the busy ones. */
static void take_busy(struct hop *hop, uint64_t came_ns, uint64_t wait_ns, uint64_t bits)
{
    uint64_t rate_bps = netem_config_drain_bps(&hop->link.config);
    uint64_t between_ns = transmit_ns((bits - hop->cross_bits) / 8, rate_bps);
    if (!hop->running || wait_ns == 0 || came_ns + wait_ns > hop->left_ns + between_ns + ROUNDING_NS) {
        end_part(hop);
        return;
    }
    hop->part.packets++;
    hop->part.ns += came_ns - hop->came_ns;
    hop->part.cross_bits += bits - hop->cross_bits;
    hop->part.capacity_bits += hop_capacity_bits(hop, hop->came_ns, came_ns);
}

static void take_queue(struct hop *hop, uint32_t wire_bytes, uint64_t wait_ns)
{
    uint64_t rate_bps = netem_config_drain_bps(&hop->link.config);
    hop->queue_bytes_max = MAX(hop->queue_bytes_max, bytes_within(rate_bps, wait_ns) + wire_bytes);
}

struct netem_decision hop_send(struct hop *hop, uint32_t wire_bytes, uint64_t departed_ns, uint64_t came_ns)
{
    catch_up(hop, came_ns);
    uint64_t wait_ns = netem_queue_ns(&hop->link, came_ns), bits = hop->link.counters.background_bytes * 8;
    mark(hop, departed_ns, came_ns, bits);
    struct netem_decision decision =
        netem_send(&hop->link, wire_bytes, wire_bytes - WIRE_OVERHEAD_BYTES, came_ns);
    if (decision.verdict != NETEM_PASS && decision.verdict != NETEM_LOST)
        return decision;
    take_queue(hop, wire_bytes, wait_ns);
    take_busy(hop, came_ns, wait_ns, bits);
    hop->running = true;
    hop->came_ns = came_ns;
    hop->left_ns = decision.depart_ns;
    hop->cross_bits = bits;
    return decision;
}

/* Index of the first mark that departed at or after that. */
static size_t mark_from(const struct hop *hop, uint64_t departed_ns)
{
    size_t low = 0, high = hop->mark_count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (hop->marks[middle].departed_ns < departed_ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static uint64_t left_bps(uint64_t capacity, uint64_t cross, uint64_t ns)
{
    return capacity > cross && ns > 0 ? muldiv64(capacity - cross, NS_PER_S, ns) : 0;
}

uint64_t hop_available_bps(const struct hop *hop, uint64_t from_ns, uint64_t until_ns)
{
    size_t first = mark_from(hop, from_ns), behind = mark_from(hop, later_ns(until_ns, 1));
    if (behind < first + 2)
        return 0;
    const struct hop_mark *a = &hop->marks[first], *b = &hop->marks[behind - 1];
    return left_bps(hop_capacity_bits(hop, a->came_ns, b->came_ns), b->cross_bits - a->cross_bits,
                    b->came_ns - a->came_ns);
}

uint64_t hop_busy_available_bps(const struct hop *hop)
{
    return left_bps(hop->busy.capacity_bits, hop->busy.cross_bits, hop->busy.ns);
}

uint64_t hop_added_bytes(struct hop *hop)
{
    uint64_t bytes = hop->truth.own_queue_bytes_max;
    hop->truth.own_queue_bytes_max = 0;
    return bytes;
}

uint64_t hop_added_drops(const struct hop *hop)
{
    return elapsed_ns(hop->truth.refused, hop->truth.refused_alone);
}

uint64_t hop_cross_packets(const struct hop *hop)
{
    return hop->link.counters.background_packets;
}
