#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "base/rng.h"
#include "planner/solve.h"
#include "planner/why.h"
#include "../plan/example.h"

static const char *const five_sites[] = {"oregon", "frankfurt", "london", "singapore", "canada"};
static const unsigned five_rtt_ms[5][5] = {{0, 100, 141, 162, 65},
                                           {100, 0, 13, 174, 100},
                                           {141, 13, 0, 173, 87},
                                           {162, 174, 173, 0, 219},
                                           {65, 100, 87, 219, 0}};

static struct plan_request five_site_request(void)
{
    struct plan_request request = example_request(5);
    for (uint16_t node = 0; node < 5; node++) {
        strcpy(request.nodes[node].name, five_sites[node]);
        request.nodes[node].receiver = true;
        for (uint16_t to = 0; to < 5; to++)
            request.paths[node][to].rtt_us = five_rtt_ms[node][to] * 1000;
    }
    request.source = 2;
    return request;
}

static struct arena arena;

static struct plan solved(const struct plan_request *request)
{
    struct plan plan;
    struct err err;
    if (!solve(request, NULL, &plan, &err))
        fail_msg("%s", err.text);
    assert_int_equal(plan.why.metric_count, 0);
    return plan;
}

static struct plan explained(const struct plan_request *request)
{
    struct plan plan = solved(request);
    why_fill(request, &arena, &plan);
    assert_int_equal(arena.used, 0);
    return plan;
}

static void expect_tree(const struct plan *plan, const char *edges)
{
    struct plan_tree expected = example_tree(edges);
    assert_int_equal(plan->tree_count, 1);
    assert_memory_equal(&plan->trees[0], &expected, sizeof(expected));
}

static void expect_error(const struct plan_request *request, const char *expected)
{
    struct plan plan;
    struct err err = {""};
    assert_false(solve(request, NULL, &plan, &err));
    if (strstr(err.text, expected) == NULL)
        fail_msg("expected \"%s\", got \"%s\"", expected, err.text);
}

/* frankfurt 13, canada 87, oregon 65, singapore 162 (planner and papers agree on this tree). */
static void solve__five_sites_mst(void **state)
{
    (void)state;
    struct plan_request request = five_site_request();
    struct plan plan = explained(&request);
    expect_tree(&plan, "2-1 2-4 4-0 0-3");
    assert_int_equal(plan.delay_us, (87 + 65 + 162) * 1000 / 2);
    assert_int_equal(plan.edge_rate_bps[0], 492500000); /* 0.985 x 1 Gbit/s / 2 children */
    assert_int_equal(plan.rate_bps, 492500000ull * 1408 / 1538);
    assert_int_equal(plan.bound_bps, 1000000000ull * 1408 / 1538);
    assert_int_equal(plan.why.limit_count, 1);
    assert_int_equal(plan.why.limits[0].limit.row, PLAN_ROW_UPLINK);
    assert_int_equal(plan.why.limits[0].limit.node, 2);
    /* With 2 Gbit/s there, all edges would carry 1. */
    assert_in_range(plan.why.limits[0].gain_ppm, 999999, 1000000);
    assert_in_range(plan.why.limits[0].raised, 1999999998, 2000000002);
    assert_int_equal(plan.why.metric_count, PLAN_METRIC_COUNT - 3); /* all but distance, auto and given */
    assert_int_equal(plan.why.metrics[0].metric, PLAN_METRIC_RTT);
    assert_int_equal(plan.why.metrics[0].rate_bps, plan.rate_bps);
    assert_int_equal(plan.why.metrics[0].limit.node, 2);
    assert_int_equal(plan.why.metrics[1].metric, PLAN_METRIC_STAR);
    assert_int_equal(plan.why.metrics[1].delay_us, 173000 / 2);
    assert_int_equal(plan.why.metrics[1].time_us, 0);
}

