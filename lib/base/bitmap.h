/* Bitmaps over uint64_t words; bit i is bit i % 64 of word i / 64. The caller owns the words. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define BITMAP_WORDS(bits) (((uint64_t)(bits) + 63) / 64)

static inline bool bitmap_test(const uint64_t *words, uint64_t bit)
{
    return words[bit / 64] >> (bit % 64) & 1;
}

static inline void bitmap_set(uint64_t *words, uint64_t bit)
{
    words[bit / 64] |= 1ULL << (bit % 64);
}

static inline void bitmap_clear(uint64_t *words, uint64_t bit)
{
    words[bit / 64] &= ~(1ULL << (bit % 64));
}

/* First set bit at or after `from`, or `bits` when there is none. */
uint64_t bitmap_next_set(const uint64_t *words, uint64_t bits, uint64_t from);

/* First clear bit at or after `from`, or `bits` when there is none. */
uint64_t bitmap_next_clear(const uint64_t *words, uint64_t bits, uint64_t from);

/* Sets bits 0 … bits-1 and clears the rest of the last word. */
void bitmap_fill(uint64_t *words, uint64_t bits);

/* Number of set bits among the first `bits`. */
uint64_t bitmap_count(const uint64_t *words, uint64_t bits);
