#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "base/rng.h"
#include "planner/auto.h"
#include "planner/solve.h"
#include "planner/why.h"
#include "../plan/example.h"

#define MEMORY_BYTES (128u << 20)

static void *memory;

/* With exactly the memory that is asked for. */
static bool plan_of(const struct plan_request *request, struct plan *plan, struct err *err)
{
    struct arena arena;
    size_t size = auto_bytes(request);
    assert_true(size <= MEMORY_BYTES);
    arena_init(&arena, memory, size);
    return auto_plan(request, &arena, plan, err);
}

static struct plan planned(const struct plan_request *request)
{
    struct plan plan;
    struct err err = {""};
    if (!plan_of(request, &plan, &err))
        fail_msg("%s", err.text);
    assert_true(plan_validate(&plan, request, &err));
    return plan;
}

static struct plan_request random_request(struct rng *rng)
{
    uint16_t count = (uint16_t)(2 + rng_below(rng, 14));
    struct plan_request request = example_request(count);
    request.source = (uint16_t)rng_below(rng, count);
    request.trees_max = (uint8_t)rng_below(rng, 6);
    request.children_max = (uint8_t)(rng_below(rng, 3) == 0 ? 2 : 0);
    request.size_bytes = rng_below(rng, 2) == 0 ? 0 : 1000000 * (1 + rng_below(rng, 1000));
    for (uint16_t node = 0; node < count; node++) {
        snprintf(request.nodes[node].name, NAME_BYTES, "n%02u", node);
        request.nodes[node].up_bps = 1000000 * (10 + rng_below(rng, 10) * 20);
        request.nodes[node].down_bps = 1000000 * (50 + rng_below(rng, 4) * 300);
        request.nodes[node].receiver = node != request.source && rng_below(rng, 6) != 0;
        for (uint16_t to = 0; to < node; to++)
            request.paths[node][to].rtt_us = request.paths[to][node].rtt_us =
                1000 * (1 + (uint32_t)rng_below(rng, 8));
    }
    request.nodes[request.source == 0 ? 1 : 0].receiver = true;
    return request;
}

/* The same, its nodes listed in another order: node i stands where place[i] says. */
static struct plan_request permuted(const struct plan_request *request, struct rng *rng, uint16_t *place)
{
    struct plan_request other = *request;
    for (uint16_t node = 0; node < request->node_count; node++) {
        uint16_t with = (uint16_t)rng_below(rng, node + 1u);
        place[node] = place[with];
        place[with] = node;
    }
    other.source = place[request->source];
    for (uint16_t node = 0; node < request->node_count; node++) {
        other.nodes[place[node]] = request->nodes[node];
        for (uint16_t to = 0; to < request->node_count; to++)
            other.paths[place[node]][place[to]].rtt_us = request->paths[node][to].rtt_us;
    }
    return other;
}

static void auto__order_of_nodes_decides_nothing(void **state)
{
    (void)state;
    struct rng rng;
    rng_init(&rng, 3);
    for (unsigned round = 0; round < 100; round++) {
        uint16_t place[PLAN_NODES_MAX] = {0};
        struct plan_request request = random_request(&rng), other = permuted(&request, &rng, place);
        struct plan plan = planned(&request), same = planned(&other);
        assert_int_equal(same.rate_bps, plan.rate_bps);
        assert_int_equal(same.delay_us, plan.delay_us);
        assert_int_equal(same.tree_count, plan.tree_count);
        for (uint16_t tree = 0; tree < plan.tree_count; tree++) {
            assert_int_equal(same.trees[tree].weight_ppm, plan.trees[tree].weight_ppm);
            assert_int_equal(same.trees[tree].edge_count, plan.trees[tree].edge_count);
            for (uint16_t edge = 0; edge < plan.trees[tree].edge_count; edge++) {
                uint16_t to = plan.trees[tree].edges[edge].to;
                assert_int_equal(same.trees[tree].edges[edge].from, place[plan.trees[tree].edges[edge].from]);
                assert_int_equal(same.trees[tree].edges[edge].to, place[to]);
                assert_int_equal(same.into_rate_bps[tree][place[to]], plan.into_rate_bps[tree][to]);
            }
        }
    }
}

