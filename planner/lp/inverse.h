/* The inverse of a small dense matrix that gains, loses and changes single rows and columns: each change in
 * O(size^2), built anew in O(size^3). The matrix itself is not kept.
 *
 * Vectors that callers bring: `down` = inverse * v for a column v, `across` = a * inverse for a row a. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"

struct inverse {
    uint16_t size, size_max;
    /* [column * size_max + row]: columns and rows of the matrix, whose inverse has them swapped */
    double *cell;
    double *work;
};

size_t inverse_bytes(uint16_t size_max);                                            /* of arena */
void inverse_init(struct inverse *inverse, uint16_t size_max, struct arena *arena); /* of size 0 */

void inverse_down(const struct inverse *inverse, const double *column, double *down);
void inverse_across(const struct inverse *inverse, const double *row, double *across);

/* The column at `place` becomes the one that `down` belongs to; down[place] is not 0. */
void inverse_replace_column(struct inverse *inverse, uint16_t place, const double *down);
/* The row at `place` becomes the one that `across` belongs to; across[place] is not 0. */
void inverse_replace_row(struct inverse *inverse, uint16_t place, const double *across);
/* A column and a row more, at the end. `pivot`: their common cell less row * down; not 0. */
void inverse_grow(struct inverse *inverse, const double *down, const double *across, double pivot);
/* A column and a row go; the last ones take their places. cell[column][row] is not 0. */
void inverse_shrink(struct inverse *inverse, uint16_t column, uint16_t row);
/* Of inverse->work, which holds the matrix: [row * size_max + column]. False: it is
 * singular, and nothing is changed. */
bool inverse_build(struct inverse *inverse, uint16_t size);
