/* The starter itself, and what a planner goes through before it is one. */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "starter.h"

#define PLANNER     "sluice-planner"
#define FAREWELL_MS 1000 /* that a planner has to end by itself, before it is killed */

static const int signals[] = {SIGHUP, SIGINT, SIGTERM, SIGQUIT, SIGPIPE};

struct state {
    int socket;
    const struct starter_config *config;
    pid_t planner; /* 0: none */
    int process;   /* pidfd of the planner; -1: none */
    int said;      /* what it says; -1: none */
};

static void tell(const struct state *state, enum starter_kind kind, const char *text)
{
    struct starter_news news;
    memset(&news, 0, sizeof(news)); /* the holes travel, too */
    news.kind = kind;
    news.process = state->planner;
    snprintf(news.text, sizeof(news.text), "%s", text);
    /* What a planner says is dropped rather than waited for; its fate is not. */
    (void)!send(state->socket, &news, sizeof(news), MSG_NOSIGNAL | (kind == STARTER_SAID ? MSG_DONTWAIT : 0));
}

/* ---- the child, until it is the planner ---- */

static void give_up(int report, const char *what)
{
    char text[256];
    int length = snprintf(text, sizeof(text), "%s: %s", what, strerror(errno));
    (void)!write(report, text, (size_t)length);
    _exit(EXIT_FAILURE);
}

/* Groups first: afterwards it may not any more. */
static void take_user(const struct starter_config *config, int report)
{
    if (config->other_user && (initgroups(config->user_name, config->group) != 0 ||
                               setresgid(config->group, config->group, config->group) != 0 ||
                               setresuid(config->user, config->user, config->user) != 0))
        give_up(report, config->user_name);
    /* What the appliance was given beside its user. */
    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
}

/* From beside this program; where none lies there, by PATH. */
static void become_planner(const struct starter_config *config, int report)
{
    char path[PATH_MAX + sizeof(PLANNER)];
    char *const arguments[] = {(char[]){PLANNER}, (char[]){"--ring"}, (char *)(uintptr_t)config->ring, NULL};
    ssize_t length = readlink("/proc/self/exe", path, PATH_MAX - 1);
    path[length > 0 ? length : 0] = '\0';
    char *name = strrchr(path, '/');
    if (name != NULL) {
        strcpy(name + 1, PLANNER);
        execv(path, arguments);
        if (errno != ENOENT)
            give_up(report, path);
    }
    execvp(PLANNER, arguments);
    if (errno == ENOENT)
        give_up(report, PLANNER " beside sluice or in PATH");
    give_up(report, PLANNER);
}

static void child(const struct state *state, pid_t starter, int said, int report)
{
    int null = open("/dev/null", O_RDWR);
    if (null < 0 || dup2(null, STDIN_FILENO) < 0 || dup2(null, STDOUT_FILENO) < 0 ||
        dup2(said, STDERR_FILENO) < 0)
        give_up(report, "/dev/null");
    for (unsigned index = 0; index < sizeof(signals) / sizeof(signals[0]); index++)
        signal(signals[index], SIG_DFL);
    take_user(state->config, report);
    /* Behind the change of user, which takes it back. */
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        give_up(report, "prctl");
    if (getppid() != starter)
        _exit(EXIT_FAILURE);
    if (close_range(STDERR_FILENO + 1, UINT_MAX, CLOSE_RANGE_CLOEXEC) != 0)
        give_up(report, "close_range");
    become_planner(state->config, report);
}

/* ---- the starter ---- */

/* Until the child is the planner, or has written why not: *text is empty then, or not. */
static void read_report(int report, char *text, size_t room)
{
    size_t length = 0;
    ssize_t count;
    while ((count = read(report, text + length, room - 1 - length)) > 0 || (count < 0 && errno == EINTR))
        length += count > 0 ? (size_t)count : 0;
    text[length] = '\0';
}

static void let_go(struct state *state)
{
    if (state->process >= 0)
        close(state->process);
    if (state->said >= 0)
        close(state->said);
    state->planner = 0;
    state->process = state->said = -1;
}

static bool two_pipes(int first[2], int second[2])
{
    if (pipe2(first, O_CLOEXEC) != 0)
        return false;
    if (pipe2(second, O_CLOEXEC) == 0)
        return true;
    close(first[0]);
    close(first[1]);
    return false;
}