static double seconds_of(const struct plan_request *request, const struct plan *plan)
{
    if (request->size_bytes == 0)
        return 1 / (double)plan->rate_bps;
    return (double)request->size_bytes * 8 / (double)plan->rate_bps + (double)plan->delay_us / 1e6;
}

static void auto__no_later_than_jobs_of_today(void **state)
{
    (void)state;
    struct rng rng;
    rng_init(&rng, 4);
    for (unsigned round = 0; round < 300; round++) {
        struct plan_request request = random_request(&rng);
        struct plan plan = planned(&request), today;
        struct err err;
        for (request.metric = PLAN_METRIC_RTT; request.metric <= PLAN_METRIC_STAR; request.metric++)
            if (solve(&request, NULL, &today, &err))
                assert_true(seconds_of(&request, &plan) <=
                            seconds_of(&request, &today) * (1 + AUTO_EPS) * (1 + 1e-6));
    }
}

static void auto__largest_request(void **state)
{
    (void)state;
    struct plan_request request = example_request(PLAN_NODES_MAX);
    request.trees_max = PLAN_TREES_MAX;
    for (uint16_t node = 0; node < PLAN_NODES_MAX; node++) {
        snprintf(request.nodes[node].name, NAME_BYTES, "n%02u", node);
        request.nodes[node].up_bps = 1000000 * (10 + node * 37 % 101);
    }
    struct plan plan = planned(&request);
    assert_true(plan.rate_bps >= plan.bound_bps / 100 * 95);
}

static void auto__weights_and_cap(void **state)
{
    (void)state;
    struct plan_request request = example_request(4);
    request.trees_max = 0;
    for (uint16_t node = 1; node < 4; node++)
        request.nodes[node].up_bps = 300000000;
    /* The source's 1,000 and 900 more feed three: 633 each, which no single tree gives. */
    struct plan plan = planned(&request);
    assert_in_range(plan.tree_count, 2, AUTO_TREES_MAX);
    assert_true(plan.rate_bps >= plan.bound_bps / 100 * 95);
    request.rate_cap_bps = 1000000;
    plan = planned(&request);
    assert_int_equal(plan.tree_count, 1);
    assert_in_range(plan.rate_bps, 999998, 1000000);
}

/* A stream that says how fast it comes has one tree where that is enough (the source alone feeds each of three 333), which
 * may carry all it can. */
static void auto__what_is_wanted(void **state)
{
    (void)state;
    static const struct {
        uint64_t wanted_bps;
        uint16_t trees_min, trees_max;
    } cases[] = {{0, 2, AUTO_TREES_MAX},
                 {100000000, 1, 1},
                 {290000000, 1, 1},
                 {310000000, 2, AUTO_TREES_MAX},
                 {550000000, 2, AUTO_TREES_MAX}};
    struct plan_request request = example_request(4);
    request.trees_max = 0;
    request.size_bytes = 0;
    for (uint16_t node = 1; node < 4; node++)
        request.nodes[node].up_bps = 300000000;
    for (size_t index = 0; index < sizeof(cases) / sizeof(cases[0]); index++) {
        request.wanted_bps = cases[index].wanted_bps;
        struct plan plan = planned(&request);
        assert_in_range(plan.tree_count, cases[index].trees_min, cases[index].trees_max);
        assert_true(plan.rate_bps >= cases[index].wanted_bps);
        assert_true(plan.rate_bps > 270000000);
    }
}

static void auto__unmeasured_pairs_are_closed(void **state)
{
    (void)state;
    struct plan_request request = example_request(4);
    struct plan plan;
    struct err err;
    for (uint16_t node = 0; node < 4; node++)
        if (node != 3)
            request.paths[node][3].rtt_us = request.paths[3][node].rtt_us = PLAN_RTT_UNKNOWN;
    assert_false(plan_of(&request, &plan, &err));
    assert_string_equal(
        err.text,
        "n3 can't be reached from n0: no path leads to it that is measured, allowed and carries anything");
    request.paths[3][1].rtt_us = 5000; /* one direction will do */
    plan = planned(&request);
    assert_int_equal(plan_parent(&plan.trees[0], 3), 1);
}

