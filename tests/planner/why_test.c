/* Why a plan is as it is: why an edge is in no tree, by table; that an exchange costs what the plan with it is worth;
 * what holds the plan, and what raising that would bring. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "base/rng.h"
#include "plan/words.h"
#include "planner/auto.h"
#include "planner/solve.h"
#include "planner/why.h"
#include "tests/plan/example.h"

#define MEMORY_BYTES (64u << 20)
#define MEGABIT_BPS  UINT64_C(1000000)

static void *memory;

static void explain(const struct plan_request *request, struct plan *plan)
{
    struct arena arena;
    struct err err;
    size_t bytes = solve_bytes() > why_bytes(request) ? solve_bytes() : why_bytes(request);
    assert_true(bytes <= MEMORY_BYTES);
    arena_init(&arena, memory, bytes);
    if (!solve(request, &arena, plan, &err))
        fail_msg("%s", err.text);
    arena_init(&arena, memory, why_bytes(request));
    why_fill(request, &arena, plan);
    assert_int_equal(arena.used, 0);
}

/* A chain of n0 to n3, 100 Mbit/s uplinks; n4 only relays. */
static struct plan_request chain(void)
{
    struct plan_request request = example_request(5);
    request.metric = PLAN_METRIC_GIVEN;
    request.given = example_tree("0-1 1-2 2-3");
    request.nodes[4].receiver = false;
    for (uint16_t node = 0; node < 5; node++)
        request.nodes[node].up_bps = 100 * MEGABIT_BPS;
    return request;
}

static void forbid_0_3(struct plan_request *request)
{
    request->paths[0][3].rule = PLAN_RULE_FORBIDDEN;
}
static void forbid_1_3(struct plan_request *request)
{
    request->paths[1][3].rule = PLAN_RULE_FORBIDDEN;
}
static void pin_2_3(struct plan_request *request)
{
    request->paths[2][3].rule = PLAN_RULE_PINNED;
}
static void leaf_3(struct plan_request *request)
{
    request->nodes[3].leaf = true;
}
static void unmeasured_0_3(struct plan_request *request)
{
    request->paths[0][3].rtt_us = request->paths[3][0].rtt_us = PLAN_RTT_UNKNOWN;
}
static void narrow_0_3(struct plan_request *request)
{
    request->paths[0][3].avb_kbps = 2000;
}
static void one_child(struct plan_request *request)
{
    request->children_max = 1;
}
static void wide_0(struct plan_request *request)
{
    request->nodes[0].up_bps = 200 * MEGABIT_BPS;
}
static void capped(struct plan_request *request)
{
    request->rate_cap_bps = 10 * MEGABIT_BPS;
}
/* n3 gets a pace of its own. */
static void slow_3(struct plan_request *request)
{
    request->metric = PLAN_METRIC_AUTO;
    request->nodes[3].down_bps = 5 * MEGABIT_BPS;
}

static void why__an_edge(void **state)
{
    (void)state;
    static const struct {
        void (*change)(struct plan_request *request);
        uint16_t from, to;
        const char *text;
    } rows[] = {
        {NULL, 0, 1, "used: in 1 of 1 trees, with 98.5 Mbit/s on the wire; what its path leaves: assumed"},
        {NULL, 2, 0, "n0 is the source"},
        {forbid_0_3, 0, 3, "forbidden, or another edge into n3 is pinned"},
        {pin_2_3, 1, 3, "forbidden, or another edge into n3 is pinned"},
        {leaf_3, 3, 1, "n3 is a leaf"},
        {unmeasured_0_3, 0, 3, "no path: no RTT was measured between them"},
        {NULL, 4, 3, "no tree has both: a node that only relays is used when that adds rate"},
        {NULL, 3, 4, "no tree has both: a node that only relays is used when that adds rate"},
        {narrow_0_3, 0, 3, "too narrow: path from n0 to n3 allows 1.97 Mbit/s, a tree into n3 carries more"},
        {slow_3, 3, 1, "n3 itself is sent no more than 4.92 Mbit/s"},
        {one_child, 0, 2, "n0 has as many children as it may have"},
        {forbid_1_3, 3, 2, "n3 is fed by way of n2"},
        {NULL, 0, 2, "with it: rate -50.00 %, delay -5.000 ms, held by uplink of n0"},
        {NULL, 0, 3, "with it: rate -50.00 %, delay -5.000 ms, held by uplink of n0"},
        {wide_0, 0, 3, "with it: the same rate, delay -5.000 ms"},
        {capped, 0, 3, "with it: the same rate, delay -5.000 ms"},
        {NULL, 3, 2, "as good as the one taken: a tie"},
    };
    static struct plan_request request;
    static struct plan plan;
    for (unsigned row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
        char text[PLAN_EDGE_TEXT_BYTES];
        struct plan_edge edge = {rows[row].from, rows[row].to};
        request = chain();
        if (rows[row].change != NULL)
            rows[row].change(&request);
        explain(&request, &plan);
        assert_true(plan_edge_text(&plan, &request, edge, text, sizeof(text)));
        assert_string_equal(text, rows[row].text);
        assert_false(plan_edge_text(&plan, &request, edge, text, 4));
    }
    plan.why.edges_known = false;
    char text[PLAN_EDGE_TEXT_BYTES];
    assert_false(plan_edge_text(&plan, &request, (struct plan_edge){0, 1}, text, sizeof(text)));
}

