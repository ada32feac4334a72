/* Which initiations cannot be recorded ones. */
#include "node/peer/fresh.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

static void fresh_name__never_zero(void **state)
{
    (void)state;
    static const uint8_t zeros[SEAL_KEY_BYTES], ephemeral[SEAL_KEY_BYTES] = {1, 2, 3, 4, 5};
    assert_int_equal(fresh_name(ephemeral), 0x01020304);
    assert_int_equal(fresh_name(zeros), 1);
}

static void fresh_names_own__for_ten_seconds(void **state)
{
    (void)state;
    struct freshness freshness = {0};
    assert_false(fresh_names_own(&freshness, 0, 1));
    fresh_note_own(&freshness, 7, NS_PER_S);
    assert_true(fresh_names_own(&freshness, 7, NS_PER_S));
    assert_true(fresh_names_own(&freshness, 7, NS_PER_S + FRESH_NS - 1));
    assert_false(fresh_names_own(&freshness, 7, NS_PER_S + FRESH_NS));
    assert_false(fresh_names_own(&freshness, 8, NS_PER_S));
    for (uint32_t name = 10; name < 10 + FRESH_OWN - 1; name++)
        fresh_note_own(&freshness, name, NS_PER_S);
    assert_true(fresh_names_own(&freshness, 7, NS_PER_S));
    fresh_note_own(&freshness, 20, NS_PER_S);
    assert_false(fresh_names_own(&freshness, 7, NS_PER_S));
}

/* The newest is told; one that came before is not, as it may be sent by anybody. */
static void fresh_on_came__the_newest_is_new(void **state)
{
    (void)state;
    struct freshness freshness = {0};
    assert_int_equal(freshness.newest, 0);
    for (uint32_t name = 1; name <= FRESH_CAME; name++) {
        assert_true(fresh_on_came(&freshness, name, false, 1));
        assert_int_equal(freshness.newest, name);
    }
    for (uint32_t name = 1; name <= FRESH_CAME; name++)
        assert_false(fresh_on_came(&freshness, name, false, 1));
    assert_int_equal(freshness.newest, FRESH_CAME);
    assert_true(fresh_on_came(&freshness, 5000, false, 1));
    assert_int_equal(freshness.newest, 5000);
    assert_true(fresh_on_came(&freshness, 1, false, 1)); /* that long ago that it is forgotten */
}

static void fresh_on_came__old_ones_do_not_hide_a_fresh_one(void **state)
{
    (void)state;
    struct freshness freshness = {0};
    fresh_on_came(&freshness, 1, false, 1);
    fresh_on_came(&freshness, 2, false, 1);
    assert_false(fresh_on_came(&freshness, 1, true, 1)); /* it came before, and names what was made since */
    assert_int_equal(freshness.newest, 1);
    fresh_on_came(&freshness, 3, false, 2);
    assert_int_equal(freshness.newest, 1);
    fresh_on_came(&freshness, 4, true, 2);
    assert_int_equal(freshness.newest, 4);
    fresh_on_came(&freshness, 5, false, FRESH_NS + 2);
    assert_int_equal(freshness.newest, 5);
}

static void fresh_is_computed__until_forgotten(void **state)
{
    (void)state;
    struct freshness freshness = {0};
    for (uint32_t name = 1; name <= FRESH_CAME; name++) {
        fresh_on_came(&freshness, name, false, 1);
        assert_false(fresh_is_computed(&freshness, name));
        fresh_note_computed(&freshness, name);
    }
    for (uint32_t name = 1; name <= FRESH_CAME; name++)
        assert_true(fresh_is_computed(&freshness, name));
    assert_true(fresh_on_came(&freshness, 5000, false, 1));
    assert_false(fresh_is_computed(&freshness, 5000)); /* nor is its place what it was */
    assert_false(fresh_is_computed(&freshness, 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(fresh_name__never_zero),
                                       cmocka_unit_test(fresh_names_own__for_ten_seconds),
                                       cmocka_unit_test(fresh_on_came__the_newest_is_new),
                                       cmocka_unit_test(fresh_on_came__old_ones_do_not_hide_a_fresh_one),
                                       cmocka_unit_test(fresh_is_computed__until_forgotten)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
