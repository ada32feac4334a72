/* Caps, pauses, priorities and DSCP of running jobs: at the source and at relays. */
#include "check.h"

#define MBPS 1000000ULL

static const uint16_t chain[][2] = {{0, 1}, {1, 2}};

/* A job down the chain n0 → n1 → n2 that is running, of more bytes than the test lasts. */
static void start_chain(const char *name, struct job_controls controls)
{
    struct job_spec spec = world_job(&world, name);
    give_tree(&spec, chain, 2);
    spec.controls = controls;
    run_job_at(0, &spec);
    assert_true(run_until_state(0, name, JOB_RUNNING, 5 * NS_PER_S));
}

static uint64_t received_bytes(const char *name, const char *site)
{
    const struct node_job_view *view = world_view(&world, 0, name);
    for (uint16_t index = 0; index < view->site_count; index++)
        if (strcmp(view->sites[index].name, site) == 0)
            return view->sites[index].received_bytes;
    return 0;
}

/* Payload that n2 got within the next seconds, by the statuses that n0 has. */
static uint64_t rate_over(const char *name, uint64_t seconds)
{
    uint64_t before = received_bytes(name, "n2");
    world_run_until(&world, world.now_ns + seconds * NS_PER_S);
    return (received_bytes(name, "n2") - before) * 8 / seconds;
}

static void begin(uint16_t count, uint64_t seed, uint64_t source_bytes)
{
    world_init(&world, count, seed);
    world.source_bytes = source_bytes;
    start_all();
}

static void adjust_set__cap_holds_on_every_edge(void **state)
{
    (void)state;
    begin(3, 21, 200000000);
    start_chain("j", (struct job_controls){.rate_cap_bps = 8 * MBPS, .priority = 3});
    world_run_until(&world, world.now_ns + NS_PER_S);
    /* Statuses come every 100 ms: so much may a reading be off. */
    assert_in_range(rate_over("j", 5), 8 * MBPS * 95 / 100, 8 * MBPS * 102 / 100);
    assert_true(
        world_set_job(&world, "j", JOB_CONTROL_RATE, (struct job_controls){.rate_cap_bps = 40 * MBPS}));
    world_run_until(&world, world.now_ns + NS_PER_S);
    assert_in_range(rate_over("j", 5), 40 * MBPS * 95 / 100, 40 * MBPS * 102 / 100);
    assert_true(
        world_set_job(&world, "j", JOB_CONTROL_RATE, (struct job_controls){.rate_cap_bps = 2 * MBPS}));
    world_run_until(&world, world.now_ns + NS_PER_S);
    assert_in_range(rate_over("j", 5), 2 * MBPS * 95 / 100, 2 * MBPS * 102 / 100);
    assert_true(world_set_job(&world, "j", JOB_CONTROL_RATE, (struct job_controls){.rate_cap_bps = 0}));
    world_run_until(&world, world.now_ns + NS_PER_S);
    assert_true(rate_over("j", 2) > 70 * MBPS);
    assert_true(world_cancel_job(&world, 0, "j"));
    world_end(&world);
}

/* The cap counts all that is sent: with losses the receivers get less, never more. */
static void adjust_set__cap_holds_with_losses(void **state)
{
    (void)state;
    begin(3, 22, 200000000);
    world.loss_ppb = 50000000;
    start_chain("j", (struct job_controls){.rate_cap_bps = 20 * MBPS, .priority = 3});
    world_run_until(&world, world.now_ns + NS_PER_S);
    uint64_t sent = world_counter(&world, 0, "tx_data");
    uint64_t rate = rate_over("j", 5);
    sent = world_counter(&world, 0, "tx_data") - sent;
    assert_in_range(sent * 1408 * 8 / 5, 20 * MBPS * 95 / 100, 20 * MBPS * 101 / 100);
    assert_in_range(rate, 20 * MBPS * 85 / 100, 20 * MBPS * 98 / 100);
    assert_true(world_cancel_job(&world, 0, "j"));
    world_end(&world);
}

static void adjust_set__pause_stops_one_job_everywhere(void **state)
{
    (void)state;
    begin(3, 23, 60000000);
    world.loss_ppb = 10000000;
    start_chain("j", (struct job_controls){.priority = 3});
    world_run_until(&world, world.now_ns + 2 * NS_PER_S);
    assert_true(world_set_job(&world, "j", JOB_CONTROL_PAUSED, (struct job_controls){.paused = true}));
    world_run_until(&world, world.now_ns + 200 * NS_PER_MS);
    uint64_t source = world_counter(&world, 0, "tx_data"), relay = world_counter(&world, 1, "tx_data");
    /* Longer than the stall timeout: a pause is no failure. */
    world_run_until(&world, world.now_ns + 30 * NS_PER_S);
    assert_int_equal(world_counter(&world, 0, "tx_data"), source);
    assert_int_equal(world_counter(&world, 1, "tx_data"), relay);
    assert_state(0, "j", JOB_RUNNING);
    assert_true(world_view(&world, 0, "j")->controls.paused && world_view(&world, 2, "j")->controls.paused);
    /* Another job has the edges for itself meanwhile. */
    struct job_spec other = world_job(&world, "k");
    give_tree(&other, chain, 2);
    run_job_at(0, &other);
    uint64_t begin_ns = world.now_ns;
    run_until_over(0, "k", 30 * NS_PER_S);
    assert_state(0, "k", JOB_DONE);
    assert_true(world.now_ns - begin_ns < 9 * NS_PER_S);
    assert_true(world_set_job(&world, "j", JOB_CONTROL_PAUSED, (struct job_controls){.paused = false}));
    run_until_over(0, "j", 30 * NS_PER_S);
    assert_state(0, "j", JOB_DONE);
    world_run_until(&world, world.now_ns + 2 * NS_PER_S);
    assert_clean();
    world_end(&world);
}

