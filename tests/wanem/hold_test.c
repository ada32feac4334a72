#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "app/wanem/hold.h"
#include "base/rng.h"
#include "base/units.h"

#define CAPACITY 5000

static struct hold_item items[CAPACITY];

static void put(struct hold *hold, uint64_t time_ns, uint32_t bytes)
{
    struct hold_item item = {.time_ns = time_ns, .bytes = bytes};
    hold_put(hold, &item);
}

static void hold_take__in_order_of_time_then_of_arrival(void **state)
{
    (void)state;
    struct hold hold;
    struct rng rng;
    rng_init(&rng, 7);
    hold_init(&hold, items, CAPACITY);
    for (uint32_t number = 0; number < CAPACITY; number++)
        put(&hold, rng_below(&rng, 300), number);
    assert_int_equal(hold_room(&hold), 0);
    struct hold_item previous = {0}, item;
    for (uint32_t number = 0; number < CAPACITY; number++) {
        assert_true(hold_take(&hold, TIME_NEVER - 1, &item));
        if (number > 0) {
            assert_true(item.time_ns >= previous.time_ns);
            if (item.time_ns == previous.time_ns)
                assert_true(item.bytes > previous.bytes);
        }
        previous = item;
    }
    assert_false(hold_take(&hold, TIME_NEVER - 1, &item));
    assert_int_equal(hold_room(&hold), CAPACITY);
}

static void hold_take__not_before_its_time(void **state)
{
    (void)state;
    struct hold hold;
    struct hold_item item;
    hold_init(&hold, items, 4);
    assert_true(hold_next_ns(&hold) == TIME_NEVER);
    put(&hold, 20, 2);
    put(&hold, 10, 1);
    assert_int_equal(hold_next_ns(&hold), 10);
    assert_false(hold_take(&hold, 9, &item));
    assert_true(hold_take(&hold, 10, &item));
    assert_int_equal(item.bytes, 1);
    assert_false(hold_take(&hold, 19, &item));
    assert_int_equal(hold_next_ns(&hold), 20);
}

/* Puts and takes mixed, against the plain rule: never something later than what stays. */
static void hold_take__mixed_with_puts(void **state)
{
    (void)state;
    struct hold hold;
    struct rng rng;
    rng_init(&rng, 3);
    hold_init(&hold, items, 64);
    for (uint64_t now_ns = 0; now_ns < 20000; now_ns++) {
        struct hold_item item;
        if (hold_room(&hold) > 0)
            put(&hold, now_ns + rng_below(&rng, 40), 0);
        uint64_t next_ns = hold_next_ns(&hold);
        if (hold_take(&hold, now_ns, &item)) {
            assert_int_equal(item.time_ns, next_ns);
            assert_true(hold_next_ns(&hold) >= next_ns);
        } else {
            assert_true(next_ns > now_ns);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hold_take__in_order_of_time_then_of_arrival),
        cmocka_unit_test(hold_take__not_before_its_time),
        cmocka_unit_test(hold_take__mixed_with_puts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
