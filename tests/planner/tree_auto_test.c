#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "base/rng.h"
#include "planner/auto.h"
#include "planner/solve.h"
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
            if (solve(&request, &today, NULL, &err))
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
    assert_string_equal(err.text, "n3 can't be reached from n0: no path leads to it that carries anything");
    request.paths[3][1].rtt_us = 5000; /* one direction will do */
    plan = planned(&request);
    assert_int_equal(plan_parent(&plan.trees[0], 3), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(auto__order_of_nodes_decides_nothing),
        cmocka_unit_test(auto__no_later_than_jobs_of_today),
        cmocka_unit_test(auto__largest_request),
        cmocka_unit_test(auto__weights_and_cap),
        cmocka_unit_test(auto__unmeasured_pairs_are_closed),
    };
    memory = aligned_alloc(ARENA_ALIGN, MEMORY_BYTES);
    if (memory == NULL)
        return 1;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    free(memory);
    return failed;
}
