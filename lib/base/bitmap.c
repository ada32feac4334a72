#include "base/bitmap.h"

#include <string.h>

static uint64_t next(const uint64_t *words, uint64_t bits, uint64_t from, uint64_t flip)
{
    if (from >= bits)
        return bits;
    uint64_t index = from / 64;
    uint64_t word = (words[index] ^ flip) & (~0ULL << (from % 64));
    while (word == 0) {
        index++;
        if (index >= BITMAP_WORDS(bits))
            return bits;
        word = words[index] ^ flip;
    }
    uint64_t bit = index * 64 + (uint64_t)__builtin_ctzll(word);
    return bit < bits ? bit : bits;
}

uint64_t bitmap_next_set(const uint64_t *words, uint64_t bits, uint64_t from)
{
    return next(words, bits, from, 0);
}

uint64_t bitmap_next_clear(const uint64_t *words, uint64_t bits, uint64_t from)
{
    return next(words, bits, from, ~0ULL);
}

void bitmap_fill(uint64_t *words, uint64_t bits)
{
    memset(words, 0xff, bits / 64 * sizeof(*words));
    if (bits % 64 != 0)
        words[bits / 64] = (1ULL << (bits % 64)) - 1;
}

uint64_t bitmap_count(const uint64_t *words, uint64_t bits)
{
    uint64_t count = 0;
    for (uint64_t index = 0; index < bits / 64; index++)
        count += (uint64_t)__builtin_popcountll(words[index]);
    if (bits % 64 != 0)
        count += (uint64_t)__builtin_popcountll(words[bits / 64] & ((1ULL << (bits % 64)) - 1));
    return count;
}
