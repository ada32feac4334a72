/* How near plans come to the bound, and how long planning takes.
 *
 *   tree_bench [NETS [COUNT]]         NETS of each kind (10), random ones of COUNT hosts (0: 20 to 50)
 *   tree_bench noise [NETS [COUNT]]   NETS in all (100), planned from rows that were measured 10 % wrong
 *
 * A line per kind: rate after rounding to the schedule over the bound, median and worst, for one tree, at
 * most 4, at most 8; and the milliseconds of processor that planning with 4 and with 8 took, median and
 * worst. With noise the rate is what the plan, made with the planner's own eps, brings the slowest receiver
 * on the true rows (fluid.h), and the bound that of the true rows where all receivers get the same. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "fluid.h"
#include "nets.h"
#include "planner/auto.h"
#include "planner/lp/packing.h"
#include "planner/tree/choose.h"

#define NETS_MAX  1000
#define COUNT_MAX 200
#define COLUMNS   3
#define NOISE     0.1
#define PAYLOAD   (1408.0 / 1538)

static const uint16_t trees_max[COLUMNS] = {1, 4, 8};

struct figures {
    unsigned count;
    double share[COLUMNS][NETS_MAX];
    double ms[COLUMNS][NETS_MAX];
};

static bool noise;

static double now_ms(void)
{
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (double)time.tv_sec * 1e3 + (double)time.tv_nsec / 1e6;
}

static int by_value(const void *one, const void *other)
{
    double difference = *(const double *)one - *(const double *)other;
    return difference < 0 ? -1 : difference > 0;
}

static double packed_bound(const struct net *net, const struct net_forest *warm, struct arena *arena)
{
    struct packing_options options = {.tolerance = 1e-4,
                                      .rounds_max = PACKING_ROUNDS_MAX,
                                      .pivots_max = PACKING_PIVOTS_MAX,
                                      .fan_out = true};
    struct packing packing;
    size_t mark = arena->used;
    packing_solve(net, &options, warm->trees, warm->tree_count, arena, &packing);
    arena->used = mark;
    return packing.bound_bps;
}

/* Nearer than the planner's own proof, which has no time for it. Slow receivers: as told, by closed forms. */
static double bound_of_choice(const struct net *net, const struct choice *choice, struct arena *arena)
{
    for (uint16_t host = 0; host < net->count; host++)
        if (choice->pace_bps[host] < NET_NO_LIMIT)
            return choice->bound_bps;
    if (choice->judgement.rate_bps >= choice->bound_bps * (1 - 1e-4))
        return choice->bound_bps;
    double packed_bps = packed_bound(net, &choice->forest, arena);
    return packed_bps < choice->bound_bps ? packed_bps : choice->bound_bps;
}

static struct choice plan(const struct net *net, uint16_t trees, struct arena *arena, double *ms)
{
    struct choose_options options = {
        .pool = {.object = {.payload_per_wire = PAYLOAD, .rate_cap_bps = NET_NO_LIMIT},
                 .eps = noise ? AUTO_EPS : 0,
                 .trees_max = trees},
        .pack = true};
    struct choice choice;
    struct err err;
    double began_ms = now_ms();
    if (!choose(net, &options, arena, &choice, &err)) {
        fprintf(stderr, "%s\n", err.text);
        exit(1);
    }
    *ms = now_ms() - began_ms;
    return choice;
}

static void measure(const struct net *net, uint64_t seed, struct arena *arena, struct figures *figures)
{
    struct net measured = *net;
    double rate_bps[COLUMNS], bound_bps = 0;
    if (noise)
        fluid_noise(net, NOISE, seed, &measured, arena);
    size_t mark = arena->used;
    for (unsigned column = 0; column < COLUMNS; column++) {
        struct choice choice =
            plan(&measured, trees_max[column], arena, &figures->ms[column][figures->count]);
        rate_bps[column] = noise ? fluid_rate(net, &choice, arena) : choice.judgement.rate_bps;
        if (column == COLUMNS - 1)
            bound_bps =
                noise ? packed_bound(net, &choice.forest, arena) : bound_of_choice(net, &choice, arena);
        arena->used = mark;
    }
    for (unsigned column = 0; column < COLUMNS; column++)
        figures->share[column][figures->count] = rate_bps[column] / bound_bps;
    figures->count++;
}

static void add_last(struct figures *sum, const struct figures *figures)
{
    for (unsigned column = 0; column < COLUMNS; column++) {
        sum->share[column][sum->count] = figures->share[column][figures->count - 1];
        sum->ms[column][sum->count] = figures->ms[column][figures->count - 1];
    }
    sum->count++;
}

static void print(const char *name, struct figures *figures)
{
    printf("%-8s", name);
    for (unsigned column = 0; column < COLUMNS; column++) {
        qsort(figures->share[column], figures->count, sizeof(double), by_value);
        qsort(figures->ms[column], figures->count, sizeof(double), by_value);
        printf("  k<=%u %.3f %.3f", trees_max[column], figures->share[column][figures->count / 2],
               figures->share[column][0]);
    }
    printf("  ms");
    for (unsigned column = 1; column < COLUMNS; column++)
        printf("  k<=%u %.1f %.1f", trees_max[column], figures->ms[column][figures->count / 2],
               figures->ms[column][figures->count - 1]);
    printf("\n");
}

/* NETS of each kind, or with noise in all. */
static unsigned nets_of(enum nets_kind kind, unsigned nets)
{
    return noise ? nets / NETS_KIND_COUNT + (kind < nets % NETS_KIND_COUNT) : nets;
}

static void measure_all(unsigned nets, unsigned count, void *memory, size_t size)
{
    static struct figures figures, binding[3];
    for (enum nets_kind kind = 0; kind < NETS_KIND_COUNT; kind++) {
        figures.count = 0;
        for (unsigned seed = 0; seed < nets_of(kind, nets); seed++) {
            struct arena arena;
            struct net net;
            arena_init(&arena, memory, size);
            nets_make(&net, kind, (uint16_t)(count > 0 ? count : 20 + seed * 7 % 31), seed, &arena);
            measure(&net, seed, &arena, &figures);
            add_last(&binding[nets_binds_nodes(kind) ? 0 : 1], &figures);
            add_last(&binding[2], &figures);
        }
        if (figures.count > 0)
            print(nets_names[kind], &figures);
        fflush(stdout);
    }
    print("NODES", &binding[0]);
    print("EDGES", &binding[1]);
    print("ALL", &binding[2]);
}

int main(int argc, char **argv)
{
    noise = argc > 1 && strcmp(argv[1], "noise") == 0;
    char **numbers = argv + noise;
    int given = argc - noise;
    unsigned nets = given > 1 ? (unsigned)atoi(numbers[1]) : noise ? 100 : 10;
    unsigned count = given > 2 ? (unsigned)atoi(numbers[2]) : 0;
    size_t size = 512u << 20;
    void *memory = aligned_alloc(ARENA_ALIGN, size);
    if (memory == NULL || nets < 2 || nets > (noise ? NETS_MAX : NETS_MAX / NETS_KIND_COUNT) ||
        count > COUNT_MAX)
        return 2;
    measure_all(nets, count, memory, size);
    free(memory);
    return 0;
}
