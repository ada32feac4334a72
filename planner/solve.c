/* The request's metric gives the tree, the rate model its rate; the other metrics are judged alongside. */
#include "planner/solve.h"

#include "base/check.h"

#define WEIGHT_WHOLE_PPM 1000000

static bool (*const metrics[])(const struct plan_request *request, struct plan_tree *tree,
                               struct err *err) = {
    [PLAN_METRIC_RTT] = solve_mst,
    [PLAN_METRIC_STAR] = solve_star,
    [PLAN_METRIC_GIVEN] = solve_given,
};
_Static_assert(sizeof(metrics) / sizeof(metrics[0]) == PLAN_METRIC_COUNT, "each metric has its function");

static bool plan_one_tree(const struct plan_request *request, enum plan_metric metric, struct plan *plan,
                          struct solve_info *info, struct err *err)
{
    *plan = (struct plan){.job = request->job,
                          .epoch = request->epoch,
                          .node_count = request->node_count,
                          .source = request->source,
                          .bound_bps = solve_bound_bps(request),
                          .tree_count = 1};
    struct plan_tree *tree = &plan->trees[0];
    if (!metrics[metric](request, tree, err) || !solve_delay(request, tree, &plan->delay_us, err) ||
        !solve_rate(request, tree, &plan->edge_rate_bps[0], &plan->rate_bps, info, err))
        return false;
    solve_edge_rates(request, plan);
    tree->weight_ppm = WEIGHT_WHOLE_PPM;
    return true;
}

static void judge_all(const struct plan_request *request, struct solve_info *info)
{
    for (unsigned metric = 0; metric < PLAN_METRIC_COUNT; metric++) {
        struct plan plan;
        struct err ignored;
        if (metric == PLAN_METRIC_GIVEN && request->metric != PLAN_METRIC_GIVEN)
            continue;
        if (plan_one_tree(request, (enum plan_metric)metric, &plan, NULL, &ignored))
            info->candidates[info->candidate_count++] =
                (struct solve_candidate){(enum plan_metric)metric, plan.rate_bps, plan.delay_us};
    }
}

bool solve(const struct plan_request *request, struct plan *plan, struct solve_info *info, struct err *err)
{
    if (info != NULL)
        *info = (struct solve_info){0};
    if (!plan_request_validate(request, err))
        return false;
    if (!plan_one_tree(request, (enum plan_metric)request->metric, plan, info, err))
        return false;
    if (info != NULL)
        judge_all(request, info);
    struct err unexpected;
    CHECK(plan_validate(plan, request, &unexpected));
    return true;
}
