/* When it is said that somebody else claims what is this node's. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include "app/sluice/claim.h"

#define AT(second) ((100 + (second)) * NS_PER_S)

/* A real holder is told although a spoofed claim goes on, and that one again, but no more than a line each 10 s. */
static void claim_say__rows(void **state)
{
    static const struct {
        uint64_t second;
        const char *text;
        bool say;
    } rows[] = {
        {0, "spoofed", true},   {1, "spoofed", false}, {2, "real", false},     {10, "real", true},
        {11, "spoofed", false}, {20, "spoofed", true}, {29, "spoofed", false}, {30, "spoofed", true},
        {31, "spoofed", false}, {40, "real", true},    {50, "real", true},     {60, "real", false},
        {70, "real", true},     {100, "real", false},
    };
    (void)state;
    struct claim claim = {.said = ""};
    for (unsigned row = 0; row < sizeof(rows) / sizeof(rows[0]); row++)
        if (claim_say(&claim, rows[row].text, AT(rows[row].second)) != rows[row].say)
            fail_msg("row %u", row);
}

static void claim_over__forgets(void **state)
{
    (void)state;
    struct claim claim = {.said = ""};
    assert_false(claim_over(&claim, AT(0)));
    assert_true(claim_say(&claim, "a", AT(0)));
    assert_false(claim_say(&claim, "a", AT(5)));
    assert_false(claim_over(&claim, AT(65) - 1));
    assert_true(claim_over(&claim, AT(65)));
    assert_false(claim_over(&claim, AT(66)));
    assert_true(claim_say(&claim, "a", AT(66)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(claim_say__rows),
        cmocka_unit_test(claim_over__forgets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
