/* Reads golden.txt: lines "name = hex", comments start with #. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define GOLDEN_BYTES_MAX 2048

struct golden {
    char name[64];
    uint8_t bytes[GOLDEN_BYTES_MAX];
    size_t length;
};

/* The next vector; false at the end of the file. A malformed line is a CHECK. */
bool golden_next(FILE *file, struct golden *golden);

/* True for vectors that are Ethernet frames, not datagrams. */
bool golden_is_frame(const struct golden *golden);
