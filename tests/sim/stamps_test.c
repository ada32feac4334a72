/* What hosts tell their nodes of times: every stamp on its way into a node is looked at, in whole runs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/units.h"
#include "node/node.h"
#include "planner/solve.h"
#include "node/core/core.h"
#include "sim/sim.h"

#define GBPS 1000000000ULL

/* Of one node, which its address tells. */
struct seen {
    uint64_t packets, reports, batch, batch_longest, last_ns, software,
        odd;                             /* odd: no multiple of the granularity */
    uint64_t waited, wait_ns_max;        /* packets that may have come before their stamp, and by how much */
    int64_t behind_ns_max, ahead_ns_max; /* of stamps, seen from the node's now */
};

/* How the second node runs. */
static struct scenario_node second_node;

static struct seen seen[2];
static uint64_t granularity_ns;

void __real_node_rx(struct node *node, const struct rx_packet *packets, uint16_t count, uint64_t now_ns);
void __wrap_node_rx(struct node *node, const struct rx_packet *packets, uint16_t count, uint64_t now_ns);
void __real_node_tx_done(struct node *node, const struct tx_report *reports, uint16_t count, uint64_t now_ns);
void __wrap_node_tx_done(struct node *node, const struct tx_report *reports, uint16_t count, uint64_t now_ns);

static struct seen *seen_of(const struct node *node)
{
    return &seen[node->config.name[1] - '0'];
}

static void look(struct seen *entry, uint64_t stamp_ns, uint8_t stamp_kind, uint64_t now_ns)
{
    int64_t ahead_ns = (int64_t)(stamp_ns - now_ns);
    entry->software += stamp_kind == STAMP_SOFTWARE;
    entry->odd += granularity_ns != 0 && stamp_ns % granularity_ns != 0;
    entry->ahead_ns_max = MAX(entry->ahead_ns_max, ahead_ns);
    entry->behind_ns_max = MAX(entry->behind_ns_max, -ahead_ns);
}

void __wrap_node_rx(struct node *node, const struct rx_packet *packets, uint16_t count, uint64_t now_ns)
{
    struct seen *entry = seen_of(node);
    for (uint16_t packet = 0; packet < count; packet++) {
        entry->packets++;
        entry->batch = packets[packet].rx_ns == entry->last_ns ? entry->batch + 1 : 1;
        entry->batch_longest = MAX(entry->batch_longest, entry->batch);
        entry->last_ns = packets[packet].rx_ns;
        entry->waited += packets[packet].wait_ns != 0;
        entry->wait_ns_max = MAX(entry->wait_ns_max, packets[packet].wait_ns);
        look(entry, packets[packet].rx_ns, packets[packet].stamp_kind, now_ns);
    }
    __real_node_rx(node, packets, count, now_ns);
}

void __wrap_node_tx_done(struct node *node, const struct tx_report *reports, uint16_t count, uint64_t now_ns)
{
    struct seen *entry = seen_of(node);
    for (uint16_t report = 0; report < count; report++) {
        entry->reports++;
        look(entry, reports[report].sent_ns, reports[report].stamp_kind, now_ns);
    }
    __real_node_tx_done(node, reports, count, now_ns);
}

static bool solve_request(const struct plan_request *request, struct plan *plan, struct err *err)
{
    return solve(request, NULL, plan, err);
}

/* 50 MB from the first node to the second, from 1 s on, at 10 Gbit/s; the first one's clock is fast by 0.1
 * %. */
static void run(const struct netem_stamping *first, const struct netem_stamping *second)
{
    struct scenario *scenario = calloc(1, sizeof(*scenario));
    assert_non_null(scenario);
    name_copy(scenario->name, sizeof(scenario->name), "stamps");
    scenario->node_count = 2;
    scenario->limit_ns = 60 * NS_PER_S;
    for (uint16_t node = 0; node < 2; node++) {
        snprintf(scenario->nodes[node].name, NAME_BYTES, "n%u", node);
        scenario->nodes[node].uplink = scenario->nodes[node].downlink = (struct netem_config){
            .rate_bps = 10 * GBPS, .queue_unit = NETEM_QUEUE_NS, .queue_limit = 50 * NS_PER_MS};
        scenario->nodes[node].disk_free_bytes = UINT64_MAX;
        scenario->nodes[node].disk_rate_bps = 100 * GBPS;
        scenario->nodes[node].stamping = node == 0 ? *first : *second;
        scenario->links[node][1 - node] = (struct netem_config){.delay_ns = NS_PER_MS};
    }
    scenario->nodes[0].clock_skew_ppb = 1000000;
    scenario->nodes[1].stall = second_node.stall;
    scenario->nodes[1].turn_ns = second_node.turn_ns;
    scenario->nodes[1].stamped_by_device = second_node.stamped_by_device;
    second_node = (struct scenario_node){.turn_ns = 0};
    scenario->job_count = 1;
    struct scenario_job *job = &scenario->jobs[0];
    name_copy(job->spec.name, sizeof(job->spec.name), "j");
    name_copy(job->spec.source, sizeof(job->spec.source), "n0");
    job->spec.to_all = job->sparse = true;
    job->spec.trees = 1;
    job->spec.measure_ns = 100 * NS_PER_MS;
    job->size_bytes = 50000000;
    job->start_ns = NS_PER_S;

    struct err err = {0};
    struct sim_result result;
    memset(seen, 0, sizeof(seen));
    struct sim *sim = sim_create(scenario, &(struct sim_options){.seed = 1, .solve = solve_request}, &err);
    if (sim == NULL)
        fail_msg("%s", err.text);
    sim_run(sim, &result);
    sim_destroy(sim);
    assert_true(result.completed);
    assert_int_equal(result_verified(&result), 1);
    result_free(&result);
    free(scenario);
}

