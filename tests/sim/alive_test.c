/* The law of liveness by truth, on whole runs of a strategy that does as it is told: at full rate for two seconds, then
 * at another. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/units.h"
#include "planner/solve.h"
#include "sim/sim.h"

#define MBPS      1000000ULL
#define FULL_NS   (2 * NS_PER_S)
#define THEN_NS   (5 * NS_PER_S)
#define FULL_BPS  (100 * MBPS)
#define TARGET_NS (5 * NS_PER_MS)

/* What the strategy does, and what it says that it owes. */
static struct {
    uint64_t then_bps;
    enum congestion_duty duty;
} told;

static void set_rate(struct congestion *congestion, uint64_t rate_bps)
{
    congestion->rate_bps = rate_bps;
    congestion->in_flight_max_bytes = UINT64_MAX;
}

static uint64_t *began_of(struct congestion *congestion)
{
    return (uint64_t *)(void *)congestion->state;
}

static void told_init(struct congestion *congestion, uint64_t initial_bps, bool known, uint64_t rtt_ns,
                      uint64_t now_ns)
{
    (void)initial_bps, (void)known, (void)rtt_ns;
    *began_of(congestion) = now_ns;
    set_rate(congestion, FULL_BPS);
}

static void told_on_ack(struct congestion *congestion, const struct congestion_sample *sample)
{
    bool full = elapsed_ns(sample->now_ns, *began_of(congestion)) < FULL_NS;
    set_rate(congestion, full ? FULL_BPS : told.then_bps);
}

static void told_on_timeout(struct congestion *congestion, uint64_t now_ns)
{
    (void)congestion, (void)now_ns;
}

static void told_view(const struct congestion *congestion, struct congestion_view *view)
{
    (void)congestion;
    *view = (struct congestion_view){.phase = "told", .duty = told.duty, .target_ns = TARGET_NS};
}

static const struct congestion_type told_type = {.name = "bql",
                                                 .init = told_init,
                                                 .on_ack = told_on_ack,
                                                 .on_timeout = told_on_timeout,
                                                 .view = told_view};

/* Used: the linker asks for this name after link-time optimization has looked. */
const struct congestion_type *__wrap_congestion_find(const char *name) __attribute__((used));
const struct congestion_type *__wrap_congestion_find(const char *name)
{
    (void)name;
    return &told_type;
}

static bool solve_request(const struct plan_request *request, struct plan *plan, struct err *err)
{
    return solve(request, NULL, plan, err);
}

static struct scenario *make_scenario(uint64_t link_then_bps)
{
    struct scenario *scenario = calloc(1, sizeof(*scenario));
    assert_non_null(scenario);
    name_copy(scenario->name, sizeof(scenario->name), "alive");
    scenario->node_count = 2;
    scenario->limit_ns = 60 * NS_PER_S;
    for (uint16_t node = 0; node < 2; node++) {
        snprintf(scenario->nodes[node].name, NAME_BYTES, "n%u", node);
        scenario->nodes[node].uplink = scenario->nodes[node].downlink =
            (struct netem_config){.rate_bps = 10000 * MBPS};
        scenario->nodes[node].disk_free_bytes = UINT64_MAX;
        scenario->nodes[node].disk_rate_bps = 10000 * MBPS;
        scenario->links[node][1 - node] = (struct netem_config){.delay_ns = 5 * NS_PER_MS,
                                                                .rate_bps = 200 * MBPS,
                                                                .queue_unit = NETEM_QUEUE_NS,
                                                                .queue_limit = 50 * NS_PER_MS};
    }
    scenario->job_count = 1;
    struct scenario_job *job = &scenario->jobs[0];
    name_copy(job->spec.name, sizeof(job->spec.name), "j");
    name_copy(job->spec.source, sizeof(job->spec.source), "n0");
    job->spec.to_all = job->sparse = true;
    job->spec.trees = 1;
    job->spec.measure_ns = 100 * NS_PER_MS;
    uint64_t then_bps = MIN(told.then_bps, link_then_bps);
    job->size_bytes = (bytes_within(FULL_BPS, FULL_NS) + bytes_within(then_bps, THEN_NS)) / 100 * 88;
    scenario->fault_count = 1;
    scenario->faults[0] = (struct scenario_fault){.at_ns = FULL_NS,
                                                  .kind = FAULT_LINK_SET,
                                                  .link_to = 1,
                                                  .set_mask = NETEM_CHANGE_RATE,
                                                  .set = {.rate_bps = link_then_bps}};
    return scenario;
}

