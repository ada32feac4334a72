#include "planner/lp/inverse.h"

#include <string.h>

#define PIVOT_LEAST 1e-12

size_t inverse_bytes(uint16_t size_max)
{
    return 3 * arena_need((size_t)size_max * size_max * sizeof(double));
}

void inverse_init(struct inverse *inverse, uint16_t size_max, struct arena *arena)
{
    size_t cells = (size_t)size_max * size_max;
    *inverse = (struct inverse){.size_max = size_max,
                                .cell = arena_alloc(arena, cells * sizeof(double)),
                                .work = arena_alloc(arena, 2 * cells * sizeof(double))};
}

static double *line(const struct inverse *inverse, uint16_t column)
{
    return inverse->cell + (size_t)column * inverse->size_max;
}

/* Four sums at a time: one waits for each addition. */
static double product(const double *a, const double *b, uint16_t size)
{
    double sum[4] = {0};
    uint16_t index = 0;
    for (; index + 4 <= size; index += 4)
        for (int lane = 0; lane < 4; lane++)
            sum[lane] += a[index + lane] * b[index + lane];
    for (; index < size; index++)
        sum[0] += a[index] * b[index];
    return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

static void add_times(double *restrict target, const double *restrict source, double factor, uint16_t size)
{
    for (uint16_t index = 0; index < size; index++)
        target[index] += source[index] * factor;
}

void inverse_down(const struct inverse *inverse, const double *column, double *down)
{
    for (uint16_t index = 0; index < inverse->size; index++)
        down[index] = product(line(inverse, index), column, inverse->size);
}

void inverse_across(const struct inverse *inverse, const double *row, double *across)
{
    memset(across, 0, inverse->size * sizeof(double));
    for (uint16_t index = 0; index < inverse->size; index++)
        if (row[index] != 0)
            add_times(across, line(inverse, index), row[index], inverse->size);
}

void inverse_replace_column(struct inverse *inverse, uint16_t place, const double *down)
{
    double *pivot = line(inverse, place);
    for (uint16_t row = 0; row < inverse->size; row++)
        pivot[row] /= down[place];
    for (uint16_t column = 0; column < inverse->size; column++)
        if (column != place && down[column] != 0)
            add_times(line(inverse, column), pivot, -down[column], inverse->size);
}

void inverse_replace_row(struct inverse *inverse, uint16_t place, const double *across)
{
    for (uint16_t column = 0; column < inverse->size; column++) {
        double *cells = line(inverse, column);
        double share = cells[place] / across[place];
        if (share != 0)
            add_times(cells, across, -share, inverse->size);
        cells[place] = share;
    }
}

void inverse_grow(struct inverse *inverse, const double *down, const double *across, double pivot)
{
    uint16_t size = inverse->size++;
    CHECK(size < inverse->size_max);
    for (uint16_t column = 0; column < size; column++) {
        double *cells = line(inverse, column);
        double share = down[column] / pivot;
        if (share != 0)
            add_times(cells, across, share, size);
        cells[size] = -share;
    }
    double *last = line(inverse, size);
    for (uint16_t row = 0; row < size; row++)
        last[row] = -across[row] / pivot;
    last[size] = 1 / pivot;
}

void inverse_shrink(struct inverse *inverse, uint16_t column, uint16_t row)
{
    uint16_t last = --inverse->size;
    double *going = line(inverse, column);
    for (uint16_t other = 0; other <= last; other++) {
        double *cells = line(inverse, other);
        if (other == column)
            continue;
        if (cells[row] != 0)
            add_times(cells, going, -cells[row] / going[row], (uint16_t)(last + 1));
        cells[row] = cells[last];
    }
    if (column != last)
        memcpy(going, line(inverse, last), last * sizeof(double));
}

static void swap_lines(double *a, double *b, uint16_t size)
{
    for (uint16_t index = 0; index < size; index++) {
        double cell = a[index];
        a[index] = b[index];
        b[index] = cell;
    }
}

/* Gauss and Jordan, the largest pivot of each column, ties to the earlier row. */
static bool eliminate(double *matrix, double *unit, uint16_t size, size_t stride)
{
    for (uint16_t step = 0; step < size; step++) {
        uint16_t best = step;
        for (uint16_t row = step; row < size; row++) {
            double here = matrix[row * stride + step], there = matrix[best * stride + step];
            best = (here < 0 ? -here : here) > (there < 0 ? -there : there) ? row : best;
        }
        double pivot = matrix[best * stride + step];
        if (pivot < PIVOT_LEAST && pivot > -PIVOT_LEAST)
            return false;
        if (best != step) {
            swap_lines(matrix + best * stride, matrix + step * stride, size);
            swap_lines(unit + best * stride, unit + step * stride, size);
        }
        for (uint16_t column = 0; column < size; column++) {
            matrix[step * stride + column] /= pivot;
            unit[step * stride + column] /= pivot;
        }
        for (uint16_t row = 0; row < size; row++) {
            double factor = matrix[row * stride + step];
            if (row == step || factor == 0)
                continue;
            add_times(matrix + row * stride, matrix + step * stride, -factor, size);
            add_times(unit + row * stride, unit + step * stride, -factor, size);
        }
    }
    return true;
}

bool inverse_build(struct inverse *inverse, uint16_t size)
{
    size_t stride = inverse->size_max;
    double *unit = inverse->work + stride * stride;
    for (uint16_t row = 0; row < size; row++)
        for (uint16_t column = 0; column < size; column++)
            unit[row * stride + column] = row == column;
    if (!eliminate(inverse->work, unit, size, stride))
        return false;
    inverse->size = size;
    for (uint16_t column = 0; column < size; column++)
        memcpy(line(inverse, column), unit + column * stride, size * sizeof(double));
    return true;
}
