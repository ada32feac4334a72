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

static struct sim_result run_traced(const struct scenario *scenario, uint64_t seed, struct trace_sink trace)
{
    struct err err = {0};
    struct sim_result result;
    struct sim_options options = {.seed = seed, .solve = solve_request, .trace = trace};
    struct sim *sim = sim_create(scenario, &options, &err);
    if (sim == NULL)
        fail_msg("%s", err.text);
    sim_run(sim, &result);
    sim_destroy(sim);
    return result;
}

static struct sim_result run(const struct scenario *scenario, uint64_t seed)
{
    return run_traced(scenario, seed, (struct trace_sink){0});
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

struct traced {
    uint32_t edge_rows, flow_rows;
    uint64_t time_ns, queue_ns, rtt_ns, rate_bps;              /* newest, longest of all */
    uint64_t sent_bps, delivered_bps, lost, dropped, flow_bps; /* summed up */
};

static void take_row(void *context, const struct trace_row *row)
{
    struct traced *traced = context;
    assert_int_equal(row->time_ns % TRACE_STEP_NS, 0);
    assert_true(row->time_ns >= traced->time_ns);
    traced->time_ns = row->time_ns;
    if (!row->is_edge) {
        traced->flow_rows++;
        assert_int_equal(row->kind, CROSS_CBR);
        assert_int_equal(row->rtt_ns, 0);
        traced->flow_bps += row->delivered_bps;
        return;
    }
    traced->edge_rows++;
    assert_int_equal(row->from, 0);
    assert_int_equal(row->to, 1);
    traced->rtt_ns = row->rtt_ns;
    traced->rate_bps = row->rate_bps;
    traced->queue_ns = MAX(traced->queue_ns, row->queue_ns);
    traced->sent_bps += row->sent_bps;
    traced->delivered_bps += row->delivered_bps;
    traced->lost += row->lost;
    traced->dropped += row->dropped;
}

/* The rows of all steps sum up to what the meter and the flow counted; looking changes nothing. */
static void sim_run__traces_every_step(void **state)
{
    (void)state;
    struct scenario *scenario = scenario_new(2, 5000000);
    struct traced traced = {0};
    scenario->links[0][1].loss_ppb = 10000000;
    scenario->cross_count = 1;
    scenario->crosses[0] = (struct scenario_cross){.from = 0,
                                                   .to = 1,
                                                   .kind = CROSS_CBR,
                                                   .rate_bps = 20 * MBPS,
                                                   .stop_ns = NS_PER_S,
                                                   .packet_bytes = 1500,
                                                   .count = 1};
    struct sim_result plain = run(scenario, 1);
    struct sim_result result = run_traced(scenario, 1, (struct trace_sink){take_row, &traced});
    assert_good(&result, scenario);
    assert_int_equal(result.digest, plain.digest);
    const struct meter_sums *all = &result.edges[0].meter->all;
    uint64_t steps_per_s = NS_PER_S / TRACE_STEP_NS;
    assert_int_equal(traced.sent_bps, all->sent_bytes * 8 * steps_per_s);
    assert_int_equal(traced.delivered_bps, all->delivered_bytes * 8 * steps_per_s);
    assert_int_equal(traced.lost, all->lost);
    assert_true(traced.lost > 0);
    assert_int_equal(traced.dropped, all->dropped);
    assert_int_equal(traced.rtt_ns, result.edges[0].view.rtt_smoothed_ns);
    assert_int_equal(traced.rate_bps, result.edges[0].view.rate_bps);
    assert_true(traced.queue_ns > 0);
    assert_int_equal(traced.flow_bps / steps_per_s, result.flows[0].total.delivered_packets * 1538 * 8);
    assert_int_equal(traced.flow_rows, result.end_ns / TRACE_STEP_NS);
    assert_in_range(traced.edge_rows, 2, result.end_ns / TRACE_STEP_NS);
    result_free(&plain);
    result_free(&result);
    free(scenario);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sim_run__delivers_and_verifies),
        cmocka_unit_test(sim_run__same_seed_same_digest),
        cmocka_unit_test(sim_run__absent_node_fails_the_job_by_name),
        cmocka_unit_test(sim_run__traces_every_step),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
