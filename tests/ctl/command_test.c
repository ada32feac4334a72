/* Commands as words: lines in, command and arguments or the complaint out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "ctl/command.h"

static void command_parse__table(void **state)
{
    static const struct {
        enum command_place place;
        const char *line;
        enum command_kind kind;
        const char *arguments[COMMAND_ARGUMENTS_MAX];
        const char *error; /* NULL: none */
    } cases[] = {
        {COMMAND_AT_CONSOLE, "quit", COMMAND_QUIT, {0}, NULL},
        {COMMAND_AT_CONSOLE, "help", COMMAND_HELP, {0}, NULL},
        {COMMAND_AT_CONSOLE, "help counters", COMMAND_HELP_COUNTERS, {0}, NULL},
        {COMMAND_AT_CONSOLE, "show  peers ", COMMAND_SHOW, {"peers", ""}, NULL},
        {COMMAND_AT_CONSOLE, "show jobs j", COMMAND_SHOW, {"jobs", "j"}, NULL},
        {COMMAND_AT_CONSOLE, "job list", COMMAND_JOB_LIST, {0}, NULL},
        {COMMAND_AT_CONSOLE, "job run /a b/c.yaml", COMMAND_JOB_RUN, {"/a b/c.yaml"}, NULL},
        {COMMAND_AT_CONSOLE, "job set j rate 1Gbps", COMMAND_JOB_SET, {"j", "rate", "1Gbps"}, NULL},
        {COMMAND_AT_SLUICECTL, "job watch j", COMMAND_JOB_WATCH, {"j"}, NULL},
        {COMMAND_AT_SLUICECTL, "key gen", COMMAND_KEY_GEN, {""}, NULL},
        {COMMAND_AT_SLUICECTL, "key gen /a b.key", COMMAND_KEY_GEN, {"/a b.key"}, NULL},
        {COMMAND_AT_SLUICECTL, "key show", COMMAND_KEY_SHOW, {0}, NULL},
        {COMMAND_AT_SLUICECTL, "key show /a", COMMAND_COUNT, {0}, "'key show' takes no argument"},
        {COMMAND_AT_CONSOLE, "reload keys", COMMAND_RELOAD_KEYS, {0}, NULL},
        {COMMAND_AT_SLUICECTL, "reload keys", COMMAND_RELOAD_KEYS, {0}, NULL},
        {COMMAND_AT_CONSOLE, "reload", COMMAND_COUNT, {0}, "unknown command 'reload'"},
        {COMMAND_AT_CONSOLE, "key show", COMMAND_COUNT, {0}, "unknown command 'key show'"},
        {COMMAND_AT_SLUICECTL, "quit", COMMAND_COUNT, {0}, "unknown command 'quit'"},
        {COMMAND_AT_CONSOLE, "job watch j", COMMAND_COUNT, {0}, "unknown command 'job watch j'"},
        {COMMAND_AT_CONSOLE, "", COMMAND_COUNT, {0}, "unknown command ''"},
        {COMMAND_AT_CONSOLE, "job", COMMAND_COUNT, {0}, "unknown command 'job'"},
        {COMMAND_AT_CONSOLE, "showpeers", COMMAND_COUNT, {0}, "unknown command 'showpeers'"},
        {COMMAND_AT_CONSOLE, "show", COMMAND_COUNT, {0}, "'show' takes WHAT [NAME]"},
        {COMMAND_AT_CONSOLE, "show peers just now", COMMAND_COUNT, {0}, "'show' takes WHAT"},
        {COMMAND_AT_CONSOLE, "job cancel", COMMAND_COUNT, {0}, "'job cancel' takes NAME"},
        {COMMAND_AT_CONSOLE, "job set j rate", COMMAND_COUNT, {0}, "'job set' takes NAME KEY VALUE"},
        {COMMAND_AT_CONSOLE, "help me", COMMAND_COUNT, {0}, "'help' takes no argument"},
        {COMMAND_AT_CONSOLE, "job run ", COMMAND_COUNT, {0}, "'job run' takes PATH"},
    };
    (void)state;
    for (size_t at = 0; at < sizeof(cases) / sizeof(cases[0]); at++) {
        char line[100];
        struct command_words words;
        struct err err = {.text = ""};
        snprintf(line, sizeof(line), "%s", cases[at].line);
        bool good = command_parse(&words, cases[at].place, line, &err);
        if (cases[at].error != NULL) {
            assert_false(good);
            assert_non_null(strstr(err.text, cases[at].error));
            continue;
        }
        assert_string_equal(err.text, "");
        assert_int_equal(words.kind, cases[at].kind);
        for (unsigned index = 0; index < COMMAND_ARGUMENTS_MAX; index++) {
            assert_int_equal(words.arguments[index] != NULL, cases[at].arguments[index] != NULL);
            if (words.arguments[index] != NULL)
                assert_string_equal(words.arguments[index], cases[at].arguments[index]);
        }
    }
}

/* Each row can be told from all others, and stands in the help of its places, whole. */
static void command_rows__are_found_and_helped(void **state)
{
    static const enum command_place places[] = {COMMAND_AT_CONSOLE, COMMAND_AT_SOCKET, COMMAND_AT_SLUICECTL};
    char help[8192], short_help[100];
    (void)state;
    for (size_t at = 0; at < sizeof(places) / sizeof(places[0]); at++) {
        command_help(places[at], help, sizeof(help));
        for (int kind = 0; kind < COMMAND_COUNT; kind++) {
            const struct command_row *row = &command_rows[kind];
            bool here = (row->where & places[at]) != 0;
            char name[COMMAND_NAME_BYTES], sought[64];
            unsigned count = 0;
            while (command_argument((enum command_kind)kind, count, name))
                count++;
            assert_in_range(count, 0, COMMAND_ARGUMENTS_MAX);
            assert_int_equal(command_find(places[at], row->words), here ? kind : COMMAND_COUNT);
            snprintf(sought, sizeof(sought), "%s ", row->words);
            assert_int_equal(strstr(help, sought) != NULL, here);
        }
        assert_non_null(strstr(help, "show peers  "));
        assert_non_null(strstr(help, "show jobs [NAME]  "));
        assert_non_null(strstr(help, "job set NAME KEY VALUE  "));
        command_help(places[at], short_help, sizeof(short_help));
        assert_true(short_help[strlen(short_help) - 1] == '\n'); /* whole lines only */
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(command_parse__table),
        cmocka_unit_test(command_rows__are_found_and_helped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