/* Judged as if its file said nothing, then as if it allowed all. */
static void judge(const struct sim_result *result, struct scenario *scenario, bool well)
{
    static const char *const names[] = {"stuck_ms", "late_ms", "deep_ms"};
    FILE *out = tmpfile();
    assert_non_null(out);
    assert_int_equal(result_judge(result, scenario, "file", out), well);
    assert_int_equal(ftell(out) == 0, well);
    for (; scenario->expect_count < 3; scenario->expect_count++) {
        struct scenario_expect *expect = &scenario->expects[scenario->expect_count];
        *expect = (struct scenario_expect){.compare = COMPARE_AT_MOST, .value = 10000};
        name_copy(expect->name, sizeof(expect->name), names[scenario->expect_count]);
    }
    assert_true(result_judge(result, scenario, "file", out));
    fclose(out);
}

static void alive__by_truth(void **state)
{
    (void)state;
    static const struct {
        const char *what;
        uint64_t then_bps, link_then_bps;
        enum congestion_duty duty;
        bool stuck, deep;
    } rows[] = {
        {"stands at a twentieth", 5 * MBPS, 200 * MBPS, CONGESTION_OWES_RATE, true, true},
        {"at a fifth", 20 * MBPS, 200 * MBPS, CONGESTION_OWES_RATE, true, false},
        {"at a third", 33 * MBPS, 200 * MBPS, CONGESTION_OWES_RATE, false, false},
        {"the path is that slow", FULL_BPS, 10 * MBPS, CONGESTION_OWES_RATE, false, false},
        {"the path is slower, the edge still more", 4 * MBPS, 20 * MBPS, CONGESTION_OWES_RATE, true, false},
        {"… at a twentieth", 1 * MBPS, 20 * MBPS, CONGESTION_OWES_RATE, true, true},
        {"owes nothing", 5 * MBPS, 200 * MBPS, CONGESTION_OWES_NOTHING, false, false},
        {"holds", 10 * MBPS, 200 * MBPS, CONGESTION_HOLDS, false, false},
        {"holds too little", 5 * MBPS, 200 * MBPS, CONGESTION_HOLDS, true, true},
        {"starts", 5 * MBPS, 200 * MBPS, CONGESTION_STARTS, false, false},
        {"contends", 5 * MBPS, 200 * MBPS, CONGESTION_CONTENDS, false, false},
    };
    for (size_t row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
        struct err err = {0};
        struct sim_result result;
        told.then_bps = rows[row].then_bps;
        told.duty = rows[row].duty;
        struct scenario *scenario = make_scenario(rows[row].link_then_bps);
        struct sim *sim =
            sim_create(scenario, &(struct sim_options){.seed = 1, .solve = solve_request}, &err);
        if (sim == NULL)
            fail_msg("%s", err.text);
        sim_run(sim, &result);
        sim_destroy(sim);
        if (!result.completed)
            fail_msg("%s: not completed", rows[row].what);
        const struct result_breach *breaches = result.breaches;
        /* What was on its way to the slower path comes first. */
        uint64_t most_ns = (rows[row].link_then_bps < FULL_BPS ? 8 : 6) * NS_PER_S;
        assert_in_range(breaches[BREACH_STUCK].ns, rows[row].stuck ? 2 * NS_PER_S : 0,
                        rows[row].stuck ? most_ns : 0);
        assert_int_equal(breaches[BREACH_LATE].ns != 0, rows[row].stuck);
        assert_int_equal(breaches[BREACH_DEEP].ns > NS_PER_S, rows[row].deep);
        judge(&result, scenario, !rows[row].stuck);
        result_free(&result);
        free(scenario);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(alive__by_truth)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
