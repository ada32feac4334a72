/* Whole runs with the real node: small scenarios made in C, so that what they show does not hang on YAML. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/units.h"
#include "planner/solve.h"
#include "sim/sim.h"

#define MBPS 1000000ULL

static bool solve_request(const struct plan_request *request, struct plan *plan, struct err *err)
{
    return solve(request, plan, NULL, err);
}

/* `count` nodes n0, n1 …, 10 ms between any two, 100 Mbit/s interfaces; one job from n0 to all. */
static struct scenario *scenario_new(uint16_t count, uint64_t size_bytes)
{
    struct scenario *scenario = calloc(1, sizeof(*scenario));
    assert_non_null(scenario);
    struct netem_config port = {
        .rate_bps = 100 * MBPS, .queue_unit = NETEM_QUEUE_NS, .queue_limit = 50 * NS_PER_MS};
    name_copy(scenario->name, sizeof(scenario->name), "test");
    scenario->seed = 1;
    scenario->limit_ns = 120 * NS_PER_S;
    scenario->node_count = count;
    for (uint16_t node = 0; node < count; node++) {
        snprintf(scenario->nodes[node].name, NAME_BYTES, "n%u", node);
        scenario->nodes[node].uplink = scenario->nodes[node].downlink = port;
        scenario->nodes[node].disk_free_bytes = UINT64_MAX;
        for (uint16_t other = 0; other < count; other++)
            scenario->links[node][other] = (struct netem_config){.delay_ns = 10 * NS_PER_MS};
    }
    scenario->job_count = 1;
    struct scenario_job *job = &scenario->jobs[0];
    name_copy(job->spec.name, sizeof(job->spec.name), "j");
    name_copy(job->spec.source, sizeof(job->spec.source), "n0");
    job->spec.to_all = true;
    job->spec.trees = 1;
    job->spec.hash = PART_HASH_SHA256;
    job->spec.measure_ns = 500 * NS_PER_MS;
    job->size_bytes = size_bytes;
    return scenario;
}

static struct sim_result run(const struct scenario *scenario, uint64_t seed)
{
    struct err err = {0};
    struct sim_result result;
    struct sim *sim = sim_create(scenario, &(struct sim_options){.seed = seed, .solve = solve_request}, &err);
    if (sim == NULL)
        fail_msg("%s", err.text);
    sim_run(sim, &result);
    sim_destroy(sim);
    return result;
}

static void show(const struct sim_result *result, const struct scenario *scenario)
{
    static char text[1 << 20];
    struct report report;
    report_begin(&report, REPORT_TEXT, text, sizeof(text));
    result_report(result, scenario, &report);
    report_end(&report);
    print_message("%s", text);
}

static void assert_good(const struct sim_result *result, const struct scenario *scenario)
{
    if (!result->completed || !result_judge(result, scenario, "test", stderr)) {
        show(result, scenario);
        fail();
    }
}

static void sim_run__delivers_and_verifies(void **state)
{
    (void)state;
    struct scenario *scenario = scenario_new(3, 5000001);
    struct sim_result result = run(scenario, 1);
    assert_good(&result, scenario);
    assert_int_equal(result_verified(&result), 2);
    for (int receiver = 0; receiver < 2; receiver++)
        assert_int_equal(result.jobs[0].receivers[receiver].bytes, 5000001);
    assert_int_equal(result_repairs(&result), 0);
    result_free(&result);
    free(scenario);
}

static void sim_run__same_seed_same_digest(void **state)
{
    (void)state;
    struct scenario *scenario = scenario_new(4, 3000000);
    for (uint16_t from = 0; from < 4; from++)
        for (uint16_t to = 0; to < 4; to++) {
            scenario->links[from][to].loss_ppb = 10000000;
            scenario->links[from][to].jitter_ns = 3 * NS_PER_MS;
            scenario->links[from][to].reorder = true;
        }
    scenario->nodes[1].clock_offset_ns = -(int64_t)(3 * NS_PER_S);
    scenario->nodes[2].clock_skew_ppb = 50000;
    scenario->nodes[3].clock_skew_ppb = -50000;
    struct sim_result first = run(scenario, 1), second = run(scenario, 1), other = run(scenario, 2);
    assert_good(&first, scenario);
    assert_good(&other, scenario);
    assert_int_equal(first.digest, second.digest);
    assert_int_equal(first.events, second.events);
    assert_int_equal(first.time_ns, second.time_ns);
    assert_int_not_equal(first.digest, other.digest);
    assert_true(result_repairs(&first) > 0);
    result_free(&first);
    result_free(&second);
    result_free(&other);
    free(scenario);
}

static void sim_run__absent_node_fails_the_job_by_name(void **state)
{
    (void)state;
    struct scenario *scenario = scenario_new(3, 100000);
    scenario->nodes[2].absent = true;
    struct sim_result result = run(scenario, 1);
    assert_false(result.completed);
    assert_false(result.limit_reached);
    assert_int_equal(result.jobs[0].state, JOB_FAILED);
    assert_non_null(strstr(result.jobs[0].text, "n2"));
    result_free(&result);
    free(scenario);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sim_run__delivers_and_verifies),
        cmocka_unit_test(sim_run__same_seed_same_digest),
        cmocka_unit_test(sim_run__absent_node_fails_the_job_by_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
