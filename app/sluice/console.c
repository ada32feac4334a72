/* The console on standard input. On a terminal: rte_cmdline with tab completion, history and help, its tokens
 * built from ctl/commands.def. From a pipe or file: one command per line, stopping at the first that fails. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmdline.h>
#include <cmdline_parse.h>
#include <cmdline_parse_string.h>
#include <cmdline_socket.h>

#include "command.h"
#include "lines.h"

#define TOKENS_MAX 3
#define STOP_MS    200

#define SHOW_CHOICE(name, who, help) #name "#"

struct console_words {
    cmdline_fixed_string_t first;
    cmdline_fixed_string_t second;
    cmdline_multi_string_t argument;
};

struct console_entry {
    cmdline_parse_inst_t *instance; /* with room for its tokens behind it */
    struct cmdline_token_string tokens[TOKENS_MAX];
    char first[32];   /* of the row's words … */
    char second[512]; /* … or, of `show`, a choice "a#b"; empty: there is none */
    bool argument;
    struct app *app;
};

static struct console_entry entries[COMMAND_COUNT];
static cmdline_parse_ctx_t entry_list[COMMAND_COUNT + 1];
static struct command_reply reply;

static void console_execute(struct app *app, char *line, struct cmdline *terminal)
{
    struct command command = {.form = REPORT_TEXT};
    struct err err;
    if (command_parse(&command.words, COMMAND_AT_CONSOLE, line, &err))
        command_run(app, &command, &reply);
    else {
        reply.ok = false;
        snprintf(reply.text, sizeof(reply.text), "%s", err.text);
    }
    if (terminal == NULL) {
        fprintf(reply.ok ? stdout : stderr, "%s%s", reply.text, reply.text[0] != '\0' ? "\n" : "");
        fflush(stdout);
        return;
    }
    if (reply.text[0] != '\0') /* cmdline_printf has a small buffer of its own */
        for (const char *at = reply.text; *at != '\0';) {
            int length = (int)strcspn(at, "\n");
            cmdline_printf(terminal, "%.*s\n", length, at);
            at += length + (at[length] == '\n');
        }
    if (app_stopping(app))
        cmdline_quit(terminal);
}

static void console_on_command(void *parsed, struct cmdline *terminal, void *data)
{
    const struct console_words *words = parsed;
    struct console_entry *entry = data;
    char line[sizeof(struct console_words) + 4];
    snprintf(line, sizeof(line), "%s%s%s%s%s", words->first, entry->second[0] != '\0' ? " " : "",
             entry->second[0] != '\0' ? words->second : "", entry->argument ? " " : "",
             entry->argument ? words->argument : "");
    console_execute(entry->app, line, terminal);
}

static void token_add(struct console_entry *entry, unsigned index, size_t offset, const char *choices)
{
    entry->tokens[index].hdr.ops = &cmdline_token_string_ops;
    entry->tokens[index].hdr.offset = (unsigned)offset;
    entry->tokens[index].string_data.str = choices;
    entry->instance->tokens[index] = (void *)&entry->tokens[index].hdr;
    entry->instance->tokens[index + 1] = NULL;
}

/* Completion knows the words, and those of `show`; other arguments are the operator's. */
static void console_tokens(struct console_entry *entry, int kind)
{
    static const char shows[] = CTL_SHOWS(SHOW_CHOICE);
    const char *words = command_rows[kind].words;
    size_t first = strcspn(words, " ");
    unsigned count = 0;
    snprintf(entry->first, sizeof(entry->first), "%.*s", (int)first, words);
    snprintf(entry->second, sizeof(entry->second), "%s", words + first + (words[first] != '\0'));
    if (kind == COMMAND_SHOW) /* without the last # */
        snprintf(entry->second, sizeof(entry->second), "%.*s", (int)sizeof(shows) - 2, shows);
    entry->argument = kind != COMMAND_SHOW && command_rows[kind].arguments[0] != '\0';
    token_add(entry, count++, offsetof(struct console_words, first), entry->first);
    if (entry->second[0] != '\0')
        token_add(entry, count++, offsetof(struct console_words, second), entry->second);
    if (entry->argument)
        token_add(entry, count++, offsetof(struct console_words, argument), TOKEN_STRING_MULTI);
}

