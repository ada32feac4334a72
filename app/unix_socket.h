/* Unix stream sockets, as the appliance and sluicectl use them.
 *
 * Guarantee: nothing is ever removed but a socket on which nobody listens, and at the end one's own. Who
 * listens below the same folder does so one after the other (flock on the folder), so that two that start at
 * once do not take each other's socket for a dead one. Somebody else's lock on the folder is waited for at most 1 s:
 * then listening fails with a text that says so, and ending leaves a socket behind that gives way later. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <sys/un.h>

#include "base/err.h"

struct unix_listener {
    int fd; /* -1: none */
    struct sockaddr_un address;
    dev_t device; /* of the socket at that path */
    ino_t inode;
};

/* Listens at `path` with the permissions `mode`, from the first moment on (the umask of the process changes
 * meanwhile). A socket that nobody serves gives way; anything else there is an error. */
bool unix_socket_listen(struct unix_listener *listener, const char *path, mode_t mode, int backlog,
                        struct err *err);
/* Lets a group in: the socket is `group`'s, with the permissions `mode` from then on. The caller must be root or of that group. */
bool unix_socket_give(const struct unix_listener *listener, gid_t group, mode_t mode, struct err *err);
/* Stops listening; removes the socket unless another one lies there by now. */
void unix_socket_unlisten(struct unix_listener *listener);
/* All of it. False, with errno: the other end is gone, or took nothing for as long as the socket waits. */
bool unix_socket_send(int fd, const char *bytes, size_t length);