/* ---- what the request knows ---- */

/* Into each node of the only tree; the source has 255. */
static void expect_parents(const struct plan *plan, const char *parents)
{
    char found[PLAN_NODES_MAX + 1] = "";
    for (uint16_t node = 0; node < plan->node_count; node++) {
        int parent = plan_parent(&plan->trees[0], node);
        found[node] = parent < 0 ? '-' : (char)('0' + parent);
    }
    if (plan->tree_count != 1 || strcmp(found, parents) != 0)
        fail_msg("expected %s, got %u trees, %s", parents, plan->tree_count, found);
}

static void auto__paths_and_shared_links(void **state)
{
    (void)state;
    struct plan_request request = example_request(4);
    /* Nothing but a chain gives 985; the way into n3 from n2 is narrow, so n3 stands elsewhere. */
    request.paths[2][3].avb_kbps = 100000;
    request.paths[1][3].avb_kbps = 100000;
    struct plan plan = planned(&request);
    assert_true(plan.rate_bps > 890000000);
    assert_int_equal(plan_parent(&plan.trees[0], 3), 0);
    request.paths[0][3].avb_kbps = 200000; /* now there is nothing better than this: n3 goes its own pace */
    plan = planned(&request);
    assert_int_equal(plan.into_rate_bps[0][3], 197000000);
    assert_int_equal(plan.rate_bps, 197000000ull * 1408 / 1538);
    assert_true(plan.into_rate_bps[0][1] > 700000000);
    /* n1, n2 and n3 lie behind one link of 300 Mbit/s: it is crossed once. */
    request = example_request(4);
    request.shared_count = 1;
    strcpy(request.shared[0].name, "wan");
    request.shared[0].rate_bps = 300000000;
    for (uint16_t node = 1; node < 4; node++)
        request.paths[0][node].shared = 1;
    plan = planned(&request);
    assert_int_equal(plan.rate_bps, 295500000ull * 1408 / 1538);
    uint16_t children[PLAN_CHILDREN_MAX];
    assert_int_equal(plan_children(&plan.trees[0], 0, children), 1);
}

static void auto__hosts_and_loss(void **state)
{
    (void)state;
    struct plan_request request = example_request(3);
    /* A packet received and one sent: n1 can take part in half of its packets/s. */
    request.nodes[1].packets_ps = request.nodes[2].packets_ps = 20000;
    struct plan plan = planned(&request);
    assert_in_range(plan.rate_bps, 112600000, 112640000 * 2);
    request = example_request(2);
    request.nodes[0].window_bytes = 1250000; /* in 10 ms of RTT: 1 Gbit/s; a fifth of it */
    request.paths[0][1].rtt_us = request.paths[1][0].rtt_us = 50000;
    plan = planned(&request);
    assert_in_range(plan.into_rate_bps[0][1], 199999999, 200000000);
    request = example_request(2);
    request.paths[0][1].loss_ppm = 100000;
    plan = planned(&request);
    assert_in_range(plan.into_rate_bps[0][1], 984999999, 985000000); /* repairs included */
    assert_in_range(plan.rate_bps, 886499999ull * 1408 / 1538, 886500000ull * 1408 / 1538);
}

static void expect_error(const struct plan_request *request, const char *text)
{
    struct plan plan;
    struct err err = {""};
    assert_false(plan_of(request, &plan, &err));
    if (strstr(err.text, text) == NULL)
        fail_msg("'%s' expected, got '%s'", text, err.text);
}

/* An edge carries 1 kbit/s at least: where several trees leave less, there are fewer; and who
 * can't be sent that much is named. */
static void auto__least_rate_of_an_edge(void **state)
{
    (void)state;
    for (uint64_t up_bps = 1100; up_bps < 60000; up_bps += 500) {
        struct plan_request request = example_request(6);
        request.trees_max = 8;
        for (uint16_t node = 0; node < 6; node++)
            request.nodes[node].up_bps = request.nodes[node].down_bps = up_bps + 700u * node;
        (void)planned(&request);
    }
    struct plan_request request = example_request(4);
    request.nodes[2].down_bps = 900;
    expect_error(&request, "n2 can be sent 886 bit/s at most, an edge carries 1000 at least");
}

