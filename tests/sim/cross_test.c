/* Cross traffic: what each kind of flow does alone, and that it meets others on the same links. */
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
    return solve(request, NULL, plan, err);
}

/* Three nodes, 10 Gbit/s interfaces; from the first to the second a link of rate_bps with a queue of
 * queue_ms, rtt_ms from there and back. */
static struct scenario *scenario_new(uint64_t rate_bps, uint64_t rtt_ms, uint64_t queue_ms)
{
    struct scenario *scenario = calloc(1, sizeof(*scenario));
    assert_non_null(scenario);
    struct netem_config port = {
        .rate_bps = 10000 * MBPS, .queue_unit = NETEM_QUEUE_NS, .queue_limit = 100 * NS_PER_MS};
    name_copy(scenario->name, sizeof(scenario->name), "cross");
    scenario->limit_ns = 300 * NS_PER_S;
    scenario->node_count = 3;
    for (uint16_t node = 0; node < 3; node++) {
        snprintf(scenario->nodes[node].name, NAME_BYTES, "n%u", node);
        scenario->nodes[node].uplink = scenario->nodes[node].downlink = port;
        scenario->nodes[node].disk_free_bytes = UINT64_MAX;
        for (uint16_t other = 0; other < 3; other++)
            scenario->links[node][other] = (struct netem_config){.delay_ns = rtt_ms * NS_PER_MS / 2};
    }
    scenario->links[0][1].rate_bps = rate_bps;
    scenario->links[0][1].queue_unit = NETEM_QUEUE_NS;
    scenario->links[0][1].queue_limit = queue_ms * NS_PER_MS;
    return scenario;
}