/* ---- what an exchange costs ---- */

static struct plan_request random_request(struct rng *rng)
{
    struct plan_request request = example_request((uint16_t)(3 + rng_below(rng, 8)));
    request.metric = PLAN_METRIC_GIVEN;
    for (uint16_t node = 0; node < request.node_count; node++) {
        request.nodes[node].up_bps = (20 + rng_below(rng, 200)) * MEGABIT_BPS;
        for (uint16_t to = 0; to < request.node_count; to++) {
            request.paths[node][to].avb_kbps = rng_below(rng, 3) == 0 ? 1000 + rng_below(rng, 90000) : 0;
            if (to < node)
                request.paths[node][to].rtt_us = request.paths[to][node].rtt_us =
                    (uint32_t)(1000 + 2 * rng_below(rng, 50000));
        }
        if (node > 0)
            request.given.edges[request.given.edge_count++] =
                (struct plan_edge){(uint16_t)rng_below(rng, node), node};
    }
    request.given.weight_ppm = 1000000;
    return request;
}

static struct plan_edge *edge_into(struct plan_tree *tree, uint16_t node)
{
    for (uint16_t edge = 0; edge < tree->edge_count; edge++)
        if (tree->edges[edge].to == node)
            return &tree->edges[edge];
    return NULL;
}

static bool is_below(struct plan_tree *tree, uint16_t node, uint16_t top)
{
    const struct plan_edge *edge = NULL;
    for (; node != top && (edge = edge_into(tree, node)) != NULL; node = edge->from)
        ;
    return node == top;
}

/* The plan with the edge is as fast and as near as was said. */
static void expect_exchange(const struct plan_request *request, const struct plan *plan, uint16_t from,
                            uint16_t to)
{
    static struct plan_request other;
    static struct plan then;
    const struct plan_why_edge *why = &plan->why.edges[from][to];
    struct arena arena;
    struct err err;
    other = *request;
    if (is_below(&other.given, from, to))
        edge_into(&other.given, from)->from = edge_into(&other.given, to)->from;
    edge_into(&other.given, to)->from = from;
    arena_init(&arena, memory, solve_bytes());
    if (!solve(&other, &arena, &then, &err))
        fail_msg("%s", err.text);
    double told = 1 + why->change_ppm / 1e6, is = (double)then.rate_bps / (double)plan->rate_bps;
    assert_true(told > is * (1 - 1e-5) && told < is * (1 + 1e-5));
    assert_int_equal(why->delay_us, (int64_t)then.delay_us - (int64_t)plan->delay_us);
}

static void why__exchanges_cost_what_is_said(void **state)
{
    (void)state;
    struct rng rng;
    static struct plan_request request;
    static struct plan plan;
    unsigned tried = 0;
    rng_init(&rng, 1);
    for (unsigned round = 0; round < 100; round++) {
        request = random_request(&rng);
        explain(&request, &plan);
        for (uint16_t from = 0; from < request.node_count; from++)
            for (uint16_t to = 1; to < request.node_count; to++)
                if (plan.why.edges[from][to].verdict == PLAN_EDGE_COSTS) {
                    expect_exchange(&request, &plan, from, to);
                    tried++;
                }
    }
    assert_true(tried > 1000);
}

