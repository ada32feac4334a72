/* One bit per packet number over a sliding window: number n lives in bit n % window, so that two numbers of
 * the same window never share one. Ranges are [from, to) with to - from <= window. Scans go by words: a
 * stretch of 64 equal bits costs one step. The owner keeps the bits outside its window clear. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"

#define NUMBER_BITS_WINDOW_MIN 64

struct number_bits {
    uint64_t *words;
    uint64_t mask; /* window - 1; the window is a power of two >= NUMBER_BITS_WINDOW_MIN */
};

static inline size_t number_bits_bytes(uint32_t window)
{
    return arena_need(window / 8);
}

/* All clear. */
void number_bits_init(struct number_bits *bits, uint32_t window, struct arena *arena);
void number_bits_clear_range(struct number_bits *bits, uint64_t from, uint64_t to);
/* The largest set number in [from, to), or `to` when there is none. */
uint64_t number_bits_last_set(const struct number_bits *bits, uint64_t from, uint64_t to);

static inline uint64_t *number_bits_word(const struct number_bits *bits, uint64_t number)
{
    return &bits->words[(number & bits->mask) / 64];
}

static inline bool number_bits_test(const struct number_bits *bits, uint64_t number)
{
    return *number_bits_word(bits, number) >> (number % 64) & 1;
}

static inline void number_bits_set(struct number_bits *bits, uint64_t number)
{
    *number_bits_word(bits, number) |= 1ULL << (number % 64);
}

static inline void number_bits_clear(struct number_bits *bits, uint64_t number)
{
    *number_bits_word(bits, number) &= ~(1ULL << (number % 64));
}

/* Of the word that holds `from`: the bits that belong to [from, to). */
static inline uint64_t number_bits_span(uint64_t from, uint64_t to)
{
    uint64_t word_end = (from | 63) + 1;
    uint64_t span = ~0ULL << (from % 64);
    return to < word_end ? span & ~(~0ULL << (to % 64)) : span;
}

/* The first number in [from, to) whose bit differs from `flip` (0: set, ~0: clear), or `to`. */
static inline uint64_t number_bits_next(const struct number_bits *bits, uint64_t from, uint64_t to,
                                        uint64_t flip)
{
    while (from < to) {
        uint64_t word = (*number_bits_word(bits, from) ^ flip) & (~0ULL << (from % 64));
        if (word != 0) {
            uint64_t number = (from & ~63ULL) + (uint64_t)__builtin_ctzll(word);
            return number < to ? number : to;
        }
        from = (from | 63) + 1;
    }
    return to;
}

static inline uint64_t number_bits_next_set(const struct number_bits *bits, uint64_t from, uint64_t to)
{
    return number_bits_next(bits, from, to, 0);
}

static inline uint64_t number_bits_next_clear(const struct number_bits *bits, uint64_t from, uint64_t to)
{
    return number_bits_next(bits, from, to, ~0ULL);
}