static struct scenario_cross *flow_add(struct scenario *scenario, enum scenario_cross_kind kind,
                                       uint64_t rate_bps, uint64_t start_s, uint64_t stop_s)
{
    struct scenario_cross *cross = &scenario->crosses[scenario->cross_count++];
    *cross = (struct scenario_cross){.from = 0,
                                     .to = 1,
                                     .kind = (uint8_t)kind,
                                     .rate_bps = rate_bps,
                                     .start_ns = start_s * NS_PER_S,
                                     .stop_ns = stop_s * NS_PER_S,
                                     .packet_bytes = 1500,
                                     .count = 1};
    return cross;
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

static uint64_t rate_of(const struct sim_result *result, const char *name)
{
    uint64_t bps = 0;
    assert_true(result_flow_rate(result, name, &bps));
    return bps;
}

static void assert_between(uint64_t value, uint64_t least, uint64_t most)
{
    if (value < least || value > most)
        fail_msg("%llu is not within %llu ... %llu", (unsigned long long)value, (unsigned long long)least,
                 (unsigned long long)most);
}

static void cross__open_loops_send_their_rate(void **state)
{
    (void)state;
    static const struct {
        enum scenario_cross_kind kind;
        uint64_t rate_bps, least_bps, most_bps;
    } cases[] = {
        {CROSS_CBR, 100 * MBPS, 99900000, 100100000},
        {CROSS_POISSON, 100 * MBPS, 99 * MBPS, 101 * MBPS},
        {CROSS_ONOFF, 100 * MBPS, 45 * MBPS, 55 * MBPS},
    };
    for (size_t index = 0; index < sizeof(cases) / sizeof(cases[0]); index++) {
        struct scenario *scenario = scenario_new(1000 * MBPS, 20, 50);
        struct scenario_cross *flow = flow_add(scenario, cases[index].kind, cases[index].rate_bps, 0, 30);
        flow->on_ns = flow->off_ns = 20 * NS_PER_MS;
        struct sim_result result = run(scenario, 1);
        assert_true(result.completed);
        assert_int_equal(result.flows[0].total.sent_packets, result.flows[0].total.delivered_packets);
        assert_between(rate_of(&result, "0"), cases[index].least_bps, cases[index].most_bps);
        result_free(&result);
        free(scenario);
    }
}

/* What the comparisons with them rest on. A tenth of a BDP is less than CUBIC's saw teeth need: after a loss
 * it sends 0.77 of what the path carries. */
static void cross__competitors_fill_a_path_alone(void **state)
{
    (void)state;
    static const uint64_t rtts_ms[] = {10, 50, 100, 200};
    static const struct {
        enum scenario_cross_kind kind;
        uint64_t queue_permille; /* of a BDP */
        uint64_t least_permille;
    } cases[] = {
        {CROSS_CUBIC, 1000, 990}, {CROSS_CUBIC, 4000, 990}, {CROSS_CUBIC, 100, 890},
        {CROSS_BBR1, 100, 970},   {CROSS_BBR1, 1000, 950},  {CROSS_BBR1, 4000, 950},
    };
    for (size_t index = 0; index < sizeof(cases) / sizeof(cases[0]); index++)
        for (size_t rtt = 0; rtt < sizeof(rtts_ms) / sizeof(rtts_ms[0]); rtt++) {
            struct scenario *scenario =
                scenario_new(100 * MBPS, rtts_ms[rtt], rtts_ms[rtt] * cases[index].queue_permille / 1000);
            flow_add(scenario, cases[index].kind, 0, 0, 60);
            struct sim_result result = run(scenario, 1);
            assert_between(rate_of(&result, "0.20-60"), 100 * MBPS * cases[index].least_permille / 1000,
                           100 * MBPS);
            /* The last packet's delayed ack can come after the timer that a flow at its end has. */
            const struct cross_total *total = &result.flows[0].total;
            assert_between(total->repeated, 0, 1);
            assert_int_equal(total->lost_packets - total->repeated, result.flows[0].queue_drops);
            result_free(&result);
            free(scenario);
        }
}

/* Several packets are lost before the first loss is noticed; the ack that tells of the last one ends the
 * episode and must not begin another: that would be 0.49 instead of 0.7. */
static void cross__losses_of_one_round_reduce_once(void **state)
{
    (void)state;
    struct scenario *scenario = scenario_new(200 * MBPS, 50, 5);
    flow_add(scenario, CROSS_CUBIC, 0, 0, 60);
    struct sim_result result = run(scenario, 1);
    for (uint32_t second = 20; second < 60; second++)
        assert_between(result.flows[0].seconds[second] * 8, 200 * MBPS * 74 / 100, 201 * MBPS);
    result_free(&result);
    free(scenario);
}

/* BBRv1 alone keeps no more than its probing (a quarter of a BDP), CUBIC fills the buffer. */
static void cross__bbr1_leaves_the_buffer_empty(void **state)
{
    (void)state;
    struct scenario *scenario = scenario_new(200 * MBPS, 40, 40);
    flow_add(scenario, CROSS_BBR1, 0, 0, 60);
    struct sim_result result = run(scenario, 1);
    assert_between(result.flows[0].wait_p50_ns, 0, 10 * NS_PER_MS);
    result_free(&result);
    scenario->crosses[0].kind = CROSS_CUBIC;
    result = run(scenario, 1);
    assert_between(result.flows[0].wait_p50_ns, 12 * NS_PER_MS, 40 * NS_PER_MS);
    result_free(&result);
    free(scenario);
}

/* RFC 9438: K = cbrt(W_max (1 - 0.7) / 0.4). The path and its buffer hold W = 200 Mbit/s x 200 ms = 3251
 * packets, K is 13.5 s; with W_max = W and a little, W is reached about 4 s before K. That loss is below
 * W_max, so fast convergence takes 0.85 W for the next, which is passed after 10.7 s, and W as long after
 * that. Two teeth take about 9.5 + 21.5 s. */
static void cross__cubic_teeth_are_as_long_as_the_rfc_says(void **state)
{
    (void)state;
    struct scenario *scenario = scenario_new(200 * MBPS, 100, 100);
    flow_add(scenario, CROSS_CUBIC, 0, 0, 290);
    struct sim_result result = run(scenario, 1);
    assert_between(result.flows[0].loss_episodes, 2 * 290 / 34, 2 * 290 / 28);
    result_free(&result);
    free(scenario);
}

/* RFC 9438, table 1: 12 packets a round trip at a loss of 1 % and 100 ms, which is 1.48 Mbit/s. BBRv1 does
 * not mind. */
static void cross__random_loss_holds_cubic_down(void **state)
{
    (void)state;
    struct scenario *scenario = scenario_new(200 * MBPS, 100, 100);
    scenario->links[0][1].loss_ppb = 10000000;
    flow_add(scenario, CROSS_CUBIC, 0, 0, 200);
    struct sim_result result = run(scenario, 1);
    assert_between(rate_of(&result, "0.10-200"), 1100000, 2500000);
    result_free(&result);
    scenario->crosses[0].kind = CROSS_BBR1;
    scenario->crosses[0].stop_ns = 30 * NS_PER_S;
    result = run(scenario, 1);
    assert_between(rate_of(&result, "0.5-30"), 180 * MBPS, 200 * MBPS);
    result_free(&result);
    free(scenario);
}

/* Marks instead of losses, at the pair's own link and at a shared one; who is not ECN-capable is dropped. A tooth
 * for each mark: a window that fell twice in a round trip would leave the path half empty. */
static void cross__cubic_answers_marks(void **state)
{
    (void)state;
    static const struct {
        bool ecn, shared;
    } cases[] = {{true, false}, {true, true}, {false, false}};
    for (size_t index = 0; index < sizeof(cases) / sizeof(cases[0]); index++) {
        struct scenario *scenario = scenario_new(100 * MBPS, 20, 40);
        scenario->links[0][1].ecn_ns = 10 * NS_PER_MS;
        if (cases[index].shared) {
            scenario->shared_count = 1;
            scenario->shared[0].link = scenario->links[0][1];
            scenario->shared[0].link.delay_ns = 0;
            scenario->shared[0].members[0] = 1u << 1;
            scenario->links[0][1] = (struct netem_config){.delay_ns = 10 * NS_PER_MS};
        }
        flow_add(scenario, CROSS_CUBIC, 0, 0, 40)->ecn = cases[index].ecn;
        struct sim_result result = run(scenario, 1);
        const struct result_flow *flow = &result.flows[0];
        assert_between(rate_of(&result, "0.10-40"), 92 * MBPS, 100 * MBPS);
        assert_between(flow->loss_episodes, 4, 60);
        assert_int_equal(flow->total.lost_packets == 0, cases[index].ecn);
        assert_int_equal(flow->wait_p99_ns <= 13 * NS_PER_MS, cases[index].ecn);
        result_free(&result);
        free(scenario);
    }
}

static void cross__two_of_a_kind_share(void **state)
{
    (void)state;
    static const enum scenario_cross_kind kinds[] = {CROSS_CUBIC, CROSS_BBR1};
    for (size_t index = 0; index < 2; index++) {
        struct scenario *scenario = scenario_new(100 * MBPS, 20, 20);
        flow_add(scenario, kinds[index], 0, 0, 120);
        flow_add(scenario, kinds[index], 0, 5, 120);
        struct sim_result result = run(scenario, 1);
        uint64_t first = rate_of(&result, "0.60-120"), second = rate_of(&result, "1.60-120");
        assert_between(first + second, 92 * MBPS, 100 * MBPS);
        assert_between(first, second / 2, 2 * second);
        result_free(&result);
        free(scenario);
    }
}

/* Packets that overtake are not lost: after the first mistakes the competitor allows for them. */
static void cross__reordering_is_learnt(void **state)
{
    (void)state;
    struct scenario *scenario = scenario_new(50 * MBPS, 100, 100);
    scenario->links[0][1].jitter_ns = 4 * NS_PER_MS;
    scenario->links[0][1].reorder = true;
    flow_add(scenario, CROSS_BBR1, 0, 0, 30);
    struct sim_result result = run(scenario, 1);
    assert_between(rate_of(&result, "0.10-30"), 42 * MBPS, 50 * MBPS);
    assert_between(result.flows[0].total.repeated, 0, result.flows[0].total.sent_packets / 200);
    result_free(&result);
    free(scenario);
}

/* Five seconds of nothing: timeouts double, and the flow comes back. */
static void cross__a_blackout_ends(void **state)
{
    (void)state;
    static const enum scenario_cross_kind kinds[] = {CROSS_CUBIC, CROSS_BBR1};
    for (size_t index = 0; index < 2; index++) {
        struct scenario *scenario = scenario_new(100 * MBPS, 40, 40);
        flow_add(scenario, kinds[index], 0, 0, 60);
        scenario->fault_count = 1;
        scenario->faults[0] = (struct scenario_fault){.at_ns = 20 * NS_PER_S,
                                                      .kind = FAULT_LINK_DOWN,
                                                      .link_from = 0,
                                                      .link_to = 1,
                                                      .duration_ns = 5 * NS_PER_S};
        struct sim_result result = run(scenario, 1);
        assert_between(rate_of(&result, "0.21-25"), 0, MBPS);
        assert_between(rate_of(&result, "0.40-60"), 90 * MBPS, 100 * MBPS);
        result_free(&result);
        free(scenario);
    }
}

static void cross__a_lone_edge_keeps_its_rate(void **state)
{
    (void)state;
    struct scenario *scenario = scenario_new(200 * MBPS, 40, 40);
    scenario->links[0][1].loss_ppb = 10000000;
    flow_add(scenario, CROSS_EDGE + PART_CONGESTION_FIXED, 150 * MBPS, 0, 20);
    struct sim_result result = run(scenario, 1);
    const struct cross_total *total = &result.flows[0].total;
    assert_between(rate_of(&result, "0.2-20"), 148 * MBPS, 149 * MBPS);
    assert_int_equal(total->repeated, 0);
    assert_between(total->lost_packets, result.flows[0].netem_lost * 98 / 100, result.flows[0].netem_lost);
    result_free(&result);
    free(scenario);
}

static uint64_t counter_of(const struct sim_result *result, const char *name)
{
    for (uint32_t counter = 0; counter < result->counter_count; counter++)
        if (strcmp(result->counters[counter].name, name) == 0)
            return result->counters[counter].value;
    fail_msg("no counter %s", name);
    return 0;
}

/* A job and a flow on one link: both get through, what the flow loses is not counted as the job's, and a run
 * is the same every time. */
static void cross__meets_the_nodes_packets(void **state)
{
    (void)state;
    struct scenario *scenario = scenario_new(100 * MBPS, 20, 50);
    flow_add(scenario, CROSS_CBR, 60 * MBPS, 0, 300);
    scenario->job_count = 1;
    struct scenario_job *job = &scenario->jobs[0];
    name_copy(job->spec.name, sizeof(job->spec.name), "j");
    name_copy(job->spec.source, sizeof(job->spec.source), "n0");
    name_copy(job->spec.receivers[0], sizeof(job->spec.receivers[0]), "n1");
    job->spec.receiver_count = 1;
    job->spec.trees = 1;
    job->spec.measure_ns = 500 * NS_PER_MS;
    job->size_bytes = 5000000;
    job->sparse = true;
    struct sim_result result = run(scenario, 1), again = run(scenario, 1);
    assert_true(result.completed);
    assert_int_equal(result_verified(&result), 1);
    assert_between(result_goodput_flow(&result), 1, 60 * MBPS);
    assert_int_equal(result.edge_count, 1);
    assert_int_equal(counter_of(&result, "net_queue_drops"),
                     result.flows[0].queue_drops + result.edges[0].queue_drops);
    assert_int_equal(result.digest, again.digest);
    result_free(&result);
    result_free(&again);
    free(scenario);
}

static void cross__what_cannot_be_is_refused(void **state)
{
    (void)state;
    static const struct scenario_cross cases[] = {
        {.from = 0, .to = 0, .kind = CROSS_CUBIC, .stop_ns = TIME_NEVER},
        {.from = 0, .to = 3, .kind = CROSS_CUBIC, .stop_ns = TIME_NEVER},
        {.from = 0, .to = 1, .kind = CROSS_CBR, .stop_ns = TIME_NEVER},
        {.from = 0, .to = 1, .kind = 200, .stop_ns = TIME_NEVER},
        {.from = 0, .to = 1, .kind = CROSS_CUBIC, .packet_bytes = 100, .stop_ns = TIME_NEVER},
    };
    for (size_t index = 0; index < sizeof(cases) / sizeof(cases[0]); index++) {
        struct err err = {0};
        struct scenario *scenario = scenario_new(MBPS, 10, 10);
        scenario->crosses[scenario->cross_count++] = cases[index];
        assert_null(sim_create(scenario, &(struct sim_options){.seed = 1, .solve = solve_request}, &err));
        assert_non_null(strstr(err.text, "cross traffic"));
        free(scenario);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cross__open_loops_send_their_rate),
        cmocka_unit_test(cross__competitors_fill_a_path_alone),
        cmocka_unit_test(cross__losses_of_one_round_reduce_once),
        cmocka_unit_test(cross__bbr1_leaves_the_buffer_empty),
        cmocka_unit_test(cross__cubic_teeth_are_as_long_as_the_rfc_says),
        cmocka_unit_test(cross__random_loss_holds_cubic_down),
        cmocka_unit_test(cross__cubic_answers_marks),
        cmocka_unit_test(cross__two_of_a_kind_share),
        cmocka_unit_test(cross__reordering_is_learnt),
        cmocka_unit_test(cross__a_blackout_ends),
        cmocka_unit_test(cross__a_lone_edge_keeps_its_rate),
        cmocka_unit_test(cross__meets_the_nodes_packets),
        cmocka_unit_test(cross__what_cannot_be_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
