/* Plans once from a file. The JSON keys are those that scripts read: they stay once landed. */
#include "planner/program.h"

#include <stdio.h>
#include <time.h>

#include "base/units.h"
#include "conf/conf.h"
#include "planner/solve.h"

struct outcome {
    const struct plan_request *request;
    const struct plan *plan;
    const struct solve_info *info;
};

static uint64_t clock_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / NS_PER_US;
}

static double gap(const struct plan *plan)
{
    return 1.0 - (double)plan->rate_bps / (double)plan->bound_bps;
}

static void print_limit(const struct outcome *outcome, uint16_t index)
{
    const struct solve_limit *limit = &outcome->info->limits[index];
    const char *name = outcome->request->nodes[limit->node].name;
    switch (limit->kind) {
    case SOLVE_LIMIT_UPLINK:
        printf("uplink of %s", name);
        break;
    case SOLVE_LIMIT_DOWNLINK:
        printf("downlink of %s", name);
        break;
    case SOLVE_LIMIT_CAP:
        printf("rate cap");
        break;
    case SOLVE_LIMIT_PATH:
        printf("path from %s to %s", name, outcome->request->nodes[limit->to].name);
        break;
    case SOLVE_LIMIT_SHARED:
        printf("shared link %s", outcome->request->shared[limit->node].name);
        break;
    }
}

static void print_json_trees(const struct outcome *outcome)
{
    const struct plan_node *nodes = outcome->request->nodes;
    for (uint16_t index = 0; index < outcome->plan->tree_count; index++) {
        const struct plan_tree *tree = &outcome->plan->trees[index];
        printf("%s{\"weight\": %.6f, \"edges\": [", index == 0 ? "" : ", ", tree->weight_ppm / 1e6);
        for (uint16_t edge = 0; edge < tree->edge_count; edge++)
            printf("%s[\"%s\", \"%s\"]", edge == 0 ? "" : ", ", nodes[tree->edges[edge].from].name,
                   nodes[tree->edges[edge].to].name);
        printf("]}");
    }
}

/* Names need no escaping: they have passed name_valid. */
static void print_json(const struct outcome *outcome)
{
    const struct plan *plan = outcome->plan;
    const struct solve_info *info = outcome->info;
    printf("{\"rate_bps\": %llu, \"bound_bps\": %llu, \"gap\": %.4f, \"delay_ms\": %.3f, \"solve_ms\": %.3f",
           (unsigned long long)plan->rate_bps, (unsigned long long)plan->bound_bps, gap(plan),
           (double)plan->delay_us / 1e3, (double)info->solve_us / 1e3);
    printf(", \"tight\": [");
    for (uint16_t index = 0; index < info->limit_count; index++) {
        printf("%s\"", index == 0 ? "" : ", ");
        print_limit(outcome, index);
        printf("\"");
    }
    printf("], \"trees\": [");
    print_json_trees(outcome);
    printf("], \"candidates\": [");
    for (uint16_t index = 0; index < info->candidate_count; index++)
        printf("%s{\"name\": \"%s\", \"rate_bps\": %llu}", index == 0 ? "" : ", ",
               word_of(plan_metric_words, info->candidates[index].metric),
               (unsigned long long)info->candidates[index].rate_bps);
    printf("]}\n");
}

static void print_text(const struct outcome *outcome)
{
    static char drawing[32768]; /* the deepest tree takes 27 KB */
    const struct plan *plan = outcome->plan;
    for (uint16_t index = 0; index < plan->tree_count; index++)
        if (plan_draw(&plan->trees[index], outcome->request->nodes, plan->node_count, plan->source, drawing,
                      sizeof(drawing)))
            printf("%s\n", drawing);
    printf("rate    %.3f Mbit/s of payload; no plan exceeds %.3f (gap %.1f %%)\n",
           (double)plan->rate_bps / 1e6, (double)plan->bound_bps / 1e6, gap(plan) * 100);
    printf("delay   %.3f ms to the farthest site\n", (double)plan->delay_us / 1e3);
    printf("limits  ");
    for (uint16_t index = 0; index < outcome->info->limit_count; index++) {
        printf("%s", index == 0 ? "" : ", ");
        print_limit(outcome, index);
    }
    printf("\n");
}

enum program_end plan_offline(const char *path, bool json, struct arena *arena)
{
    static struct conf_errors errors;
    static struct plan_request request;
    struct plan plan;
    struct solve_info info;
    struct err err;
    if (!conf_read_net(path, NULL, &request, &errors)) {
        conf_errors_print(&errors, stderr);
        return PROGRAM_USAGE;
    }
    uint64_t start_us = clock_us();
    if (!solve(&request, arena, &plan, &info, &err)) {
        fprintf(stderr, "sluice-planner: %s: %s\n", path, err.text);
        return PROGRAM_NO_PLAN;
    }
    info.solve_us = clock_us() - start_us;
    struct outcome outcome = {&request, &plan, &info};
    if (json)
        print_json(&outcome);
    else
        print_text(&outcome);
    return fflush(stdout) == 0 ? PROGRAM_DONE : PROGRAM_USAGE;
}
