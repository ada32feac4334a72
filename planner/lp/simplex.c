#include "planner/lp/simplex.h"

#include <string.h>

#define ZERO_WIDENED  0.02  /* of it, where the limit is 0: prices of such rows may be high */
#define GAIN_LEAST    1e-11 /* of a column or a row that enters */
#define PIVOT_LEAST   1e-9
#define SLACK_LEEWAY  1e-12 /* rows may go over by this much, for a greater pivot's sake */
#define REFRESH_EVERY 32    /* pivots */
#define ERROR_MOST    1e-9  /* of loads and prices, before the inverse is built anew */

/* ---- memory ---- */

size_t simplex_bytes(const struct simplex_size *size)
{
    size_t rows = size->rows, places = size->basic_max, slots = places + 1,
           entries = slots * size->entries_max;
    return 4 * arena_need(rows * sizeof(double)) + arena_need(rows * sizeof(uint16_t)) +
           2 * arena_need(rows * sizeof(uint32_t)) + inverse_bytes(size->basic_max) +
           arena_need(places * sizeof(uint32_t)) + arena_need(places * sizeof(uint16_t)) +
           4 * arena_need(slots * sizeof(double)) + arena_need(slots * sizeof(uint32_t)) +
           arena_need(entries * sizeof(uint32_t)) + arena_need(entries * sizeof(double)) +
           arena_need(slots * sizeof(uint16_t));
}

static void allocate(struct simplex *simplex, struct arena *arena)
{
    size_t rows = simplex->max.rows, places = simplex->max.basic_max, slots = places + 1;
    size_t entries = slots * simplex->max.entries_max;
    simplex->limit = arena_alloc(arena, rows * sizeof(double));
    simplex->slack = arena_alloc(arena, rows * sizeof(double));
    simplex->price = arena_alloc(arena, rows * sizeof(double));
    simplex->change = arena_alloc(arena, rows * sizeof(double));
    simplex->place = arena_alloc(arena, rows * sizeof(uint16_t));
    simplex->mark = arena_alloc(arena, rows * sizeof(uint32_t));
    simplex->touched = arena_alloc(arena, rows * sizeof(uint32_t));
    inverse_init(&simplex->inverse, simplex->max.basic_max, arena);
    simplex->tight = arena_alloc(arena, places * sizeof(uint32_t));
    simplex->slot = arena_alloc(arena, places * sizeof(uint16_t));
    simplex->rate = arena_alloc(arena, slots * sizeof(double));
    simplex->down = arena_alloc(arena, slots * sizeof(double));
    simplex->across = arena_alloc(arena, slots * sizeof(double));
    simplex->vector = arena_alloc(arena, slots * sizeof(double));
    simplex->slot_entries = arena_alloc(arena, slots * sizeof(uint32_t));
    simplex->slot_row = arena_alloc(arena, entries * sizeof(uint32_t));
    simplex->slot_use = arena_alloc(arena, entries * sizeof(double));
    simplex->slot_free = arena_alloc(arena, slots * sizeof(uint16_t));
}

/* Between half and all of SIMPLEX_WIDENED, by a mix of the row's bits (Knuth's multiplicative hash). */
static double widened(uint32_t row)
{
    uint32_t mixed = (row + 1) * 2654435761u;
    mixed = (mixed ^ mixed >> 15) * 2246822519u;
    return SIMPLEX_WIDENED * (0.5 + (double)(mixed >> 8) / (1 << 25));
}

void simplex_init(struct simplex *simplex, const struct simplex_size *size, const double *limit,
                  struct arena *arena)
{
    *simplex = (struct simplex){.max = *size};
    allocate(simplex, arena);
    for (uint32_t row = 0; row < size->rows; row++) {
        simplex->limit[row] = limit[row] > 0 ? limit[row] * (1 + widened(row)) : ZERO_WIDENED * widened(row);
        simplex->slack[row] = simplex->limit[row];
        simplex->price[row] = 0;
        simplex->place[row] = SIMPLEX_NONE;
        simplex->mark[row] = 0;
    }
    for (uint16_t slot = size->basic_max + 1; slot-- > 0;)
        simplex->slot_free[simplex->slot_free_count++] = slot;
}

/* ---- columns ---- */

