/* A stream that has gone on for weeks: more symbols than the 40 bits on the wire can count. */
#include "check.h"
#include "node/kind/stream.h"
#include "node/role/source.h"

/* Both ends as if they had come to this block, before anything was sent. */
static void move_on(uint16_t node, uint64_t block)
{
    for (uint32_t slot = 0; slot < NODE_JOBS_MAX; slot++) {
        struct job *job = &world.nodes[node].node->jobs[slot];
        if (!job_is_known(job) || job->stream == NULL)
            continue;
        job->stream->window.first = block;
        job->stream->window.next = block * job->geometry.block_symbols;
        job->stream->marks[0].block = block;
        job->object->lap_first = block / job->geometry.blocks * job->geometry.blocks;
        job->object->lap_places = block % job->geometry.blocks;
        job->stream->room_told[0] = block + STREAM_BLOCKS_MIN;
        job->stream->hash_taken = job->stream->hash_next = block;
        job->stream->hash_room_told = block + STREAM_HASHES;
        for (uint16_t child = 0; child < job->children.count; child++)
            job->children.of[child].room_blocks = block + STREAM_BLOCKS_MIN;
        for (uint16_t site = 0; job->source != NULL && site < job->source->site_count; site++) {
            job->source->sites[site].hash_next = block;
            job->source->sites[site].hash_room = block + STREAM_HASHES;
        }
    }
}

static void pass_the_end(uint32_t mtu)
{
    static const uint16_t chain[][2] = {{0, 1}, {1, 2}};
    world_init(&world, 3, 1);
    world.source_bytes = 40000000;
    for (uint16_t node = 0; node < 2; node++)
        world.nodes[node].config.ports[0].mtu = mtu;
    start_all();
    world_run_until(&world, 2 * NS_PER_S);
    struct job_spec spec = world_job(&world, "s");
    spec.object = PART_OBJECT_STREAM;
    spec.retention_bytes = 8000000;
    spec.flush_ns = 100 * NS_PER_MS;
    give_tree(&spec, chain, 2);
    run_job_at(0, &spec);
    assert_true(run_until_state(0, "s", JOB_DISTRIBUTING, 5 * NS_PER_S));
    world.nodes[0].disk_stuck = true;
    assert_true(run_until_state(0, "s", JOB_RUNNING, 5 * NS_PER_S));
    world_run_until(&world, world.now_ns + 200 * NS_PER_MS);
    const struct job *job = &world.nodes[0].node->jobs[0];
    uint64_t blocks = job->geometry.blocks;
    uint64_t block = ((1ULL << 40) - 4000) / job->geometry.block_symbols / blocks * blocks;
    for (uint16_t node = 0; node < 3; node++)
        move_on(node, block);
    world.nodes[0].disk_stuck = false;
    run_until_over(0, "s", 60 * NS_PER_S);
    assert_true(job->stream->window.next > 1ULL << 40);
    assert_state(0, "s", JOB_DONE);
    for (uint16_t node = 1; node < 3; node++)
        assert_int_equal(world.nodes[node].files[0].size, world.source_bytes);
    world_end(&world);
}

static void node_stream__passes_what_the_wire_counts(void **state)
{
    (void)state;
    pass_the_end(1500);
    pass_the_end(9000); /* some packets carry several symbols */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(node_stream__passes_what_the_wire_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