/* ---- of the whole plan ---- */

static void expect_limit(const struct plan_request *request, const struct plan_limit *limit,
                         const char *expected)
{
    char text[160];
    assert_true(plan_limit_text(limit, request, text, sizeof(text)));
    assert_string_equal(text, expected);
}

static void why__rows_and_raises(void **state)
{
    (void)state;
    struct plan_request request = example_request(4);
    request.metric = PLAN_METRIC_AUTO;
    request.size_bytes = 1000000000;
    /* The source alone is slow: everything is in its hand. */
    request.nodes[0].up_bps = 100000000;
    struct plan plan;
    explain(&request, &plan);
    assert_int_equal(plan.why.limit_count, 1);
    expect_limit(&request, &plan.why.limits[0].limit, "uplink of n0");
    assert_in_range(plan.why.limits[0].gain_ppm, 999000, 1000000);
    assert_in_range(plan.why.limits[0].raised, 199999998, 200000002);
    /* All three are fed over one link; with trees that cross it once more it
     * would have to be twice as wide. */
    request = example_request(4);
    request.metric = PLAN_METRIC_AUTO;
    request.shared_count = 1;
    strcpy(request.shared[0].name, "wan");
    request.shared[0].rate_bps = 300000000;
    for (uint16_t node = 1; node < 4; node++)
        request.paths[0][node].shared = 1;
    explain(&request, &plan);
    expect_limit(&request, &plan.why.limits[0].limit, "shared link wan");
    assert_in_range(plan.why.limits[0].gain_ppm, 999000, 1000000);
    /* Nothing but a path holds n1; another way gives as little. */
    request = example_request(2);
    request.metric = PLAN_METRIC_AUTO;
    request.paths[0][1].avb_kbps = 400000;
    explain(&request, &plan);
    assert_int_equal(plan.why.limit_count, 1);
    expect_limit(&request, &plan.why.limits[0].limit, "path from n0 to n1");
    assert_in_range(plan.why.limits[0].raised, 799999998, 800000002);
    request.rate_cap_bps = 1000000;
    explain(&request, &plan);
    assert_int_equal(plan.why.limit_count, 1);
    expect_limit(&request, &plan.why.limits[0].limit, "rate cap");
    expect_limit(&request, &plan.why.metrics[0].limit, "rate cap");
    char small[8];
    assert_false(plan_limit_text(&plan.why.limits[0].limit, &request, small, sizeof(small)));
    assert_false(
        plan_limit_text(&(struct plan_limit){.row = PLAN_ROW_UPLINK, .node = 2}, &request, small, 8));
}

/* Repairs take part of each edge's rate; that makes nobody slow, and raising a
 * row to what it is brings nothing. */
static void why__loss_is_no_slowness(void **state)
{
    (void)state;
    static const enum plan_metric metrics[] = {PLAN_METRIC_RTT, PLAN_METRIC_WIDEST, PLAN_METRIC_AUTO};
    for (unsigned index = 0; index < sizeof(metrics) / sizeof(metrics[0]); index++) {
        struct plan_request request = example_request(4);
        request.metric = metrics[index];
        request.nodes[0].up_bps = 90000000;
        for (uint16_t from = 0; from < 4; from++)
            for (uint16_t to = 0; to < 4; to++)
                request.paths[from][to].loss_ppm = from == to ? 0 : 10000;
        struct plan plan;
        explain(&request, &plan);
        assert_int_equal(plan.why.limit_count, 1);
        expect_limit(&request, &plan.why.limits[0].limit, "uplink of n0");
        assert_in_range(plan.why.limits[0].gain_ppm, 900000, 1100000);
        assert_in_range(plan.why.limits[0].raised, 170000000, 190000000);
        for (uint16_t node = 0; node < 4; node++)
            assert_false(plan_receiver_slow(&plan, &request, node));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(why__an_edge),
        cmocka_unit_test(why__exchanges_cost_what_is_said),
        cmocka_unit_test(why__rows_and_raises),
        cmocka_unit_test(why__loss_is_no_slowness),
    };
    memory = aligned_alloc(ARENA_ALIGN, MEMORY_BYTES);
    if (memory == NULL)
        return 1;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    free(memory);
    return failed;
}
