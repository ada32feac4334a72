/* What a job's data tells of paths, and the trains that it saves. The estimator here sends one train, and finds nothing
 * out. */
#include "check.h"
#include "node/peer/path_table.h"
#include "node/train/prober.h"

#define MBPS 1000000ULL

struct once {
    bool sent, answered;
};

static void once_start(void *state, const struct estimator_goal *goal, uint64_t now_ns)
{
    (void)goal;
    (void)now_ns;
    *(struct once *)state = (struct once){0};
}

static enum estimator_step once_next(void *state, uint64_t now_ns, struct train_shape *shape, uint64_t *at_ns)
{
    struct once *once = state;
    *at_ns = once->sent ? TIME_NEVER : now_ns;
    if (once->sent)
        return once->answered ? ESTIMATOR_DONE : ESTIMATOR_WAIT;
    once->sent = true;
    *shape = (struct train_shape){.wire_bytes = 1538};
    return train_add(shape, 2, 100 * MBPS) ? ESTIMATOR_TRAIN : ESTIMATOR_DONE;
}

static void once_take(void *state, const struct train_record *record, uint64_t now_ns)
{
    (void)record;
    (void)now_ns;
    ((struct once *)state)->answered = true;
}

static void once_result(const void *state, uint64_t now_ns, struct estimate *estimate)
{
    (void)state;
    (void)now_ns;
    *estimate =
        (struct estimate){.kind = ESTIMATE_REFUSED, .reason = ESTIMATE_NOISE, .capacity_bps = 100 * MBPS};
}

static const struct estimator_kind once_kind = {.name = "once",
                                                .bytes = sizeof(struct once),
                                                .start = once_start,
                                                .next = once_next,
                                                .take = once_take,
                                                .result = once_result};

/* A chain of three, the first edge held by a cap, the second one by what its path carries. */
static void start(bool background)
{
    static const uint16_t chain[][2] = {{0, 1}, {1, 2}};
    world_init(&world, 3, 41);
    world.source_bytes = 60000000;
    for (uint16_t node = 0; node < 3; node++) {
        world.nodes[node].config.probe.estimator = &once_kind;
        world.nodes[node].config.probe.background = background;
        world.nodes[node].config.probe.period_ns = NS_PER_S;
        world.nodes[node].config.probe.load_ppb = 10000000;
        world.nodes[node].config.probe.width_ppb = 10000000;
    }
    world.rate_bps[1][2] = 8 * MBPS;
    start_all();
    /* Paths that nothing is known of are left alone while there are jobs. */
    world_run_until(&world, 8 * NS_PER_S);
    struct job_spec spec = world_job(&world, "j");
    give_tree(&spec, chain, 2);
    spec.controls.rate_cap_bps = 30 * MBPS;
    run_job_at(0, &spec);
    assert_true(run_until_state(0, "j", JOB_RUNNING, 10 * NS_PER_S));
}

static struct plan_path path_of(uint16_t node, uint16_t peer)
{
    const struct node *of = world.nodes[node].node;
    return path_table_path(of->paths, PATH_SITE_SELF, (uint16_t)(peer + 1), 0, world.now_ns);
}

static uint32_t measured(uint16_t node, uint16_t peer)
{
    return prober_result(world.nodes[node].node, peer)->count;
}

static void data_rate__tells_paths_and_saves_trains(void **state)
{
    (void)state;
    start(true);
    world_run_until(&world, world.now_ns + 14 * NS_PER_S);
    struct plan_path capped = path_of(0, 0), full = path_of(1, 1);
    /* 30 Mbit/s of payload: at least so much on the wire; no upper end. */
    assert_in_range(capped.avb_kbps, 30000, 34500);
    assert_int_equal(capped.avb_high_kbps, 0);
    /* What the path carries: this world counts datagrams, wires 4 % more. */
    assert_in_range(full.avb_kbps, 8000, 8450);
    assert_true(full.avb_low_kbps <= 8330 && full.avb_high_kbps >= 8100);
    assert_true(full.avb_age_s <= 2);
    /* It is shown like a measurement, and goes to the planner like one. */
    const struct probe_result *result = prober_result(world.nodes[1].node, 1);
    assert_int_equal(result->estimate.kind, ESTIMATE_VALUE);
    assert_int_equal(result->estimate.flags, ESTIMATE_IN_BAND);
    /* Of the paths of n1 that one alone is not measured; n0's is, since more could be found out of it. */
    uint32_t full_before = measured(1, 1), back_before = measured(1, 0), capped_before = measured(0, 0);
    world_run_until(&world, world.now_ns + 10 * NS_PER_S);
    assert_int_equal(measured(1, 1), full_before);
    assert_true(measured(1, 0) >= back_before + 4);
    assert_true(measured(0, 0) >= capped_before + 2);
    /* Once nothing runs any more, it is its turn again. */
    assert_true(world_cancel_job(&world, 0, "j"));
    world_run_until(&world, world.now_ns + 60 * NS_PER_S);
    assert_true(measured(1, 1) > full_before + 4);
    world_end(&world);
}

/* Off unless paths are measured in the background. */
static void data_rate__off_by_default(void **state)
{
    (void)state;
    start(false);
    world_run_until(&world, world.now_ns + 5 * NS_PER_S);
    assert_null(world.nodes[1].node->data_rates);
    assert_int_equal(path_of(0, 0).avb_kbps, 0);
    assert_int_equal(path_of(1, 1).avb_kbps, 0);
    assert_int_equal(measured(1, 1), 0);
    world_end(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(data_rate__tells_paths_and_saves_trains),
        cmocka_unit_test(data_rate__off_by_default),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
