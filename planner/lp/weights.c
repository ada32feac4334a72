#include "planner/lp/weights.h"

#include <string.h>

#include "planner/lp/bound.h"
#include "planner/lp/rows.h"

#define GAIN_LEAST  1e-9
#define TURNS_MAX   (20 * WEIGHTS_TREES_MAX)
#define SAME_RATE   1e-9 /* relative: rates that differ by less are equal */
#define BINDS_LEAST (1 - 1e-6)

size_t weights_bytes(uint16_t count, uint16_t shared_count)
{
    size_t rows = rows_most(count, shared_count);
    size_t binding = NET_TREES_MAX * (size_t)rows_entries_max(count, shared_count);
    return rows_bytes(count, shared_count) + rows_simplex_bytes(count, shared_count, WEIGHTS_TREES_MAX) +
           arena_need(rows * sizeof(double)) + arena_need(binding * sizeof(uint32_t)) +
           NET_TREES_MAX * arena_need(binding * sizeof(double));
}

static double unit_of(const struct weights_task *task)
{
    double bps = bound_of(task->net).bps;
    bps = bps < ROWS_RATE_MOST ? bps : ROWS_RATE_MOST;
    return task->rate_cap_bps > 0 && task->rate_cap_bps < bps ? task->rate_cap_bps : bps;
}

/* ---- exact rates ---- */

/* The tree that gains most, while one gains. */
static void enter_all(const struct weights_task *task, const struct rows *rows, struct simplex *simplex,
                      uint16_t *tree_of_slot)
{
    for (uint32_t turn = 0; turn < TURNS_MAX; turn++) {
        double most = GAIN_LEAST;
        uint16_t best = NET_NONE;
        for (uint16_t tree = 0; tree < task->tree_count; tree++) {
            if (rows_dead_tree(rows, task->trees[tree].parent))
                continue;
            struct simplex_column column = rows_column(rows, task->trees[tree].parent);
            double gain = simplex_gain(simplex, &column);
            if (gain > most) {
                most = gain;
                best = tree;
            }
        }
        if (best == NET_NONE)
            return;
        struct simplex_column column = rows_column(rows, task->trees[best].parent);
        uint16_t slot = simplex_enter(simplex, &column);
        if (slot == SIMPLEX_NONE)
            return;
        tree_of_slot[slot] = best;
        simplex_settle(simplex, TURNS_MAX);
    }
}

/* Into the limits, which the simplex widens a little. */
static double fit(const struct weights_task *task, const struct rows *rows, double *load, double *tree_bps)
{
    double most = 1, sum_bps = 0;
    memset(load, 0, rows->count * sizeof(double));
    for (uint16_t tree = 0; tree < task->tree_count; tree++) {
        struct simplex_column column = rows_column(rows, task->trees[tree].parent);
        for (uint32_t entry = 0; entry < column.count; entry++) {
            load[column.row[entry]] += column.use[entry] * tree_bps[tree] / rows->unit_bps;
            most = load[column.row[entry]] > most ? load[column.row[entry]] : most;
        }
    }
    for (uint16_t tree = 0; tree < task->tree_count; tree++)
        sum_bps += tree_bps[tree] /= most;
    return sum_bps;
}

double weights_rates(const struct weights_task *task, struct arena *arena, double *tree_bps)
{
    uint16_t tree_of_slot[WEIGHTS_TREES_MAX + 1];
    size_t used = arena->used;
    double unit_bps = unit_of(task);
    struct rows rows;
    struct simplex simplex;
    CHECK(task->tree_count >= 1 && task->tree_count <= WEIGHTS_TREES_MAX);
    memset(tree_bps, 0, task->tree_count * sizeof(double));
    if (unit_bps <= 0)
        return 0;
    rows_init(&rows, task->net, unit_bps, task->rate_cap_bps, false, arena);
    struct simplex_size size = rows_size(&rows, WEIGHTS_TREES_MAX);
    simplex_init(&simplex, &size, rows.limit, arena);
    enter_all(task, &rows, &simplex, tree_of_slot);
    for (uint16_t place = 0; place < simplex.inverse.size; place++)
        if (simplex.rate[place] > 0)
            tree_bps[tree_of_slot[simplex.slot[place]]] = simplex.rate[place] * unit_bps;
    double rate_bps = fit(task, &rows, arena_alloc(arena, rows.count * sizeof(double)), tree_bps);
    arena->used = used;
    return rate_bps;
}

