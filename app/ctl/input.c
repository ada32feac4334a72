#include "app/ctl/input.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "app/unix_socket.h"

#define PASS_BYTES 65536

static void *pass(void *argument)
{
    static char bytes[PASS_BYTES];
    const struct input *input = argument;
    int fd;
    do
        fd = accept(input->listener, NULL, NULL);
    while (fd < 0 && errno == EINTR);
    for (;;) {
        ssize_t length = read(STDIN_FILENO, bytes, sizeof(bytes));
        if (length < 0 && errno == EINTR)
            continue;
        if (length <= 0 || !unix_socket_send(fd, bytes, (size_t)length))
            break;
    }
    close(fd);
    return NULL;
}

static int listen_at(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    memcpy(address.sun_path, path, strlen(path) + 1);
    if (fd < 0 || (bind(fd, (const struct sockaddr *)&address, sizeof(address)) == 0 && listen(fd, 1) == 0))
        return fd;
    close(fd);
    return -1;
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
    *input = (struct input){.folder = "/tmp/sluicectl-XXXXXX", .listener = -1};
    if (mkdtemp(input->folder) != NULL) {
        snprintf(input->path, sizeof(input->path), "%s/input", input->folder);
        input->listener = listen_at(input->path);
    }
    if (input->listener >= 0 && start_passing(input))
        return true;
    fprintf(stderr, "sluicectl: a socket for the standard input: %s\n", strerror(errno));
    input_close(input);
    return false;
}

void input_close(struct input *input)
{
    if (input->path[0] == '\0')
        return;
    unlink(input->path);
    rmdir(input->folder);
    input->path[0] = '\0';
}
