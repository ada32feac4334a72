#include "app/unix_socket.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define LOCK_ATTEMPTS 50
#define LOCK_REST_US  20000

/* The folder of the path, open and, if *locked, locked; -1 where it may not be opened: then nobody else can be kept
 * away, and bind says what is wrong. Who listens or ends holds it for some ms; but anybody who may read the folder
 * can lock it for good, so nobody waits for that. */
static int folder_lock(const char *path, bool *locked)
{
    char folder[sizeof(((struct sockaddr_un *)0)->sun_path)];
    const char *slash = strrchr(path, '/');
    size_t length = slash == NULL ? 0 : slash == path ? 1 : (size_t)(slash - path);
    memcpy(folder, length == 0 ? "." : path, length == 0 ? 1 : length);
    folder[length == 0 ? 1 : length] = '\0';
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    *locked = false;
    for (int attempt = 0; fd >= 0 && !*locked && attempt < LOCK_ATTEMPTS; attempt++) {
        *locked = flock(fd, LOCK_EX | LOCK_NB) == 0 || (errno != EWOULDBLOCK && errno != EINTR);
        if (!*locked)
            usleep(LOCK_REST_US);
    }
    return fd;
}

static void folder_unlock(int fd)
{
    if (fd >= 0)
        close(fd);
}

/* 0: somebody listens there. Else why a connection could not be made: ECONNREFUSED, nobody does. */
static int socket_answers(const struct sockaddr_un *address)
{
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    int error = fd < 0 ? errno : 0;
    /* EAGAIN: more wait there than it has places for. */
    if (fd >= 0 && connect(fd, (const struct sockaddr *)address, sizeof(*address)) != 0 && errno != EAGAIN)
        error = errno;
    if (fd >= 0)
        close(fd);
    return error;
}

/* True: the path is free. */
static bool path_free(const struct sockaddr_un *address, struct err *err)
{
    const char *path = address->sun_path;
    struct stat there;
    if (lstat(path, &there) != 0)
        return errno == ENOENT || err_set(err, "%s", strerror(errno));
    if (!S_ISSOCK(there.st_mode))
        return err_set(err, "something that is no socket lies there; move it, or give another path");
    int error = socket_answers(address);
    if (error == 0)
        return err_set(err, "another appliance answers there");
    if (error == ENOENT || (error == ECONNREFUSED && unlink(path) == 0))
        return true;
    return err_set(err, "a socket lies there, and is not known to be dead: %s",
                   strerror(error == ECONNREFUSED ? errno : error));
}

static bool bind_and_listen(struct unix_listener *listener, mode_t mode, int backlog, struct err *err)
{
    struct stat made;
    listener->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    mode_t before = umask(0777 & ~mode);
    bool bound = listener->fd >= 0 && bind(listener->fd, (const struct sockaddr *)&listener->address,
                                           sizeof(listener->address)) == 0;
    umask(before);
    if (bound && listen(listener->fd, backlog) == 0 && lstat(listener->address.sun_path, &made) == 0) {
        listener->device = made.st_dev;
        listener->inode = made.st_ino;
        return true;
    }
    err_set(err, "%s", strerror(errno));
    if (bound)
        unlink(listener->address.sun_path);
    if (listener->fd >= 0)
        close(listener->fd);
    listener->fd = -1;
    return false;
}

bool unix_socket_listen(struct unix_listener *listener, const char *path, mode_t mode, int backlog,
                        struct err *err)
{
    *listener = (struct unix_listener){.fd = -1, .address.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof(listener->address.sun_path))
        return err_set(err, "%s: a path of at most %zu characters expected", path,
                       sizeof(listener->address.sun_path) - 1);
    strcpy(listener->address.sun_path, path);
    bool locked;
    int folder = folder_lock(path, &locked);
    bool good = folder >= 0 && !locked
                    ? err_set(err, "somebody keeps its folder locked (flock): lslocks or fuser tell who")
                    : path_free(&listener->address, err) && bind_and_listen(listener, mode, backlog, err);
    folder_unlock(folder);
    return good || err_context(err, "%s", path);
}

bool unix_socket_give(const struct unix_listener *listener, gid_t group, mode_t mode, struct err *err)
{
    const char *path = listener->address.sun_path;
    char link[32];
    struct stat opened;
    int fd = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC); /* ours, whatever its name leads to by now */
    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    bool good = fd >= 0 && fstat(fd, &opened) == 0;
    if (good && (opened.st_dev != listener->device || opened.st_ino != listener->inode)) {
        good = err_set(err, "%s: another one lies there by now", path);
    } else if (!good || fchownat(fd, "", (uid_t)-1, group, AT_EMPTY_PATH) != 0 || chmod(link, mode) != 0) {
        good = err_set(err, "%s: can't be given to group %u: %s", path, group, strerror(errno));
    }
    if (fd >= 0)
        close(fd);
    return good;
}

void unix_socket_unlisten(struct unix_listener *listener)
{
    const char *path = listener->address.sun_path;
    struct stat there;
    if (listener->fd < 0)
        return;
    /* As long as the socket is open its inode is taken: no other one can look like it. Where the lock can't be had
     * one that takes its place right now could lose his; a dead one that is left gives way to the next. */
    bool locked;
    int folder = folder_lock(path, &locked);
    if ((locked || folder < 0) && lstat(path, &there) == 0 && there.st_dev == listener->device &&
        there.st_ino == listener->inode)
        unlink(path);
    folder_unlock(folder);
    close(listener->fd);
    listener->fd = -1;
}

bool unix_socket_send(int fd, const char *bytes, size_t length)
{
    while (length > 0) {
        ssize_t sent = send(fd, bytes, length, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent <= 0)
            return false;
        bytes += sent;
        length -= (size_t)sent;
    }
    return true;
}
