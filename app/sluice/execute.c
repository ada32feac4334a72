#include "execute.h"

#include <stdio.h>
#include <string.h>

#define LINE_ROOM  4200
#define WRONG_ROOM 8192

enum command_kind execute_peek(const char *line)
{
    char words[32];
    line += strspn(line, " ");
    size_t length = strlen(line);
    while (length > 0 && line[length - 1] == ' ')
        length--;
    if (length >= sizeof(words))
        return COMMAND_COUNT;
    snprintf(words, sizeof(words), "%.*s", (int)length, line);
    return command_find(COMMAND_AT_CONSOLE, words);
}

static bool parse(struct command_words *words, char *line, struct err *err)
{
    if (!command_parse(words, COMMAND_AT_CONSOLE, line, err))
        return false;
    return words->kind != COMMAND_SHOW || ctl_show_find(words->arguments[0]) != CTL_SHOW_COUNT ||
           err_set(err, "show: there is no '%.80s'; 'help' lists what there is", words->arguments[0]);
}

void execute_line(struct names *names, const char *line)
{
    static struct word_choices choices;
    static char wrong[WRONG_ROOM];
    struct command_reply *reply = names->reply;
    struct command command = {.form = REPORT_TEXT};
    struct err err;
    char words[LINE_ROOM];
    line += strspn(line, " ");
    reply->ok = true;
    reply->text[0] = '\0';
    if (line[0] == '\0' || line[0] == '#')
        return;
    snprintf(words, sizeof(words), "%s", line);
    if (parse(&command.words, words, &err)) {
        command_run(names->app, &command, reply);
        return;
    }
    if (!words_wrong(line, names_add, names, &choices, wrong, sizeof(wrong)))
        snprintf(wrong, sizeof(wrong), "%s", err.text);
    reply->ok = false;
    snprintf(reply->text, sizeof(reply->text), "%s", wrong);
}