/* A pause before anything was sent: the sites get to know it with their part. */
static void adjust_set__pause_before_the_start(void **state)
{
    (void)state;
    begin(3, 24, 3000000);
    struct job_spec spec = world_job(&world, "j");
    run_job_at(0, &spec);
    assert_true(world_set_job(&world, "j", JOB_CONTROL_PAUSED, (struct job_controls){.paused = true}));
    assert_true(run_until_state(0, "j", JOB_RUNNING, 10 * NS_PER_S));
    world_run_until(&world, world.now_ns + 2 * NS_PER_S);
    assert_int_equal(world_counter(&world, 0, "tx_data"), 0);
    assert_true(world_view(&world, 2, "j")->controls.paused);
    assert_true(world_set_job(&world, "j", JOB_CONTROL_PAUSED, (struct job_controls){.paused = false}));
    run_until_over(0, "j", 10 * NS_PER_S);
    assert_state(0, "j", JOB_DONE);
    world_end(&world);
}

static void adjust_share__by_weight(void **state)
{
    (void)state;
    static const struct {
        uint8_t one, other;
        uint64_t factor; /* 2^(one - other) */
    } rows[] = {{3, 3, 1}, {3, 1, 4}, {5, 3, 4}, {5, 1, 16}};
    for (size_t row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
        begin(3, 25 + row, 200000000);
        start_chain("one", (struct job_controls){.priority = rows[row].one});
        start_chain("other", (struct job_controls){.priority = rows[row].other});
        world_run_until(&world, world.now_ns + 2 * NS_PER_S);
        uint64_t one = received_bytes("one", "n2"), other = received_bytes("other", "n2");
        world_run_until(&world, world.now_ns + 6 * NS_PER_S);
        one = received_bytes("one", "n2") - one;
        other = received_bytes("other", "n2") - other;
        if (one < other * rows[row].factor * 93 / 100 || one > other * rows[row].factor * 107 / 100)
            fail_msg("row %zu: %llu against %llu", row, (unsigned long long)one, (unsigned long long)other);
        world_end(&world);
    }
}

/* What a capped job leaves goes to the other, whatever their priorities. */
static void adjust_share__capped_job_leaves_the_rest(void **state)
{
    (void)state;
    begin(3, 31, 200000000);
    start_chain("capped", (struct job_controls){.rate_cap_bps = 10 * MBPS, .priority = 7});
    start_chain("other", (struct job_controls){.priority = 0});
    world_run_until(&world, world.now_ns + 2 * NS_PER_S);
    uint64_t other = received_bytes("other", "n2");
    assert_in_range(rate_over("capped", 6), 10 * MBPS * 95 / 100, 10 * MBPS * 102 / 100);
    assert_true((received_bytes("other", "n2") - other) * 8 / 6 > 65 * MBPS);
    world_end(&world);
}

static void adjust_set__dscp_of_data_and_acks(void **state)
{
    (void)state;
    begin(3, 32, 200000000);
    start_chain("j", (struct job_controls){.dscp = 46, .priority = 3});
    world_run_until(&world, world.now_ns + NS_PER_S);
    assert_int_equal(world.class_packets[0][46 << 2 | 2], world_counter(&world, 0, "tx_data"));
    assert_int_equal(world.class_packets[1][46 << 2 | 2], world_counter(&world, 1, "tx_data"));
    assert_true(world.class_packets[2][46 << 2] > 0 &&
                world.class_packets[2][46 << 2] <= world_counter(&world, 2, "tx_acks"));
    assert_true(world_set_job(&world, "j", JOB_CONTROL_DSCP, (struct job_controls){.dscp = 8}));
    world_run_until(&world, world.now_ns + NS_PER_S);
    assert_true(world.class_packets[1][8 << 2 | 2] > 100);
    assert_true(world.class_packets[1][8 << 2] > 0);
    world_end(&world);
}

static void adjust_set__refuses_what_makes_no_sense(void **state)
{
    (void)state;
    begin(2, 33, 200000000);
    assert_false(world_set_job(&world, "j", JOB_CONTROL_PAUSED, (struct job_controls){.paused = true}));
    struct job_spec spec = world_job(&world, "j");
    run_job_at(0, &spec);
    assert_false(world_set_job(&world, "j", JOB_CONTROL_PRIORITY, (struct job_controls){.priority = 8}));
    assert_false(world_set_job(&world, "j", JOB_CONTROL_DSCP, (struct job_controls){.dscp = 64}));
    assert_false(world_set_job(&world, "j", JOB_CONTROL_RATE,
                               (struct job_controls){.rate_cap_bps = SEND_RATE_MIN_BPS - 1}));
    struct err err;
    struct job_spec slow = world_job(&world, "slow");
    slow.controls.rate_cap_bps = 1;
    assert_false(world_run_job(&world, &slow, &err));
    slow.controls.rate_cap_bps = 0;
    slow.start_bps = 1;
    assert_false(world_run_job(&world, &slow, &err));
    assert_int_equal(world_view(&world, 0, "j")->controls.priority, JOB_PRIORITY_NORMAL);
    world_end(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(adjust_set__cap_holds_on_every_edge),
        cmocka_unit_test(adjust_set__cap_holds_with_losses),
        cmocka_unit_test(adjust_set__pause_stops_one_job_everywhere),
        cmocka_unit_test(adjust_set__pause_before_the_start),
        cmocka_unit_test(adjust_share__by_weight),
        cmocka_unit_test(adjust_share__capped_job_leaves_the_rest),
        cmocka_unit_test(adjust_set__dscp_of_data_and_acks),
        cmocka_unit_test(adjust_set__refuses_what_makes_no_sense),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
