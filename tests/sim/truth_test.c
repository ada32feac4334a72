/* What planners are told of the link models: the request of a run. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/units.h"
#include "planner/solve.h"
#include "sim/sim.h"
#include "sim/truth.h"

#define MBPS  1000000ULL
#define COUNT 3

static struct plan_request seen;

static struct plan planned;

static bool solve_request(const struct plan_request *request, struct plan *plan, struct err *err)
{
    struct arena arena;
    void *memory = aligned_alloc(ARENA_ALIGN, arena_need(solve_bytes()));
    assert_non_null(memory);
    arena_init(&arena, memory, solve_bytes());
    seen = *request;
    bool found = solve(request, &arena, plan, err);
    free(memory);
    if (found)
        planned = *plan;
    return found;
}

/* Interfaces of 100 Mbit/s; n0 -> n1 60 Mbit/s, all others without a rate. */
static struct scenario *scenario_new(void)
{
    struct scenario *scenario = calloc(1, sizeof(*scenario));
    assert_non_null(scenario);
    struct netem_config port = {
        .rate_bps = 100 * MBPS, .queue_unit = NETEM_QUEUE_NS, .queue_limit = 50 * NS_PER_MS};
    name_copy(scenario->name, sizeof(scenario->name), "test");
    scenario->seed = 1;
    scenario->limit_ns = 60 * NS_PER_S;
    scenario->plan_avb = SCENARIO_AVB_TRUTH;
    scenario->node_count = COUNT;
    for (uint16_t node = 0; node < COUNT; node++) {
        snprintf(scenario->nodes[node].name, NAME_BYTES, "n%u", node);
        scenario->nodes[node].uplink = scenario->nodes[node].downlink = port;
        scenario->nodes[node].disk_free_bytes = UINT64_MAX;
        for (uint16_t other = 0; other < COUNT; other++)
            scenario->links[node][other] = (struct netem_config){.delay_ns = 10 * NS_PER_MS};
    }
    scenario->links[0][1].rate_bps = 60 * MBPS;
    scenario->job_count = 1;
    struct scenario_job *job = &scenario->jobs[0];
    name_copy(job->spec.name, sizeof(job->spec.name), "j");
    name_copy(job->spec.source, sizeof(job->spec.source), "n0");
    job->spec.to_all = true;
    job->spec.trees = 1;
    job->spec.hash = PART_HASH_SHA256;
    job->spec.measure_ns = 500 * NS_PER_MS;
    job->size_bytes = 100000;
    return scenario;
}

static void run(const struct scenario *scenario)
{
    struct err err = {0};
    struct sim_result result;
    struct sim_options options = {.seed = 1, .solve = solve_request};
    struct sim *sim = sim_create(scenario, &options, &err);
    if (sim == NULL)
        fail_msg("%s", err.text);
    sim_run(sim, &result);
    sim_destroy(sim);
    assert_true(result.completed);
    result_free(&result);
}

static void add_cross(struct scenario *scenario, uint16_t from, uint16_t to, uint8_t kind, uint64_t rate_bps)
{
    scenario->crosses[scenario->cross_count++] = (struct scenario_cross){.from = from,
                                                                         .to = to,
                                                                         .kind = kind,
                                                                         .rate_bps = rate_bps,
                                                                         .stop_ns = TIME_NEVER,
                                                                         .packet_bytes = 1500,
                                                                         .count = 1};
}

static void assert_path(uint16_t from, uint16_t to, uint32_t avb_kbps, uint32_t loss_ppm, uint16_t shared)
{
    const struct plan_path *path = &seen.paths[from][to];
    assert_int_equal(path->avb_kbps, avb_kbps);
    assert_int_equal(path->avb_low_kbps, avb_kbps);
    assert_int_equal(path->avb_high_kbps, avb_kbps);
    assert_int_equal(path->loss_ppm, loss_ppm);
    assert_int_equal(path->shared, shared);
}

static void truth__tells_each_row_of_its_own(void **state)
{
    (void)state;
    struct scenario *scenario = scenario_new();
    scenario->links[1][0].loss_ppb = 20000000;
    scenario->links[1][0].burst = (struct netem_burst){10000000, 90000000, 500000000, 0}; /* 5 % */
    scenario->links[2][0].policer_bps = 40 * MBPS;
    scenario->links[2][0].policer_depth_bytes = 1 << 20;
    scenario->links[2][1].rate_bps = 20 * MBPS;
    scenario->links[2][1].background_bps = 5 * MBPS;
    scenario->nodes[1].uplink.background_bps = 30 * MBPS;
    scenario->shared_count = 2;
    scenario->shared[0] = (struct scenario_shared){.name = "idle"};
    scenario->shared[1] = (struct scenario_shared){
        .name = "egress", .link = {.rate_bps = 50 * MBPS, .background_bps = 8 * MBPS}, .members = {6, 4}};
    run(scenario);
    assert_int_equal(seen.node_count, COUNT);
    assert_int_equal(seen.nodes[0].up_bps, 100 * MBPS);
    assert_int_equal(seen.nodes[1].up_bps, 70 * MBPS);
    assert_int_equal(seen.nodes[1].down_bps, 100 * MBPS);
    assert_int_equal(seen.shared_count, 1);
    assert_string_equal(seen.shared[0].name, "egress");
    assert_int_equal(seen.shared[0].rate_bps, 42 * MBPS);
    assert_path(0, 1, 60000, 0, 1);
    assert_path(0, 2, 0, 0, 1);
    assert_path(1, 0, 0, 69000, 0);
    assert_path(1, 2, 0, 0, 1);
    assert_path(2, 0, 40000, 0, 0);
    assert_path(2, 1, 15000, 0, 0);
    free(scenario);
}

