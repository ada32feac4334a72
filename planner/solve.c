/* The request's metric gives the tree, the rate model its rate; the other metrics are judged alongside. `auto`
 * has a model and rates of its own. */
#include "planner/solve.h"

#include "base/check.h"
#include "planner/auto.h"

#define WEIGHT_WHOLE_PPM 1000000

size_t solve_bytes(void)
{
    static const struct plan_request largest = {.node_count = PLAN_NODES_MAX,
                                                .shared_count = PLAN_SHARED_MAX};
    return auto_bytes(&largest);
}

static bool find_tree(const struct plan_request *request, enum plan_metric metric, struct arena *arena,
                      struct plan_tree *tree, struct err *err)
{
    switch (metric) {
    case PLAN_METRIC_RTT:
        return solve_mst(request, tree, err);
    case PLAN_METRIC_STAR:
        return solve_star(request, tree, err);
    case PLAN_METRIC_GIVEN:
        return solve_given(request, tree, err);
    default:
        return solve_mode(request, arena, tree, err);
    }
}

static bool plan_one_tree(const struct plan_request *request, enum plan_metric metric, struct arena *arena,
                          struct plan *plan, struct solve_info *info, struct err *err)
{
    *plan = (struct plan){.job = request->job,
                          .epoch = request->epoch,
                          .node_count = request->node_count,
                          .source = request->source,
                          .bound_bps = solve_bound_bps(request),
                          .tree_count = 1};
    struct plan_tree *tree = &plan->trees[0];
    if (!find_tree(request, metric, arena, tree, err) || !solve_delay(request, tree, &plan->delay_us, err) ||
        !solve_rate(request, tree, &plan->edge_rate_bps[0], &plan->rate_bps, info, err))
        return false;
    solve_edge_rates(request, plan);
    tree->weight_ppm = WEIGHT_WHOLE_PPM;
    return true;
}

static void judge_all(const struct plan_request *request, struct solve_info *info)
{
    static const enum plan_metric judged[] = {PLAN_METRIC_RTT, PLAN_METRIC_STAR};
    for (unsigned index = 0; index < sizeof(judged) / sizeof(judged[0]); index++) {
        struct plan plan;
        struct err ignored;
        if (plan_one_tree(request, judged[index], NULL, &plan, NULL, &ignored))
            info->candidates[info->candidate_count++] =
                (struct solve_candidate){judged[index], plan.rate_bps, plan.delay_us};
    }
}

static bool needs_arena(enum plan_metric metric)
{
    return metric != PLAN_METRIC_RTT && metric != PLAN_METRIC_STAR && metric != PLAN_METRIC_GIVEN;
}

bool solve(const struct plan_request *request, struct arena *arena, struct plan *plan,
           struct solve_info *info, struct err *err)
{
    if (info != NULL)
        *info = (struct solve_info){0};
    if (!plan_request_validate(request, err))
        return false;
    enum plan_metric metric = request->metric;
    CHECK(arena != NULL || !needs_arena(metric));
    bool found = metric == PLAN_METRIC_AUTO ? auto_plan(request, arena, plan, err)
                                            : plan_one_tree(request, metric, arena, plan, info, err);
    if (!found)
        return false;
    if (info != NULL)
        judge_all(request, info);
    struct err unexpected;
    CHECK(plan_validate(plan, request, &unexpected));
    return true;
}
