/* Each number of the control space is taken once, in any order within the window. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/rng.h"
#include "base/units.h"
#include "edge/replay.h"

static struct replay replay;
static void *memory;

static void begin(void)
{
    struct arena arena;
    memory = aligned_alloc(ARENA_ALIGN, replay_bytes());
    assert_non_null(memory);
    arena_init(&arena, memory, replay_bytes());
    replay_init(&replay, &arena);
}

static bool take(uint64_t number)
{
    return replay_take(&replay, number);
}

static void replay__table(void **state)
{
    (void)state;
    static const struct {
        uint64_t number;
        bool taken;
    } rows[] = {
        {5, true},
        {5, false},
        {0, true}, /* late, and not known */
        {0, false},
        {REPLAY_WINDOW + 4, true}, /* 5 is the oldest of the window now */
        {4, false},
        {5, false},
        {6, true},
        {3 * REPLAY_WINDOW, true}, /* all before is out of the window */
        {2 * REPLAY_WINDOW, false},
        {2 * REPLAY_WINDOW + 1, true},
        {1ULL << 40, true},
        {(1ULL << 40) - 1, true},
        {(1ULL << 40) - 1, false},
    };
    begin();
    for (size_t row = 0; row < sizeof(rows) / sizeof(rows[0]); row++)
        if (take(rows[row].number) != rows[row].taken)
            fail_msg("row %zu", row);
    replay_reset(&replay);
    assert_true(take(5));
    assert_true(take(0));
    free(memory);
}

/* Against a list of all that was taken, over jumps of all lengths. */
static void replay__random(void **state)
{
    (void)state;
    static bool taken[20 * REPLAY_WINDOW];
    struct rng rng;
    uint64_t end = 0;
    begin();
    rng_init(&rng, 7);
    for (unsigned turn = 0; turn < 400000; turn++) {
        uint64_t span = 1 + rng_below(&rng, 2 * REPLAY_WINDOW >> rng_below(&rng, 16));
        uint64_t number = rng_below(&rng, 4) != 0 ? end + rng_below(&rng, 3) : end - MIN(end, span);
        if (turn % 997 == 0)
            number = end + span;
        if (number >= sizeof(taken))
            break;
        bool is_new = !taken[number] && number + REPLAY_WINDOW >= end;
        assert_int_equal(take(number), is_new);
        assert_int_equal(replay_expand(&replay, (uint32_t)number), number);
        taken[number] |= is_new;
        end = MAX(end, number + 1);
    }
    assert_true(end > 10 * REPLAY_WINDOW);
    free(memory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(replay__table),
        cmocka_unit_test(replay__random),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
