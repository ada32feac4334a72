/* The request's metric gives the tree, the rate model its rate. `auto` has a model and rates of its own. */
#include "planner/solve.h"

#include "base/check.h"
#include "planner/auto.h"
#include "planner/why.h"

size_t solve_bytes(void)
{
    static const struct plan_request largest = {.node_count = PLAN_NODES_MAX,
                                                .shared_count = PLAN_SHARED_MAX};
    return why_bytes(&largest);
}

/* Ties by name are what mst.c knows. */
static bool needs_arena(const struct plan_request *request, enum plan_metric metric)
{
    if (metric == PLAN_METRIC_RTT)
        return request->ties_random;
    return metric != PLAN_METRIC_STAR && metric != PLAN_METRIC_GIVEN;
}

static bool find_tree(const struct plan_request *request, enum plan_metric metric, struct arena *arena,
                      struct plan_tree *tree, struct err *err)
{
    if (needs_arena(request, metric))
        return solve_mode(request, arena, tree, err);
    switch (metric) {
    case PLAN_METRIC_STAR:
        return solve_star(request, tree, err);
    case PLAN_METRIC_GIVEN:
        return solve_given(request, tree, err);
    default:
        return solve_mst(request, tree, err);
    }
}

static bool plan_one_tree(const struct plan_request *request, enum plan_metric metric, struct arena *arena,
                          struct plan *plan, struct err *err)
{
    *plan = (struct plan){.job = request->job,
                          .epoch = request->epoch,
                          .node_count = request->node_count,
                          .source = request->source,
                          .bound_bps = solve_bound_bps(request),
                          .tree_count = 1};
    struct plan_tree *tree = &plan->trees[0];
    if (!find_tree(request, metric, arena, tree, err) || !solve_delay(request, tree, &plan->delay_us, err) ||
        !solve_rate(request, tree, &plan->edge_rate_bps[0], &plan->rate_bps, err))
        return false;
    solve_edge_rates(request, plan);
    tree->weight_ppm = PLAN_WHOLE_PPM;
    return true;
}

bool solve(const struct plan_request *request, struct arena *arena, struct plan *plan, struct err *err)
{
    if (!plan_request_validate(request, err))
        return false;
    enum plan_metric metric = request->metric;
    CHECK(arena != NULL || !needs_arena(request, metric));
    bool found = metric == PLAN_METRIC_AUTO ? auto_plan(request, arena, plan, err)
                                            : plan_one_tree(request, metric, arena, plan, err);
    if (!found)
        return false;
    plan_note_known(plan, request);
    struct err unexpected;
    CHECK(plan_validate(plan, request, &unexpected));
    return true;
}
