/* Two nodes with keys, and somebody between them who has none: he hears all, sends what he likes from any address, and holds
 * back what he likes. */
#pragma once

#include "check.h"
#include "node/peer/peer.h"
#include "sizes/sizes.h"

#define RECORDED_MAX 4096
static struct recorded {
    uint8_t data[2048];
    uint32_t length;
    uint16_t from, to;
} recorded[RECORDED_MAX];
static uint32_t recorded_count;

static inline void record(uint16_t from, uint16_t to, const uint8_t *data, uint32_t length)
{
    if (recorded_count == RECORDED_MAX || length > sizeof(recorded[0].data))
        return;
    struct recorded *entry = &recorded[recorded_count++];
    *entry = (struct recorded){.length = length, .from = from, .to = to};
    memcpy(entry->data, data, length);
}

/* For a datagram that is on its way: it will not be read by anybody. */
static inline void spoil(const uint8_t *data)
{
    *(uint8_t *)(uintptr_t)data = 0;
}

static inline void use_keys(const struct primitives *primitives)
{
    for (uint16_t node = 0; node < world.count; node++) {
        world.nodes[node].config.primitives = primitives;
        world.nodes[node].config.keys_by_name = true;
    }
}

/* A job runs. */
static inline void begin_job(uint64_t bytes)
{
    world.source_bytes = bytes;
    start_all();
    world_run_until(&world, world.now_ns + 2 * NS_PER_S);
    struct job_spec spec = world_job(&world, "j");
    run_job_at(0, &spec);
    assert_true(run_until_state(0, "j", JOB_RUNNING, 5 * NS_PER_S));
}

/* … all that was said for it is recorded, the handshake too. */
static inline void begin_recorded(void)
{
    world_init(&world, 2, 1);
    use_keys(&sizes_primitives);
    recorded_count = 0;
    world.on_datagram = record;
    begin_job(20000000);
    world_run_until(&world, world.now_ns + 100 * NS_PER_MS);
    world.on_datagram = NULL;
    assert_true(recorded_count > 10);
}

static inline void end_intact(void)
{
    run_until_over(0, "j", 30 * NS_PER_S);
    assert_state(0, "j", JOB_DONE);
    for (uint16_t node = 0; node < 2; node++)
        assert_int_equal(world_counter(&world, node, "peers_reset"), 0);
    world_end(&world);
}

static inline uint64_t drops(uint16_t node)
{
    uint64_t value, sum = 0;
    const char *name;
    for (uint32_t index = 0; (name = node_counter(world.nodes[node].node, index, &value)) != NULL; index++)
        sum += strncmp(name, "drop_", 5) == 0 ? value : 0;
    return sum;
}

/* One drop for each, of this name; "": of any. */
static inline void refused(uint16_t from, const uint8_t *data, uint32_t length, const char *counter)
{
    uint64_t before = drops(1 - from),
             named = counter[0] != '\0' ? world_counter(&world, 1 - from, counter) : 0;
    world_inject(&world, from, 1 - from, data, length);
    assert_int_equal(drops(1 - from), before + 1);
    if (counter[0] != '\0')
        assert_int_equal(world_counter(&world, 1 - from, counter), named + 1);
}

static inline bool is_up(uint16_t node)
{
    struct node_edge_view view;
    assert_true(node_edge_view(world.nodes[node].node, 0, &view));
    return view.up;
}
