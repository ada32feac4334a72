/* Lines out of bytes that come in pieces. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "app/sluice/lines.h"

static size_t feed(struct lines *lines, const char *bytes, size_t count)
{
    size_t room;
    char *place = lines_place(lines, &room);
    count = count < room ? count : room;
    memcpy(place, bytes, count);
    lines_add(lines, count);
    return count;
}

static void lines__in_pieces_of_every_size(void **state)
{
    (void)state;
    static const char text[] = "show jobs\n\n# a comment\njob list\nhelp";
    static const char *const expected[] = {"show jobs", "", "# a comment", "job list", "help"};
    for (size_t piece = 1; piece <= sizeof(text); piece++) {
        struct lines lines = {0};
        size_t at = 0, found = 0;
        char *line;
        while (at < sizeof(text) - 1) {
            size_t left = sizeof(text) - 1 - at;
            at += feed(&lines, text + at, piece < left ? piece : left);
            while (lines_next(&lines, false, &line) == LINE_WHOLE)
                assert_string_equal(line, expected[found++]);
        }
        assert_int_equal(found, 4); /* half a line is none */
        assert_int_equal(lines_next(&lines, true, &line), LINE_WHOLE);
        assert_string_equal(line, expected[found]);
        assert_int_equal(lines_next(&lines, true, &line), LINE_NONE);
    }
}

static void lines__too_long(void **state)
{
    (void)state;
    static const struct {
        size_t length; /* before its end */
        enum line found;
    } cases[] = {{LINE_BYTES_MAX - 2, LINE_WHOLE},
                 {LINE_BYTES_MAX - 1, LINE_TOO_LONG},
                 {LINE_BYTES_MAX, LINE_TOO_LONG}};
    for (size_t row = 0; row < sizeof(cases) / sizeof(cases[0]); row++) {
        char text[LINE_BYTES_MAX + 2], *line;
        struct lines lines = {0};
        memset(text, 'x', sizeof(text));
        text[cases[row].length] = '\n';
        size_t given = feed(&lines, text, cases[row].length + 1);
        assert_int_equal(lines_next(&lines, false, &line), cases[row].found);
        if (cases[row].found != LINE_WHOLE)
            continue;
        assert_int_equal(given, cases[row].length + 1);
        assert_int_equal(strlen(line), cases[row].length);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines__in_pieces_of_every_size),
        cmocka_unit_test(lines__too_long),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
