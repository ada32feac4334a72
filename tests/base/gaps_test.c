/* What lasts is said at once, then ever more rarely; what begins again, at once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/gaps.h"

static unsigned said_within(struct gaps *gaps, uint64_t from_s, uint64_t until_s)
{
    unsigned said = 0;
    for (uint64_t second = from_s; second < until_s; second++)
        said += gaps_say(gaps, second * NS_PER_S);
    return said;
}

static void gaps__grow(void **state)
{
    (void)state;
    static const struct {
        uint64_t from_s, until_s;
        unsigned said;
    } rows[] = {{0, 1, 1},   {1, 10, 0},    {10, 11, 1},          {11, 30, 0},
                {30, 31, 1}, {31, 3600, 6}, {3600, 24 * 3600, 23}};
    struct gaps gaps = {0};
    for (unsigned row = 0; row < sizeof(rows) / sizeof(rows[0]); row++)
        assert_int_equal(said_within(&gaps, rows[row].from_s, rows[row].until_s), rows[row].said);
}

static void gaps__end(void **state)
{
    (void)state;
    struct gaps gaps = {0};
    assert_int_equal(said_within(&gaps, 0, 9), 1);
    gaps_end(&gaps);
    assert_int_equal(said_within(&gaps, 9, 19), 1);
    assert_int_equal(said_within(&gaps, 19, 20), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(gaps__grow), cmocka_unit_test(gaps__end)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
