#include "app/ctl/input.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "app/ctl/answer.h"

#define PASS_BYTES 65536

/* As read(), of a descriptor that others may have made one that does not wait. */
static ssize_t read_input(char *bytes, size_t room)
{
    for (;;) {
        ssize_t length = read(STDIN_FILENO, bytes, room);
        if (length >= 0 || (errno != EINTR && errno != EAGAIN))
            return length;
        struct pollfd wanted = {.fd = STDIN_FILENO, .events = POLLIN};
        if (errno == EAGAIN)
            (void)poll(&wanted, 1, -1); /* whatever it says, reading tells */
    }
}

/* The end is told by closing one half of the socket, and only where the input has ended: the other half goes with
 * this program, and if that is first the appliance knows that the stream is cut short. */
static void *pass(void *argument)
{
    static char bytes[PASS_BYTES];
    const struct input *input = argument;
    ssize_t length;
    int fd;
    do
        fd = accept(input->listener.fd, NULL, NULL);
    while (fd < 0 && errno == EINTR);
    do
        length = read_input(bytes, sizeof(bytes));
    while (length > 0 && unix_socket_send(fd, bytes, (size_t)length));
    if (length < 0)
        fprintf(stderr, "sluicectl: standard input: %s\n", strerror(errno)); /* of another thread */
    if (length == 0)
        shutdown(fd, SHUT_WR);
    else
        close(fd);
    return NULL;
}

/* Ctrl-C is for the thread that follows the job. */
static bool start_passing(struct input *input)
{
    pthread_t thread;
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    errno = pthread_create(&thread, NULL, pass, input);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return errno == 0 && pthread_detach(thread) == 0;
}

bool input_open(struct input *input)
{
    struct err err;
    *input = (struct input){.folder = "/tmp/sluicectl-XXXXXX", .listener.fd = -1};
    if (mkdtemp(input->folder) == NULL) {
        complain("%s: %s", input->folder, strerror(errno));
        return false;
    }
    snprintf(input->path, sizeof(input->path), "%s/input", input->folder);
    bool listens = unix_socket_listen(&input->listener, input->path, 0700, 1, &err);
    if (listens && start_passing(input))
        return true;
    complain("a socket for the standard input: %s", listens ? strerror(errno) : err.text);
    input_close(input);
    return false;
}

void input_close(struct input *input)
{
    if (input->path[0] == '\0')
        return;
    unix_socket_unlisten(&input->listener);
    rmdir(input->folder);
    input->path[0] = '\0';
}
