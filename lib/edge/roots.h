/* Integer roots, rounded down. */
#pragma once

#include <stdint.h>

static inline uint64_t square_root(uint64_t value)
{
    uint64_t root = 0;
    for (uint64_t bit = 1ULL << 31; bit != 0; bit >>= 1)
        if ((root + bit) * (root + bit) <= value)
            root += bit;
    return root;
}

/* Of a value below 2^62. */
static inline uint64_t cube_root(uint64_t value)
{
    uint64_t root = 0;
    for (uint64_t bit = 1ULL << 20; bit != 0; bit >>= 1) {
        uint64_t next = root + bit;
        if (next * next * next <= value)
            root = next;
    }
    return root;
}
