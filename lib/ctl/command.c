#include "ctl/command.h"

#include <stdio.h>
#include <string.h>

#include "base/check.h"
#include "ctl/ctl.h"

#define COMMAND(id, words, arguments, where, help) [COMMAND_##id] = {words, arguments, help, where},
const struct command_row command_rows[COMMAND_COUNT] = {
#include "ctl/commands.def"
};
#undef COMMAND

enum command_kind command_find(enum command_place place, const char *words)
{
    int kind = 0;
    while (kind < COMMAND_COUNT &&
           ((command_rows[kind].where & place) == 0 || strcmp(command_rows[kind].words, words) != 0))
        kind++;
    return (enum command_kind)kind;
}

/* Where its name stands in the row, and how long it is, brackets included; 0: there is none. */
static size_t argument_at(enum command_kind kind, unsigned index, const char **at)
{
    *at = command_rows[kind].arguments;
    for (; index > 0 && **at != '\0'; index--) {
        *at += strcspn(*at, " ");
        *at += strspn(*at, " ");
    }
    return strcspn(*at, " ");
}

bool command_argument_is_optional(enum command_kind kind, unsigned index)
{
    const char *at;
    return argument_at(kind, index, &at) > 0 && at[0] == '[';
}

bool command_argument(enum command_kind kind, unsigned index, char name[COMMAND_NAME_BYTES])
{
    const char *at;
    size_t length = argument_at(kind, index, &at);
    if (length > 0 && at[0] == '[') {
        at++;
        length -= 2;
    }
    CHECK(length < COMMAND_NAME_BYTES);
    memcpy(name, at, length);
    name[length] = '\0';
    return length > 0;
}

void command_arguments(enum command_kind kind, char text[COMMAND_ARGUMENTS_BYTES])
{
    snprintf(text, COMMAND_ARGUMENTS_BYTES, "%s", command_rows[kind].arguments);
    for (char *at = text; *at != '\0'; at++)
        *at = *at >= 'a' && *at <= 'z' ? (char)(*at - 'a' + 'A') : *at;
}

/* The command with the most words that the line begins with; *rest: what is behind them. */
static enum command_kind find_in_line(enum command_place place, char *line, char **rest)
{
    enum command_kind best = COMMAND_COUNT;
    size_t best_length = 0;
    for (int kind = 0; kind < COMMAND_COUNT; kind++) {
        size_t length = strlen(command_rows[kind].words);
        if ((command_rows[kind].where & place) != 0 && length > best_length &&
            strncmp(line, command_rows[kind].words, length) == 0 &&
            (line[length] == '\0' || line[length] == ' ')) {
            best = (enum command_kind)kind;
            best_length = length;
        }
    }
    *rest = line + best_length;
    return best;
}

static char *next_argument(char **rest, bool all)
{
    char *argument = *rest + strspn(*rest, " ");
    char *end = argument + (all ? strlen(argument) : strcspn(argument, " "));
    *rest = *end != '\0' ? end + 1 : end;
    *end = '\0';
    return argument;
}

bool command_parse(struct command_words *words, enum command_place place, char *line, struct err *err)
{
    char *rest, name[COMMAND_NAME_BYTES], arguments[COMMAND_ARGUMENTS_BYTES];
    bool enough = true;
    unsigned count = 0;
    *words = (struct command_words){.kind = find_in_line(place, line, &rest)};
    if (words->kind == COMMAND_COUNT)
        return err_set(err, "unknown command '%.80s'; 'help' lists them", line);
    for (; enough && command_argument(words->kind, count, name); count++) {
        CHECK(count < COMMAND_ARGUMENTS_MAX);
        words->arguments[count] = next_argument(&rest, strcmp(name, COMMAND_REST_OF_LINE) == 0);
        enough = words->arguments[count][0] != '\0' || command_argument_is_optional(words->kind, count);
    }
    if (enough && rest[strspn(rest, " ")] == '\0')
        return true;
    command_arguments(words->kind, arguments);
    return err_set(err, "'%s' takes %s", command_rows[words->kind].words,
                   count > 0 ? arguments : "no argument");
}

static size_t help_line(char *text, size_t room, const char *words, const char *arguments, const char *help)
{
    char left[96];
    snprintf(left, sizeof(left), "%s%s%s", words, arguments[0] != '\0' ? " " : "", arguments);
    int length = snprintf(text, room, "%-26s %s\n", left, help);
    if (length > 0 && (size_t)length < room)
        return (size_t)length;
    if (room > 0)
        text[0] = '\0';
    return 0;
}

void command_help(enum command_place place, char *text, size_t room)
{
    char arguments[COMMAND_ARGUMENTS_BYTES];
    size_t length = 0;
    text[0] = '\0';
    for (int kind = 0; kind < COMMAND_COUNT; kind++) {
        const struct command_row *row = &command_rows[kind];
        if ((row->where & place) == 0)
            continue;
        command_arguments((enum command_kind)kind, arguments);
        if (kind != COMMAND_SHOW)
            length += help_line(text + length, room - length, row->words, arguments, row->help);
        for (unsigned show = 0; kind == COMMAND_SHOW && show < CTL_SHOW_COUNT; show++) {
            snprintf(arguments, sizeof(arguments), "%s%s", ctl_show_name(show),
                     ctl_show_is_of_job(show) ? " [NAME]" : "");
            length += help_line(text + length, room - length, row->words, arguments, ctl_show_help(show));
        }
    }
}
