/* Plans from rows that were measured wrong: what they carry on the true ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "fluid.h"
#include "nets.h"
#include "planner/auto.h"
#include "planner/lp/packing.h"

#define MEMORY_BYTES (64u << 20)
#define PAYLOAD      (1408.0 / 1538)
#define HOSTS        15
#define SEEDS        3 /* of each kind */
#define NETS         (SEEDS * NETS_KIND_COUNT)
#define NEARLY       1e-6

static struct arena arena;
static struct net net;

static struct choice chosen(const struct net *from, uint16_t trees)
{
    struct choose_options options = {
        .pool = {.object = {.payload_per_wire = PAYLOAD, .rate_cap_bps = NET_NO_LIMIT},
                 .eps = AUTO_EPS,
                 .trees_max = trees},
        .pack = true};
    struct choice choice;
    struct err err = {""};
    if (!choose(from, &options, &arena, &choice, &err))
        fail_msg("%s", err.text);
    return choice;
}

static void make(enum nets_kind kind, uint64_t seed)
{
    arena.used = 0;
    nets_make(&net, kind, HOSTS, seed, &arena);
}

static void fluid__true_rows_carry_what_was_planned(void **state)
{
    (void)state;
    for (enum nets_kind kind = 0; kind < NETS_KIND_COUNT; kind++) {
        make(kind, 1);
        struct choice choice = chosen(&net, 4);
        double slowest_bps = NET_NO_LIMIT, rate_bps = fluid_rate(&net, &choice, &arena);
        for (uint16_t host = 0; host < net.count; host++)
            if (host != net.source && choose_host_bps(&choice, host) < slowest_bps)
                slowest_bps = choose_host_bps(&choice, host);
        assert_true(rate_bps >= slowest_bps * (1 - NEARLY));
        assert_true(rate_bps <= choice.judgement.rate_bps * (1 + NEARLY));
    }
}

/* A narrower row somewhere stops the trees, a slow host's own row only the slow host. */
static void fluid__narrow_rows(void **state)
{
    (void)state;
    static const struct {
        double up_bps, down_bps; /* of host 5 */
        double slow_bps;         /* its pace; 0: none */
        double rate_bps;
    } rows[] = {
        {100e6, 100e6, 0, 100e6},  {40e6, 100e6, 0, 40e6},    {100e6, 25e6, 0, 25e6},
        {100e6, 25e6, 50e6, 25e6}, {100e6, 80e6, 50e6, 80e6},
    };
    for (unsigned row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
        make(NETS_PURE, 0);
        /* A chain; host 5 is the last one where it is slow. */
        uint16_t chain[HOSTS] = {NET_NONE, 0, 1, 2, 3, 14, 4, 6, 7, 8, 9, 10, 11, 12, 13};
        double pace_bps[HOSTS];
        for (uint16_t host = 0; host < HOSTS; host++)
            pace_bps[host] = NET_NO_LIMIT;
        if (rows[row].slow_bps > 0) {
            pace_bps[5] = rows[row].slow_bps;
        } else {
            chain[5] = 4;
            chain[6] = 5;
        }
        struct choice choice = {.forest = {.tree_count = 1, .period = 1, .weight = {1}, .trees = {{chain}}},
                                .pace_bps = pace_bps,
                                .judgement = {.rate_bps = 100e6}};
        net.hosts[5].up_bps = rows[row].up_bps;
        net.hosts[5].down_bps = rows[row].down_bps;
        double rate_bps = fluid_rate(&net, &choice, &arena);
        assert_true(rate_bps > rows[row].rate_bps * (1 - NEARLY) &&
                    rate_bps < rows[row].rate_bps * (1 + NEARLY));
    }
}

static int by_value(const void *one, const void *other)
{
    double difference = *(const double *)one - *(const double *)other;
    return difference < 0 ? -1 : difference > 0;
}

static double true_bound(void)
{
    struct packing_options options = {.tolerance = 1e-3,
                                      .rounds_max = PACKING_ROUNDS_MAX,
                                      .pivots_max = PACKING_PIVOTS_MAX,
                                      .fan_out = true};
    struct packing packing;
    packing_solve(&net, &options, NULL, 0, &arena, &packing);
    return packing.bound_bps;
}

/* Median over nets of what plans reach on the true rows over the true bound. */
static void noise__plans_keep_most_of_the_bound(void **state)
{
    (void)state;
    static const struct {
        uint16_t trees;
        double median;
    } rows[] = {{4, 0.81}, {8, 0.85}};
    static double share[sizeof(rows) / sizeof(rows[0])][NETS];
    for (unsigned index = 0; index < NETS; index++) {
        struct net noisy;
        make(index % NETS_KIND_COUNT, index / NETS_KIND_COUNT);
        size_t mark = arena.used;
        double bound_bps = true_bound();
        arena.used = mark;
        fluid_noise(&net, 0.1, index, &noisy, &arena);
        for (unsigned row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
            struct choice choice = chosen(&noisy, rows[row].trees);
            share[row][index] = fluid_rate(&net, &choice, &arena) / bound_bps;
            assert_true(share[row][index] <= 1 + NEARLY);
        }
    }
    for (unsigned row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
        qsort(share[row], NETS, sizeof(double), by_value);
        if (share[row][NETS / 2] < rows[row].median)
            fail_msg("%u trees: %.3f", rows[row].trees, share[row][NETS / 2]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fluid__true_rows_carry_what_was_planned),
        cmocka_unit_test(fluid__narrow_rows),
        cmocka_unit_test(noise__plans_keep_most_of_the_bound),
    };
    void *memory = aligned_alloc(ARENA_ALIGN, MEMORY_BYTES);
    if (memory == NULL)
        return 1;
    arena_init(&arena, memory, MEMORY_BYTES);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    free(memory);
    return failed;
}
