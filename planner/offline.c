/* Plans once from a file. The JSON keys are those that scripts read: they stay once landed. */
#include "planner/program.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/check.h"
#include "base/units.h"
#include "conf/conf.h"
#include "plan/picture.h"
#include "plan/words.h"
#include "planner/solve.h"
#include "planner/why.h"

struct outcome {
    const struct plan_request *request;
    const struct plan *plan;
    uint64_t solve_us;
};

static uint64_t clock_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / NS_PER_US;
}

/* The bound is one for receivers that are not slow by themselves. */
static double gap(const struct plan *plan)
{
    return 1.0 - (double)plan_common_bps(plan) / (double)plan->bound_bps;
}

static void print_limit(const struct outcome *outcome, const struct plan_limit *limit)
{
    char text[160];
    if (plan_limit_text(limit, outcome->request, text, sizeof(text)))
        printf("%s", text);
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
        printf("], \"known\": [");
        for (uint16_t edge = 0; edge < tree->edge_count; edge++) {
            const struct plan_known *known = &outcome->plan->into_known[index][tree->edges[edge].to];
            printf("%s{\"basis\": \"%s\", \"age_s\": %u}", edge == 0 ? "" : ", ",
                   word_of(plan_basis_words, known->basis), known->age_s);
        }
        printf("]}");
    }
}

static void print_json_metrics(const struct outcome *outcome)
{
    const struct plan_why *why = &outcome->plan->why;
    for (uint16_t index = 0; index < why->metric_count; index++) {
        const struct plan_why_metric *metric = &why->metrics[index];
        printf("%s{\"name\": \"%s\", \"rate_bps\": %llu, \"delay_ms\": %.3f, ", index == 0 ? "" : ", ",
               word_of(plan_metric_words, metric->metric), (unsigned long long)metric->rate_bps,
               (double)metric->delay_us / 1e3);
        if (metric->time_us != 0)
            printf("\"time_s\": %.6f, ", (double)metric->time_us / 1e6);
        printf("\"tight\": \"");
        print_limit(outcome, &metric->limit);
        printf("\"}");
    }
}

/* Rows of which more would help: "tight" names all, these say how much. */
static void print_json_raises(const struct outcome *outcome)
{
    const struct plan_why *why = &outcome->plan->why;
    bool first = true;
    for (uint16_t index = 0; index < why->limit_count; index++) {
        if (why->limits[index].gain_ppm == 0)
            continue;
        printf("%s{\"row\": \"", first ? "" : ", ");
        print_limit(outcome, &why->limits[index].limit);
        printf("\", \"to\": %llu, \"gain\": %.4f}", (unsigned long long)why->limits[index].raised,
               why->limits[index].gain_ppm / 1e6);
        first = false;
    }
}

/* Receivers that get less than the others. */
static void print_json_slow(const struct outcome *outcome)
{
    const char *before = "";
    for (uint16_t node = 0; node < outcome->request->node_count; node++) {
        if (!plan_receiver_slow(outcome->plan, outcome->request, node))
            continue;
        printf("%s{\"name\": \"%s\", \"rate_bps\": %llu}", before, outcome->request->nodes[node].name,
               (unsigned long long)plan_receiver_bps(outcome->plan, outcome->request, node));
        before = ", ";
    }
}

/* Names need no escaping: they have passed name_valid. */
static void print_json(const struct outcome *outcome)
{
    const struct plan *plan = outcome->plan;
    printf("{\"rate_bps\": %llu, \"common_rate_bps\": %llu, \"bound_bps\": %llu, \"gap\": %.4f, "
           "\"delay_ms\": %.3f, \"solve_ms\": %.3f",
           (unsigned long long)plan->rate_bps, (unsigned long long)plan_common_bps(plan),
           (unsigned long long)plan->bound_bps, gap(plan), (double)plan->delay_us / 1e3,
           (double)outcome->solve_us / 1e3);
    printf(", \"slow\": [");
    print_json_slow(outcome);
    printf("], \"tight\": [");
    for (uint16_t index = 0; index < plan->why.limit_count; index++) {
        printf("%s\"", index == 0 ? "" : ", ");
        print_limit(outcome, &plan->why.limits[index].limit);
        printf("\"");
    }
    printf("], \"raise\": [");
    print_json_raises(outcome);
    printf("], \"trees\": [");
    print_json_trees(outcome);
    printf("], \"candidates\": [");
    print_json_metrics(outcome);
    printf("]}\n");
}

/* "raise uplink of london to 200.0 Mbit/s: +35.0 %" */
static void print_raise(const struct outcome *outcome, const struct plan_why_limit *limit)
{
    char text[64];
    printf("raise   ");
    print_limit(outcome, &limit->limit);
    printf(" %s\n", plan_raise_text(limit, text, sizeof(text)) ? text : "");
}

