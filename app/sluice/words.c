#include "words.h"

#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "ctl/command.h"
#include "ctl/ctl.h"

#define NEAR_MOST  2  /* letters wrong in a word that was meant all the same */
#define NEAR_BYTES 32 /* of longer words none is near */

/* A place in a line: blanks skipped, and how long the word there is. */
static size_t word_at(const char **at)
{
    *at += strspn(*at, " ");
    return strcspn(*at, " ");
}

void word_add(struct word_choices *choices, const char *begins, const char *word, const char *help, bool open)
{
    if (strncmp(word, begins, strlen(begins)) != 0 || choices->count == WORDS_MAX ||
        strlen(word) >= WORD_BYTES)
        return;
    for (unsigned index = 0; index < choices->count; index++)
        if (strcmp(choices->of[index].word, word) == 0)
            return;
    struct word_choice *choice = &choices->of[choices->count++];
    snprintf(choice->word, sizeof(choice->word), "%s", word);
    snprintf(choice->help, sizeof(choice->help), "%s", help);
    choice->open = open;
    choices->typed = strlen(begins);
}

/* ---- what may follow ---- */

/* Rows of the console that begin with these words, and what comes behind them there; NULL: the row does not. */
static const char *row_behind(int kind, const char *words, size_t length)
{
    const struct command_row *row = &command_rows[kind];
    bool begins = (row->where & COMMAND_AT_CONSOLE) != 0 && strncmp(row->words, words, length) == 0 &&
                  (row->words[length] == ' ' || row->words[length] == '\0');
    return begins ? row->words + length + strspn(row->words + length, " ") : NULL;
}

/* Of the words of a row so far: what the command does, or by what the several commands that begin so go on. */
static void group_help(const char *words, size_t length, char help[WORD_HELP_BYTES])
{
    size_t used = 0;
    help[0] = '\0';
    for (int kind = 0; kind < COMMAND_COUNT; kind++) {
        const struct command_row *row = &command_rows[kind];
        const char *behind = row_behind(kind, words, length);
        if (behind == NULL)
            continue;
        if (behind[0] == '\0' && (row->arguments[0] == '\0' || kind == COMMAND_SHOW)) {
            snprintf(help, WORD_HELP_BYTES, "%s", row->help);
            return;
        }
        char next[COMMAND_ARGUMENTS_BYTES];
        command_arguments((enum command_kind)kind, next);
        if (behind[0] != '\0')
            snprintf(next, sizeof(next), "%.*s", (int)strcspn(behind, " "), behind);
        used += (size_t)snprintf(help + used, WORD_HELP_BYTES - used, "%s%s", used > 0 ? ", " : "", next);
        used = MIN(used, (size_t)WORD_HELP_BYTES - 1);
    }
}

/* How many rows begin with these words. */
static unsigned group_size(const char *words, size_t length)
{
    unsigned count = 0;
    for (int kind = 0; kind < COMMAND_COUNT; kind++)
        count += row_behind(kind, words, length) != NULL;
    return count;
}

/* A word of the row that may stand there: `at` leads to it, `begins` is what was typed of it. */
static void add_row_word(struct word_choices *choices, int kind, const char *at, const char *begins)
{
    const struct command_row *row = &command_rows[kind];
    size_t bytes = strcspn(at, " "), length = (size_t)(at - row->words) + bytes;
    char word[64], help[WORD_HELP_BYTES];
    snprintf(word, sizeof(word), "%.*s", (int)bytes, at);
    if (group_size(row->words, length) > 1)
        group_help(row->words, length, help);
    else
        snprintf(help, sizeof(help), "%s", row->help);
    word_add(choices, begins, word, help, false);
}

static void add_argument(struct word_choices *choices, int kind, const char *name, const char *begins,
                         word_names *names, void *argument)
{
    static const struct {
        const char *name;
        enum word_kind kind;
    } kinds[] = {{"peer", WORD_PEER}, {"from", WORD_NODE}, {"to", WORD_NODE},
                 {"name", WORD_JOB},  {"key", WORD_KEY},   {"path", WORD_FILE}};
    char wanted[COMMAND_ARGUMENTS_BYTES];
    bool show_word = kind == COMMAND_SHOW && strcmp(name, "what") == 0;
    for (unsigned show = 0; show_word && show < CTL_SHOW_COUNT; show++)
        word_add(choices, begins, ctl_show_name(show), ctl_show_help(show), false);
    if (show_word)
        return;
    choices->closed = false;
    command_arguments((enum command_kind)kind, wanted);
    snprintf(choices->hint, sizeof(choices->hint), "%s %s: %.*s", command_rows[kind].words, wanted,
             WORD_HELP_BYTES - 100, command_rows[kind].help);
    for (size_t row = 0; row < sizeof(kinds) / sizeof(kinds[0]); row++)
        if (strcmp(kinds[row].name, name) == 0)
            names(argument, kinds[row].kind, begins, choices);
}

