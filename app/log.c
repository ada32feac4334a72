#include "app/log.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define LINE_ROOM      4096 /* what a pipe that has room takes at once */
#define PRIORITY_BYTES 3    /* <N> */

/* Written under the lock of the stream. */
struct log {
    int fd;          /* where lines go now … */
    int own_fd;      /* … and where they go unless they are diverted */
    bool socket;     /* of own_fd */
    bool journal;    /* own_fd leads there */
    bool never_wait; /* lines that can't be written at once are dropped */
    bool in_line;    /* what came last was no whole line */
    unsigned dropped;
};

static struct log log_state;

static bool put(const struct log *log, const char *bytes, size_t length)
{
    struct pollfd wanted = {.fd = log->fd, .events = POLLOUT};
    int wait_ms = log->never_wait || log->fd != log->own_fd ? 0 : -1;
    int ready;
    while ((ready = poll(&wanted, 1, wait_ms)) < 0 && errno == EINTR)
        ;
    if (ready != 1 || (wanted.revents & POLLOUT) == 0)
        return false;
    ssize_t sent = log->socket && log->fd == log->own_fd
                       ? send(log->fd, bytes, length, (log->never_wait ? MSG_DONTWAIT : 0) | MSG_NOSIGNAL)
                       : write(log->fd, bytes, length);
    return sent > 0;
}

/* A priority is at the start, and only the journal wants it. */
static size_t priority_bytes(const char *line, size_t length)
{
    return length > PRIORITY_BYTES && line[0] == '<' && line[1] >= '0' && line[1] <= '7' && line[2] == '>'
               ? PRIORITY_BYTES
               : 0;
}

/* A piece of a line, LINE_ROOM at most, as it is shown; returns its length. */
static size_t line_form(const struct log *log, char out[LOG_TIME_BYTES + LINE_ROOM], const char *line,
                        size_t length)
{
    size_t time_bytes = 0;
    if (!log->in_line && !(log->journal && log->fd == log->own_fd)) {
        size_t left_out = priority_bytes(line, length);
        line += left_out;
        length -= left_out;
    }
    if (!log->in_line && !log->journal) {
        log_time_now(out);
        time_bytes = strlen(out);
    }
    memcpy(out + time_bytes, line, length);
    return time_bytes + length;
}

static void line_write(struct log *log, const char *line, size_t length)
{
    char out[LOG_TIME_BYTES + LINE_ROOM], told[64];
    if (log->dropped > 0 && !log->in_line) {
        int bytes = snprintf(told, sizeof(told), "%u lines of the log were lost\n", log->dropped);
        size_t told_bytes = line_form(log, out, told, (size_t)bytes);
        log->dropped = put(log, out, told_bytes) ? 0 : log->dropped;
    }
    size_t out_bytes = line_form(log, out, line, length);
    if (log->dropped > 0 || !put(log, out, out_bytes))
        log->dropped++;
}

static ssize_t log_write(void *cookie, const char *bytes, size_t length)
{
    struct log *log = cookie;
    for (size_t at = 0, piece; at < length; at += piece) {
        size_t room = length - at < LINE_ROOM ? length - at : LINE_ROOM;
        const char *end = memchr(bytes + at, '\n', room);
        piece = end != NULL ? (size_t)(end - (bytes + at)) + 1 : room;
        line_write(log, bytes + at, piece);
        log->in_line = end == NULL;
    }
    return (ssize_t)length;
}

/* A pipe that somebody else fills between poll and write would still be waited for: ours does not wait. The mode is
 * of the open file, which others share, so it is opened anew. */
static int own_end(int fd)
{
    struct stat stat;
    bool pipe = fstat(fd, &stat) == 0 && S_ISFIFO(stat.st_mode);
    int own = pipe ? open("/proc/self/fd/2", O_WRONLY | O_NONBLOCK | O_CLOEXEC) : -1;
    return own >= 0 ? own : fd;
}

/* systemd.exec(5): JOURNAL_STREAM is the device and the inode of the stream that leads to the journal. */
static bool leads_to_journal(const struct stat *stat)
{
    const char *told = getenv("JOURNAL_STREAM");
    unsigned long long device, inode;
    return told != NULL && sscanf(told, "%llu:%llu", &device, &inode) == 2 && device == stat->st_dev &&
           inode == stat->st_ino;
}

void log_begin(void)
{
    static char line[LINE_ROOM];
    const cookie_io_functions_t functions = {.write = log_write};
    struct stat stat;
    if (fstat(STDERR_FILENO, &stat) != 0)
        return;
    log_state = (struct log){.fd = STDERR_FILENO,
                             .own_fd = STDERR_FILENO,
                             .socket = S_ISSOCK(stat.st_mode),
                             .journal = leads_to_journal(&stat)};
    FILE *stream = fopencookie(&log_state, "w", functions);
    if (stream == NULL)
        return;
    setvbuf(stream, line, _IOLBF, sizeof(line));
    fflush(stderr);
    stderr = stream;
}

void log_never_wait(void)
{
    flockfile(stderr);
    log_state.never_wait = true;
    log_state.fd = log_state.own_fd = own_end(log_state.own_fd);
    funlockfile(stderr);
}

void log_divert(int fd)
{
    flockfile(stderr);
    log_state.fd = fd >= 0 ? fd : log_state.own_fd;
    funlockfile(stderr);
}

void log_time(char text[LOG_TIME_BYTES], long long seconds, unsigned milliseconds)
{
    struct tm parts;
    time_t at = (time_t)seconds;
    size_t length = strftime(text, LOG_TIME_BYTES, "%FT%T", gmtime_r(&at, &parts));
    snprintf(text + length, LOG_TIME_BYTES - length, ".%03uZ ", milliseconds % 1000);
}

void log_time_now(char text[LOG_TIME_BYTES])
{
    struct timespec now;
    text[0] = '\0';
    if (log_state.journal)
        return;
    clock_gettime(CLOCK_REALTIME, &now);
    log_time(text, now.tv_sec, (unsigned)(now.tv_nsec / 1000000));
}
