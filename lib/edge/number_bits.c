#include "edge/number_bits.h"

#include <string.h>

#include "base/check.h"

void number_bits_init(struct number_bits *bits, uint32_t window, struct arena *arena)
{
    CHECK(window >= NUMBER_BITS_WINDOW_MIN);
    CHECK((window & (window - 1)) == 0);
    bits->words = arena_alloc(arena, window / 8);
    bits->mask = window - 1;
    memset(bits->words, 0, window / 8);
}

void number_bits_clear_range(struct number_bits *bits, uint64_t from, uint64_t to)
{
    if (to - from > bits->mask) {
        memset(bits->words, 0, (bits->mask + 1) / 8);
        return;
    }
    while (from < to) {
        *number_bits_word(bits, from) &= ~number_bits_span(from, to);
        from = (from | 63) + 1;
    }
}

uint64_t number_bits_last_set(const struct number_bits *bits, uint64_t from, uint64_t to)
{
    uint64_t end = to;
    while (end > from) {
        uint64_t first = (end - 1) & ~63ULL;
        uint64_t word = *number_bits_word(bits, first) & number_bits_span(first > from ? first : from, end);
        if (word != 0)
            return first + 63 - (uint64_t)__builtin_clzll(word);
        end = first;
    }
    return to;
}
