#include "log.h"

#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define LINE_ROOM 4096 /* what a pipe that has room takes at once */

/* Written under the lock of the stream. */
struct log {
    int fd;
    bool socket;
    unsigned dropped;
};

static bool put(const struct log *log, const char *bytes, size_t length)
{
    struct pollfd wanted = {.fd = log->fd, .events = POLLOUT};
    if (poll(&wanted, 1, 0) != 1 || (wanted.revents & POLLOUT) == 0)
        return false;
    ssize_t sent = log->socket ? send(log->fd, bytes, length, MSG_DONTWAIT | MSG_NOSIGNAL)
                               : write(log->fd, bytes, length);
    return sent > 0;
}

static ssize_t log_write(void *cookie, const char *bytes, size_t length)
{
    struct log *log = cookie;
    char told[64];
    if (log->dropped > 0) {
        int bytes_told = snprintf(told, sizeof(told), "%u lines of the log were lost\n", log->dropped);
        log->dropped = put(log, told, (size_t)bytes_told) ? 0 : log->dropped;
    }
    if (log->dropped > 0 || !put(log, bytes, length))
        log->dropped++;
    return (ssize_t)length;
}

/* A pipe that somebody else fills between poll and write would still be waited for: ours does not wait. The mode is
 * of the open file, which others share, so it is opened anew. */
static int own_end(int fd, mode_t mode)
{
    int own = S_ISFIFO(mode) ? open("/proc/self/fd/2", O_WRONLY | O_NONBLOCK | O_CLOEXEC) : -1;
    return own >= 0 ? own : fd;
}

void log_begin(void)
{
    static struct log log;
    static char line[LINE_ROOM];
    const cookie_io_functions_t functions = {.write = log_write};
    struct stat stat;
    if (fstat(STDERR_FILENO, &stat) != 0)
        return;
    log = (struct log){.fd = own_end(STDERR_FILENO, stat.st_mode), .socket = S_ISSOCK(stat.st_mode)};
    FILE *stream = fopencookie(&log, "w", functions);
    if (stream == NULL)
        return;
    setvbuf(stream, line, _IOLBF, sizeof(line));
    fflush(stderr);
    stderr = stream;
}