static struct simplex_column at_slot(const struct simplex *simplex, uint16_t slot)
{
    size_t first = (size_t)slot * simplex->max.entries_max;
    return (struct simplex_column){simplex->slot_entries[slot], simplex->slot_row + first,
                                   simplex->slot_use + first};
}

/* Shell's sort, gaps of Ciura. */
static void sort_entries(uint32_t *row, double *use, uint32_t count)
{
    static const uint32_t gaps[] = {1750, 701, 301, 132, 57, 23, 10, 4, 1};
    for (size_t gap_index = 0; gap_index < sizeof(gaps) / sizeof(*gaps); gap_index++) {
        uint32_t gap = gaps[gap_index];
        for (uint32_t index = gap; index < count; index++) {
            uint32_t moved_row = row[index], to = index;
            double moved_use = use[index];
            for (; to >= gap && row[to - gap] > moved_row; to -= gap) {
                row[to] = row[to - gap];
                use[to] = use[to - gap];
            }
            row[to] = moved_row;
            use[to] = moved_use;
        }
    }
}

static uint16_t store(struct simplex *simplex, const struct simplex_column *column)
{
    CHECK(column->count <= simplex->max.entries_max);
    uint16_t slot = simplex->slot_free[--simplex->slot_free_count];
    size_t first = (size_t)slot * simplex->max.entries_max;
    simplex->slot_entries[slot] = column->count;
    memcpy(simplex->slot_row + first, column->row, column->count * sizeof(uint32_t));
    memcpy(simplex->slot_use + first, column->use, column->count * sizeof(double));
    sort_entries(simplex->slot_row + first, simplex->slot_use + first, column->count);
    return slot;
}

static double use_of(const struct simplex *simplex, uint16_t slot, uint32_t row)
{
    struct simplex_column column = at_slot(simplex, slot);
    uint32_t low = 0, high = column.count;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (column.row[middle] < row)
            low = middle + 1;
        else
            high = middle;
    }
    return low < column.count && column.row[low] == row ? column.use[low] : 0;
}

double simplex_gain(const struct simplex *simplex, const struct simplex_column *column)
{
    double gain = 1;
    for (uint32_t entry = 0; entry < column->count; entry++)
        gain -= simplex->price[column->row[entry]] * column->use[entry];
    return gain;
}

double simplex_value(const struct simplex *simplex)
{
    double value = 0;
    for (uint16_t place = 0; place < simplex->inverse.size; place++)
        value += simplex->rate[place];
    return value;
}

/* ---- keeping numbers true ---- */

static void update_prices(struct simplex *simplex)
{
    uint16_t size = simplex->inverse.size;
    for (uint16_t place = 0; place < size; place++)
        simplex->vector[place] = 1;
    inverse_across(&simplex->inverse, simplex->vector, simplex->across);
    for (uint16_t place = 0; place < size; place++)
        simplex->price[simplex->tight[place]] = simplex->across[place];
}

static void rebuild(struct simplex *simplex)
{
    uint16_t size = simplex->inverse.size;
    for (uint16_t place = 0; place < size; place++)
        for (uint16_t row = 0; row < size; row++)
            simplex->inverse.work[(size_t)row * simplex->max.basic_max + place] =
                use_of(simplex, simplex->slot[place], simplex->tight[row]);
    simplex->lost = !inverse_build(&simplex->inverse, size);
    update_prices(simplex);
}

static double greatest(double a, double b)
{
    return b > a ? b : -b > a ? -b : a;
}

/* Slack of every row from the rates; returns how far tight rows are off. */
static double recount(struct simplex *simplex)
{
    double error = 0;
    memcpy(simplex->slack, simplex->limit, simplex->max.rows * sizeof(double));
    for (uint16_t place = 0; place < simplex->inverse.size; place++) {
        struct simplex_column column = at_slot(simplex, simplex->slot[place]);
        for (uint32_t entry = 0; entry < column.count; entry++)
            simplex->slack[column.row[entry]] -= simplex->rate[place] * column.use[entry];
    }
    for (uint16_t place = 0; place < simplex->inverse.size; place++)
        error = greatest(error, simplex->slack[simplex->tight[place]]);
    return error;
}

