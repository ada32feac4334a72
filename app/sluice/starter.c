/* The appliance's end of the starter. */
#include "starter.h"

#include <errno.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define STARTER_END_MS 3000 /* a planner has its farewell in it */

bool starter_user(struct starter_config *config, const char *name, struct err *err)
{
    config->other_user = false;
    if (name[0] == '\0')
        return true;
    errno = 0;
    const struct passwd *user = getpwnam(name);
    if (user == NULL)
        return err_set(err, "planner_user: there is no user \"%s\"%s%s", name, errno != 0 ? ": " : "",
                       errno != 0 ? strerror(errno) : "");
    if (user->pw_uid == geteuid())
        return true;
    config->other_user = name_copy(config->user_name, sizeof(config->user_name), name);
    config->user = user->pw_uid;
    config->group = user->pw_gid;
    return true;
}

bool starter_begin(struct starter *starter, const struct starter_config *config, struct err *err)
{
    int ends[2];
    *starter = (struct starter){.socket = -1};
    if (config->other_user && geteuid() != 0)
        return err_set(err, "planner_user: only root can start a planner as %s", config->user_name);
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
        return err_set(err, "the starter of the planner: %s", strerror(errno));
    pid_t process = fork();
    if (process == 0) {
        close(ends[0]);
        starter_run(ends[1], config);
    }
    close(ends[1]);
    if (process < 0) {
        close(ends[0]);
        return err_set(err, "the starter of the planner: %s", strerror(errno));
    }
    *starter = (struct starter){.socket = ends[0], .process = process};
    return true;
}

/* One that takes nothing is asked again. */
static void ask(const struct starter *starter, char what)
{
    (void)!send(starter->socket, &what, 1, MSG_DONTWAIT | MSG_NOSIGNAL);
}

void starter_ask(const struct starter *starter)
{
    ask(starter, STARTER_ASK);
}

void starter_kill(const struct starter *starter)
{
    ask(starter, STARTER_KILL);
}

bool starter_take(struct starter *starter, struct starter_news *news)
{
    if (starter->socket < 0)
        return false;
    ssize_t length = recv(starter->socket, news, sizeof(*news), MSG_DONTWAIT);
    if (length < 0 && (errno == EAGAIN || errno == EINTR))
        return false;
    if (length != (ssize_t)sizeof(*news)) {
        close(starter->socket);
        starter->socket = -1;
        *news = (struct starter_news){.kind = STARTER_GONE, .text = "the starter of sluice-planner is gone"};
    }
    news->text[sizeof(news->text) - 1] = '\0';
    return true;
}

void starter_end(struct starter *starter)
{
    struct pollfd ended = {.fd = -1, .events = POLLIN};
    if (starter->socket >= 0)
        close(starter->socket);
    if (starter->process > 0)
        ended.fd = pidfd_open(starter->process, 0);
    if (starter->process > 0 && (ended.fd < 0 || poll(&ended, 1, STARTER_END_MS) != 1))
        kill(starter->process, SIGKILL);
    if (ended.fd >= 0)
        close(ended.fd);
    while (starter->process > 0 && waitpid(starter->process, NULL, 0) < 0 && errno == EINTR)
        ;
    *starter = (struct starter){.socket = -1};
}
