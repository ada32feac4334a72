/* Greatest sum of rates of columns (trees) under rows that they share: maximise sum y subject to sum of
 * use(row, column) * y <= limit(row), y >= 0, limits >= 0. Columns come one at a time, when somebody has
 * found one whose price is below 1; so there may be any number.
 *
 * Primal simplex, always feasible. The basis is kept by its tight rows alone: as many rows as columns with a
 * rate, and the inverse of this square. All other rows only have a slack; one that would block becomes tight,
 * one whose price turns negative is let go. So n^2 rows that hardly ever bind cost an addition each.
 *
 * Against circling every limit is widened by up to SIMPLEX_WIDENED of itself (a 0 by less),
 * differently by row; callers scale what they read back into the true limits. Ties go to
 * the greater pivot, then by index. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "planner/lp/inverse.h"

#define SIMPLEX_WIDENED 2e-8
#define SIMPLEX_NONE    UINT16_MAX

struct simplex_column {
    uint32_t count;      /* entries; each row once, in any order */
    const uint32_t *row; /* only rows that have a limit */
    const double *use;
};

struct simplex_size {
    uint32_t rows;
    uint16_t basic_max;   /* columns with a rate at a time */
    uint32_t entries_max; /* of a column */
};

struct simplex {
    struct simplex_size max;
    /* Of rows. */
    double *limit, *slack, *price, *change;
    uint16_t *place; /* among the tight ones; SIMPLEX_NONE: not tight */
    uint32_t *mark;  /* change is of the turn with this number */
    uint32_t *touched;
    uint32_t touched_count, turn;
    /* Of places: tight rows, and columns with a rate. */
    struct inverse inverse;
    uint32_t *tight;
    uint16_t *slot; /* where the column lies */
    double *rate;
    double *down, *across, *vector;
    /* Of slots, one more than places. */
    uint32_t *slot_entries, *slot_row;
    double *slot_use;
    uint16_t *slot_free;
    uint16_t slot_free_count;
    uint32_t pivots;
    bool lost; /* numerically: what is there remains usable, but no more steps */
};

size_t simplex_bytes(const struct simplex_size *size); /* of arena */
/* limit[rows] >= 0. */
void simplex_init(struct simplex *simplex, const struct simplex_size *size, const double *limit,
                  struct arena *arena);

/* What a rate of 1 for the column gains: 1 less its price. Worth entering when it is > 0. */
double simplex_gain(const struct simplex *simplex, const struct simplex_column *column);

/* The column gets a rate, as much as possible. Returns the slot where it lies from now on
 * until another column takes that slot (SIMPLEX_NONE: it gains nothing, or there is no room).
 * It may push out another column. */
uint16_t simplex_enter(struct simplex *simplex, const struct simplex_column *column);
/* Tight rows with negative prices are let go, the worst first, until there are none or after that many
 * steps. Returns the steps taken. */
uint32_t simplex_settle(struct simplex *simplex, uint32_t steps_max);

/* Of the columns that have a rate, by place: simplex->inverse.size of them. */
double simplex_value(const struct simplex *simplex);