static void solve__children_max_makes_a_chain(void **state)
{
    (void)state;
    struct plan_request request = five_site_request();
    request.children_max = 1;
    struct plan plan = solved(&request);
    expect_tree(&plan, "2-1 1-4 4-0 0-3"); /* frankfurt has canada and oregon at 100 ms: by name */
    assert_int_equal(plan.edge_rate_bps[0], 985000000);
}

/* However near it is: who can't feed anybody comes last, where there is no second place. */
static void solve__leaf_ends_a_chain(void **state)
{
    (void)state;
    static const struct {
        uint8_t metric, degree, children_max;
        bool ties_random;
    } cases[] = {{PLAN_METRIC_CHAIN, 0, 0, false},
                 {PLAN_METRIC_CHAIN, 0, 0, true},
                 {PLAN_METRIC_RTT, 0, 1, false},
                 {PLAN_METRIC_RTT, 0, 1, true},
                 {PLAN_METRIC_DCMST, 1, 0, false}};
    for (size_t index = 0; index < sizeof(cases) / sizeof(cases[0]); index++) {
        for (uint16_t leaf = 0; leaf < 5; leaf++) {
            struct plan_request request = five_site_request();
            if (leaf == request.source)
                continue;
            request.metric = cases[index].metric;
            request.degree = cases[index].degree;
            request.children_max = cases[index].children_max;
            request.ties_random = cases[index].ties_random;
            request.nodes[leaf].leaf = true;
            struct plan plan;
            struct err err = {""};
            if (!solve(&request, &arena, &plan, &err))
                fail_msg("case %zu, leaf %u: %s", index, leaf, err.text);
            assert_int_equal(plan.trees[0].edge_count, 4);
            for (uint16_t node = 0; node < 5; node++)
                assert_int_not_equal(plan_parent(&plan.trees[0], node), leaf);
        }
        struct plan_request request = five_site_request();
        request.metric = cases[index].metric;
        request.degree = cases[index].degree;
        request.children_max = cases[index].children_max;
        request.nodes[0].leaf = request.nodes[1].leaf = true;
        struct plan plan;
        struct err err = {""};
        assert_false(solve(&request, &arena, &plan, &err));
        assert_non_null(strstr(err.text, "can't be reached"));
    }
}

static void solve__star(void **state)
{
    (void)state;
    struct plan_request request = five_site_request();
    request.metric = PLAN_METRIC_STAR;
    struct plan plan = solved(&request);
    expect_tree(&plan, "2-4 2-1 2-0 2-3"); /* by name */
    assert_int_equal(plan.edge_rate_bps[0], 246250000);
    request.children_max = 3;
    expect_error(&request, "a star gives london 4 children, at most 3");
}

static void solve__given_in_any_order(void **state)
{
    (void)state;
    struct plan_request request = five_site_request();
    request.metric = PLAN_METRIC_GIVEN;
    request.given = example_tree("4-0 1-3 1-4 2-1");
    struct plan plan = solved(&request);
    expect_tree(&plan, "2-1 1-3 1-4 4-0");
}

static void solve__relays(void **state)
{
    (void)state;
    struct plan_request request = five_site_request();
    request.nodes[4].receiver = false;
    struct plan plan = solved(&request);
    expect_tree(&plan, "2-1 1-0 0-3"); /* canada is left out */
    request.metric = PLAN_METRIC_GIVEN;
    request.given = example_tree("2-4 4-0 4-1 4-3");
    plan = solved(&request);
    expect_tree(&plan, "2-4 4-0 4-1 4-3");
}

static void solve__ties_go_by_name_not_by_place(void **state)
{
    (void)state;
    struct plan_request request = example_request(4);
    const char *names[] = {"s", "c", "a", "b"};
    for (uint16_t node = 0; node < 4; node++)
        strcpy(request.nodes[node].name, names[node]);
    struct plan plan = solved(&request);
    expect_tree(&plan, "0-2 2-3 2-1"); /* a from s; then b, c from a, whose name comes before s */
}

