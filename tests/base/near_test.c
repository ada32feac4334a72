/* What is near to a word with a slip in it, and what is not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/near.h"

static void near_edits__slips(void **state)
{
    (void)state;
    static const struct {
        const char *a, *b;
        unsigned edits;
    } rows[] = {{"ports", "ports", 0},
                {"port", "ports", 1},
                {"bufer", "buffer", 1},
                {"buffer", "bufer", 1},
                {"vaddress", "address", 1},
                {"uplonk", "uplink", 1},
                {"pots", "post", 1},
                {"stroe", "store", 1},
                {"ecn", "owd", 3},
                {"", "ab", 2},
                {"ab", "", 2},
                {"abc", "", 3},
                {"abcd", "wxyz", 3},
                {"a", "abcdefgh", 3},
                {"abcdefghabcdefghabcdefghabcdefgh", "abcdefghabcdefghabcdefghabcdefg", 1},
                {"abcdefghabcdefghabcdefghabcdefghi", "abcdefghabcdefghabcdefghabcdefghi", 3}};
    for (unsigned row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
        assert_int_equal(near_edits(rows[row].a, rows[row].b), rows[row].edits);
        assert_int_equal(near_edits(rows[row].b, rows[row].a), rows[row].edits);
    }
}

/* The nearest one, if there is one; short words must be all but right. */
static void near_look__best(void **state)
{
    (void)state;
    static const struct {
        const char *written, *known[4], *best;
    } rows[] = {{"port", {"ports", "peers", "node"}, "ports"},
                {"rat", {"rate_down", "rate"}, "rate"},
                {"naem", {"name", "node"}, "name"},
                {"los", {"loss", "cross"}, "loss"},
                {"q", {"p", "r"}, NULL},
                {"base", {"name"}, NULL},
                {"colour", {"control", "lcores"}, NULL},
                {"size", {"sizes", "sized"}, NULL},
                {"size", {"seize", "sizes", "siez"}, NULL},
                {"trres", {"tree", "trees", "tres"}, NULL},
                {"tree", {"trees"}, "trees"},
                {"", {"ab", "p"}, NULL}};
    for (unsigned row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
        struct near near = {0};
        for (unsigned word = 0; word < 4 && rows[row].known[word] != NULL; word++)
            near_look(&near, rows[row].written, rows[row].known[word]);
        if (rows[row].best == NULL)
            assert_null(near.word);
        else
            assert_string_equal(near.word, rows[row].best);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(near_edits__slips),
                                       cmocka_unit_test(near_look__best)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