/* Behind paths that lose half of what they are sent a receiver gets half, and
 * the others need not wait for it. */
static void auto__lossy_receiver_is_slow(void **state)
{
    (void)state;
    struct plan_request request = example_request(5);
    request.trees_max = 1;
    request.size_bytes = 1000000000;
    for (uint16_t node = 0; node < 5; node++) {
        request.nodes[node].up_bps = request.nodes[node].down_bps = 100000000;
        request.paths[node][4].loss_ppm = 500000;
    }
    struct plan plan = planned(&request);
    for (uint16_t node = 1; node < 4; node++)
        assert_true(plan_edge_rate_bps(&plan, 0, node) >= 98000000);
    assert_int_equal(plan.rate_bps, solve_payload_bps(98500000 / 2));
}

static void auto__leaves_and_rules(void **state)
{
    (void)state;
    struct plan_request request = example_request(4);
    struct err err;
    struct plan plan;
    request.nodes[1].leaf = request.nodes[2].leaf = true;
    plan = planned(&request);
    expect_parents(&plan, "-030");
    request.nodes[3].leaf = true;
    plan = planned(&request);
    expect_parents(&plan, "-000");
    request.paths[0][2].rule = PLAN_RULE_FORBIDDEN;
    assert_false(plan_of(&request, &plan, &err));
    assert_string_equal(
        err.text,
        "n2 can't be reached from n0: no path leads to it that is measured, allowed and carries anything");
    request = example_request(4);
    request.paths[0][1].rule = request.paths[2][3].rule = PLAN_RULE_FORBIDDEN;
    request.paths[3][1].rule = PLAN_RULE_PINNED;
    plan = planned(&request);
    assert_int_equal(plan_parent(&plan.trees[0], 1), 3);
    assert_int_not_equal(plan_parent(&plan.trees[0], 3), 2);
}

/* Every metric keeps to leaves and rules, or says why it can't. */
static void metrics__rules_hold(void **state)
{
    (void)state;
    struct rng rng;
    struct arena arena;
    unsigned found[PLAN_METRIC_COUNT] = {0};
    rng_init(&rng, 5);
    arena_init(&arena, memory, solve_bytes());
    for (unsigned round = 0; round < 200; round++) {
        struct plan_request request = random_request(&rng);
        for (unsigned rules = (unsigned)rng_below(&rng, 5); rules > 0; rules--) {
            uint16_t from = (uint16_t)rng_below(&rng, request.node_count);
            uint16_t to = (uint16_t)rng_below(&rng, request.node_count);
            request.paths[from][to].rule = (uint8_t)rng_below(&rng, PLAN_RULE_COUNT);
            request.nodes[rng_below(&rng, request.node_count)].leaf = rng_below(&rng, 3) == 0;
            request.paths[to][from].avb_kbps = 1000 * (uint32_t)rng_below(&rng, 100);
        }
        for (uint16_t from = 0; from < request.node_count; from++)
            for (uint16_t to = 0; to < request.node_count; to++)
                request.paths[from][to].distance = (uint32_t)rng_below(&rng, 10);
        struct err err;
        if (!plan_request_validate(&request, &err))
            continue;
        for (unsigned metric = 0; metric < PLAN_METRIC_COUNT; metric++) {
            struct plan plan;
            request.metric = (uint8_t)metric;
            if (metric == PLAN_METRIC_GIVEN)
                continue;
            bool solved = solve(&request, &arena, &plan, &err);
            found[metric] += solved;
            assert_int_equal(arena.used, 0);
            if (solved && !plan_validate(&plan, &request, &err))
                fail_msg("%s: %s", word_of(plan_metric_words, (int)metric), err.text);
        }
    }
    for (unsigned metric = 0; metric < PLAN_METRIC_GIVEN; metric++)
        assert_in_range(found[metric], 5, 200);
}

