/* The self-test of a path's ends: when it goes, what the estimator learns of it, and that nothing waits for it for ever. */
#include "node/train/ends.h"
#include "scripted.h"

#define TEST_PACKETS (SELF_TEST_FAST + SELF_TEST_SPACED + SELF_TEST_SPARSE)
#define PACKETS      100u

static struct estimator_kind with_floors;

static void begin_with_floors(uint16_t count, bool early)
{
    begin(count, PACKETS, 1000000000);
    script.again = true;
    with_floors = scripted;
    with_floors.floors = true;
    for (uint16_t node = 0; node < count; node++) {
        world.nodes[node].config.probe.estimator = &with_floors;
        world.nodes[node].config.probe.test_early = early && node == 0;
    }
    start();
}

static uint64_t sent(uint16_t node)
{
    return node_of(node)->counters.tx_trains;
}

/* Once, before the first train: what it told is the estimator's from the start. */
static void ends__are_tested_before_the_first_train(void **state)
{
    (void)state;
    begin_with_floors(3, false);
    assert_int_equal(sent(0), 0);
    ask(0, "n1");
    run(100 * NS_PER_MS);
    assert_int_equal(sent(0), TEST_PACKETS + PACKETS);
    assert_int_equal(script.records, 1); /* of the estimator's own */
    assert_int_equal(script.goal.receiver.batch, 1);
    assert_true(prober_result(node_of(0), 0)->ends.seen);
    ask(0, "n1");
    run(100 * NS_PER_MS);
    assert_int_equal(sent(0), TEST_PACKETS + 2 * PACKETS);
    ask(0, "n2");
    run(100 * NS_PER_MS);
    assert_int_equal(sent(0), 2 * TEST_PACKETS + 3 * PACKETS);
    world_end(&world);
}

/* As soon as peers are up, where that is asked for: a measurement then costs what it did. */
static void ends__early_before_anybody_asks(void **state)
{
    (void)state;
    begin_with_floors(3, true);
    assert_int_equal(sent(0), 2 * TEST_PACKETS);
    assert_int_equal(sent(1), 0);
    assert_true(prober_result(node_of(0), 0)->ends.known_ns != 0);
    assert_true(prober_result(node_of(0), 1)->ends.known_ns != 0);
    assert_int_equal(script.asked, 0);
    assert_int_equal(prober_result(node_of(0), 0)->count, 0);
    ask(0, "n1");
    run(100 * NS_PER_MS);
    assert_int_equal(sent(0), 2 * TEST_PACKETS + PACKETS);
    world_end(&world);
}

/* A peer that has lost its state may be another machine. */
static void ends__are_tested_anew_after_a_restart(void **state)
{
    (void)state;
    begin_with_floors(2, false);
    ask(0, "n1");
    run(100 * NS_PER_MS);
    world_kill(&world, 1);
    world_start(&world, 1);
    run(3 * NS_PER_S);
    assert_false(prober_result(node_of(0), 0)->ends.seen);
    uint64_t before = sent(0);
    ask(0, "n1");
    run(100 * NS_PER_MS);
    assert_int_equal(sent(0), before + TEST_PACKETS + PACKETS);
    world_end(&world);
}

/* Who takes no trains is asked once; the measurement itself then says so. */
static void ends__a_peer_that_takes_none_is_not_waited_for(void **state)
{
    (void)state;
    begin(2, PACKETS, 1000000000);
    with_floors = scripted;
    with_floors.floors = true;
    world.nodes[0].config.probe.estimator = &with_floors;
    world.nodes[1].config.probe.off = true;
    start();
    ask(0, "n1");
    run(5 * NS_PER_S);
    assert_int_equal(prober_result(node_of(0), 0)->count, 1);
    assert_int_equal(script.lost, 1);
    assert_int_equal(prober_result(node_of(0), 0)->ends.known_ns, 0);
    world_end(&world);
}

/* A table of what was known, of how long ago, and whether a test is due. */
static void ends_wanted__by_age_and_tries(void **state)
{
    (void)state;
    static const struct {
        struct ends ends;
        bool again, wanted;
    } rows[] = {
        {.wanted = true},
        {.again = true, .wanted = true},
        {.ends = {.known_ns = 1}},
        {.ends = {.known_ns = 1}, .again = true, .wanted = true},
        {.ends = {.known_ns = 900 * NS_PER_S}, .again = true},
        {.ends = {.tries = ENDS_TRIES - 1, .tried_ns = 999 * NS_PER_S}, .wanted = true},
        {.ends = {.tries = ENDS_TRIES, .tried_ns = 999 * NS_PER_S}},
        {.ends = {.tries = ENDS_TRIES, .tried_ns = 900 * NS_PER_S}, .wanted = true},
    };
    for (unsigned row = 0; row < sizeof(rows) / sizeof(rows[0]); row++)
        assert_int_equal(ends_wanted(&rows[row].ends, rows[row].again, 1000 * NS_PER_S), rows[row].wanted);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ends__are_tested_before_the_first_train),
        cmocka_unit_test(ends__early_before_anybody_asks),
        cmocka_unit_test(ends__are_tested_anew_after_a_restart),
        cmocka_unit_test(ends__a_peer_that_takes_none_is_not_waited_for),
        cmocka_unit_test(ends_wanted__by_age_and_tries),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
