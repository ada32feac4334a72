/* Words of the console: what may follow, what of it is common, and what is said of those that are none. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "app/sluice/words.h"

static struct word_choices choices;

static void names(void *argument, enum word_kind kind, const char *begins, struct word_choices *found)
{
    static const char *const of_kind[][4] = {[WORD_PEER] = {"north", "n2"},
                                             [WORD_NODE] = {"n1", "north", "n2"},
                                             [WORD_JOB] = {"nightly"},
                                             [WORD_KEY] = {"rate", "priority"},
                                             [WORD_FILE] = {"my jobs/", "my file"}};
    assert_ptr_equal(argument, &choices);
    for (size_t index = 0; index < 4 && of_kind[kind][index] != NULL; index++)
        word_add(found, begins, of_kind[kind][index], "", strchr(of_kind[kind][index], '/') != NULL);
}

/* All choices for the line, each with a blank behind it. */
static const char *found(const char *line)
{
    static char text[4096];
    text[0] = '\0';
    words_find(&choices, line, names, &choices);
    for (unsigned index = 0; index < choices.count; index++) {
        strcat(text, choices.of[index].word);
        strcat(text, " ");
    }
    return text;
}

static void words_find__table(void **state)
{
    (void)state;
    static const struct {
        const char *line, *choices, *common;
    } cases[] = {
        {"", "show job probe reload help quit exit clear ", ""},
        {"s", "show ", "how "},
        {"  sh", "show ", "ow "},
        {"sx", "", ""},
        {"show p", "ports peers probes plan ", ""},
        {"show pr", "probes ", "obes "},
        {"show peers", "peers ", " "},
        {"show peers ", "", ""},
        {"show jobs ni", "nightly ", "ghtly "},
        {"job ca", "cancel ", "ncel "},
        {"job cancel ", "nightly ", "nightly "},
        {"job  pause  ni", "nightly ", "ghtly "},
        {"job watch ", "", ""}, /* sluicectl's */
        {"job set nightly ", "rate priority ", ""},
        {"job set nightly rate ", "", ""},
        {"job run ", "my jobs/ my file ", "my "},
        {"job run my j", "my jobs/ ", "obs/"}, /* a folder has more */
        {"job run my f", "my file ", "ile "},
        {"probe n", "north n2 ", ""},
        {"probe ", "north n2 all order start stop ", ""},
        {"probe north n", "n1 north n2 ", ""},
        {"probe no", "north ", "rth "},
        {"show history n1 no", "north ", "rth "},
        {"quit ", "", ""},
        {"help ", "counters ", "counters "},
    };
    for (size_t row = 0; row < sizeof(cases) / sizeof(cases[0]); row++) {
        char common[64] = "";
        assert_string_equal(found(cases[row].line), cases[row].choices);
        size_t length = words_common(&choices, common, sizeof(common));
        assert_string_equal(length > 0 ? common : "", cases[row].common);
        assert_int_equal(length, strlen(cases[row].common));
        assert_int_equal(words_common(&choices, common, length), 0); /* no room for its end */
    }
}

/* What is shown for the line, row by row. */
static void words_row__tells_what_words_do(void **state)
{
    (void)state;
    static const struct {
        const char *line, *first, *last;
    } cases[] = {
        {"show p", "ports        ports: link", "plan         trees and rates"},
        {"", "show         a part of", "clear        clear the screen"},
        {"job", "job          run, plan, cancel, pause, resume, set, manifest, why, list", NULL},
        {"probe", "probe        PEER [TO], all, order, start, stop", NULL},
        {"job set nightly rate ", "job set NAME KEY VALUE: as in a job file", NULL},
        {"job cancel ", "nightly", "job cancel NAME: end a job at all its sites"},
        {"quit ", "Enter: the command is whole", NULL},
        {"probe north ", "n1", "probe PEER [TO]: measure"},
    };
    for (size_t row = 0; row < sizeof(cases) / sizeof(cases[0]); row++) {
        char text[WORD_BYTES + WORD_HELP_BYTES], last[sizeof(text)] = "";
        unsigned count = 0;
        found(cases[row].line);
        assert_true(words_row(&choices, 0, text, sizeof(text)));
        assert_ptr_equal(strstr(text, cases[row].first), text);
        while (words_row(&choices, count, last, sizeof(last)))
            count++;
        if (cases[row].last == NULL)
            assert_int_equal(count, 1);
        else
            assert_ptr_equal(strstr(last, cases[row].last), last);
    }
    found("sx");
    assert_false(words_row(&choices, 0, (char[1]){0}, 1));
}

static void words_wrong__table(void **state)
{
    (void)state;
    static const struct {
        const char *line, *said; /* NULL: the words are good */
    } cases[] = {
        {"shwo peers", "unknown command 'shwo': did you mean show?"},
        {"shutdown",
         "unknown command 'shutdown': expected show, job, probe, reload, help, quit, exit, clear"},
        {"xy", "unknown command 'xy': expected show, "},
        {"job cancle nightly", "job: unknown word 'cancle': did you mean cancel?"},
        {"job watch nightly", "job: unknown word 'watch': expected run, plan, "},
        {"show peer", "show: unknown word 'peer': did you mean peers?"},
        {"show", "show: what? One of:\n  version "},
        {"job", "job: what? One of:\n  run "},
        {"job cancel", "job cancel: what? One of:\n  nightly"},
        {"job set nightly rate", "job set nightly rate: what? job set NAME KEY VALUE: "},
        {"help countrs", "help: unknown word 'countrs': did you mean counters?"},
        {"show peers", NULL},
        {"show jobs nightly", NULL},
        {"job cancel unheard-of", NULL}, /* the node knows */
        {"probe nrth", NULL},
        {"probe n2", NULL},
        {"quit", NULL},
        {"quit now", NULL}, /* no word too few, but one too many: command_parse says so */
    };
    for (size_t row = 0; row < sizeof(cases) / sizeof(cases[0]); row++) {
        char text[4096] = "";
        bool wrong = words_wrong(cases[row].line, names, &choices, &choices, text, sizeof(text));
        assert_int_equal(wrong, cases[row].said != NULL);
        if (wrong && strstr(text, cases[row].said) != text)
            assert_string_equal(text, cases[row].said);
    }
}

/* More names than there is room for, and one that is too long, are left out. */
static void many_names(void *argument, enum word_kind kind, const char *begins, struct word_choices *to)
{
    char word[WORD_BYTES + 2];
    (void)argument, (void)kind;
    memset(word, 'x', sizeof(word));
    word[WORD_BYTES] = '\0';
    word_add(to, begins, word, "", false);
    for (unsigned index = 0; index < 2 * WORDS_MAX; index++) {
        snprintf(word, sizeof(word), "j%u", index / 2 * 2);
        word_add(to, begins, word, "", false);
    }
}

static void words_find__has_limits(void **state)
{
    (void)state;
    words_find(&choices, "job cancel ", many_names, NULL);
    assert_int_equal(choices.count, WORDS_MAX);
    words_find(&choices, "job cancel x", many_names, NULL);
    assert_int_equal(choices.count, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_find__table),
        cmocka_unit_test(words_row__tells_what_words_do),
        cmocka_unit_test(words_wrong__table),
        cmocka_unit_test(words_find__has_limits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