/* Also what left is told by the node's own clock, fast as it is. */
static void host__exact_stamps(void **state)
{
    (void)state;
    granularity_ns = 0;
    run(&(struct netem_stamping){0}, &(struct netem_stamping){0});
    assert_true(seen[0].reports > 30000 && seen[1].packets > 30000);
    for (unsigned node = 0; node < 2; node++) {
        assert_int_equal(seen[node].software, 0);
        assert_int_equal(seen[node].batch_longest, 1);
        assert_in_range(seen[node].ahead_ns_max, 0, 60000); /* departures of the next turn */
        assert_in_range(seen[node].behind_ns_max, 0, 30000);
    }
}

static void host__batches(void **state)
{
    (void)state;
    granularity_ns = 0;
    run(&(struct netem_stamping){0}, &(struct netem_stamping){.batch = 32, .batch_ns = 60000});
    assert_int_equal(seen[0].software, 0);
    assert_int_equal(seen[0].batch_longest, 1);
    assert_int_equal(seen[1].software, seen[1].packets + seen[1].reports);
    assert_int_equal(seen[1].batch_longest, 32);
    assert_in_range(seen[1].behind_ns_max, 20000, 110000);
    assert_in_range(seen[1].ahead_ns_max, 0, 60000);
}

/* A node that stands still, or looks rarely, stamps late what came meanwhile, and says so; a device does not. */
static void host__late_stamps(void **state)
{
    (void)state;
    static const struct {
        struct sim_stall_config stall;
        uint64_t turn_ns;
        bool device;
        uint64_t wait_ns, behind_ns_max;
    } rows[] = {
        {.stall = {.every_ns = 20 * NS_PER_MS, .for_ns = 5 * NS_PER_MS},
         .wait_ns = 5000000,
         .behind_ns_max = 30000},
        {.turn_ns = 200000, .wait_ns = 200000, .behind_ns_max = 0},
        {.stall = {.every_ns = 20 * NS_PER_MS, .for_ns = 5 * NS_PER_MS},
         .device = true,
         .behind_ns_max = 5100000},
    };
    for (size_t row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
        granularity_ns = 0;
        second_node = (struct scenario_node){
            .stall = rows[row].stall, .turn_ns = rows[row].turn_ns, .stamped_by_device = rows[row].device};
        run(&(struct netem_stamping){0}, &(struct netem_stamping){0});
        assert_int_equal(seen[0].waited, 0);
        assert_int_equal(seen[1].waited != 0, rows[row].wait_ns != 0);
        assert_int_equal(seen[1].software != 0, !rows[row].device);
        assert_true(seen[1].behind_ns_max <= (int64_t)rows[row].behind_ns_max);
        assert_true(seen[1].behind_ns_max >= (int64_t)rows[row].behind_ns_max / 2);
        if (rows[row].turn_ns == 0)
            assert_int_equal(seen[1].wait_ns_max, rows[row].wait_ns);
        else
            assert_true(seen[1].wait_ns_max >= rows[row].wait_ns);
    }
}

static void host__noise_and_granularity(void **state)
{
    (void)state;
    granularity_ns = 64;
    run(&(struct netem_stamping){.granularity_ns = 64},
        &(struct netem_stamping){.noise_ns = 500, .granularity_ns = 64});
    for (unsigned node = 0; node < 2; node++) {
        assert_int_equal(seen[node].odd, 0);
        assert_int_equal(seen[node].software, seen[node].packets + seen[node].reports);
        assert_in_range(seen[node].behind_ns_max, 64, 35000);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(host__exact_stamps),
        cmocka_unit_test(host__batches),
        cmocka_unit_test(host__late_stamps),
        cmocka_unit_test(host__noise_and_granularity),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
