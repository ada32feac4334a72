/* core/deadlines.h against a plain search, and by a table of what is due. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/rng.h"
#include "base/units.h"
#include "node/core/deadlines.h"

static void deadlines__by_a_table(void **state)
{
    (void)state;
    static const struct {
        uint64_t at_ns[4]; /* of 0, 31, 32 and 63 */
        uint64_t now_ns, due;
        uint64_t next_ns; /* after those were taken */
    } rows[] = {
        {{TIME_NEVER, TIME_NEVER, TIME_NEVER, TIME_NEVER}, TIME_NEVER, 0, TIME_NEVER},
        {{7, TIME_NEVER, TIME_NEVER, TIME_NEVER}, 6, 0, 7},
        {{7, TIME_NEVER, TIME_NEVER, TIME_NEVER}, 7, 1, TIME_NEVER},
        {{9, 8, 8, 9}, 8, 1ULL << 31 | 1ULL << 32, 9},
        {{0, 0, 0, 0}, 0, 1ULL << 31 | 1ULL << 32 | 1ULL << 63 | 1, TIME_NEVER},
        {{5, 4, 3, 2}, 4, 1ULL << 31 | 1ULL << 32 | 1ULL << 63, 5},
    };
    static const uint32_t who[4] = {0, 31, 32, 63};
    for (size_t row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
        struct deadlines deadlines;
        deadlines_init(&deadlines);
        assert_int_equal(deadlines_next_ns(&deadlines), TIME_NEVER);
        for (int index = 0; index < 4; index++)
            deadlines_set(&deadlines, who[index], rows[row].at_ns[index]);
        assert_int_equal(deadlines_take(&deadlines, rows[row].now_ns), rows[row].due);
        assert_int_equal(deadlines_next_ns(&deadlines), rows[row].next_ns);
        assert_int_equal(deadlines_take(&deadlines, rows[row].now_ns), 0);
    }
}

static void deadlines_earlier__moves_nothing_back(void **state)
{
    (void)state;
    struct deadlines deadlines;
    deadlines_init(&deadlines);
    deadlines_earlier(&deadlines, 5, 100);
    deadlines_earlier(&deadlines, 5, 200);
    assert_int_equal(deadlines_next_ns(&deadlines), 100);
    deadlines_earlier(&deadlines, 5, 50);
    assert_int_equal(deadlines_next_ns(&deadlines), 50);
    deadlines_set(&deadlines, 5, 200);
    assert_int_equal(deadlines_next_ns(&deadlines), 200);
}

/* What a search through a plain array finds. */
static uint64_t search(uint64_t at_ns[DEADLINES_MAX], uint64_t now_ns, uint64_t *next_ns)
{
    uint64_t due = 0;
    *next_ns = TIME_NEVER;
    for (uint32_t index = 0; index < DEADLINES_MAX; index++) {
        if (at_ns[index] <= now_ns) {
            due |= 1ULL << index;
            at_ns[index] = TIME_NEVER;
        }
        *next_ns = MIN(*next_ns, at_ns[index]);
    }
    return due;
}

static void deadlines__find_what_a_search_finds(void **state)
{
    (void)state;
    struct deadlines deadlines;
    struct rng rng;
    uint64_t at_ns[DEADLINES_MAX], next_ns;
    rng_init(&rng, 16);
    deadlines_init(&deadlines);
    for (uint32_t index = 0; index < DEADLINES_MAX; index++)
        at_ns[index] = TIME_NEVER;
    for (uint64_t now_ns = 0; now_ns < 20000; now_ns++) {
        for (uint64_t changes = rng_below(&rng, 4); changes > 0; changes--) {
            uint32_t index = (uint32_t)rng_below(&rng, DEADLINES_MAX);
            uint64_t then_ns = rng_below(&rng, 8) == 0 ? TIME_NEVER : now_ns + rng_below(&rng, 40);
            bool moves = rng_below(&rng, 2) == 0;
            if (moves)
                deadlines_set(&deadlines, index, then_ns);
            else
                deadlines_earlier(&deadlines, index, then_ns);
            at_ns[index] = moves ? then_ns : MIN(at_ns[index], then_ns);
        }
        assert_int_equal(deadlines_take(&deadlines, now_ns), search(at_ns, now_ns, &next_ns));
        assert_int_equal(deadlines_next_ns(&deadlines), next_ns);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(deadlines__by_a_table),
        cmocka_unit_test(deadlines_earlier__moves_nothing_back),
        cmocka_unit_test(deadlines__find_what_a_search_finds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
