/* The words of commands (commands.def): from a line to the command and its arguments, and back to help. What a
 * command does is the business of who takes it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

enum command_place {
    COMMAND_AT_CONSOLE = 1,
    COMMAND_AT_SOCKET = 2,
    COMMAND_AT_SLUICECTL = 4,
    COMMAND_EVERYWHERE = 7
};

#define COMMAND(id, words, arguments, where, help) COMMAND_##id,
enum command_kind {
#include "ctl/commands.def"
    COMMAND_COUNT
};
#undef COMMAND

struct command_row {
    const char *words, *arguments, *help;
    int where;
};
extern const struct command_row command_rows[COMMAND_COUNT];

#define COMMAND_ARGUMENTS_MAX   3
#define COMMAND_NAME_BYTES      16 /* of an argument's name */
#define COMMAND_ARGUMENTS_BYTES 64
#define COMMAND_REST_OF_LINE    "path" /* the argument of that name: paths may have spaces in them */

struct command_words {
    enum command_kind kind;
    const char
        *arguments[COMMAND_ARGUMENTS_MAX]; /* as many as its row has, "" of those left out; the others NULL */
};

/* The command of exactly these words; COMMAND_COUNT: none in this place. */
enum command_kind command_find(enum command_place place, const char *words);
/* False: the command has no argument of that number. */
bool command_argument(enum command_kind kind, unsigned index, char name[COMMAND_NAME_BYTES]);
/* It may be left out, and is the empty text then. */
bool command_argument_is_optional(enum command_kind kind, unsigned index);
/* "NAME KEY VALUE", as they are shown to people. */
void command_arguments(enum command_kind kind, char text[COMMAND_ARGUMENTS_BYTES]);
/* Cuts the line up: `words` leads into it. False: err says what is wrong. */
bool command_parse(struct command_words *words, enum command_place place, char *line, struct err *err);
/* A line for each command of the place; what does not fit is left out. */
void command_help(enum command_place place, char *text, size_t room);