static void solve__smaller_direction_counts(void **state)
{
    (void)state;
    struct plan_request request = example_request(3);
    request.paths[2][1].rtt_us = 4000;
    request.paths[1][2].rtt_us = PLAN_RTT_UNKNOWN;
    struct plan plan = solved(&request);
    expect_tree(&plan, "0-1 1-2");
    assert_int_equal(plan.delay_us, 7000);
}

static void set_unknown(struct plan_request *request, uint16_t one, uint16_t other)
{
    request->paths[one][other].rtt_us = request->paths[other][one].rtt_us = PLAN_RTT_UNKNOWN;
}

static void solve__unmeasured_pairs(void **state)
{
    (void)state;
    struct plan_request request = five_site_request();
    set_unknown(&request, 2, 1);
    struct plan plan = solved(&request);
    expect_tree(&plan, "2-4 4-0 4-1 0-3");
    request.metric = PLAN_METRIC_STAR;
    expect_error(&request, "no RTT was measured between london and frankfurt");
    request.metric = PLAN_METRIC_GIVEN;
    request.given = example_tree("2-4 4-0 0-3 2-1");
    expect_error(&request, "no RTT was measured between london and frankfurt");
    request.metric = PLAN_METRIC_RTT;
    for (uint16_t node = 0; node < 5; node++)
        set_unknown(&request, 3, node);
    expect_error(&request, "between london and singapore");
}

static void solve__rates_table(void **state)
{
    (void)state;
    static const struct {
        const char *tree;
        uint64_t up[4], down, cap, edge_rate, rate, bound;
        enum plan_row limit;
        uint16_t node;
    } cases[] = {
        {"0-1 1-2 2-3", {100, 100, 100, 1}, 1000, 0, 98500000, 90174252, 91547464, PLAN_ROW_UPLINK, 0},
        {"0-1 1-2 2-3", {100, 60, 100, 1}, 1000, 0, 59100000, 54104551, 79646293, PLAN_ROW_UPLINK, 1},
        {"0-1 0-2 0-3", {90, 1, 1, 1}, 1000, 0, 29550000, 27052275, 28379713, PLAN_ROW_UPLINK, 0},
        {"0-1 1-2 1-3", {90, 80, 1, 1}, 50, 0, 39400000, 36069700, 45773732, PLAN_ROW_UPLINK, 1},
        {"0-1 1-2 1-3", {90, 80, 90, 90}, 30, 0, 29550000, 27052275, 27464239, PLAN_ROW_DOWNLINK, 1},
        {"0-1 1-2 1-3", {90, 80, 90, 90}, 30, 10, 10923296, 10000000, 10000000, PLAN_ROW_CAP, 0},
        {"0-1 1-2 1-3", {90, 80, 90, 90}, 30, 500, 29550000, 27052275, 27464239, PLAN_ROW_DOWNLINK, 1},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct plan_request request = example_request(4);
        request.metric = PLAN_METRIC_GIVEN;
        request.given = example_tree(cases[i].tree);
        request.rate_cap_bps = cases[i].cap * 1000000;
        for (uint16_t node = 0; node < 4; node++) {
            request.nodes[node].up_bps = cases[i].up[node] * 1000000;
            request.nodes[node].down_bps = cases[i].down * 1000000;
        }
        struct plan plan = explained(&request);
        assert_int_equal(plan.edge_rate_bps[0], cases[i].edge_rate);
        assert_int_equal(plan.rate_bps, cases[i].rate);
        assert_int_equal(plan.bound_bps, cases[i].bound);
        assert_int_equal(plan.why.limits[0].limit.row, cases[i].limit);
        assert_int_equal(plan.why.limits[0].limit.node, cases[i].node);
    }
}

/* Uplinks are shared max-min: what a slow site leaves goes to the others, and nothing flows faster below a
 * node than into it. In Mbit/s before the headroom. */
