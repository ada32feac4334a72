#define ALLOW_EXPERIMENTAL_API /* of rte_cmdline: rdline_new, with callbacks of our own */
#include "terminal.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

#include <cmdline_rdline.h>

#include "app/log.h"
#include "execute.h"

#define STOP_MS      200
#define LINE_ROOM    1024 /* rdline has 512 */
#define PROMPT       "sluice> "
#define CTRL_D       4
#define CTRL_L       12
#define ESCAPE       27
#define CLEAR_LINE   "\r\033[K"
#define CLEAR_SCREEN "\033[H\033[2J"

struct terminal {
    struct names *names;
    struct rdline *line;
    bool asking; /* the next key says whether the appliance stops */
    unsigned jobs_running;
    int log[2]; /* a pipe that lines of the log come through; negative: they go elsewhere */
    struct termios before;
    struct word_choices choices;
};

static struct terminal terminal;

/* ---- the screen ---- */

static int on_write(struct rdline *line, char character)
{
    (void)line;
    return putchar(character) == EOF ? -1 : 0;
}

static void print_question(const struct terminal *own)
{
    printf("stop the appliance? jobs running: %u [y/N] ", own->jobs_running);
}

/* Prompt and what was typed of the line, again. */
static void draw(const struct terminal *own)
{
    if (own->asking)
        print_question(own);
    else
        rdline_redisplay(own->line);
}

static void print_reply(const struct command_reply *reply)
{
    size_t length = strlen(reply->text);
    printf("%s%s", reply->text, length > 0 && reply->text[length - 1] != '\n' ? "\n" : "");
}

/* rdline gives the line back whole, to who asks for it. */
static void on_validate(struct rdline *line, const char *typed, unsigned bytes)
{
    (void)line, (void)typed, (void)bytes;
}

/* ---- completion ---- */

/* As rdline wants it: first (state 0, or -1: only lists) 2 with what is added to the line; else 1 with a row for each
 * choice, and then 0. */
static int on_complete(struct rdline *line, const char *typed, char *text, unsigned room, int *state)
{
    struct terminal *own = rdline_get_opaque(line);
    if (*state <= 0) {
        words_find(&own->choices, typed, names_add, own->names);
        if (*state == 0 && words_common(&own->choices, text, room) > 0)
            return RDLINE_RES_COMPLETE;
        *state = 0;
    }
    return words_row(&own->choices, (unsigned)(*state)++, text, room) ? 1 : 0;
}

/* ---- lines and keys ---- */

static void ask_stop(struct terminal *own)
{
    own->jobs_running = names_jobs_running(own->names);
    own->asking = true;
    print_question(own);
}

static void answer(struct terminal *own, char key)
{
    own->asking = false;
    if (key == 'y' || key == 'Y') {
        printf("y\n");
        app_stop(own->names->app);
        return;
    }
    printf("no\n");
    rdline_redisplay(own->line);
    if (key == ESCAPE) /* the rest of its sequence is no text */
        rdline_char_in(own->line, key);
}

static void on_line(struct terminal *own)
{
    char line[LINE_ROOM];
    snprintf(line, sizeof(line), "%s", rdline_get_buffer(own->line));
    line[strcspn(line, "\r\n")] = '\0';
    if (line[0] != '\0')
        rdline_add_history(own->line, line);
    enum command_kind kind = execute_peek(line);
    if (kind == COMMAND_CLEAR) {
        printf(CLEAR_SCREEN);
    } else if (kind == COMMAND_EXIT) {
        rdline_newline(own->line, PROMPT); /* an empty line to come back to */
        printf(CLEAR_LINE);
        ask_stop(own);
        return;
    } else {
        fflush(stdout);
        execute_line(own->names, line);
        print_reply(own->names->reply);
    }
    if (!app_stopping(own->names->app))
        rdline_newline(own->line, PROMPT);
}