/* Another command of its first word takes arguments: that one's entry takes this line too, and two would be ambiguous. */
static bool is_covered(int kind)
{
    size_t first = strcspn(command_rows[kind].words, " ");
    for (int other = 0; other < COMMAND_COUNT; other++)
        if (other != kind && other != COMMAND_SHOW && command_rows[other].arguments[0] != '\0' &&
            strlen(command_rows[other].words) == first &&
            strncmp(command_rows[other].words, command_rows[kind].words, first) == 0)
            return true;
    return false;
}

static void console_build(struct app *app)
{
    unsigned count = 0;
    for (int kind = 0; kind < COMMAND_COUNT; kind++) {
        struct console_entry *entry = &entries[kind];
        if ((command_rows[kind].where & COMMAND_AT_CONSOLE) == 0 || is_covered(kind))
            continue;
        entry->app = app;
        entry->instance = calloc(1, sizeof(*entry->instance) + (TOKENS_MAX + 1) * sizeof(void *));
        CHECK(entry->instance != NULL);
        entry->instance->f = console_on_command;
        entry->instance->data = entry;
        entry->instance->help_str = command_rows[kind].help;
        console_tokens(entry, kind);
        entry_list[count++] = entry->instance;
    }
}

static bool input_ready(void)
{
    struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
    return poll(&input, 1, STOP_MS) > 0;
}

static void console_terminal(struct app *app)
{
    console_build(app);
    struct cmdline *terminal = cmdline_stdin_new(entry_list, "sluice> ");
    if (terminal == NULL)
        return;
    while (!app_stopping(app)) {
        char bytes[64];
        if (!input_ready())
            continue;
        ssize_t count = read(STDIN_FILENO, bytes, sizeof(bytes));
        if (count <= 0 || cmdline_in(terminal, bytes, (int)count) < 0) {
            app_stop(app); /* end of input, quit or Ctrl-D */
            break;
        }
    }
    cmdline_stdin_exit(terminal);
    printf("\n");
}

/* False: the console is over, by the first command that fails. */
static bool execute_lines(struct app *app, struct lines *lines, bool ended)
{
    char *line;
    enum line found;
    while ((found = lines_next(lines, ended, &line)) == LINE_WHOLE) {
        if (line[0] == '\0' || line[0] == '#')
            continue;
        console_execute(app, line, NULL);
        if (!reply.ok || app_stopping(app))
            return reply.ok;
    }
    if (found == LINE_TOO_LONG)
        fprintf(stderr, "a line longer than %d characters\n", LINE_BYTES_MAX - 2);
    return found == LINE_NONE;
}

/* End of input only ends the console: the appliance goes on until it is told to stop. */
static void console_lines(struct app *app)
{
    static struct lines lines;
    for (bool ended = false; !ended && !app_stopping(app);) {
        size_t room;
        char *place = lines_place(&lines, &room);
        if (!input_ready())
            continue;
        ssize_t count = read(STDIN_FILENO, place, room);
        if (count < 0 && (errno == EINTR || errno == EAGAIN))
            continue;
        ended = count <= 0;
        lines_add(&lines, ended ? 0 : (size_t)count);
        if (!execute_lines(app, &lines, ended)) {
            app->exit_code = 1;
            app_stop(app);
        }
    }
}

void *console_main(void *argument)
{
    struct app *app = argument;
    eal_thread_background(&app->eal);
    if (isatty(STDIN_FILENO))
        console_terminal(app);
    else
        console_lines(app);
    return NULL;
}