/* ---- whole weights ---- */

/* The trees chosen, and what they take of the rows that can bind. */
struct rounding {
    uint16_t tree_count;
    uint16_t tree[NET_TREES_MAX]; /* of the task */
    double share[NET_TREES_MAX];  /* of all data, exactly */
    uint32_t row_count;
    uint32_t *row;
    double *use[NET_TREES_MAX]; /* [row_count] */
    double unit_bps;
};

static void choose_trees(const struct weights_task *task, const double *tree_bps, uint16_t trees_max,
                         struct rounding *rounding)
{
    double sum_bps = 0;
    bool taken[WEIGHTS_TREES_MAX] = {false};
    for (; rounding->tree_count < trees_max && rounding->tree_count < NET_TREES_MAX; rounding->tree_count++) {
        uint16_t best = NET_NONE;
        for (uint16_t tree = 0; tree < task->tree_count; tree++)
            if (!taken[tree] && tree_bps[tree] > 0 && (best == NET_NONE || tree_bps[tree] > tree_bps[best]))
                best = tree;
        if (best == NET_NONE)
            break;
        taken[best] = true;
        rounding->tree[rounding->tree_count] = best;
        sum_bps += tree_bps[best];
    }
    for (uint16_t index = 0; index < rounding->tree_count; index++)
        rounding->share[index] = tree_bps[rounding->tree[index]] / sum_bps;
}

/* Rows that would not bind if all data went by the tree that takes most of them do not bind at all. `rate`: what no
 * weights exceed, in units. */
static void list_rows(const struct weights_task *task, const struct rows *rows, double rate, double *most,
                      struct rounding *rounding)
{
    memset(most, 0, rows->count * sizeof(double));
    for (uint16_t index = 0; index < rounding->tree_count; index++) {
        struct simplex_column column = rows_column(rows, task->trees[rounding->tree[index]].parent);
        for (uint32_t entry = 0; entry < column.count; entry++) {
            uint32_t row = column.row[entry];
            if (most[row] * rate < BINDS_LEAST && column.use[entry] * rate >= BINDS_LEAST)
                rounding->row[rounding->row_count++] = row;
            most[row] = column.use[entry] > most[row] ? column.use[entry] : most[row];
        }
    }
    for (uint16_t index = 0; index < rounding->tree_count; index++) {
        struct simplex_column column = rows_column(rows, task->trees[rounding->tree[index]].parent);
        memset(most, 0, rows->count * sizeof(double));
        for (uint32_t entry = 0; entry < column.count; entry++)
            most[column.row[entry]] = column.use[entry];
        for (uint32_t row = 0; row < rounding->row_count; row++)
            rounding->use[index][row] = most[rounding->row[row]];
    }
}

/* In units. */
static double rate_of(const struct rounding *rounding, const uint16_t *weight, uint16_t period)
{
    double most = 0;
    for (uint32_t row = 0; row < rounding->row_count; row++) {
        double load = 0;
        for (uint16_t index = 0; index < rounding->tree_count; index++)
            load += weight[index] * rounding->use[index][row];
        most = load > most ? load : most;
    }
    return most > 0 ? period / most : 0;
}

