#include "vectors.h"

#include <string.h>

#include "base/check.h"

void vectors_open(struct vectors *vectors, const char *folder, const char *name)
{
    char path[512];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    vectors->file = fopen(path, "r");
    CHECK(vectors->file != NULL);
    CHECK(vectors_next(vectors)); /* the names of the columns */
}

bool vectors_next(struct vectors *vectors)
{
    do {
        if (fgets(vectors->line, sizeof(vectors->line), vectors->file) == NULL) {
            fclose(vectors->file);
            return false;
        }
    } while (vectors->line[0] == '#');
    vectors->line[strcspn(vectors->line, "\n")] = '\0';
    char *rest = vectors->line;
    for (size_t column = 0; column < VECTOR_COLUMNS_MAX; column++)
        vectors->columns[column] = rest != NULL ? strsep(&rest, ",") : NULL;
    CHECK(rest == NULL);
    return true;
}

size_t vectors_bytes(const struct vectors *vectors, size_t column, uint8_t out[VECTOR_BYTES_MAX])
{
    const char *text = vectors->columns[column];
    CHECK(text != NULL && strlen(text) % 2 == 0 && strlen(text) / 2 <= VECTOR_BYTES_MAX);
    size_t count = strlen(text) / 2;
    for (size_t index = 0; index < count; index++) {
        unsigned byte;
        CHECK(sscanf(text + 2 * index, "%2x", &byte) == 1);
        out[index] = (uint8_t)byte;
    }
    return count;
}
