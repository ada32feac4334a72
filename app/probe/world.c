#include "app/probe/world.h"

#include "base/units.h"

/* A receiver that misses the last packets of a train waits that long for them. */
#define MISSING_NS (5 * NS_PER_MS)

void world_begin(struct world *world, const struct world_config *config, uint64_t seed, uint64_t begin_ns,
                 uint64_t cross_ns)
{
    CHECK(config->hop_count > 0 && config->hop_count <= WORLD_HOPS_MAX);
    struct rng rng;
    rng_init(&rng, seed);
    world->config = config;
    world->begin_ns = begin_ns;
    netem_init(&world->approach, &config->approach, rng_next(&rng), NULL, 0);
    rng_init(&world->noise, rng_next(&rng));
    for (unsigned i = 0; i < config->hop_count; i++)
        hop_begin(&world->hops[i], &config->hops[i], rng_next(&rng), begin_ns, cross_ns, config->harm);
}

void world_end(struct world *world)
{
    for (unsigned i = 0; i < WORLD_HOPS_MAX; i++)
        hop_end(&world->hops[i]);
}

/* Few are out of order, and not far: insertion. */
static void sort(struct passing *packets, uint32_t count)
{
    for (uint32_t i = 1; i < count; i++) {
        struct passing packet = packets[i];
        uint32_t place = i;
        for (; place > 0 && packets[place - 1].at_ns > packet.at_ns; place--)
            packets[place] = packets[place - 1];
        packets[place] = packet;
    }
}

/* Those that passed, in order of their arrival behind it. `hop` NULL: the approach. */
static void pass(struct world *world, struct hop *hop, uint32_t wire_bytes)
{
    uint32_t passed = 0;
    for (uint32_t i = 0; i < world->packet_count; i++) {
        struct passing packet = world->packets[i];
        struct netem_decision decision =
            hop != NULL
                ? hop_send(hop, wire_bytes, packet.departed_ns, packet.at_ns)
                : netem_send(&world->approach, wire_bytes, wire_bytes - WIRE_OVERHEAD_BYTES, packet.at_ns);
        if (decision.verdict != NETEM_PASS)
            continue;
        packet.at_ns = decision.arrive_ns;
        world->packets[passed++] = packet;
    }
    world->packet_count = passed;
    sort(world->packets, passed);
}

void world_depart(struct world *world, const struct train_shape *shape, uint64_t start_ns)
{
    struct train_schedule schedule;
    CHECK(train_shape_valid(shape));
    world->packet_count = 0;
    for (train_begin(&schedule, shape, start_ns); schedule.next_ns != TIME_NEVER; train_step(&schedule))
        world->packets[world->packet_count++] =
            (struct passing){schedule.next_ns, schedule.next_ns, schedule.index};
}

/* Samples in order of sending, from packets in order of arrival. */
static void fill(struct world *world, struct train_record *record)
{
    static struct train_sample by_index[TRAIN_PACKETS_MAX];
    static bool came[TRAIN_PACKETS_MAX];
    const struct world_config *config = world->config;
    for (uint32_t i = 0; i < record->sent; i++)
        came[i] = false;
    for (uint32_t i = 0; i < world->packet_count; i++)
        world->seen_ns[i] = world->packets[i].at_ns;
    netem_stamp_all(&config->receiver.stamping, world->seen_ns, world->packet_count, &world->noise);
    for (uint32_t i = 0; i < world->packet_count; i++) {
        const struct passing *packet = &world->packets[i];
        uint64_t sent_ns = netem_stamp(&config->sender.stamping, packet->departed_ns, &world->noise);
        came[packet->index] = true;
        by_index[packet->index] =
            (struct train_sample){.sent_ns = stamps_clock_ns(&config->sender, sent_ns),
                                  .received_ns = stamps_clock_ns(&config->receiver, world->seen_ns[i]),
                                  .index = packet->index,
                                  .arrival = i};
    }
    record->count = 0;
    for (uint32_t i = 0; i < record->sent; i++)
        if (came[i])
            record->samples[record->count++] = by_index[i];
}

uint64_t world_arrive(struct world *world, const struct train_shape *shape, uint64_t start_ns,
                      struct train_record *record)
{
    const struct world_config *config = world->config;
    uint32_t sent = world->packet_count;
    uint64_t end_ns = start_ns + train_duration_ns(shape) + config->approach.delay_ns;
    if (!config->approach_last)
        pass(world, NULL, shape->wire_bytes);
    for (unsigned i = 0; i < config->hop_count; i++)
        pass(world, &world->hops[i], shape->wire_bytes);
    for (unsigned i = 0; i < config->hop_count; i++)
        hop_train(&world->hops[i]);
    if (config->approach_last)
        pass(world, NULL, shape->wire_bytes);

    record->marks = 0;
    record->shape = *shape;
    record->start_ns = start_ns;
    record->sent = sent;
    record->sender = stamps_floor(&config->sender);
    record->receiver = stamps_floor(&config->receiver);
    fill(world, record);
    if (world->packet_count > 0)
        end_ns = MAX(end_ns, world->seen_ns[world->packet_count - 1]);
    return end_ns + (world->packet_count < sent ? MISSING_NS : 0) + config->back_ns;
}

uint64_t world_send(struct world *world, const struct train_shape *shape, uint64_t start_ns,
                    struct train_record *record)
{
    world_depart(world, shape, start_ns);
    return world_arrive(world, shape, start_ns, record);
}

static uint64_t left_bps(const struct hop_config *hop)
{
    return elapsed_ns(netem_config_drain_bps(&hop->link), hop->cross_bps);
}

unsigned world_tight(const struct world_config *config)
{
    unsigned tight = 0;
    for (unsigned i = 1; i < config->hop_count; i++)
        if (left_bps(&config->hops[i]) < left_bps(&config->hops[tight]))
            tight = i;
    return tight;
}

uint64_t world_available_bps(const struct world *world, uint64_t from_ns, uint64_t until_ns)
{
    uint64_t least_bps = UINT64_MAX;
    for (unsigned i = 0; i < world->config->hop_count; i++)
        least_bps = MIN(least_bps, hop_available_bps(&world->hops[i], from_ns, until_ns));
    return least_bps;
}