static void largest_remainders(const struct rounding *rounding, uint16_t period, uint16_t *weight)
{
    double rest[NET_TREES_MAX];
    uint16_t left = period;
    for (uint16_t index = 0; index < rounding->tree_count; index++) {
        double exact = rounding->share[index] * period;
        weight[index] = (uint16_t)(exact + SAME_RATE);
        weight[index] = weight[index] < left ? weight[index] : left;
        rest[index] = exact - weight[index];
        left = (uint16_t)(left - weight[index]);
    }
    for (; left > 0; left--) {
        uint16_t best = 0;
        for (uint16_t index = 1; index < rounding->tree_count; index++)
            best = rest[index] > rest[best] + SAME_RATE ? index : best;
        weight[best]++;
        rest[best] -= 1;
    }
}

/* The one block whose move to another tree gains most. */
static bool move_block(const struct rounding *rounding, uint16_t period, uint16_t *weight, double *rate)
{
    uint16_t best_from = NET_NONE, best_to = NET_NONE;
    double best = *rate * (1 + SAME_RATE);
    for (uint16_t from = 0; from < rounding->tree_count; from++)
        for (uint16_t to = 0; to < rounding->tree_count && weight[from] > 0; to++) {
            if (to == from)
                continue;
            weight[from]--;
            weight[to]++;
            double moved = rate_of(rounding, weight, period);
            weight[from]++;
            weight[to]--;
            if (moved > best) {
                best = moved;
                best_from = from;
                best_to = to;
            }
        }
    if (best_from == NET_NONE)
        return false;
    weight[best_from]--;
    weight[best_to]++;
    *rate = best;
    return true;
}

static void try_periods(const struct rounding *rounding, uint16_t period_max, uint16_t *best_weight,
                        uint16_t *best_period)
{
    double best = 0;
    for (uint16_t period = 1; period <= period_max && period <= NET_PERIOD_MAX; period++) {
        uint16_t weight[NET_TREES_MAX];
        largest_remainders(rounding, period, weight);
        double rate = rate_of(rounding, weight, period);
        for (uint16_t moves = 0; moves < period && move_block(rounding, period, weight, &rate);)
            moves++;
        if (rate > best * (1 + SAME_RATE)) {
            best = rate;
            *best_period = period;
            memcpy(best_weight, weight, sizeof(weight));
        }
    }
}

double weights_forest(const struct weights_task *task, const double *tree_bps, uint16_t trees_max,
                      uint16_t period_max, struct arena *arena, struct net_forest *forest)
{
    size_t used = arena->used;
    uint16_t weight[NET_TREES_MAX] = {0};
    uint32_t tight;
    struct rounding rounding = {.unit_bps = unit_of(task)};
    struct rows rows;
    *forest = (struct net_forest){0};
    choose_trees(task, tree_bps, trees_max, &rounding);
    if (rounding.tree_count == 0)
        return 0;
    rows_init(&rows, task->net, rounding.unit_bps, task->rate_cap_bps, false, arena);
    size_t binding = NET_TREES_MAX * (size_t)rows_entries_max(task->net->count, task->net->shared_count);
    double *scratch = arena_alloc(arena, rows.count * sizeof(double));
    rounding.row = arena_alloc(arena, binding * sizeof(uint32_t));
    for (uint16_t index = 0; index < rounding.tree_count; index++)
        rounding.use[index] = arena_alloc(arena, binding * sizeof(double));
    list_rows(task, &rows, 1, scratch, &rounding);
    try_periods(&rounding, period_max, weight, &forest->period);
    for (uint16_t index = 0; index < rounding.tree_count; index++)
        if (weight[index] > 0) {
            forest->weight[forest->tree_count] = weight[index];
            forest->trees[forest->tree_count++] = task->trees[rounding.tree[index]];
        }
    double rate_bps = net_forest_rate(task->net, forest, scratch, &tight);
    arena->used = used;
    return task->rate_cap_bps > 0 && task->rate_cap_bps < rate_bps ? task->rate_cap_bps : rate_bps;
}
