#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/rng.h"
#include "planner/lp/arborescence.h"

#define SMALL 6

static uint8_t memory[8 << 20] __attribute__((aligned(ARENA_ALIGN)));

struct example {
    uint16_t count, source;
    double weight[SMALL * SMALL];
    bool spanned[SMALL];
};

/* Few different weights, so that ties and circles of equal cost are common; negative ones too. */
static struct example example(struct rng *rng)
{
    struct example net = {.count = (uint16_t)(2 + rng_below(rng, SMALL - 1))};
    uint64_t span = 1 + rng_below(rng, 20), missing_ppb = rng_below(rng, 2) * 300000000;
    net.source = (uint16_t)rng_below(rng, net.count);
    for (uint16_t edge = 0; edge < net.count * net.count; edge++)
        net.weight[edge] =
            rng_chance_ppb(rng, missing_ppb) ? ARBORESCENCE_NO_EDGE : (double)rng_below(rng, span) - 3;
    for (uint16_t host = 0; host < net.count; host++)
        net.spanned[host] = !rng_chance_ppb(rng, 200000000);
    net.spanned[net.source] = true;
    return net;
}

static bool is_tree(const struct example *net, const uint16_t *parent, double *cost)
{
    *cost = 0;
    for (uint16_t host = 0; host < net->count; host++) {
        if (host == net->source || !net->spanned[host])
            continue;
        uint16_t above = host;
        for (uint16_t steps = 0; steps < net->count && above != net->source; steps++)
            above = parent[above];
        double weight = net->weight[parent[host] * net->count + host];
        if (above != net->source || weight >= ARBORESCENCE_NO_EDGE)
            return false;
        *cost += weight;
    }
    return true;
}

/* The next parent vector over spanned hosts; false after the last. */
static bool advance(const struct example *net, uint16_t *parent)
{
    for (uint16_t host = 0; host < net->count; host++) {
        if (host == net->source || !net->spanned[host])
            continue;
        do
            parent[host]++;
        while (parent[host] < net->count && !net->spanned[parent[host]]);
        if (parent[host] < net->count)
            return true;
        parent[host] = 0;
        while (!net->spanned[parent[host]])
            parent[host]++;
    }
    return false;
}

static bool cheapest_of_all(const struct example *net, double *best)
{
    uint16_t parent[SMALL] = {0};
    bool found = false;
    for (uint16_t host = 0; host < net->count; host++)
        while (!net->spanned[parent[host]])
            parent[host]++;
    do {
        double cost;
        if (!is_tree(net, parent, &cost))
            continue;
        *best = !found || cost < *best ? cost : *best;
        found = true;
    } while (advance(net, parent));
    return found;
}

static void arborescence__is_the_cheapest_of_all(void **state)
{
    (void)state;
    struct rng rng;
    rng_init(&rng, 1);
    for (int round = 0; round < 3000; round++) {
        struct example net = example(&rng);
        struct arborescence_task task = {net.count, net.source, net.weight, net.spanned};
        struct arena arena;
        uint16_t parent[SMALL];
        double cost, best = 0, again = 0;
        arena_init(&arena, memory, arborescence_bytes(net.count));
        bool found = arborescence(&task, &arena, parent, &cost);
        assert_int_equal(found, cheapest_of_all(&net, &best));
        assert_int_equal(arena.used, 0);
        if (!found)
            continue;
        assert_true(is_tree(&net, parent, &again));
        assert_true(cost == best); /* whole numbers */
        assert_true(again == best);
        for (uint16_t host = 0; host < net.count; host++)
            assert_int_equal(parent[host] == UINT16_MAX, host == net.source || !net.spanned[host]);
    }
}

/* Every tree enters each host once, so what all its entries cost more is what every tree costs more. */
static void arborescence__a_shift_of_entries_shifts_the_cost(void **state)
{
    (void)state;
    enum { COUNT = 200 };
    static double weight[COUNT * COUNT];
    static bool spanned[COUNT];
    struct rng rng;
    rng_init(&rng, 2);
    memset(spanned, true, sizeof(spanned));
    for (uint32_t edge = 0; edge < COUNT * COUNT; edge++)
        weight[edge] = (double)rng_below(&rng, 1000);
    struct arborescence_task task = {COUNT, 7, weight, spanned};
    struct arena arena;
    uint16_t parent[COUNT], shifted[COUNT];
    double cost, more;
    arena_init(&arena, memory, sizeof(memory));
    assert_true(arborescence(&task, &arena, parent, &cost));
    for (uint16_t from = 0; from < COUNT; from++)
        weight[from * COUNT + 3] += 500;
    assert_true(arborescence(&task, &arena, shifted, &more));
    assert_true(more == cost + 500);
    assert_memory_equal(parent, shifted, sizeof(parent));
}

static void arborescence__ties_go_by_index(void **state)
{
    (void)state;
    double weight[16];
    bool spanned[4] = {true, true, true, true};
    uint16_t parent[4];
    double cost;
    struct arena arena;
    for (int edge = 0; edge < 16; edge++)
        weight[edge] = 1;
    arena_init(&arena, memory, sizeof(memory));
    struct arborescence_task task = {4, 2, weight, spanned};
    assert_true(arborescence(&task, &arena, parent, &cost));
    const uint16_t star[4] = {2, 2, UINT16_MAX, 2};
    assert_memory_equal(parent, star, sizeof(star));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arborescence__is_the_cheapest_of_all),
        cmocka_unit_test(arborescence__a_shift_of_entries_shifts_the_cost),
        cmocka_unit_test(arborescence__ties_go_by_index),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