/* What stands in the request decides among trees, and the same tree is rated as any other. */
static void metrics__from_a_request(void **state)
{
    (void)state;
    struct plan_request request = example_request(4);
    struct plan plan;
    struct err err;
    struct arena arena;
    arena_init(&arena, memory, solve_bytes());
#define EXPECT(which, parents)                                                                               \
    request.metric = which;                                                                                  \
    assert_true(solve(&request, &arena, &plan, &err));                                                       \
    expect_parents(&plan, parents)
    EXPECT(PLAN_METRIC_CHAIN, "-012");
    EXPECT(PLAN_METRIC_WIDEST, "-012");
    assert_int_equal(plan.rate_bps, 985000000ull * 1408 / 1538);
    request.metric = PLAN_METRIC_DISTANCE;
    assert_false(solve(&request, &arena, &plan, &err));
    assert_string_equal(err.text, "no distances are known");
    for (uint16_t from = 0; from < 4; from++)
        for (uint16_t to = 0; to < 4; to++)
            request.paths[from][to].distance = 1000u + 100 * from * to;
    EXPECT(PLAN_METRIC_DISTANCE, "-000");
    request.dcmst_of = PLAN_METRIC_DISTANCE;
    EXPECT(PLAN_METRIC_DCMST, "-001");
    request.degree = 1;
    EXPECT(PLAN_METRIC_DCMST, "-012");
    request.paths[0][1].avb_kbps = request.paths[0][2].avb_kbps = 600000;
    request.paths[0][3].avb_kbps = 700000;
    EXPECT(PLAN_METRIC_AVB, "-310");
    assert_int_equal(plan.into_rate_bps[0][1], 689500000);
    assert_int_equal(plan.into_rate_bps[0][3], 689500000);
    /* 600 and 700 are told apart, unless what was measured says otherwise: then all RTTs are equal. */
    EXPECT(PLAN_METRIC_LEXICOGRAPHIC, "-310");
    request.paths[0][3].avb_low_kbps = request.paths[0][1].avb_low_kbps = request.paths[0][2].avb_low_kbps =
        1;
    request.paths[0][3].avb_high_kbps = request.paths[0][1].avb_high_kbps =
        request.paths[0][2].avb_high_kbps = 1000000;
    EXPECT(PLAN_METRIC_LEXICOGRAPHIC, "-000");
#undef EXPECT
}

/* All RTTs are equal: other seeds give other trees, a seed always the same one. */
static void solve__ties_by_seed(void **state)
{
    (void)state;
    struct plan_request request = example_request(4);
    for (uint16_t node = 0; node < 4; node++)
        for (uint16_t to = 0; to < 4; to++)
            request.paths[node][to].rtt_us = 141;
    static const enum plan_metric metrics[] = {PLAN_METRIC_CHAIN, PLAN_METRIC_RTT};
    request.ties_random = true;
    for (unsigned index = 0; index < 2; index++) {
        unsigned differing = 0;
        request.metric = metrics[index];
        for (request.ties_seed = 0; request.ties_seed < 20; request.ties_seed++) {
            struct arena arena;
            struct plan plan, drawn;
            struct err err;
            arena_init(&arena, memory, solve_bytes());
            assert_true(solve(&request, &arena, &plan, &err));
            assert_true(solve(&request, &arena, &drawn, &err));
            assert_memory_equal(&drawn.trees[0], &plan.trees[0], sizeof(plan.trees[0]));
            differing += plan_parent(&plan.trees[0], 2) != 1;
        }
        assert_in_range(differing, 1, 19);
    }
}

/* ---- why ---- */

static struct plan explained(const struct plan_request *request)
{
    struct arena arena;
    struct plan plan;
    struct err err;
    arena_init(&arena, memory, why_bytes(request));
    if (!solve(request, &arena, &plan, &err))
        fail_msg("%s", err.text);
    why_fill(request, &arena, &plan);
    assert_int_equal(arena.used, 0);
    return plan;
}

/* Of two objects on one net the small one gets there sooner over a tree of less delay, the large one over a
 * faster one; neither takes longer than by the best metric, but by eps. */
