/* How near plans come to the bound, and how long planning takes.
 *
 *   tree_bench [NETS [COUNT]]   NETS of each kind (10), random ones of COUNT hosts (0: 20 to 50)
 *
 * A line per kind: rate after rounding to the schedule over the bound, median and worst, for one tree, at
 * most 4, at most 8; and the milliseconds of processor that planning with 8 took, median and worst. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "nets.h"
#include "planner/lp/packing.h"
#include "planner/tree/choose.h"

#define NETS_MAX  1000
#define COUNT_MAX 200
#define COLUMNS   3
#define PAYLOAD   (1408.0 / 1538)

static const uint16_t trees_max[COLUMNS] = {1, 4, 8};

struct figures {
    unsigned count;
    double share[COLUMNS][NETS_MAX];
    double ms[NETS_MAX];
};

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

/* Nearer than the planner's own proof, which has no time for it. Slow receivers: as told, by closed forms. */
static double bound_of(const struct net *net, const struct choice *choice, struct arena *arena)
{
    struct packing_options options = {.tolerance = 1e-4,
                                      .rounds_max = PACKING_ROUNDS_MAX,
                                      .pivots_max = PACKING_PIVOTS_MAX,
                                      .fan_out = true};
    struct packing packing;
    size_t mark = arena->used;
    for (uint16_t host = 0; host < net->count; host++)
        if (choice->pace_bps[host] < NET_NO_LIMIT)
            return choice->bound_bps;
    if (choice->judgement.rate_bps >= choice->bound_bps * (1 - 1e-4))
        return choice->bound_bps;
    packing_solve(net, &options, choice->forest.trees, choice->forest.tree_count, arena, &packing);
    arena->used = mark;
    return packing.bound_bps < choice->bound_bps ? packing.bound_bps : choice->bound_bps;
}

static void measure(const struct net *net, struct arena *arena, struct figures *figures)
{
    double rate_bps[COLUMNS], bound_bps = 0;
    size_t mark = arena->used;
    for (unsigned column = 0; column < COLUMNS; column++) {
        struct choose_options options = {
            .pool = {.object = {.payload_per_wire = PAYLOAD, .rate_cap_bps = NET_NO_LIMIT},
                     .trees_max = trees_max[column]},
            .pack = true};
        struct choice choice;
        struct err err;
        double began_ms = now_ms();
        if (!choose(net, &options, arena, &choice, &err)) {
            fprintf(stderr, "%s\n", err.text);
            exit(1);
        }
        figures->ms[figures->count] = now_ms() - began_ms;
        rate_bps[column] = choice.judgement.rate_bps;
        if (column == COLUMNS - 1)
            bound_bps = bound_of(net, &choice, arena);
        arena->used = mark;
    }
    for (unsigned column = 0; column < COLUMNS; column++)
        figures->share[column][figures->count] = rate_bps[column] / bound_bps;
    figures->count++;
}

static void print(const char *name, struct figures *figures)
{
    printf("%-8s", name);
    for (unsigned column = 0; column < COLUMNS; column++) {
        qsort(figures->share[column], figures->count, sizeof(double), by_value);
        printf("  k<=%u %.3f %.3f", trees_max[column], figures->share[column][figures->count / 2],
               figures->share[column][0]);
    }
    qsort(figures->ms, figures->count, sizeof(double), by_value);
    printf("  ms %.1f %.1f\n", figures->ms[figures->count / 2], figures->ms[figures->count - 1]);
}

int main(int argc, char **argv)
{
    unsigned nets = argc > 1 ? (unsigned)atoi(argv[1]) : 10, count = argc > 2 ? (unsigned)atoi(argv[2]) : 0;
    static struct figures figures, binding[2];
    size_t size = 512u << 20;
    void *memory = aligned_alloc(ARENA_ALIGN, size);
    if (memory == NULL || nets > NETS_MAX / NETS_KIND_COUNT || count > COUNT_MAX)
        return 2;
    for (enum nets_kind kind = 0; kind < NETS_KIND_COUNT; kind++) {
        figures.count = 0;
        for (unsigned seed = 0; seed < nets; seed++) {
            struct arena arena;
            struct net net;
            arena_init(&arena, memory, size);
            nets_make(&net, kind, (uint16_t)(count > 0 ? count : 20 + seed * 7 % 31), seed, &arena);
            measure(&net, &arena, &figures);
            struct figures *sum = &binding[nets_binds_nodes(kind) ? 0 : 1];
            for (unsigned column = 0; column < COLUMNS; column++)
                sum->share[column][sum->count] = figures.share[column][figures.count - 1];
            sum->ms[sum->count++] = figures.ms[figures.count - 1];
        }
        print(nets_names[kind], &figures);
        fflush(stdout);
    }
    print("NODES", &binding[0]);
    print("EDGES", &binding[1]);
    free(memory);
    return 0;
}
