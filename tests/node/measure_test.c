/* Measurements are for everybody: whoever asks much, long, or takes no answers holds up nobody else. */
#include "check.h"
#include "node/peer/measure.h"
#include "node/peer/post.h"

static struct node *node_of(uint16_t node)
{
    return world.nodes[node].node;
}

/* Of n1 in the eyes of n2: n0 is its peer 0, n1 its peer 1. */
static void ask_n2(uint32_t job, uint32_t duration_ms)
{
    struct wire_measure measure = {.job = job, .duration_ms = duration_ms};
    assert_true(post(node_of(1), 1, CONTROL_MEASURE, &measure));
}

static void begin(void)
{
    world_init(&world, 3, 1);
    start_all();
    world_run_until(&world, 3 * NS_PER_S);
}

/* n2 can't tell n1 what it has asked for. */
static void ask_in_vain(uint32_t count)
{
    world.nodes[1].acks_no_mail = true;
    struct wire_start start = {.job = 1};
    while (post_room(node_of(2), 1) > 0)
        post(node_of(2), 1, CONTROL_START, &start);
    for (uint32_t job = 100; job < 100 + count; job++)
        ask_n2(job, 100);
    world_run_until(&world, world.now_ns + 500 * NS_PER_MS);
}

static void run_to_n2(void)
{
    struct job_spec spec = world_job(&world, "j");
    spec.measure_age_ns = 0;
    spec.to_all = false;
    spec.receiver_count = 1;
    snprintf(spec.receivers[0], NAME_BYTES, "n2");
    run_job_at(0, &spec);
    run_until_over(0, "j", 15 * NS_PER_S);
    assert_state(0, "j", JOB_DONE);
}

static void measure_ask__takes_only_own_places(void **state)
{
    (void)state;
    begin();
    ask_in_vain(40);
    run_to_n2();
    assert_int_equal(node_of(2)->measure->of_peer[1].count, MEASURE_ASKS_MAX);
    /* n2 finds that n1 takes nothing. */
    world_run_until(&world, world.now_ns + 45 * NS_PER_S);
    assert_int_equal(node_of(2)->peers[1].state, PEER_UP);
    assert_int_equal(node_of(2)->measure->of_peer[1].count, 0);
    world_end(&world);
}

/* … and a new start of n1 knows nothing of it. */
static void measure_ask__is_forgotten_with_the_session(void **state)
{
    (void)state;
    begin();
    ask_in_vain(3);
    assert_int_equal(node_of(2)->measure->of_peer[1].count, 3);
    world_start(&world, 1);
    world_run_until(&world, world.now_ns + NS_PER_S);
    assert_int_equal(node_of(2)->measure->of_peer[1].count, 0);
    world_end(&world);
}

/* What n0 wants measured anew is, whoever else is still waiting for an answer. */
static void measure_ask__starts_what_is_wanted(void **state)
{
    (void)state;
    begin();
    ask_in_vain(1);
    world_run_until(&world, world.now_ns + 5 * NS_PER_S);
    uint32_t first_id = node_of(2)->peers[0].probe.first_id;
    assert_false(node_of(2)->peers[0].probe.active);
    run_to_n2();
    assert_true(node_of(2)->peers[0].probe.first_id > first_id);
    world_end(&world);
}

/* n1 wants it long, and again and again. */
static void measure_ask__waits_not_for_what_others_begin(void **state)
{
    (void)state;
    for (unsigned often = 0; often < 2; often++) {
        begin();
        world.liars = true; /* n1 hears answers to what the test asks for it */
        ask_n2(100, 600000);
        world_run_until(&world, world.now_ns + 100 * NS_PER_MS);
        struct wire_measure measure = {.job = 7, .duration_ms = 100};
        assert_true(measure_ask_peer(node_of(0), 1, &measure));
        world_run_until(&world, world.now_ns + 50 * NS_PER_MS);
        assert_int_equal(node_of(2)->measure->of_peer[0].count, 1);
        for (uint32_t turn = 0; turn < 60; turn++) {
            if (often != 0)
                ask_n2(101 + turn, 600000);
            world_run_until(&world, world.now_ns + 100 * NS_PER_MS);
        }
        assert_int_equal(node_of(2)->measure->of_peer[0].count, 0);
        run_to_n2();
        world_end(&world);
    }
}

/* When the nodes start, the path has no room for large packets; after a moment, or after a while, it has. Jobs that come
 * then are not told that it is too narrow; where it stays so, they are. */
static void measure_mtu__is_not_taken_from_a_full_path(void **state)
{
    (void)state;
    static const uint64_t narrow_ns[] = {700 * NS_PER_MS, 4 * NS_PER_S, TIME_NEVER};
    for (size_t row = 0; row < sizeof(narrow_ns) / sizeof(narrow_ns[0]); row++) {
        world_init(&world, 2, 1);
        start_all();
        world.path_mtu = 600;
        world_run_until(&world, MIN(narrow_ns[row], 5 * NS_PER_S));
        if (narrow_ns[row] != TIME_NEVER)
            world.path_mtu = 0;
        world_run_until(&world, 5 * NS_PER_S);
        struct job_spec spec = world_job(&world, "j");
        run_job_at(0, &spec);
        run_until_over(0, "j", 60 * NS_PER_S);
        if (narrow_ns[row] == TIME_NEVER)
            assert_text(0, "j", "n1: the path from n0 to it carries no packets of 1280 bytes");
        else
            assert_state(0, "j", JOB_DONE);
        world_end(&world);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(measure_ask__takes_only_own_places),
        cmocka_unit_test(measure_ask__is_forgotten_with_the_session),
        cmocka_unit_test(measure_ask__starts_what_is_wanted),
        cmocka_unit_test(measure_ask__waits_not_for_what_others_begin),
        cmocka_unit_test(measure_mtu__is_not_taken_from_a_full_path),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
