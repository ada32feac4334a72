#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>

#include "app/probe/pairs.h"
#include "app/probe/worth.h"
#include "base/units.h"
#include "planner/solve.h"

#define HOSTS 4

static struct arena solver;

static struct worth_net net_of(const uint64_t *avail_bps)
{
    return (struct worth_net){HOSTS, 2, 10000000000, 40000000000, avail_bps};
}

static void paths(uint64_t *avail_bps, struct estimate *measured)
{
    for (unsigned i = 0; i < HOSTS * HOSTS; i++) {
        avail_bps[i] = i / HOSTS == i % HOSTS ? 0 : 1000000000 + 200000000 * (uint64_t)i;
        measured[i] = (struct estimate){.kind = ESTIMATE_VALUE,
                                        .avail_bps = avail_bps[i],
                                        .low_bps = avail_bps[i],
                                        .high_bps = avail_bps[i]};
    }
}

/* A plan by the truth is worth all; one by values that are all twice or half of it as well: proportions count. One that
 * takes the narrowest path for the widest is worth less. */
static void worth__of_what_is_true(void **state)
{
    (void)state;
    uint64_t avail_bps[HOSTS * HOSTS];
    struct estimate measured[HOSTS * HOSTS];
    paths(avail_bps, measured);
    struct worth_net net = net_of(avail_bps);
    assert_true(fabs(worth(&net, measured, &solver) - 1) < 1e-6);
    for (unsigned i = 0; i < HOSTS * HOSTS; i++)
        measured[i].avail_bps = measured[i].low_bps = measured[i].high_bps = avail_bps[i] / 2;
    assert_true(fabs(worth(&net, measured, &solver) - 1) < 0.05);
    for (unsigned i = 0; i < HOSTS * HOSTS; i++)
        measured[i].avail_bps = measured[i].low_bps = measured[i].high_bps = 6000000000 - avail_bps[i];
    assert_true(worth(&net, measured, &solver) < 0.9);
}

/* Four hosts in two sites, by trains: what is found is in order, costs less than all in full, and the same again. */
static void pairs__are_in_order(void **state)
{
    (void)state;
    static struct pairs_config config;
    config = (struct pairs_config){.nodes = 4,
                                   .sites = 2,
                                   .egress_bps = 40000000000,
                                   .load_ppb_max = 800000000,
                                   .keep = 1,
                                   .limit_ns = 5 * NS_PER_S,
                                   .coarse_ppb = 40000000,
                                   .fine_ppb = 20000000};
    config.run.kind = estimator_kind("sluice");
    config.run.world.hop_count = 1;
    config.run.world.hops[0].link.rate_bps = 10000000000;
    config.run.world.approach.delay_ns = config.run.world.back_ns = NS_PER_MS;
    config.run.goal = (struct estimator_goal){.port_bps = 40000000000,
                                              .receiver_bps = 10000000000,
                                              .rtt_ns = 2 * NS_PER_MS,
                                              .wire_bytes = FULL_PACKET_WIRE_BYTES,
                                              .width_ppm = 10000,
                                              .queue_bytes_max = 250000,
                                              .continuous = true};
    struct pairs_figures figures[2];
    for (unsigned i = 0; i < 2; i++)
        assert_true(pairs_measure(&config, 3, &solver, &figures[i]));
    assert_memory_equal(&figures[0], &figures[1], sizeof(figures[0]));
    assert_true(figures[0].tau > 0.95 && figures[0].tau_truth > 0.95);
    assert_true(figures[0].bytes < 0.25 * figures[0].bytes_full);
    assert_true(figures[0].took_s < 5 && figures[0].open == 0);
    assert_true(figures[0].error_sd < 0.04 && figures[0].error_full_sd < 0.01);
    assert_true(figures[0].rate > 0.8 && figures[0].rate_full > 0.9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(worth__of_what_is_true),
        cmocka_unit_test(pairs__are_in_order),
    };
    void *memory = aligned_alloc(ARENA_ALIGN, arena_need(solve_bytes()));
    assert_non_null(memory);
    arena_init(&solver, memory, solve_bytes());
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    free(memory);
    return failed;
}
