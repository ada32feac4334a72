#include "base/near.h"

#include <string.h>

#include "base/units.h"

static unsigned least(unsigned a, unsigned b, unsigned c)
{
    unsigned lesser = MIN(a, b);
    return MIN(lesser, c);
}

/* Damerau and Levenshtein's distance, no letter being moved twice: row by row, of which the last two are needed. */
unsigned near_edits(const char *a, const char *b)
{
    unsigned rows[3][NEAR_BYTES_MAX + 1];
    size_t rows_bytes = strnlen(a, NEAR_BYTES_MAX + 1), bytes = strnlen(b, NEAR_BYTES_MAX + 1);
    if (rows_bytes > NEAR_BYTES_MAX || bytes > NEAR_BYTES_MAX || rows_bytes > bytes + NEAR_EDITS_MAX ||
        bytes > rows_bytes + NEAR_EDITS_MAX)
        return NEAR_EDITS_MAX + 1;
    for (size_t column = 0; column <= bytes; column++)
        rows[0][column] = (unsigned)column;
    for (size_t row = 1; row <= rows_bytes; row++) {
        const unsigned *above = rows[(row - 1) % 3], *second = rows[(row + 1) % 3];
        unsigned *edits = rows[row % 3];
        edits[0] = (unsigned)row;
        for (size_t column = 1; column <= bytes; column++) {
            edits[column] = least(above[column] + 1, edits[column - 1] + 1,
                                  above[column - 1] + (a[row - 1] != b[column - 1]));
            if (row > 1 && column > 1 && a[row - 1] == b[column - 2] && a[row - 2] == b[column - 1])
                edits[column] = MIN(edits[column], second[column - 2] + 1);
        }
    }
    return MIN(rows[rows_bytes % 3][bytes], NEAR_EDITS_MAX + 1u);
}

void near_look(struct near *near, const char *written, const char *known)
{
    unsigned edits = near_edits(written, known);
    if (edits == 0 || edits > NEAR_EDITS_MAX || 2 * edits >= strlen(known))
        return;
    if (near->edits != 0 && edits == near->edits)
        near->word = NULL;
    if (near->edits != 0 && edits >= near->edits)
        return;
    *near = (struct near){.word = known, .edits = edits};
}
