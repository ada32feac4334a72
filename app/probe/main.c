/* sluice-probe: an estimator of available bandwidth against the link model, in virtual time: many measurements of one
 * path, pooled. No nodes: trains go through netem's links directly. */
#include <math.h>
#include <stdlib.h>

#include "app/version.h"
#include "app/exit_usage.h"
#include "app/probe/judge.h"
#include "app/probe/options.h"
#include "planner/solve.h"

struct printing {
    bool json, begun;
};

static void print_figure(void *user, const char *name, double value)
{
    struct printing *printing = user;
    if (printing->json)
        printf("%s\"%s\":", printing->begun ? "," : "{", name);
    else
        printf("%-24s ", name);
    if (isnan(value))
        fputs(printing->json ? "null" : "-", stdout);
    else
        printf("%.6g", value);
    if (!printing->json)
        fputs("\n", stdout);
    printing->begun = true;
}

static void print_look(const struct run_look *look, uint64_t seed)
{
    const struct estimate *estimate = &look->estimate;
    printf("{\"seed\":%lu,\"at_s\":%.6f,\"kind\":\"%s\",\"reason\":\"%s\",\"avail_bps\":%lu,\"low_bps\":%lu,"
           "\"high_bps\":%lu,\"capacity_bps\":%lu,\"flags\":%u,\"busy_ns\":%lu,\"p_bps\":%lu,\"c_bps\":%lu",
           seed, (double)look->at_ns / 1e9, estimate_kind_word(estimate->kind),
           estimate_reason_word(estimate->reason), estimate->avail_bps, estimate->low_bps, estimate->high_bps,
           estimate->capacity_bps, estimate->flags, estimate->busy_ns, look->period_bps, look->capacity_bps);
}

struct pooling {
    struct judge judge;
    uint64_t seed;
    bool each;
};

static void looked(void *user, const struct run_look *look)
{
    struct pooling *pooling = user;
    judge_look(&pooling->judge, look);
    if (pooling->each) {
        print_look(look, pooling->seed);
        puts("}");
    }
}

static void measure(struct run *run, const struct options *options, struct pooling *pooling)
{
    for (uint64_t i = 0; i < options->runs; i++) {
        struct run_result result;
        pooling->seed = options->seed + i;
        run_measure(run, pooling->seed, looked, pooling, &result);
        judge_take(&pooling->judge, &result);
        if (!options->each)
            continue;
        print_look(&result.look, pooling->seed);
        printf(",\"w_bps\":%lu,\"bytes\":%lu,\"trains\":%u}\n", result.window_bps, result.bytes,
               result.trains);
    }
}

/* Each seed's net: its figures as an object, or a line of them. */
static int measure_pairs(const struct options *options)
{
    static struct arena solver;
    void *memory = aligned_alloc(ARENA_ALIGN, arena_need(solve_bytes()));
    if (memory == NULL)
        return EXIT_FAILURE;
    arena_init(&solver, memory, solve_bytes());
    for (uint64_t i = 0; i < options->runs; i++) {
        struct pairs_figures figures;
        if (!pairs_measure(&options->pairs, options->seed + i, &solver, &figures))
            return EXIT_FAILURE;
        printf("{\"seed\":%lu,\"tau\":%.4f,\"tau_truth\":%.4f,\"bytes\":%.0f,\"bytes_share\":%.4f,\"took_s\":"
               "%.3f,"
               "\"error_sd\":%.5f,\"error_full_sd\":%.5f,\"open\":%.4f,\"rate\":%.4f,\"rate_full\":%.4f}\n",
               options->seed + i, figures.tau, figures.tau_truth, figures.bytes,
               figures.bytes / figures.bytes_full, figures.took_s, figures.error_sd, figures.error_full_sd,
               figures.open, figures.rate, figures.rate_full);
    }
    free(memory);
    return EXIT_SUCCESS;
}

int main(int count, char **arguments)
{
    static struct options options;
    if (version_asked(count, arguments, "sluice-probe"))
        return 0;
    if (!options_read(&options, count, arguments))
        return EXIT_USAGE;
    if (options.help) {
        options_help(stdout);
        return EXIT_SUCCESS;
    }
    if (options.pairs.nodes > 0)
        return measure_pairs(&options);
    static struct run run;
    struct pooling pooling = {.each = options.each};
    if (!run_create(&run, &options.run)) {
        fprintf(stderr, "sluice-probe: no memory\n");
        return EXIT_FAILURE;
    }
    judge_begin(&pooling.judge, &options.run);
    measure(&run, &options, &pooling);
    struct printing printing = {.json = options.json};
    judge_figures(&pooling.judge, print_figure, &printing);
    if (options.json)
        puts("}");
    judge_end(&pooling.judge);
    run_destroy(&run);
    return EXIT_SUCCESS;
}
