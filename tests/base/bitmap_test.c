#include "include.h"

#include <string.h>

#include "base/bitmap.h"
#include "base/rng.h"

#define BITS_MAX 200

static uint64_t next_by_hand(const uint64_t *words, uint64_t bits, uint64_t from, bool set)
{
    for (uint64_t bit = from; bit < bits; bit++)
        if (bitmap_test(words, bit) == set)
            return bit;
    return bits;
}

/* Every length and start; bits beyond the length are noise and must not be seen. */
static void next__same_as_bit_by_bit(void **state)
{
    struct rng rng;
    (void)state;
    rng_init(&rng, 1);
    for (uint64_t bits = 0; bits <= BITS_MAX; bits++) {
        uint64_t words[BITMAP_WORDS(BITS_MAX)];
        unsigned density = bits % 3;
        for (unsigned index = 0; index < ROWS(words); index++) {
            words[index] = rng_next(&rng);
            if (density == 1)
                words[index] &= rng_next(&rng) & rng_next(&rng) & rng_next(&rng) & rng_next(&rng);
            if (density == 2)
                words[index] |= rng_next(&rng) | rng_next(&rng) | rng_next(&rng) | rng_next(&rng);
        }
        uint64_t count = 0;
        for (uint64_t bit = 0; bit < bits; bit++)
            count += bitmap_test(words, bit);
        assert_int_equal(bitmap_count(words, bits), count);
        for (uint64_t from = 0; from <= bits + 1; from++) {
            assert_int_equal(bitmap_next_set(words, bits, from), next_by_hand(words, bits, from, true));
            assert_int_equal(bitmap_next_clear(words, bits, from), next_by_hand(words, bits, from, false));
        }
    }
}

static void set_clear__touch_one_bit(void **state)
{
    (void)state;
    for (uint64_t bit = 0; bit < 128; bit++) {
        uint64_t words[2] = {0};
        bitmap_set(words, bit);
        assert_true(bitmap_test(words, bit));
        assert_int_equal(bitmap_count(words, 128), 1);
        bitmap_fill(words, 128);
        bitmap_clear(words, bit);
        assert_false(bitmap_test(words, bit));
        assert_int_equal(bitmap_count(words, 128), 127);
    }
}

static void fill__clears_the_rest_of_the_last_word_only(void **state)
{
    (void)state;
    for (uint64_t bits = 0; bits <= BITS_MAX; bits++) {
        uint64_t words[BITMAP_WORDS(BITS_MAX) + 1];
        memset(words, 0xaa, sizeof(words));
        bitmap_fill(words, bits);
        uint64_t whole = BITMAP_WORDS(bits);
        assert_int_equal(bitmap_count(words, whole * 64), bits);
        assert_int_equal(bitmap_next_clear(words, whole * 64, 0), bits);
        for (uint64_t index = whole; index < ROWS(words); index++)
            assert_true(words[index] == 0xaaaaaaaaaaaaaaaa);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(next__same_as_bit_by_bit),
        cmocka_unit_test(set_clear__touch_one_bit),
        cmocka_unit_test(fill__clears_the_rest_of_the_last_word_only),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