static void auto__small_and_large(void **state)
{
    (void)state;
    static const uint64_t sizes[] = {10000, 1000000, 2000000000};
    static const uint32_t rtt_ms[5][5] = {{0, 13, 87, 141, 173},
                                          {13, 0, 100, 100, 174},
                                          {87, 100, 0, 65, 219},
                                          {141, 100, 65, 0, 162},
                                          {173, 174, 219, 162, 0}};
    struct plan_request request = example_request(5);
    uint64_t delay_us = 0, rate_bps = 0;
    request.metric = PLAN_METRIC_AUTO;
    for (uint16_t from = 0; from < 5; from++) {
        request.nodes[from].up_bps = request.nodes[from].down_bps = 100000000;
        for (uint16_t to = 0; to < 5; to++)
            request.paths[from][to].rtt_us = rtt_ms[from][to] * 1000;
    }
    for (unsigned index = 0; index < sizeof(sizes) / sizeof(sizes[0]); index++) {
        request.size_bytes = sizes[index];
        struct plan plan = explained(&request);
        for (uint16_t metric = 0; metric < plan.why.metric_count; metric++)
            assert_true(seconds_of(&request, &plan) * 1e6 <=
                        (double)plan.why.metrics[metric].time_us * (1 + AUTO_EPS) + 1);
        assert_true(plan.delay_us >= delay_us && plan.rate_bps >= rate_bps);
        delay_us = plan.delay_us;
        rate_bps = plan.rate_bps;
        if (index == 0)
            assert_in_range(delay_us, 86500, 90000); /* the star's is 86.5 ms */
    }
    assert_true(delay_us > 140000 && rate_bps > 90000000);
}

/* The plan's time is within eps of the least that any metric is said to need, whatever the net; loads are not
 * above capacities, so there is some limit; explaining is the same for nodes in another order. */
static void why__random_nets(void **state)
{
    (void)state;
    struct rng rng;
    rng_init(&rng, 6);
    for (unsigned round = 0; round < 60; round++) {
        uint16_t place[PLAN_NODES_MAX] = {0};
        struct plan_request request = random_request(&rng);
        request.metric = PLAN_METRIC_AUTO;
        struct plan_request other = permuted(&request, &rng, place);
        struct plan plan = explained(&request), same = explained(&other);
        assert_true(plan.why.limit_count >= 1);
        assert_int_equal(same.why.limit_count, plan.why.limit_count);
        for (uint16_t index = 0; index < plan.why.limit_count; index++) {
            assert_int_equal(same.why.limits[index].raised, plan.why.limits[index].raised);
            assert_int_equal(same.why.limits[index].limit.node, place[plan.why.limits[index].limit.node]);
        }
        assert_int_equal(same.why.metric_count, plan.why.metric_count);
        for (uint16_t index = 0; index < plan.why.metric_count; index++) {
            const struct plan_why_metric *metric = &plan.why.metrics[index];
            assert_int_equal(same.why.metrics[index].rate_bps, metric->rate_bps);
            if (request.size_bytes != 0)
                assert_true(seconds_of(&request, &plan) * 1e6 <=
                            (double)(metric->time_us + 1) * (1 + AUTO_EPS) * (1 + 1e-6));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(auto__order_of_nodes_decides_nothing),
        cmocka_unit_test(auto__no_later_than_jobs_of_today),
        cmocka_unit_test(auto__largest_request),
        cmocka_unit_test(auto__weights_and_cap),
        cmocka_unit_test(auto__what_is_wanted),
        cmocka_unit_test(auto__unmeasured_pairs_are_closed),
        cmocka_unit_test(auto__paths_and_shared_links),
        cmocka_unit_test(auto__hosts_and_loss),
        cmocka_unit_test(auto__least_rate_of_an_edge),
        cmocka_unit_test(auto__lossy_receiver_is_slow),
        cmocka_unit_test(auto__leaves_and_rules),
        cmocka_unit_test(metrics__rules_hold),
        cmocka_unit_test(metrics__from_a_request),
        cmocka_unit_test(solve__ties_by_seed),
        cmocka_unit_test(auto__small_and_large),
        cmocka_unit_test(why__random_nets),
    };
    memory = aligned_alloc(ARENA_ALIGN, MEMORY_BYTES);
    if (memory == NULL)
        return 1;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    free(memory);
    return failed;
}