static void truth__takes_open_loops_away(void **state)
{
    (void)state;
    struct scenario *scenario = scenario_new();
    add_cross(scenario, 0, 1, CROSS_CBR, 10 * MBPS);
    add_cross(scenario, 0, 1, CROSS_POISSON, 2 * MBPS);
    scenario->crosses[1].count = 3;
    add_cross(scenario, 0, 1, CROSS_ONOFF, 8 * MBPS);
    scenario->crosses[2].on_ns = NS_PER_S;
    scenario->crosses[2].off_ns = 3 * NS_PER_S;
    add_cross(scenario, 0, 2, CROSS_CUBIC, 0);
    add_cross(scenario, 0, 2, CROSS_CBR, 20 * MBPS);
    scenario->crosses[4].start_ns = 30 * NS_PER_S; /* not yet */
    add_cross(scenario, 2, 1, CROSS_CBR, 5 * MBPS);
    scenario->shared_count = 1;
    scenario->shared[0] =
        (struct scenario_shared){.name = "egress", .link = {.rate_bps = 90 * MBPS}, .members = {6}};
    run(scenario);
    assert_path(0, 1, 42000, 0, 1);
    assert_path(0, 2, 0, 0, 1);
    assert_int_equal(seen.nodes[0].up_bps, 82 * MBPS);
    assert_int_equal(seen.nodes[1].down_bps, 77 * MBPS);
    assert_int_equal(seen.nodes[2].up_bps, 95 * MBPS);
    assert_int_equal(seen.shared[0].rate_bps, 72 * MBPS);
    free(scenario);
}

/* Nothing left is little, not unknown; a shared link without a place narrows its pairs. */
static void truth__at_its_limits(void **state)
{
    (void)state;
    static struct ctl_paths paths;
    struct scenario *scenario = scenario_new();
    struct event_heap heap = {0};
    struct digest digest;
    struct net net;
    scenario->links[0][1].background_bps = 60 * MBPS;
    scenario->links[0][2].loss_ppb = 1000000000;
    scenario->shared_count = PLAN_SHARED_MAX + 1;
    for (uint16_t index = 0; index < scenario->shared_count; index++)
        scenario->shared[index] = (struct scenario_shared){
            .name = "s", .link = {.rate_bps = 7 * MBPS}, .members = {[2] = index == PLAN_SHARED_MAX ? 3 : 0}};
    digest_init(&digest);
    net_init(&net, scenario, 1, &heap, &digest);
    truth_paths(scenario, &net, 0, &paths);
    assert_int_equal(paths.paths[0][1].avb_kbps, 1);
    assert_int_equal(paths.paths[0][2].loss_ppm, 999999);
    assert_int_equal(paths.shared_count, PLAN_SHARED_MAX);
    assert_int_equal(paths.paths[2][0].avb_kbps, 7000);
    assert_int_equal(paths.paths[2][0].avb_high_kbps, 7000);
    assert_int_equal(paths.paths[2][0].shared, 0);
    net_free(&net);
    free(scenario);
}

/* Without it, planners hear what nodes measure, and no more. */
static void truth__none(void **state)
{
    (void)state;
    struct scenario *scenario = scenario_new();
    scenario->plan_avb = SCENARIO_AVB_NONE;
    scenario->nodes[1].uplink.background_bps = 30 * MBPS;
    run(scenario);
    assert_path(0, 1, 0, 0, 0);
    assert_int_equal(seen.nodes[1].up_bps, 100 * MBPS);
    free(scenario);
}

static void avb_of_a_matrix(void **state)
{
    (void)state;
    struct scenario *scenario = scenario_new();
    scenario->plan_avb = SCENARIO_AVB_FILE;
    scenario->nodes[1].uplink.background_bps = 30 * MBPS;
    scenario->avb_kbps[0][1] = 1234;
    scenario->avb_kbps[2][0] = 5678;
    run(scenario);
    assert_path(0, 1, 1234, 0, 0);
    assert_path(2, 0, 5678, 0, 0);
    assert_path(1, 0, 0, 0, 0);
    assert_int_equal(seen.nodes[1].up_bps, 100 * MBPS);
    free(scenario);
}

/* Whatever is said of bandwidth; the tree by it is not that by RTT, which ties. */
static void distance_of_a_matrix(void **state)
{
    (void)state;
    static const uint8_t told[] = {SCENARIO_AVB_NONE, SCENARIO_AVB_TRUTH};
    for (unsigned row = 0; row < sizeof(told); row++) {
        struct scenario *scenario = scenario_new();
        scenario->plan_avb = told[row];
        scenario->plan_distance = true;
        scenario->jobs[0].spec.metric = PLAN_METRIC_DISTANCE;
        scenario->distance[0][1] = scenario->distance[1][0] = 100;
        scenario->distance[0][2] = scenario->distance[2][0] = 900;
        scenario->distance[1][2] = scenario->distance[2][1] = 200;
        run(scenario);
        assert_int_equal(seen.metric, PLAN_METRIC_DISTANCE);
        assert_int_equal(seen.paths[1][2].distance, 200);
        assert_int_equal(plan_parent(&planned.trees[0], 1), 0);
        assert_int_equal(plan_parent(&planned.trees[0], 2), 1);
        assert_path(0, 1, told[row] == SCENARIO_AVB_TRUTH ? 60000 : 0, 0, 0);
        free(scenario);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(truth__tells_each_row_of_its_own),
        cmocka_unit_test(truth__takes_open_loops_away),
        cmocka_unit_test(truth__at_its_limits),
        cmocka_unit_test(truth__none),
        cmocka_unit_test(avb_of_a_matrix),
        cmocka_unit_test(distance_of_a_matrix),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
