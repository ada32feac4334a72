/* The console on standard input: a terminal's (terminal.h), or one command per line of a pipe or file, stopping at the
 * first that fails. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <unistd.h>

#include "execute.h"
#include "lines.h"
#include "terminal.h"

#define STOP_MS 200

static struct command_reply reply;

static void execute_and_print(struct names *names, const char *line)
{
    execute_line(names, line);
    fprintf(reply.ok ? stdout : stderr, "%s%s", reply.text, reply.text[0] != '\0' ? "\n" : "");
    fflush(stdout);
}

static bool input_ready(void)
{
    struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
    return poll(&input, 1, STOP_MS) > 0;
}

/* False: the console is over, by the first command that fails. */
static bool execute_lines(struct names *names, struct lines *lines, bool ended)
{
    char *line;
    enum line found;
    while ((found = lines_next(lines, ended, &line)) == LINE_WHOLE) {
        execute_and_print(names, line);
        if (!reply.ok || app_stopping(names->app))
            return reply.ok;
    }
    if (found == LINE_TOO_LONG)
        fprintf(stderr, "a line longer than %d characters\n", LINE_BYTES_MAX - 2);
    return found == LINE_NONE;
}

/* End of input only ends the console: the appliance goes on until it is told to stop. */
static void console_lines(struct names *names)
{
    struct app *app = names->app;
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
        if (!execute_lines(names, &lines, ended)) {
            app->exit_code = 1;
            app_stop(app);
        }
    }
}

void *console_main(void *argument)
{
    struct app *app = argument;
    eal_thread_background(&app->eal);
    struct names names = {.app = app, .reply = &reply};
    if (isatty(STDIN_FILENO))
        terminal_run(&names);
    else
        console_lines(&names);
    return NULL;
}
