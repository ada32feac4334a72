/* Files of test vectors: lines of values in hex between commas; '#' begins a comment, the first other line names them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define VECTOR_COLUMNS_MAX 24
#define VECTOR_BYTES_MAX   512

struct vectors {
    FILE *file;
    char line[8192];
    const char *columns[VECTOR_COLUMNS_MAX];
};

/* The file of that name in the folder that the test was given. */
void vectors_open(struct vectors *vectors, const char *folder, const char *name);
/* The next line; false, and the file is closed: there is none. */
bool vectors_next(struct vectors *vectors);
/* The bytes of a column; returns their count. */
size_t vectors_bytes(const struct vectors *vectors, size_t column, uint8_t out[VECTOR_BYTES_MAX]);