static void on_key(struct terminal *own, char key)
{
    if (own->asking) {
        answer(own, key);
        return;
    }
    if (key == CTRL_L) {
        printf(CLEAR_SCREEN);
        rdline_redisplay(own->line);
        return;
    }
    int result = rdline_char_in(own->line, key);
    if (result == RDLINE_RES_VALIDATED) {
        on_line(own);
    } else if (result == RDLINE_RES_EOF) { /* Ctrl-D in an empty line */
        printf(CLEAR_LINE);
        ask_stop(own);
    }
}

/* ---- the log ---- */

/* Lines that came by now, above what is being typed. */
static void show_log(struct terminal *own)
{
    static char lines[65536]; /* all that a pipe holds */
    ssize_t count = read(own->log[0], lines, sizeof(lines));
    if (count <= 0)
        return;
    printf(CLEAR_LINE);
    fwrite(lines, 1, (size_t)count, stdout);
    draw(own);
}

static bool same_terminal(int one, int other)
{
    struct stat stats[2];
    return isatty(one) && isatty(other) && fstat(one, &stats[0]) == 0 && fstat(other, &stats[1]) == 0 &&
           stats[0].st_rdev == stats[1].st_rdev;
}

/* A program that aborts has said why on stderr, which is in the pipe; and leaves the terminal as it was. */
static void on_abort(int number)
{
    char bytes[4096];
    for (ssize_t count; (count = read(terminal.log[0], bytes, sizeof(bytes))) > 0;)
        (void)!write(STDERR_FILENO, bytes, (size_t)count);
    tcsetattr(STDIN_FILENO, TCSANOW, &terminal.before);
    signal(number, SIG_DFL);
    raise(number); /* it comes when this handler has ended */
}

static void log_take(struct terminal *own)
{
    own->log[0] = own->log[1] = -1;
    if (!same_terminal(STDOUT_FILENO, STDERR_FILENO) || pipe2(own->log, O_NONBLOCK | O_CLOEXEC) != 0)
        return;
    signal(SIGABRT, on_abort);
    log_divert(own->log[1]);
}

static void log_give_back(struct terminal *own)
{
    if (own->log[1] < 0)
        return;
    log_divert(-1);
    show_log(own);
    close(own->log[0]);
    close(own->log[1]);
    own->log[0] = own->log[1] = -1;
}

/* ---- begin and end ---- */

/* Keys come one by one, and none of them is a signal. */
static bool keys_begin(struct terminal *own)
{
    if (tcgetattr(STDIN_FILENO, &own->before) != 0)
        return false;
    struct termios keys = own->before;
    keys.c_lflag &= ~(tcflag_t)(ICANON | ECHO | ISIG);
    return tcsetattr(STDIN_FILENO, TCSADRAIN, &keys) == 0;
}

/* Waits for keys or the log; false: the terminal is gone. */
static bool turn(struct terminal *own)
{
    char keys[64];
    struct pollfd wanted[] = {{.fd = STDIN_FILENO, .events = POLLIN}, {.fd = own->log[0], .events = POLLIN}};
    if (poll(wanted, 2, STOP_MS) <= 0)
        return true;
    if (wanted[1].revents != 0)
        show_log(own);
    if (wanted[0].revents == 0)
        return true;
    ssize_t count = read(STDIN_FILENO, keys, sizeof(keys));
    for (ssize_t index = 0; index < count && !app_stopping(own->names->app); index++)
        on_key(own, keys[index]);
    return count > 0;
}

void terminal_run(struct names *names)
{
    struct terminal *own = &terminal;
    own->names = names;
    own->line = rdline_new(on_write, on_validate, on_complete, own);
    if (own->line == NULL || !keys_begin(own)) {
        rdline_free(own->line);
        return;
    }
    log_take(own);
    rdline_newline(own->line, PROMPT);
    fflush(stdout);
    while (!app_stopping(names->app)) {
        if (!turn(own))
            app_stop(names->app);
        fflush(stdout);
    }
    own->asking = false;
    log_give_back(own);
    printf("\n");
    fflush(stdout);
    tcsetattr(STDIN_FILENO, TCSADRAIN, &own->before);
    rdline_free(own->line);
}
