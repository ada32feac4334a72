/* Which initiations cannot be recorded ones. */
#include "node/peer/fresh.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

static bool came(struct freshness *freshness, uint32_t name, bool fresh)
{
    unsigned place;
    bool is_new = fresh_on_came(freshness, name, fresh, &place);
    assert_int_equal(freshness->came[place], name);
    return is_new;
}

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
        assert_true(came(&freshness, name, false));
        assert_int_equal(freshness.newest, name);
    }
    for (uint32_t name = 1; name <= FRESH_CAME; name++)
        assert_false(came(&freshness, name, false));
    assert_int_equal(freshness.newest, FRESH_CAME);
    assert_true(came(&freshness, 5000, false));
    assert_int_equal(freshness.newest, 5000);
    assert_true(came(&freshness, 1, false)); /* that long ago that it is forgotten */
}

static void fresh_on_came__a_fresh_one_is_the_newest_again(void **state)
{
    (void)state;
    struct freshness freshness = {0};
    came(&freshness, 1, false);
    came(&freshness, 2, false);
    assert_false(came(&freshness, 1, true)); /* it names what was made since */
    assert_int_equal(freshness.newest, 1);
    assert_true(came(&freshness, 3, false)); /* it may be of a new start, which can name nothing yet */
    assert_int_equal(freshness.newest, 3);
}

static void fresh_is_computed__until_forgotten(void **state)
{
    (void)state;
    struct freshness freshness = {0};
    unsigned place;
    for (unsigned round = 0; round < 2; round++)
        for (uint32_t name = 1; name <= FRESH_CAME; name++) {
            assert_int_equal(fresh_on_came(&freshness, name, false, &place), round == 0);
            assert_int_equal(fresh_is_computed(&freshness, place), round == 1);
            fresh_note_computed(&freshness, place);
        }
    assert_true(fresh_on_came(&freshness, 5000, false, &place)); /* nor is its place what it was */
    assert_false(fresh_is_computed(&freshness, place));
    assert_true(fresh_on_came(&freshness, 1, false, &place));
    assert_false(fresh_is_computed(&freshness, place));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(fresh_name__never_zero),
                                       cmocka_unit_test(fresh_names_own__for_ten_seconds),
                                       cmocka_unit_test(fresh_on_came__the_newest_is_new),
                                       cmocka_unit_test(fresh_on_came__a_fresh_one_is_the_newest_again),
                                       cmocka_unit_test(fresh_is_computed__until_forgotten)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