/* Behind what is shown the name of a job may stand, if that is about one. */
static bool takes_name(int kind, const char *shown, size_t length)
{
    char word[32];
    snprintf(word, sizeof(word), "%.*s", (int)length, shown);
    return kind != COMMAND_SHOW || ctl_show_is_of_job(ctl_show_find(word));
}

/* Behind the words of the row: its arguments. `at` stands before the next one. */
static void find_argument(struct word_choices *choices, int kind, const char *at, word_names *names,
                          void *argument)
{
    char name[COMMAND_NAME_BYTES];
    for (unsigned index = 0; command_argument((enum command_kind)kind, index, name); index++) {
        size_t length = word_at(&at);
        bool rest_of_line = strcmp(name, COMMAND_REST_OF_LINE) == 0;
        if (at[length] == '\0' || rest_of_line) {
            choices->complete |= length == 0 && command_argument_is_optional((enum command_kind)kind, index);
            add_argument(choices, kind, name, at, names, argument);
            return;
        }
        if (!takes_name(kind, at, length)) {
            at += length;
            break;
        }
        at += length;
    }
    choices->complete |= word_at(&at) == 0;
}

static void find_in_row(struct word_choices *choices, int kind, const char *line, word_names *names,
                        void *argument)
{
    const char *at = line;
    for (const char *word = command_rows[kind].words; *word != '\0';) {
        size_t length = word_at(&at), bytes = strcspn(word, " ");
        if (at[length] == '\0') {
            add_row_word(choices, kind, word, at);
            return;
        }
        if (length != bytes || strncmp(at, word, bytes) != 0)
            return;
        at += length;
        word += bytes + strspn(word + bytes, " ");
    }
    find_argument(choices, kind, at, names, argument);
}

void words_find(struct word_choices *choices, const char *line, word_names *names, void *argument)
{
    choices->count = 0;
    choices->typed = 0;
    choices->closed = true;
    choices->complete = false;
    choices->hint[0] = '\0';
    for (int kind = 0; kind < COMMAND_COUNT; kind++)
        if ((command_rows[kind].where & COMMAND_AT_CONSOLE) != 0)
            find_in_row(choices, kind, line, names, argument);
}

size_t words_common(const struct word_choices *choices, char *text, size_t room)
{
    if (choices->count == 0)
        return 0;
    const struct word_choice *first = &choices->of[0];
    size_t common = strlen(first->word);
    for (unsigned index = 1; index < choices->count; index++) {
        const char *word = choices->of[index].word;
        size_t same = 0;
        while (same < common && word[same] == first->word[same])
            same++;
        common = same;
    }
    int length = snprintf(text, room, "%.*s%s", (int)(common - choices->typed), first->word + choices->typed,
                          choices->count == 1 && !first->open ? " " : "");
    return length > 0 && (size_t)length < room ? (size_t)length : 0;
}

bool words_row(const struct word_choices *choices, unsigned index, char *text, size_t room)
{
    if (index < choices->count)
        snprintf(text, room, choices->of[index].help[0] != '\0' ? "%-12s %s" : "%s", choices->of[index].word,
                 choices->of[index].help);
    else if (index == choices->count && choices->hint[0] != '\0')
        snprintf(text, room, "%s", choices->hint);
    else if (index == choices->count && choices->complete)
        snprintf(text, room, "Enter: the command is whole");
    else
        return false;
    return true;
}

/* ---- what is wrong ---- */