static void start(struct state *state)
{
    int said[2], report[2];
    char text[256];
    pid_t starter = getpid();
    if (!two_pipes(said, report)) {
        tell(state, STARTER_ENDED, "no pipe for " PLANNER);
        return;
    }
    pid_t process = fork();
    if (process == 0)
        child(state, starter, said[1], report[1]);
    close(said[1]);
    close(report[1]);
    read_report(report[0], text, sizeof(text));
    close(report[0]);
    state->said = said[0];
    state->planner = process > 0 ? process : 0;
    state->process = process > 0 ? pidfd_open(process, 0) : -1;
    if (state->process >= 0 && text[0] == '\0') {
        tell(state, STARTER_STARTED, "");
        return;
    }
    if (text[0] == '\0')
        snprintf(text, sizeof(text), PLANNER ": %s", strerror(errno));
    if (process > 0) {
        kill(process, SIGKILL);
        waitpid(process, NULL, 0);
    }
    let_go(state);
    tell(state, STARTER_ENDED, text);
}

/* False: it says no more. */
static bool pass_on(const struct state *state)
{
    char text[STARTER_NEWS_BYTES];
    ssize_t length = read(state->said, text, sizeof(text) - 1);
    if (length <= 0)
        return false;
    text[length] = '\0';
    for (char *zero = text; (zero = memchr(zero, '\0', (size_t)(text + length - zero))) != NULL;)
        *zero = '?';
    tell(state, STARTER_SAID, text);
    return true;
}

static void ended(struct state *state)
{
    char text[64];
    int status = 0;
    if (waitpid(state->planner, &status, WNOHANG) != state->planner)
        return;
    fcntl(state->said, F_SETFL, O_NONBLOCK);
    while (pass_on(state))
        ;
    if (WIFSIGNALED(status))
        snprintf(text, sizeof(text), PLANNER " was ended by signal %d", WTERMSIG(status));
    else
        snprintf(text, sizeof(text), PLANNER " exited with status %d", WEXITSTATUS(status));
    let_go(state);
    tell(state, STARTER_ENDED, text);
}

/* Where a planner may not be ended by hand the kernel is left to do so (PR_SET_PDEATHSIG), and nobody waits for it. */
static void farewell(const struct state *state)
{
    struct pollfd wanted = {.fd = state->process, .events = POLLIN};
    if (state->planner == 0 || kill(state->planner, SIGTERM) != 0)
        _exit(EXIT_SUCCESS);
    if (poll(&wanted, 1, FAREWELL_MS) != 1 && kill(state->planner, SIGKILL) != 0)
        _exit(EXIT_SUCCESS);
    waitpid(state->planner, NULL, 0);
    _exit(EXIT_SUCCESS);
}

/* What the appliance asks. */
static void obey(struct state *state, char what)
{
    if (what == STARTER_ASK && state->planner == 0)
        start(state);
    else if (what == STARTER_KILL && state->planner > 0)
        kill(state->planner, SIGKILL);
}

void starter_run(int socket, const struct starter_config *config)
{
    struct state state = {.socket = socket, .config = config, .process = -1, .said = -1};
    char byte;
    setsid(); /* what a terminal tells the appliance is not for a planner */
    prctl(PR_SET_NAME, "sluice-starter");
    for (unsigned index = 0; index < sizeof(signals) / sizeof(signals[0]); index++)
        signal(signals[index], SIG_IGN);
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    dup2(null, STDIN_FILENO);
    dup2(null, STDOUT_FILENO);
    for (;;) {
        struct pollfd wanted[] = {{.fd = socket, .events = POLLIN},
                                  {.fd = state.process, .events = POLLIN},
                                  {.fd = state.said, .events = POLLIN}};
        if (poll(wanted, 3, -1) < 0)
            continue;
        if (wanted[2].revents != 0 && !pass_on(&state)) {
            close(state.said);
            state.said = -1;
        }
        if (wanted[1].revents != 0)
            ended(&state);
        if (wanted[0].revents != 0 && recv(socket, &byte, 1, 0) != 1)
            farewell(&state);
        if (wanted[0].revents != 0)
            obey(&state, byte);
    }
}
