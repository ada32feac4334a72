/* Hill climbing in a handful of whole numbers; a step costs one pass over the rows that any tree loads. */
#include "planner/tree/weigh.h"

#include <string.h>

#define BETTER 1e-9 /* relative gain that is worth a step */

struct scales {
    unsigned trees;
    uint32_t rows;
    double *load; /* [row * trees + tree] per unit of weight */
    double *sum;  /* [row] */
};

size_t weigh_bytes(uint16_t count, uint16_t shared_count)
{
    size_t rows = net_rows_of(count, shared_count), used = (size_t)NET_TREES_MAX * count * NET_USES_MAX;
    rows = used < rows ? used : rows;
    return arena_need(NET_TREES_MAX * rows * sizeof(double)) + arena_need(rows * sizeof(double)) +
           arena_need(net_rows_of(count, shared_count) * sizeof(uint32_t));
}

/* Row by row what each tree takes per unit of weight, for the rows that one takes anything of. */
static void gather(struct scales *scales, struct booking *booking, struct net_forest *forest, double rate_bps,
                   struct arena *arena)
{
    uint32_t *place = arena_alloc(arena, booking->shares->count * sizeof(uint32_t));
    booking_open(booking, forest, rate_bps);
    scales->rows = 0;
    for (uint32_t row = 0; row < booking->shares->count; row++)
        place[row] = booking->load[row] > 0 ? scales->rows++ : UINT32_MAX;
    scales->load = arena_alloc(arena, (size_t)scales->rows * scales->trees * sizeof(double));
    scales->sum = arena_alloc(arena, scales->rows * sizeof(double));
    memset(scales->load, 0, (size_t)scales->rows * scales->trees * sizeof(double));
    for (unsigned tree = 0; tree < scales->trees; tree++)
        for (uint16_t host = 0; host < booking->shares->hosts; host++) {
            uint16_t parent = forest->trees[tree].parent[host];
            if (parent == NET_NONE)
                continue;
            uint32_t edge = shares_edge(booking->shares, parent, host);
            for (uint32_t use = booking->shares->first[edge]; use < booking->shares->first[edge + 1]; use++)
                if (place[booking->shares->row[use]] != UINT32_MAX)
                    scales->load[(size_t)place[booking->shares->row[use]] * scales->trees + tree] +=
                        booking->shares->share[use] * booking->scale[host];
        }
}

/* Largest load after a step, or anything above `enough` as soon as one row exceeds it. */
static double largest_after(const struct scales *scales, int more, int less, double enough)
{
    double largest = 0;
    for (uint32_t row = 0; row < scales->rows; row++) {
        const double *load = &scales->load[(size_t)row * scales->trees];
        double sum = scales->sum[row] + (more < 0 ? 0 : load[more]) - (less < 0 ? 0 : load[less]);
        if (sum > largest) {
            largest = sum;
            if (largest > enough)
                return largest;
        }
    }
    return largest;
}

static void sum_up(struct scales *scales, const uint16_t *weight)
{
    for (uint32_t row = 0; row < scales->rows; row++) {
        scales->sum[row] = 0;
        for (unsigned tree = 0; tree < scales->trees; tree++)
            scales->sum[row] += weight[tree] * scales->load[(size_t)row * scales->trees + tree];
    }
}

/* The best step, taken; false: none helps. *score is the largest load over the period. */
static bool step(struct scales *scales, uint16_t *weight, uint16_t *period, double *score)
{
    int best_more = -1, best_less = -1;
    double best = *score * (1 - BETTER);
    for (int more = -1; more < (int)scales->trees; more++)
        for (int less = -1; less < (int)scales->trees; less++) {
            int after = *period + (more >= 0) - (less >= 0);
            if (more == less || after < 1 || after > NET_PERIOD_MAX || (less >= 0 && weight[less] == 0))
                continue;
            double largest = largest_after(scales, more, less, best * after);
            if (largest < best * after) {
                best = largest / after;
                best_more = more;
                best_less = less;
            }
        }
    if (best_more < 0 && best_less < 0)
        return false;
    *period = (uint16_t)(*period + (best_more >= 0) - (best_less >= 0));
    if (best_more >= 0)
        weight[best_more]++;
    if (best_less >= 0)
        weight[best_less]--;
    sum_up(scales, weight);
    *score = best;
    return true;
}

double weigh(struct booking *booking, struct net_forest *forest, double rate_bps, struct arena *arena)
{
    size_t mark = arena->used;
    struct scales scales = {.trees = forest->tree_count};
    uint16_t begun[NET_TREES_MAX], period_begun = forest->period;
    double best = 0;
    memcpy(begun, forest->weight, sizeof(begun));
    gather(&scales, booking, forest, rate_bps, arena);
    for (uint16_t times = 1; times * period_begun <= NET_PERIOD_MAX; times = (uint16_t)(times + 1)) {
        uint16_t weight[NET_TREES_MAX], period = (uint16_t)(times * period_begun);
        for (unsigned tree = 0; tree < scales.trees; tree++)
            weight[tree] = (uint16_t)(times * begun[tree]);
        sum_up(&scales, weight);
        double score = largest_after(&scales, -1, -1, NET_NO_LIMIT) / period;
        while (step(&scales, weight, &period, &score))
            ;
        if (times == 1 || score < best * (1 - BETTER)) {
            best = score;
            memcpy(forest->weight, weight, scales.trees * sizeof(weight[0]));
            forest->period = period;
        }
    }
    arena->used = mark;
    return best;
}

static bool equal_trees(const struct net *net, const struct net_tree *one, const struct net_tree *other)
{
    return memcmp(one->parent, other->parent, net->count * sizeof(uint16_t)) == 0;
}

static uint16_t common_divisor(uint16_t one, uint16_t other)
{
    while (other != 0) {
        uint16_t rest = (uint16_t)(one % other);
        one = other;
        other = rest;
    }
    return one;
}

static void exchange(struct net_forest *forest, unsigned one, unsigned other)
{
    struct net_tree tree = forest->trees[one];
    uint16_t weight = forest->weight[one];
    forest->trees[one] = forest->trees[other];
    forest->weight[one] = forest->weight[other];
    forest->trees[other] = tree;
    forest->weight[other] = weight;
}

void weigh_tidy(const struct net *net, struct net_forest *forest)
{
    uint16_t divisor = 0;
    for (unsigned tree = 0; tree < forest->tree_count; tree++)
        for (unsigned earlier = 0; earlier < tree; earlier++)
            if (forest->weight[earlier] > 0 &&
                equal_trees(net, &forest->trees[earlier], &forest->trees[tree])) {
                forest->weight[earlier] = (uint16_t)(forest->weight[earlier] + forest->weight[tree]);
                forest->weight[tree] = 0;
            }
    for (unsigned tree = 1; tree < forest->tree_count; tree++)
        for (unsigned place = tree; place > 0 && forest->weight[place - 1] < forest->weight[place]; place--)
            exchange(forest, place - 1, place);
    while (forest->tree_count > 0 && forest->weight[forest->tree_count - 1] == 0)
        forest->tree_count--;
    for (unsigned tree = 0; tree < forest->tree_count; tree++)
        divisor = common_divisor(forest->weight[tree], divisor);
    forest->period = 0;
    for (unsigned tree = 0; tree < forest->tree_count; tree++) {
        forest->weight[tree] = (uint16_t)(forest->weight[tree] / divisor);
        forest->period = (uint16_t)(forest->period + forest->weight[tree]);
    }
}
