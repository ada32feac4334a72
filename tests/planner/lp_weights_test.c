#include "lp_check.h"
#include "lp_example.h"
#include "planner/lp/weights.h"

#define HOSTS 14

static uint8_t net_memory[1 << 20] __attribute__((aligned(ARENA_ALIGN)));
static uint8_t packing_memory[16 << 20] __attribute__((aligned(ARENA_ALIGN)));
static uint8_t memory[4 << 20] __attribute__((aligned(ARENA_ALIGN)));

static struct packing packed(struct net *net, uint16_t count, enum example_kind kind, uint64_t seed)
{
    struct packing packing;
    struct packing_options options = {.rounds_max = PACKING_ROUNDS_MAX, .pivots_max = PACKING_PIVOTS_MAX};
    struct arena arena;
    arena_init(&arena, net_memory, net_bytes(count, 4));
    example_net(net, count, kind, seed, &arena);
    arena_init(&arena, packing_memory, sizeof(packing_memory));
    packing_solve(net, &options, NULL, 0, &arena, &packing);
    return packing;
}

static struct arena scratch(const struct net *net)
{
    struct arena arena;
    arena_init(&arena, memory, arena_need(weights_bytes(net->count, net->shared_count)));
    assert_true(arena.size <= sizeof(memory));
    memset(memory, 0xa5, arena.size);
    return arena;
}

static struct weights_task task_of(const struct net *net, const struct packing *packing)
{
    uint16_t trees = packing->tree_count < WEIGHTS_TREES_MAX ? packing->tree_count : WEIGHTS_TREES_MAX;
    return (struct weights_task){.net = net, .tree_count = trees, .trees = packing->trees};
}

/* All trees of a packing come out with its rate, since no better one exists; few of them fit into every row. */
static void weights_rates__finds_the_packing_again(void **state)
{
    (void)state;
    for (enum example_kind kind = 0; kind < EXAMPLE_KINDS; kind++)
        for (uint64_t seed = 0; seed < 20; seed++) {
            struct net net;
            double bps[WEIGHTS_TREES_MAX];
            struct packing packing = packed(&net, (uint16_t)(3 + seed % (HOSTS - 2)), kind, seed);
            if (packing.tree_count == 0 || packing.tree_count > WEIGHTS_TREES_MAX)
                continue;
            struct weights_task task = task_of(&net, &packing);
            struct arena arena = scratch(&net);
            double rate_bps = weights_rates(&task, &arena, bps);
            assert_int_equal(arena.used, 0);
            assert_true(check_near(rate_bps, packing.rate_bps, 1e-6));
            packing.tree_bps = bps;
            packing.rate_bps = rate_bps;
            task.rate_cap_bps = rate_bps / 3;
            assert_true(check_near(weights_rates(&task, &arena, bps), rate_bps / 3, 1e-6));
        }
}

/* One tree: its rate in closed form. */
static void weights_rates__of_one_tree_is_its_rate(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 30; seed++) {
        static double use[HOSTS * HOSTS + 4 * HOSTS + 4];
        struct net net;
        struct packing packing = packed(&net, HOSTS, EXAMPLE_MIXED, seed);
        double bps;
        uint32_t tight;
        struct weights_task task = task_of(&net, &packing);
        struct net_forest forest = {.tree_count = 1, .period = 1, .weight = {1}, .trees = {packing.trees[0]}};
        struct arena arena = scratch(&net);
        task.tree_count = 1;
        double expected = net_forest_rate(&net, &forest, use, &tight);
        assert_true(check_near(weights_rates(&task, &arena, &bps), expected, 1e-9));
    }
}

/* Every weight vector of every period: the best there is. */
static double best_of_all(const struct net *net, struct net_forest *forest, uint16_t tree, uint16_t left)
{
    static double use[HOSTS * HOSTS + 4 * HOSTS + 4];
    double best_bps = 0;
    uint32_t tight;
    if (tree == forest->tree_count - 1) {
        forest->weight[tree] = left;
        return net_forest_rate(net, forest, use, &tight);
    }
    for (uint16_t weight = 0; weight <= left; weight++) {
        forest->weight[tree] = weight;
        double bps = best_of_all(net, forest, (uint16_t)(tree + 1), (uint16_t)(left - weight));
        best_bps = bps > best_bps ? bps : best_bps;
    }
    return best_bps;
}

static void weights_forest__is_near_the_best_of_all(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 15; seed++) {
        struct net net;
        double bps[WEIGHTS_TREES_MAX], best_bps = 0;
        struct packing packing = packed(&net, 8, seed % 2 == 0 ? EXAMPLE_SITES : EXAMPLE_UPLINKS, seed);
        struct weights_task task = task_of(&net, &packing);
        struct arena arena = scratch(&net);
        struct net_forest forest;
        task.tree_count = task.tree_count < 3 ? task.tree_count : 3;
        double rate_bps = weights_rates(&task, &arena, bps);
        double whole_bps = weights_forest(&task, bps, 3, 16, &arena, &forest);
        assert_int_equal(arena.used, 0);
        assert_true(net_forest_valid(&net, &forest));
        assert_true(whole_bps <= rate_bps * (1 + 1e-7));
        for (uint16_t period = 1; period <= 16; period++) {
            struct net_forest all = {.tree_count = task.tree_count, .period = period};
            for (uint16_t tree = 0; tree < task.tree_count; tree++)
                all.trees[tree] = task.trees[tree];
            double some_bps = best_of_all(&net, &all, 0, period);
            best_bps = some_bps > best_bps ? some_bps : best_bps;
        }
        if (!check_near(whole_bps, best_bps, 1e-9))
            fail_msg("seed %d: %.3f, best %.3f", (int)seed, whole_bps, best_bps);
    }
}

static void weights_forest__takes_the_shortest_period(void **state)
{
    (void)state;
    struct net net;
    struct packing packing = packed(&net, 8, EXAMPLE_UPLINKS, 1);
    const double bps[2] = {2e6, 2e6};
    const struct net_tree same[2] = {packing.trees[0], packing.trees[0]};
    struct weights_task task = {.net = &net, .tree_count = 2, .trees = same};
    struct arena arena = scratch(&net);
    struct net_forest forest;
    assert_true(weights_forest(&task, bps, 2, NET_PERIOD_MAX, &arena, &forest) > 0);
    assert_int_equal(forest.period, 1);
    assert_int_equal(forest.tree_count, 1);
}

static void weights_rates__skips_trees_that_carry_nothing(void **state)
{
    (void)state;
    struct net net;
    struct packing packing = packed(&net, 6, EXAMPLE_PATHS, 2);
    double bps[WEIGHTS_TREES_MAX];
    struct weights_task task = task_of(&net, &packing);
    struct arena arena = scratch(&net);
    struct net_forest forest;
    for (uint32_t edge = 0; edge < 36; edge++)
        net.path_bps[edge] = 0;
    assert_true(weights_rates(&task, &arena, bps) <= 0);
    assert_true(weights_forest(&task, bps, 4, NET_PERIOD_MAX, &arena, &forest) <= 0);
    assert_int_equal(forest.tree_count, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(weights_rates__finds_the_packing_again),
        cmocka_unit_test(weights_rates__of_one_tree_is_its_rate),
        cmocka_unit_test(weights_rates__skips_trees_that_carry_nothing),
        cmocka_unit_test(weights_forest__is_near_the_best_of_all),
        cmocka_unit_test(weights_forest__takes_the_shortest_period),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