/* Letters to add, leave out, change or swap with the next: how many make the one of the other. */
static unsigned letters_wrong(const char *one, size_t one_bytes, const char *other)
{
    unsigned cost[NEAR_BYTES + 1]
                 [NEAR_BYTES + 1]; /* of making so many letters of the one so many of the other */
    size_t other_bytes = strlen(other);
    if (one_bytes > NEAR_BYTES || other_bytes > NEAR_BYTES)
        return NEAR_BYTES;
    for (size_t row = 0; row <= one_bytes; row++)
        for (size_t column = 0; column <= other_bytes; column++) {
            unsigned best = (unsigned)(row + column); /* where one of the two is empty */
            if (row > 0 && column > 0) {
                best = cost[row - 1][column - 1] + (one[row - 1] != other[column - 1]);
                best = MIN(best, cost[row - 1][column] + 1);
                best = MIN(best, cost[row][column - 1] + 1);
            }
            if (row > 1 && column > 1 && one[row - 1] == other[column - 2] &&
                one[row - 2] == other[column - 1])
                best = MIN(best, cost[row - 2][column - 2] + 1);
            cost[row][column] = best;
        }
    return cost[one_bytes][other_bytes];
}

/* The choice that was probably meant; NULL: none is near. */
static const char *nearest(const struct word_choices *choices, const char *word, size_t bytes)
{
    unsigned best = NEAR_MOST + 1;
    const char *found = NULL;
    for (unsigned index = 0; index < choices->count; index++) {
        unsigned wrong = letters_wrong(word, bytes, choices->of[index].word);
        if (wrong < best && wrong < bytes) {
            best = wrong;
            found = choices->of[index].word;
        }
    }
    return found;
}

static void list_words(const struct word_choices *choices, char *text, size_t room)
{
    size_t used = 0;
    for (unsigned index = 0; index < choices->count && used < room; index++)
        used += (size_t)snprintf(text + used, room - used, "%s%s", index > 0 ? ", " : "",
                                 choices->of[index].word);
}

/* The line ends where more is wanted. */
static void tell_missing(const struct word_choices *choices, const char *line, char *text, size_t room)
{
    char row[WORD_BYTES + WORD_HELP_BYTES];
    size_t used =
        (size_t)snprintf(text, room, "%s: what? %s", line, choices->count == 0 ? choices->hint : "One of:");
    for (unsigned index = 0; index < choices->count && words_row(choices, index, row, sizeof(row)); index++)
        if (used + strlen(row) + 4 < room)
            used += (size_t)snprintf(text + used, room - used, "\n  %s", row);
}

static void tell_unknown(const struct word_choices *choices, const char *line, const char *at, char *text,
                         size_t room)
{
    char expected[1024] = "";
    size_t bytes = strcspn(at, " "), before = (size_t)(at - line);
    while (before > 0 && line[before - 1] == ' ')
        before--;
    const char *meant = nearest(choices, at, bytes);
    list_words(choices, expected, sizeof(expected));
    snprintf(text, room, "%s%.*s%s'%.*s': %s%s%s", before == 0 ? "unknown command " : "", (int)before, line,
             before == 0 ? "" : ": unknown word ", (int)MIN(bytes, (size_t)80), at,
             meant != NULL ? "did you mean " : "expected ", meant != NULL ? meant : expected,
             meant != NULL ? "?" : "");
}

static bool is_choice(const struct word_choices *choices, const char *word, size_t bytes)
{
    for (unsigned index = 0; index < choices->count; index++)
        if (strlen(choices->of[index].word) == bytes && strncmp(choices->of[index].word, word, bytes) == 0)
            return true;
    return false;
}

bool words_wrong(const char *line, word_names *names, void *argument, struct word_choices *choices,
                 char *text, size_t room)
{
    char before[WORD_BYTES];
    const char *at = line;
    for (;;) {
        size_t bytes = word_at(&at);
        if ((size_t)(at - line) + 1 >= sizeof(before))
            return false;
        snprintf(before, sizeof(before), "%.*s%s", (int)(at - line), line, at[0] == '\0' ? " " : "");
        words_find(choices, before, names, argument);
        if (bytes == 0) {
            bool missing = !choices->complete && (choices->count > 0 || choices->hint[0] != '\0');
            if (missing)
                tell_missing(choices, line, text, room);
            return missing;
        }
        if (!is_choice(choices, at, bytes)) {
            bool unknown = choices->closed && choices->count > 0;
            if (unknown)
                tell_unknown(choices, line, at, text, room);
            return unknown;
        }
        at += bytes;
    }
}
