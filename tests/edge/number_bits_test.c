#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/rng.h"
#include "edge/limit.h"
#include "edge/number_bits.h"

#define WINDOW 256

static _Alignas(ARENA_ALIGN) uint8_t memory[4096];

static void bits_init(struct number_bits *bits)
{
    struct arena arena;
    arena_init(&arena, memory, sizeof(memory));
    number_bits_init(bits, WINDOW, &arena);
    assert_int_equal(arena.used, number_bits_bytes(WINDOW));
}

/* Against a plain walk, over windows that wrap and ranges of all lengths. */
static void number_bits__scans_agree_with_a_walk(void **state)
{
    (void)state;
    struct number_bits bits;
    struct rng rng;
    bits_init(&bits);
    rng_init(&rng, 3);
    for (int turn = 0; turn < 20000; turn++) {
        uint64_t start = rng_below(&rng, 5) == 0 ? 0 : rng_below(&rng, 1ULL << 40);
        uint64_t density = rng_below(&rng, 3) == 0 ? 1000000000 : rng_below(&rng, 1000000001);
        number_bits_clear_range(&bits, 0, WINDOW);
        for (uint64_t number = start; number < start + WINDOW; number++)
            if (rng_chance_ppb(&rng, density))
                number_bits_set(&bits, number);
        uint64_t from = start + rng_below(&rng, WINDOW);
        uint64_t to = from + rng_below(&rng, start + WINDOW - from + 1);
        uint64_t set = to, clear = to, last = to;
        for (uint64_t number = from; number < to; number++) {
            if (number_bits_test(&bits, number)) {
                set = set == to ? number : set;
                last = number;
            } else {
                clear = clear == to ? number : clear;
            }
        }
        assert_int_equal(number_bits_next_set(&bits, from, to), set);
        assert_int_equal(number_bits_next_clear(&bits, from, to), clear);
        assert_int_equal(number_bits_last_set(&bits, from, to), last);
    }
}

static void number_bits__clear_range_spares_the_rest(void **state)
{
    (void)state;
    struct number_bits bits;
    struct rng rng;
    bits_init(&bits);
    rng_init(&rng, 4);
    for (int turn = 0; turn < 5000; turn++) {
        uint64_t start = rng_below(&rng, 1ULL << 40);
        for (uint64_t number = start; number < start + WINDOW; number++)
            number_bits_set(&bits, number);
        uint64_t from = start + rng_below(&rng, WINDOW);
        uint64_t to = from + rng_below(&rng, start + WINDOW - from + 1);
        number_bits_clear_range(&bits, from, to);
        for (uint64_t number = start; number < start + WINDOW; number++)
            assert_int_equal(number_bits_test(&bits, number), number < from || number >= to);
    }
    number_bits_clear_range(&bits, 10, 10 + 100 * WINDOW);
    assert_int_equal(number_bits_next_set(&bits, 0, WINDOW), WINDOW);
}

static void edge_limit__names_every_row(void **state)
{
    (void)state;
    assert_string_equal(edge_limit_name(EDGE_LIMIT_credit), "credit");
    for (unsigned limit = 0; limit < EDGE_LIMIT_COUNT; limit++)
        assert_string_not_equal(edge_limit_name(limit), "unknown");
    assert_string_equal(edge_limit_name(EDGE_LIMIT_COUNT), "unknown");
    assert_string_equal(edge_limit_name(255), "unknown");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(number_bits__scans_agree_with_a_walk),
        cmocka_unit_test(number_bits__clear_range_spares_the_rest),
        cmocka_unit_test(edge_limit__names_every_row),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
