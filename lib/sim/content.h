/* Content of a simulated source file: a function of (seed, offset), so that no byte of it need be kept; of a
 * directory only its index is. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct content {
    uint64_t seed;
    uint64_t size_bytes;
    bool sparse;          /* all zeros */
    const uint8_t *index; /* a directory's: the first bytes, in place of the function's; the owner's */
    uint64_t index_bytes;
    /* Sparse, and so is the memory that it is read into and written from, whatever was done there. */
    bool shared;
};

void content_fill(const struct content *content, uint64_t offset, uint8_t *out, uint32_t length);
bool content_equal(const struct content *content, uint64_t offset, const uint8_t *data, uint32_t length);
