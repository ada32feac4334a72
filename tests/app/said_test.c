/* What a planner says, as lines of the log. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "app/sluice/said.h"

#define START_NS (100 * NS_PER_S)

/* What comes of the pieces of a row, with the end of what it says behind them. */
static void said__table(void **state)
{
    (void)state;
    static const struct {
        const char *pieces[3], *lines;
    } cases[] = {
        {{"one\ntwo\n"}, "sluice-planner: one\nsluice-planner: two\n"},
        {{"on", "e\nt", "wo\n"}, "sluice-planner: one\nsluice-planner: two\n"},
        {{"no end"}, "sluice-planner: no end\n"},
        {{"2026-11-27T04:07:38.123Z sluice-planner: attached\n"}, "sluice-planner: attached\n"},
        {{"<3>2026-11-27T04:07:38.123Z a: job j1: done\n"}, "sluice-planner: a: job j1: done\n"},
        {{"2026-11-27 is no time\n"}, "sluice-planner: 2026-11-27 is no time\n"},
        {{"\033[2J\ra: job j1: done\n"}, "sluice-planner: ?[2J?a: job j1: done\n"},
        {{"\n\xff\n"}, "sluice-planner: \nsluice-planner: ?\n"},
    };
    for (unsigned row = 0; row < sizeof(cases) / sizeof(cases[0]); row++) {
        struct said said = {.length = 0};
        char line[SAID_LINE_BYTES], all[1024] = "";
        for (unsigned piece = 0; piece < 3; piece++)
            for (const char *text = cases[row].pieces[piece]; said_next(&said, &text, START_NS, line);)
                snprintf(all + strlen(all), sizeof(all) - strlen(all), "%s\n", line);
        while (said_end(&said, START_NS, line))
            snprintf(all + strlen(all), sizeof(all) - strlen(all), "%s\n", line);
        assert_string_equal(all, cases[row].lines);
    }
}

static void said_next__a_long_line_is_cut(void **state)
{
    (void)state;
    struct said said = {.length = 0};
    char line[SAID_LINE_BYTES], long_text[4 * SAID_LINE_BYTES];
    memset(long_text, 'x', sizeof(long_text));
    memcpy(long_text + sizeof(long_text) - 4, "\ny\n", 4);
    const char *text = long_text;
    assert_true(said_next(&said, &text, START_NS, line));
    assert_int_equal(strlen(line), SAID_LINE_BYTES - 1);
    assert_true(said_next(&said, &text, START_NS, line));
    assert_string_equal(line, "sluice-planner: y");
    assert_false(said_next(&said, &text, START_NS, line));
}

static void said_next__so_many_a_second(void **state)
{
    (void)state;
    struct said said = {.length = 0};
    char line[SAID_LINE_BYTES];
    unsigned count = 0;
    for (unsigned given = 0; given < SAID_PER_S + 7; given++)
        for (const char *text = "line\n"; said_next(&said, &text, START_NS, line);)
            count++;
    assert_int_equal(count, SAID_PER_S);
    const char *nothing = NULL;
    assert_false(said_next(&said, &nothing, START_NS + NS_PER_S - 1, line));
    assert_true(said_next(&said, &nothing, START_NS + NS_PER_S, line));
    assert_string_equal(line, "sluice-planner: 7 more lines were not logged");
    assert_false(said_next(&said, &nothing, START_NS + NS_PER_S, line));
    assert_false(said_next(&said, &nothing, START_NS + 2 * NS_PER_S, line));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(said__table),
        cmocka_unit_test(said_next__a_long_line_is_cut),
        cmocka_unit_test(said_next__so_many_a_second),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