static void solve__rate_of_each_edge(void **state)
{
    (void)state;
    static const struct {
        const char *tree;
        uint64_t up[4], down[4], cap, into[4];
    } cases[] = {
        {"0-1 0-2 0-3", {90, 1, 1, 1}, {1, 100, 100, 100}, 0, {0, 30, 30, 30}},
        {"0-1 0-2 0-3", {90, 1, 1, 1}, {1, 100, 100, 10}, 0, {0, 40, 40, 10}},
        {"0-1 0-2 0-3", {90, 1, 1, 1}, {1, 100, 35, 10}, 0, {0, 45, 35, 10}},
        {"0-1 0-2 0-3", {500, 1, 1, 1}, {1, 100, 100, 10}, 0, {0, 100, 100, 10}},
        {"0-1 1-2 1-3", {500, 400, 1, 1}, {1, 50, 100, 10}, 0, {0, 50, 50, 10}},
        {"0-1 1-2 2-3", {500, 20, 400, 1}, {1, 100, 100, 100}, 0, {0, 100, 20, 20}},
        {"0-1 1-2 1-3", {500, 400, 1, 1}, {1, 50, 100, 10}, 1408, {0, 50, 50, 10}},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct plan_request request = example_request(4);
        request.metric = PLAN_METRIC_GIVEN;
        request.given = example_tree(cases[i].tree);
        request.rate_cap_bps = cases[i].cap * 10000;
        for (uint16_t node = 0; node < 4; node++) {
            request.nodes[node].up_bps = cases[i].up[node] * 1000000;
            request.nodes[node].down_bps = cases[i].down[node] * 1000000;
        }
        struct plan plan = solved(&request);
        for (uint16_t node = 1; node < 4; node++) {
            uint64_t planned_bps = cases[i].into[node] * 985000;
            uint64_t cap_bps = cases[i].cap == 0 ? UINT64_MAX : 15380000;
            assert_int_equal(plan_edge_rate_bps(&plan, 0, node),
                             planned_bps < cap_bps ? planned_bps : cap_bps);
        }
    }
}

static void solve__rate_too_small(void **state)
{
    (void)state;
    struct plan_request request = example_request(3);
    request.nodes[0].up_bps = 2000; /* two children */
    expect_error(&request, "leaves less than 1 kbit/s");
}

static void solve__refuses_invalid_requests(void **state)
{
    (void)state;
    struct plan_request request = example_request(3);
    strcpy(request.nodes[1].name, "n2");
    expect_error(&request, "two nodes have the name n2");
}

/* Least total RTT over all trees of five nodes, by trying every assignment of parents (4^4). */
static uint64_t cheapest_us(const struct plan_request *request, uint16_t children_max)
{
    uint64_t cheapest = UINT64_MAX;
    for (unsigned code = 0; code < 256; code++) {
        struct plan_tree tree = {.edge_count = 4};
        uint64_t sum_us = 0;
        unsigned rest = code, child_counts[5] = {0}, most = 0;
        for (uint16_t node = 1; node < 5; node++, rest /= 4) {
            uint16_t parent = (uint16_t)(rest % 4 < node ? rest % 4 : rest % 4 + 1);
            tree.edges[node - 1] = (struct plan_edge){parent, node};
            sum_us += solve_rtt_us(request, parent, node);
            most = ++child_counts[parent] > most ? child_counts[parent] : most;
        }
        if (most <= children_max && plan_tree_order(&tree, 5, 0) && sum_us < cheapest)
            cheapest = sum_us;
    }
    return cheapest;
}

static uint64_t total_us(const struct plan_request *request, const struct plan_tree *tree)
{
    uint64_t sum_us = 0;
    for (uint16_t edge = 0; edge < tree->edge_count; edge++)
        sum_us += solve_rtt_us(request, tree->edges[edge].from, tree->edges[edge].to);
    return sum_us;
}

