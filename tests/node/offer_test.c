/* Parts that are told in several messages: a site waits for the last tree, answers every part that was told, and
 * what is not told to its end costs nothing. */
#include "base/name.h"
#include "node/job/job.h"
#include "offers.h"

static void begin(uint16_t count)
{
    world_init(&world, count, 1);
    start_all();
    world_run_until(&world, 2 * NS_PER_S);
}

static uint64_t at_n1(const char *counter)
{
    return world_counter(&world, 1, counter);
}

static void assert_nothing_began(void)
{
    assert_int_equal(at_n1("jobs_started"), 0);
    assert_null(job_find(world.nodes[1].node, 77));
}

static void site__begins_with_the_last_tree(void **state)
{
    (void)state;
    begin(3);
    struct offer offer = good_offer();
    say_part(&offer);
    assert_nothing_began();
    say_tree(&offer, 0, 0);
    assert_int_equal(newest_confirm().fixed.answer, CONFIRM_READY);
    world_end(&world);
}

/* Trees of no part that is being told: refused by the counter, nobody is answered. */
static void site__takes_no_tree_of_another_part(void **state)
{
    (void)state;
    static const struct {
        bool part, whole;
        uint32_t job, epoch;
    } rows[] = {{false, false, 77, 1}, {true, false, 78, 1}, {true, false, 77, 2}, {true, true, 77, 1}};
    for (size_t row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
        begin(3);
        struct offer offer = good_offer();
        if (rows[row].part)
            say_part(&offer);
        if (rows[row].whole)
            say_tree(&offer, 0, 0);
        struct offer other = offer;
        other.part.fixed.job = rows[row].job;
        other.part.fixed.epoch = rows[row].epoch;
        world.down_until_ns[1][0] = world.now_ns + NS_PER_S;
        say_tree(&other, 0, 0);
        assert_int_equal(at_n1("messages_refused"), 1);
        if (!rows[row].whole)
            assert_nothing_began();
        /* What was told before is still there. */
        if (rows[row].part && !rows[row].whole) {
            say_tree(&offer, 0, 0);
            assert_int_equal(newest_confirm().fixed.answer, CONFIRM_READY);
        }
        world_end(&world);
    }
}

/* Trees that make no whole: the part is refused, and what comes of it afterwards belongs to nothing. */
static void site__refuses_trees_that_do_not_fit(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint8_t stripes, told[3];
        uint8_t weight;
    } rows[] = {{"a tree is there twice", 2, {0, 0, 1}, 1},
                {"more trees than it has stripes", 2, {0, 2, 1}, 1},
                {"the weights of the trees add up to more than 32", 2, {1, 0, 1}, 17}};
    for (size_t row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
        begin(3);
        struct offer offer = good_offer();
        offer.part.fixed.stripes = rows[row].stripes;
        offer.trees[0].fixed.weight = rows[row].weight;
        say_part(&offer);
        say_tree(&offer, 0, rows[row].told[0]);
        assert_nothing_began();
        say_tree(&offer, 0, rows[row].told[1]);
        assert_refused(1, rows[row].text);
        say_tree(&offer, 0, rows[row].told[2]);
        assert_int_equal(at_n1("messages_refused"), 1);
        world_run_until(&world, world.now_ns + 5 * NS_PER_S);
        assert_true(world_is_clean(&world, 1));
        world_end(&world);
    }
}

/* A part that another one cuts off is answered too; the newest is the one whose trees count. */
static void site__newest_part_is_told(void **state)
{
    (void)state;
    begin(3);
    struct offer first = good_offer(), second = good_offer();
    second.part.fixed.job = 78;
    say_part(&first);
    say_part(&second);
    assert_refused(1, "another part came before the trees of this one");
    say_tree(&first, 0, 0);
    assert_int_equal(at_n1("messages_refused"), 1);
    assert_nothing_began();
    say_tree(&second, 0, 0);
    assert_int_equal(newest_confirm().fixed.answer, CONFIRM_READY);
    assert_int_equal(newest_confirm().fixed.job, 78);
    world_end(&world);
}

/* Who tells parts without their trees takes nobody's place, however many they are. */
static void site__parts_without_trees_cost_nothing(void **state)
{
    (void)state;
    begin(3);
    struct offer offer = good_offer();
    for (uint32_t id = 100; id < 200; id++) {
        offer.part.fixed.job = id;
        say_part(&offer);
    }
    assert_nothing_began();
    world.down_until_ns[1][0] = 0;
    world_run_until(&world, world.now_ns + 5 * NS_PER_S);
    assert_true(world_is_clean(&world, 1));
    struct job_spec spec = world_job(&world, "j");
    snprintf(spec.source, NAME_BYTES, "n2");
    run_job_at(2, &spec);
    run_until_over(2, "j", 20 * NS_PER_S);
    assert_state(2, "j", JOB_DONE);
    world_end(&world);
}

/* The end of the job, or of what was between the two nodes, ends what was told. */
static void site__forgets_what_is_over(void **state)
{
    (void)state;
    for (int restarts = 0; restarts < 2; restarts++) {
        begin(3);
        struct offer offer = good_offer();
        say_part(&offer);
        uint8_t body[WIRE_MESSAGE_BODY_MAX];
        struct control_close_job close_job = {.fixed = {.job = 77, .outcome = CLOSE_CANCELLED}};
        if (!restarts)
            say(0, 1, CONTROL_CLOSE_JOB, body, control_close_job_encode(body, &close_job));
        world.down_until_ns[1][0] = 0;
        if (restarts)
            world_start(&world, 0);
        world_run_until(&world, world.now_ns + 2 * NS_PER_S);
        assert_int_equal(at_n1("messages_refused"), 0);
        say_tree(&offer, 0, 0);
        assert_int_equal(at_n1("messages_refused"), 1);
        assert_nothing_began();
        world_end(&world);
    }
}

/* What n0 has begun to tell stays apart from what n2 tells. */
static void site__sources_do_not_mix(void **state)
{
    (void)state;
    begin(3);
    struct offer offer = good_offer();
    say_part(&offer);
    struct job_spec spec = world_job(&world, "j");
    snprintf(spec.source, NAME_BYTES, "n2");
    run_job_at(2, &spec);
    world_run_until(&world, world.now_ns + 5 * NS_PER_S);
    assert_int_equal(state_at(1, "j"), JOB_DONE);
    assert_null(job_find(world.nodes[1].node, 77));
    say_tree(&offer, 0, 0);
    assert_int_equal(newest_confirm().fixed.answer, CONFIRM_READY);
    world_end(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(site__begins_with_the_last_tree),
        cmocka_unit_test(site__takes_no_tree_of_another_part),
        cmocka_unit_test(site__refuses_trees_that_do_not_fit),
        cmocka_unit_test(site__newest_part_is_told),
        cmocka_unit_test(site__parts_without_trees_cost_nothing),
        cmocka_unit_test(site__forgets_what_is_over),
        cmocka_unit_test(site__sources_do_not_mix),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
