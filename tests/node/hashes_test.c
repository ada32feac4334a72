/* Content is what its source says: each site has hashes and the end of a stream from there, by whatever path, and from
 * nobody else. */
#include "check.h"
#include "node/kind/stream.h"
#include "node/peer/post.h"
#include "node/role/source.h"

static const uint16_t chain[][2] = {{0, 1}, {1, 2}, {2, 3}};

static struct node *node_of(uint16_t node)
{
    return world.nodes[node].node;
}

static uint16_t peer_of(uint16_t node, uint16_t other)
{
    return other < node ? other : (uint16_t)(other - 1);
}

static struct job *job_at(uint16_t node)
{
    return &node_of(node)->jobs[0];
}

static struct site *site_of(uint16_t node)
{
    return source_site(job_at(0), peer_of(0, node));
}

static void pass(uint64_t time_ns)
{
    world_run_until(&world, world.now_ns + time_ns);
}

static void begin(uint16_t count, uint8_t object, uint8_t slow)
{
    world_init(&world, count, 1);
    world.source_bytes = 60000000;
    start_all();
    pass(2 * NS_PER_S);
    struct job_spec spec = world_job(&world, "j");
    spec.object = object;
    spec.retention_bytes = 4000000;
    spec.flush_ns = 10 * NS_PER_MS;
    spec.slow = slow;
    give_tree(&spec, chain, (uint16_t)(count - 1));
    run_job_at(0, &spec);
    assert_true(run_until_state(0, "j", JOB_RUNNING, 5 * NS_PER_S));
}

static void assert_right(uint16_t node)
{
    const struct world_file *file = &world.nodes[node].files[job_at(node)->slot];
    assert_true(file->finished);
    assert_int_equal(file->size, world.source_bytes);
    for (uint64_t offset = 0; offset < file->size; offset += 997)
        assert_int_equal(file->data[offset], world_source_byte(offset));
}

/* A relay that has the job says what is not so, of what is there and of what is still to come, to those below and above. */
static void lie(uint16_t from, uint16_t to)
{
    struct control_hashes hashes = {.fixed = {.job = job_at(0)->id, .count = CONTROL_HASHES_MAX}};
    struct wire_stream_end end = {.job = job_at(0)->id, .symbols = 700, .bytes = 700};
    assert_true(post(node_of(from), peer_of(from, to), CONTROL_HASHES, &hashes));
    assert_true(post(node_of(from), peer_of(from, to), CONTROL_STREAM_END, &end));
}

static void site__believes_its_source_alone(void **state)
{
    (void)state;
    static const uint8_t objects[] = {PART_OBJECT_FILE, PART_OBJECT_STREAM};
    for (size_t row = 0; row < sizeof(objects); row++) {
        begin(4, objects[row], PART_SLOW_WAIT);
        world.liars = true;
        for (unsigned round = 0; round < 100; round++) {
            lie(1, 0);
            lie(1, 2);
            lie(2, 3);
            lie(3, 2);
            pass(10 * NS_PER_MS);
        }
        run_until_over(0, "j", 60 * NS_PER_S);
        assert_state(0, "j", JOB_DONE);
        for (uint16_t node = 1; node < 4; node++)
            assert_right(node);
        for (uint16_t node = 0; node < 4; node++)
            assert_int_equal(world_counter(&world, node, "blocks_bad"), 0);
        assert_int_equal(world_counter(&world, 3, "messages_forbidden"), 200);
        pass(2 * NS_PER_S);
        assert_clean();
        world_end(&world);
    }
}

/* Data comes by relays; the path from the source itself is slow, loses much, and is dark for a while. */
static void site__hashes_by_a_bad_path(void **state)
{
    (void)state;
    static const uint8_t objects[] = {PART_OBJECT_FILE, PART_OBJECT_STREAM};
    for (size_t row = 0; row < sizeof(objects); row++) {
        begin(4, objects[row], PART_SLOW_WAIT);
        world.rate_bps[0][3] = world.rate_bps[3][0] = 64000;
        world.loss_ppb = 50000000;
        pass(300 * NS_PER_MS);
        world_cut(&world, 0, 3, world.now_ns + 6 * NS_PER_S);
        run_until_over(0, "j", 90 * NS_PER_S);
        assert_state(0, "j", JOB_DONE);
        for (uint16_t node = 1; node < 4; node++)
            assert_right(node);
        world_end(&world);
    }
}

/* The source's window waits for a site that has no room for hashes, or passes it over, as the job says. */
static void source_hashes__without_room(void **state)
{
    (void)state;
    for (uint8_t slow = PART_SLOW_DROP; slow <= PART_SLOW_WAIT; slow++) {
        begin(3, PART_OBJECT_STREAM, slow);
        site_of(2)->hash_room = 0;
        uint64_t next = site_of(2)->hash_next, from_ns = world.now_ns;
        pass(10 * NS_PER_S);
        if (slow == PART_SLOW_WAIT) {
            assert_int_equal(site_of(2)->hash_next, next);
            assert_int_equal(job_at(0)->stream->window.first, next);
            assert_state(0, "j", JOB_RUNNING);
            source_on_room(job_at(0), site_of(2)->peer, 1000);
        }
        run_until_over(0, "j", 60 * NS_PER_S);
        assert_true(slow == PART_SLOW_WAIT || world.now_ns - from_ns < 20 * NS_PER_S);
        assert_state(0, "j", slow == PART_SLOW_WAIT ? JOB_DONE : JOB_FAILED);
        if (slow == PART_SLOW_DROP)
            assert_text(0, "j", "n2: too slow for the retention window: takes no hashes");
        assert_right(1);
        world_end(&world);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(site__believes_its_source_alone),
        cmocka_unit_test(site__hashes_by_a_bad_path),
        cmocka_unit_test(source_hashes__without_room),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