static void solve_mst__equals_brute_force(void **state)
{
    (void)state;
    struct rng rng;
    rng_init(&rng, 3);
    for (unsigned round = 0; round < 500; round++) {
        struct plan_request request = example_request(5);
        for (uint16_t from = 0; from < 5; from++)
            for (uint16_t to = 0; to < 5; to++)
                request.paths[from][to].rtt_us = (uint32_t)rng_below(&rng, 20);
        struct plan plan = solved(&request);
        assert_int_equal(total_us(&request, &plan.trees[0]), cheapest_us(&request, 4));
        /* The greedy answer to a limit is no better than the best, and keeps the limit (plan_validate). */
        request.children_max = 1;
        plan = solved(&request);
        assert_true(total_us(&request, &plan.trees[0]) >= cheapest_us(&request, 1));
    }
}

/* Every plan fulfils plan_validate (solve checks) and its bound; the nodes' order does not matter. */
static void solve__random_requests(void **state)
{
    (void)state;
    struct rng rng;
    rng_init(&rng, 4);
    for (unsigned round = 0; round < 300; round++) {
        uint16_t count = (uint16_t)(2 + rng_below(&rng, PLAN_NODES_MAX - 1));
        struct plan_request request = example_request(count), turned;
        request.children_max = (uint8_t)rng_below(&rng, 5);
        for (uint16_t node = 0; node < count; node++) {
            request.nodes[node].up_bps = 1000 + rng_below(&rng, 1000000000000);
            request.nodes[node].down_bps = 1000 + rng_below(&rng, 1000000000000);
            request.nodes[node].receiver = node == 1 || rng_below(&rng, 4) != 0;
            for (uint16_t to = 0; to < node; to++)
                request.paths[node][to].rtt_us = request.paths[to][node].rtt_us =
                    (uint32_t)rng_below(&rng, 50) * 1000;
        }
        struct plan plan = explained(&request);
        assert_true(plan.rate_bps <= plan.bound_bps);
        assert_true(plan.why.limit_count >= 1);
        turned = request;
        turned.source = count - 1;
        for (uint16_t node = 0; node < count; node++) {
            turned.nodes[count - 1 - node] = request.nodes[node];
            for (uint16_t to = 0; to < count; to++)
                turned.paths[count - 1 - node][count - 1 - to].rtt_us = request.paths[node][to].rtt_us;
        }
        struct plan other = solved(&turned);
        assert_int_equal(other.rate_bps, plan.rate_bps);
        assert_int_equal(other.delay_us, plan.delay_us);
        for (uint16_t edge = 0; edge < plan.trees[0].edge_count; edge++)
            assert_int_equal(other.trees[0].edges[edge].to, count - 1 - plan.trees[0].edges[edge].to);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(solve__five_sites_mst),
        cmocka_unit_test(solve__children_max_makes_a_chain),
        cmocka_unit_test(solve__leaf_ends_a_chain),
        cmocka_unit_test(solve__star),
        cmocka_unit_test(solve__given_in_any_order),
        cmocka_unit_test(solve__relays),
        cmocka_unit_test(solve__ties_go_by_name_not_by_place),
        cmocka_unit_test(solve__smaller_direction_counts),
        cmocka_unit_test(solve__unmeasured_pairs),
        cmocka_unit_test(solve__rates_table),
        cmocka_unit_test(solve__rate_of_each_edge),
        cmocka_unit_test(solve__rate_too_small),
        cmocka_unit_test(solve__refuses_invalid_requests),
        cmocka_unit_test(solve_mst__equals_brute_force),
        cmocka_unit_test(solve__random_requests),
    };
    void *memory = aligned_alloc(ARENA_ALIGN, arena_need(solve_bytes()));
    if (memory == NULL)
        return 1;
    arena_init(&arena, memory, solve_bytes());
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    free(memory);
    return failed;
}