/* One step of iterative refinement: what tight rows have left goes to the rates. */
static void correct_rates(struct simplex *simplex)
{
    for (uint16_t place = 0; place < simplex->inverse.size; place++)
        simplex->vector[place] = simplex->slack[simplex->tight[place]];
    inverse_down(&simplex->inverse, simplex->vector, simplex->down);
    for (uint16_t place = 0; place < simplex->inverse.size; place++)
        simplex->rate[place] += simplex->down[place];
}

static void refresh(struct simplex *simplex)
{
    double error = recount(simplex);
    for (uint16_t place = 0; place < simplex->inverse.size; place++) {
        struct simplex_column column = at_slot(simplex, simplex->slot[place]);
        error = greatest(error, simplex_gain(simplex, &column));
    }
    if (error > ERROR_MOST)
        rebuild(simplex);
    correct_rates(simplex);
    recount(simplex);
    for (uint16_t place = 0; place < simplex->inverse.size; place++)
        simplex->slack[simplex->tight[place]] = 0;
}

/* ---- a step ---- */

/* What is to give way, and how far the step goes until it does. */
struct block {
    bool found, is_row;
    uint16_t place; /* of the column */
    uint32_t row;
    double step, pivot;
};

static void add_change(struct simplex *simplex, const struct simplex_column *column, double factor)
{
    for (uint32_t entry = 0; entry < column->count; entry++) {
        uint32_t row = column->row[entry];
        if (simplex->mark[row] != simplex->turn) {
            simplex->mark[row] = simplex->turn;
            simplex->touched[simplex->touched_count++] = row;
            simplex->change[row] = 0;
        }
        simplex->change[row] += factor * column->use[entry];
    }
}

/* change[row]: what the step takes of the slack, as rates go down by `down` and the entering
 * column, if it is one, goes up. */
static void count_change(struct simplex *simplex, const struct simplex_column *entering)
{
    simplex->turn++;
    simplex->touched_count = 0;
    if (entering != NULL)
        add_change(simplex, entering, 1);
    for (uint16_t place = 0; place < simplex->inverse.size; place++) {
        struct simplex_column column = at_slot(simplex, simplex->slot[place]);
        if (simplex->down[place] != 0)
            add_change(simplex, &column, -simplex->down[place]);
    }
}

static void consider(struct block *block, const struct block *other)
{
    if (!block->found || other->pivot > block->pivot)
        *block = *other;
}

/* The step that ends a little behind the first limit. */
static double longest_step(const struct simplex *simplex)
{
    double longest = 1e300;
    for (uint16_t place = 0; place < simplex->inverse.size; place++) {
        double pivot = simplex->down[place];
        if (pivot > PIVOT_LEAST && simplex->rate[place] + SLACK_LEEWAY < longest * pivot)
            longest = (simplex->rate[place] + SLACK_LEEWAY) / pivot;
    }
    for (uint32_t index = 0; index < simplex->touched_count; index++) {
        uint32_t row = simplex->touched[index];
        double pivot = simplex->change[row];
        if (pivot > PIVOT_LEAST && simplex->place[row] == SIMPLEX_NONE &&
            simplex->slack[row] + SLACK_LEEWAY < longest * pivot)
            longest = (simplex->slack[row] + SLACK_LEEWAY) / pivot;
    }
    return longest;
}

/* Of all that block within that step, the one with the greatest pivot (Harris). */
static struct block find_block(const struct simplex *simplex)
{
    double longest = longest_step(simplex);
    struct block block = {.found = false};
    for (uint16_t place = 0; place < simplex->inverse.size; place++) {
        double pivot = simplex->down[place];
        if (pivot > PIVOT_LEAST && simplex->rate[place] <= longest * pivot)
            consider(&block, &(struct block){true, false, place, 0, simplex->rate[place] / pivot, pivot});
    }
    for (uint32_t index = 0; index < simplex->touched_count; index++) {
        uint32_t row = simplex->touched[index];
        double pivot = simplex->change[row];
        if (pivot > PIVOT_LEAST && simplex->place[row] == SIMPLEX_NONE &&
            simplex->slack[row] <= longest * pivot)
            consider(&block, &(struct block){true, true, 0, row, simplex->slack[row] / pivot, pivot});
    }
    block.step = block.step > 0 ? block.step : 0;
    return block;
}