static void print_why(const struct outcome *outcome)
{
    const struct plan_why *why = &outcome->plan->why;
    printf("limits  ");
    for (uint16_t index = 0; index < why->limit_count; index++) {
        printf("%s", index == 0 ? "" : ", ");
        print_limit(outcome, &why->limits[index].limit);
    }
    printf("\n");
    for (uint16_t index = 0; index < why->limit_count; index++)
        if (why->limits[index].gain_ppm != 0)
            print_raise(outcome, &why->limits[index]);
    printf("%-14s %10s %9s %10s  held by\n", "one tree by", "Mbit/s", "delay ms", "time s");
    for (uint16_t index = 0; index < why->metric_count; index++) {
        const struct plan_why_metric *metric = &why->metrics[index];
        printf("%-14s %10.3f %9.1f ", word_of(plan_metric_words, metric->metric),
               (double)metric->rate_bps / 1e6, (double)metric->delay_us / 1e3);
        if (metric->time_us != 0)
            printf("%10.3f  ", (double)metric->time_us / 1e6);
        else
            printf("%10s  ", "-");
        print_limit(outcome, &metric->limit);
        printf("\n");
    }
}

static void print_slow(const struct outcome *outcome)
{
    for (uint16_t node = 0; node < outcome->request->node_count; node++)
        if (plan_receiver_slow(outcome->plan, outcome->request, node))
            printf("slow    %s gets %.3f Mbit/s, and the others do not wait\n",
                   outcome->request->nodes[node].name,
                   (double)plan_receiver_bps(outcome->plan, outcome->request, node) / 1e6);
}

static void print_text(const struct outcome *outcome)
{
    static char drawing[PLAN_DRAWING_BYTES_MAX];
    char known[PLAN_KNOWN_TOTAL_BYTES];
    const struct plan *plan = outcome->plan;
    CHECK(plan_draw_trees(plan, outcome->request, drawing, sizeof(drawing)));
    printf("%s\n\nrate    %.3f Mbit/s of payload; no plan exceeds %.3f (gap %.1f %%)\n", drawing,
           (double)plan_common_bps(plan) / 1e6, (double)plan->bound_bps / 1e6, gap(plan) * 100);
    print_slow(outcome);
    printf("delay   %.3f ms to the farthest site\n", (double)plan->delay_us / 1e3);
    CHECK(plan_known_total(plan, outcome->request, known, sizeof(known)));
    printf("paths   %s\n", known);
    print_why(outcome);
}

static void print(const struct outcome *outcome, enum plan_form form, const char *path)
{
    static char picture[PICTURE_BYTES_MAX];
    const char *slash = strrchr(path, '/'), *file = slash == NULL ? path : slash + 1;
    switch (form) {
    case PLAN_FORM_TEXT:
        print_text(outcome);
        return;
    case PLAN_FORM_JSON:
        print_json(outcome);
        return;
    case PLAN_FORM_DOT:
    case PLAN_FORM_SVG:
        CHECK((form == PLAN_FORM_DOT ? picture_dot : picture_svg)(outcome->plan, outcome->request, file,
                                                                  picture, sizeof(picture)));
        printf("%s", picture);
        return;
    }
}

static uint16_t find_node(const struct plan_request *request, const char *name, size_t length)
{
    uint16_t node = 0;
    while (node < request->node_count && (strlen(request->nodes[node].name) != length ||
                                          memcmp(request->nodes[node].name, name, length) != 0))
        node++;
    return node;
}

/* "FROM,TO" of the net; false: it says what is wrong. */
static bool find_edge(const struct plan_request *request, const char *names, struct plan_edge *edge)
{
    const char *comma = strchr(names, ',');
    uint16_t from = find_node(request, names, comma == NULL ? 0 : (size_t)(comma - names));
    uint16_t to = comma == NULL ? from : find_node(request, comma + 1, strlen(comma + 1));
    bool known = from < request->node_count && to < request->node_count && from != to;
    *edge = (struct plan_edge){from, to};
    if (!known)
        fprintf(stderr, "sluice-planner: --why %s: expected FROM,TO, two nodes of the net\n", names);
    return known;
}

static void print_edge(const struct outcome *outcome, struct plan_edge edge)
{
    char text[PLAN_EDGE_TEXT_BYTES];
    CHECK(plan_edge_text(outcome->plan, outcome->request, edge, text, sizeof(text)));
    printf("%s\n", text);
}

enum program_end plan_offline(const char *path, enum plan_form form, const char *edge_names,
                              struct arena *arena)
{
    static struct conf_errors errors;
    static struct plan_request request;
    static struct plan plan;
    struct plan_edge edge;
    struct err err;
    if (!conf_read_net(path, NULL, &request, &errors)) {
        conf_errors_print(&errors, stderr);
        return PROGRAM_USAGE;
    }
    if (edge_names != NULL && !find_edge(&request, edge_names, &edge))
        return PROGRAM_USAGE;
    uint64_t start_us = clock_us();
    if (!solve(&request, arena, &plan, &err)) {
        fprintf(stderr, "sluice-planner: %s: %s\n", path, err.text);
        return PROGRAM_NO_PLAN;
    }
    struct outcome outcome = {&request, &plan, clock_us() - start_us};
    why_fill(&request, arena, &plan);
    if (edge_names != NULL)
        print_edge(&outcome, edge);
    else
        print(&outcome, form, path);
    return fflush(stdout) == 0 ? PROGRAM_DONE : PROGRAM_USAGE;
}
