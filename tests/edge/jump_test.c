/* What the jump meter makes of neighbours: queues leave no trace, jitter does, order does not matter. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/rng.h"
#include "edge/jump.h"

static struct jump jump;

static void on_packet(struct jump *of, uint32_t number, uint32_t stamp, uint32_t owd)
{
    jump_on_packet(of, number, stamp, owd, 0);
}

static void jump__pairs(void **state)
{
    (void)state;
    static const struct {
        uint32_t number, stamp, owd, next_number, next_stamp, next_owd, peak;
    } cases[] = {
        {10, 100, 5000, 11, 110, 5300, 290},             /* came 300 later, 10 after */
        {10, 100, 5300, 11, 110, 5000, 290},             /* … or sooner: overtook */
        {11, 110, 5000, 10, 100, 5300, 290},             /* the same out of order */
        {10, 100, 5000, 11, 600, 5400, 0},               /* a queue fills within the gap */
        {10, 100, 5000, 11, 600, 4500, 0},               /* … or drains */
        {10, 100, 5000, 12, 120, 9000, 0},               /* no neighbours */
        {UINT32_MAX, 100, 5000, 0, 110, 5300, 290},      /* numbers wrap */
        {10, UINT32_MAX - 4, UINT32_MAX, 11, 5, 99, 90}, /* stamps and delays wrap */
        {10, 100, 5000, 10 + JUMP_RING, 110, 5300, 0},   /* the same slot */
    };
    for (size_t index = 0; index < sizeof(cases) / sizeof(cases[0]); index++) {
        jump_init(&jump);
        on_packet(&jump, cases[index].number, cases[index].stamp, cases[index].owd);
        on_packet(&jump, cases[index].next_number, cases[index].next_stamp, cases[index].next_owd);
        assert_int_equal(jump_read_peak(&jump), cases[index].peak);
        assert_int_equal(jump_read_peak(&jump), 0);
    }
}

/* A packet that stood at the receiver before it was taken was under way for less than its OWD says. */
static void jump__waits_are_none(void **state)
{
    (void)state;
    static const struct {
        uint32_t owd, wait, next_owd, next_wait, peak;
    } cases[] = {
        {5000, 0, 5300, 0, 290},   /* 300 later, 10 after */
        {5000, 0, 5300, 300, 0},   /* … which it may have stood there */
        {5000, 0, 5300, 100, 190}, /* … or a part of it */
        {5000, 300, 5300, 0, 290}, /* the sooner one waited: by even more */
        {5300, 300, 5000, 0, 0},   /* the later one came first */
        {5300, 0, 5000, 300, 290}, {5000, UINT32_MAX, 9000, UINT32_MAX, 0},
    };
    for (size_t index = 0; index < sizeof(cases) / sizeof(cases[0]); index++)
        for (unsigned turned = 0; turned < 2; turned++) {
            jump_init(&jump);
            if (turned != 0)
                jump_on_packet(&jump, 11, 110, cases[index].next_owd, cases[index].next_wait);
            jump_on_packet(&jump, 10, 100, cases[index].owd, cases[index].wait);
            if (turned == 0)
                jump_on_packet(&jump, 11, 110, cases[index].next_owd, cases[index].next_wait);
            assert_int_equal(jump_read_peak(&jump), cases[index].peak);
        }
}

static void jump__fresh_ring_matches_nothing(void **state)
{
    (void)state;
    for (uint64_t span = 1; span < 1 << 24; span *= 8) {
        jump_init(&jump);
        jump_set_span(&jump, span);
        for (uint32_t turn = 0; turn < 4; turn++)
            for (uint32_t number = turn << 30; number < (turn << 30) + 4 * JUMP_RING; number += 2)
                on_packet(&jump, number << jump.shift, 0, 1000000000);
        assert_int_equal(jump_read_peak(&jump), 0);
    }
}

/* At every rate the neighbours of one span are found although they come `late` numbers apart. */
static void jump__spans_what_was_asked_for(void **state)
{
    (void)state;
    for (uint32_t span = 16; span <= 1 << 20; span *= 4) {
        jump_init(&jump);
        jump_set_span(&jump, span);
        uint32_t late = span - span / 8;
        for (uint32_t number = 0; number < 8 * span; number++) {
            if (number % 2 == 0)
                on_packet(&jump, number, number, 7000);
            if (number >= late && (number - late) % 2 == 1)
                on_packet(&jump, number - late, number - late, 7501);
        }
        assert_int_equal(jump_read_peak(&jump), 500);
    }
}

static void jump__uniform_jitter_is_measured(void **state)
{
    (void)state;
    struct rng rng;
    rng_init(&rng, 3);
    jump_init(&jump);
    jump_set_span(&jump, 100000);
    for (uint32_t number = 0; number < 1000000; number++)
        on_packet(&jump, number, number * 77, 40000000 + (uint32_t)rng_below(&rng, 625001));
    assert_in_range(jump_read_peak(&jump), 590000, 625000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(jump__pairs),
        cmocka_unit_test(jump__waits_are_none),
        cmocka_unit_test(jump__fresh_ring_matches_nothing),
        cmocka_unit_test(jump__spans_what_was_asked_for),
        cmocka_unit_test(jump__uniform_jitter_is_measured),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