static void move(struct simplex *simplex, double step)
{
    for (uint16_t place = 0; place < simplex->inverse.size; place++)
        simplex->rate[place] -= step * simplex->down[place];
    for (uint32_t index = 0; index < simplex->touched_count; index++) {
        uint32_t row = simplex->touched[index];
        if (simplex->place[row] == SIMPLEX_NONE)
            simplex->slack[row] -= step * simplex->change[row];
    }
}

static void across_of_row(struct simplex *simplex, uint32_t row)
{
    for (uint16_t place = 0; place < simplex->inverse.size; place++)
        simplex->vector[place] = use_of(simplex, simplex->slot[place], row);
    inverse_across(&simplex->inverse, simplex->vector, simplex->across);
}

static void set_tight(struct simplex *simplex, uint32_t row, uint16_t place)
{
    simplex->tight[place] = row;
    simplex->place[row] = place;
    simplex->slack[row] = 0;
}

static void let_go(struct simplex *simplex, uint32_t row, double slack)
{
    simplex->place[row] = SIMPLEX_NONE;
    simplex->price[row] = 0;
    simplex->slack[row] = slack;
}

static void free_slot(struct simplex *simplex, uint16_t slot)
{
    simplex->slot_free[simplex->slot_free_count++] = slot;
}

static void after_pivot(struct simplex *simplex)
{
    update_prices(simplex);
    if (++simplex->pivots % REFRESH_EVERY == 0)
        refresh(simplex);
}

uint16_t simplex_enter(struct simplex *simplex, const struct simplex_column *entering)
{
    uint16_t size = simplex->inverse.size;
    if (simplex->lost || simplex_gain(simplex, entering) <= GAIN_LEAST)
        return SIMPLEX_NONE;
    uint16_t slot = store(simplex, entering);
    for (uint16_t place = 0; place < size; place++)
        simplex->vector[place] = use_of(simplex, slot, simplex->tight[place]);
    inverse_down(&simplex->inverse, simplex->vector, simplex->down);
    count_change(simplex, entering);
    struct block block = find_block(simplex);
    if (!block.found || (block.is_row && size == simplex->max.basic_max)) {
        free_slot(simplex, slot);
        return SIMPLEX_NONE;
    }
    move(simplex, block.step);
    if (block.is_row) {
        across_of_row(simplex, block.row);
        inverse_grow(&simplex->inverse, simplex->down, simplex->across, block.pivot);
        set_tight(simplex, block.row, size);
        block.place = size;
    } else {
        inverse_replace_column(&simplex->inverse, block.place, simplex->down);
        free_slot(simplex, simplex->slot[block.place]);
    }
    simplex->slot[block.place] = slot;
    simplex->rate[block.place] = block.step;
    after_pivot(simplex);
    return slot;
}

/* The row at `place` gets slack; as much as possible. */
static bool release(struct simplex *simplex, uint16_t place)
{
    struct inverse *inverse = &simplex->inverse;
    uint32_t row = simplex->tight[place];
    uint16_t last = (uint16_t)(inverse->size - 1);
    for (uint16_t column = 0; column <= last; column++)
        simplex->down[column] = inverse->cell[(size_t)column * inverse->size_max + place];
    count_change(simplex, NULL);
    struct block block = find_block(simplex);
    if (!block.found)
        return false;
    move(simplex, block.step);
    let_go(simplex, row, block.step);
    if (block.is_row) {
        across_of_row(simplex, block.row);
        inverse_replace_row(inverse, place, simplex->across);
        set_tight(simplex, block.row, place);
    } else {
        free_slot(simplex, simplex->slot[block.place]);
        inverse_shrink(inverse, block.place, place);
        simplex->slot[block.place] = simplex->slot[last];
        simplex->rate[block.place] = simplex->rate[last];
        if (place != last)
            set_tight(simplex, simplex->tight[last], place);
    }
    after_pivot(simplex);
    return true;
}

uint32_t simplex_settle(struct simplex *simplex, uint32_t steps_max)
{
    for (uint32_t steps = 0; steps < steps_max && !simplex->lost; steps++) {
        double least = -GAIN_LEAST;
        uint16_t worst = SIMPLEX_NONE;
        for (uint16_t place = 0; place < simplex->inverse.size; place++)
            if (simplex->price[simplex->tight[place]] < least) {
                least = simplex->price[simplex->tight[place]];
                worst = place;
            }
        if (worst == SIMPLEX_NONE || !release(simplex, worst))
            return steps;
    }
    return steps_max;
}
