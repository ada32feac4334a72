/* The unix socket for sluicectl: one JSON object per line each way (app/ctl/README.md). One thread serves all
 * clients in turn; which of them give way when others come is seats.h. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <jansson.h>

#include "command.h"
#include "seats.h"

#define REQUEST_BYTES_MAX (1u << 20)
#define STOP_MS           200
#define SEND_TIMEOUT_S    2
#define ACCEPT_REST_NS    (200 * NS_PER_MS)

struct client {
    int fd; /* -1: none */
    struct caller caller;
    char *request; /* REQUEST_BYTES_MAX */
    size_t length;
};

struct server {
    struct seats seats;
    struct client clients[SEATS_MAX]; /* as in `seats` */
    uint64_t accept_ns;               /* no connection is accepted before; 0: the last one could be */
};

static struct command_reply reply;

/* ---- one request ---- */

static bool request_fail(const char *text)
{
    snprintf(reply.text, sizeof(reply.text), "%s", text);
    return reply.ok = false;
}

static const char *member_text(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text != NULL ? text : "";
}

/* False: not a command; reply says why. */
static bool request_parse(const json_t *object, struct command *command)
{
    *command = (struct command){.what = CTL_SHOW_COUNT};
    const char *word = member_text(object, "command");
    command->form = json_is_true(json_object_get(object, "json")) ? REPORT_JSON : REPORT_TEXT;
    if (strcmp(word, "show") == 0) {
        command->kind = COMMAND_SHOW;
        command->what = ctl_show_find(member_text(object, "what"));
        return name_copy(command->name, NAME_BYTES, member_text(object, "job")) ||
               request_fail("job: too long");
    }
    if (strcmp(word, "job run") == 0) {
        command->kind = COMMAND_JOB_RUN;
        command->text = json_string_value(json_object_get(object, "text"));
        if (command->text == NULL)
            return request_fail("job run: the text of the job file is missing");
        return (name_copy(command->path, PATH_BYTES, member_text(object, "path")) &&
                name_copy(command->input, PATH_BYTES, member_text(object, "input"))) ||
               request_fail("path or input: too long");
    }
    if (strcmp(word, "job pause") == 0 || strcmp(word, "job resume") == 0) {
        command->kind = COMMAND_JOB_PAUSE;
        command->changed = JOB_CONTROL_PAUSED;
        command->controls.paused = strcmp(word, "job pause") == 0;
        return name_copy(command->name, NAME_BYTES, member_text(object, "name")) ||
               request_fail("name: too long");
    }
    if (strcmp(word, "job set") == 0) {
        command->kind = COMMAND_JOB_SET;
        if (!name_copy(command->name, NAME_BYTES, member_text(object, "name")))
            return request_fail("name: too long");
        return command_set(command, member_text(object, "key"), member_text(object, "value"), &reply);
    }
    if (strcmp(word, "job cancel") == 0) {
        command->kind = COMMAND_JOB_CANCEL;
        return name_copy(command->name, NAME_BYTES, member_text(object, "name")) ||
               request_fail("name: too long");
    }
    if (strcmp(word, "help") == 0 || strcmp(word, "help counters") == 0) {
        command->kind = strcmp(word, "help") == 0 ? COMMAND_HELP : COMMAND_HELP_COUNTERS;
        return true;
    }
    return request_fail("unknown command");
}

static bool reply_send(int fd)
{
    json_t *object = json_pack("{s:b, s:s}", "ok", reply.ok, reply.ok ? "text" : "error", reply.text);
    char *line = object != NULL ? json_dumps(object, JSON_COMPACT) : NULL;
    json_decref(object);
    if (line == NULL)
        return false;
    bool sent = unix_socket_send(fd, line, strlen(line)) && unix_socket_send(fd, "\n", 1);
    free(line);
    return sent;
}

/* False: the connection is to be closed. */
static bool request_serve(struct app *app, const struct client *client, const char *line, size_t length)
{
    struct command command;
    json_t *object = json_loadb(line, length, JSON_REJECT_DUPLICATES, NULL);
    if (!json_is_object(object)) {
        json_decref(object);
        request_fail("malformed request: one JSON object per line expected");
        reply_send(client->fd);
        return false;
    }
    if (request_parse(object, &command)) {
        command.caller = &client->caller;
        command_run(app, &command, &reply);
    }
    json_decref(object);
    return reply_send(client->fd);
}

/* ---- clients ---- */

static uint64_t monotonic_ns(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * NS_PER_S + (uint64_t)time.tv_nsec;
}

static void client_close(struct server *server, int index)
{
    struct client *client = &server->clients[index];
    if (client->fd < 0)
        return;
    close(client->fd);
    free(client->request);
    *client = (struct client){.fd = -1};
    seat_leave(&server->seats, index);
}

static bool client_lines(struct app *app, struct client *client)
{
    size_t start = 0;
    for (;;) {
        char *line = client->request + start;
        char *end = memchr(line, '\n', client->length - start);
        if (end == NULL)
            break;
        if (!request_serve(app, client, line, (size_t)(end - line)))
            return false;
        start = (size_t)(end - client->request) + 1;
    }
    memmove(client->request, client->request + start, client->length - start);
    client->length -= start;
    if (client->length < REQUEST_BYTES_MAX)
        return true;
    request_fail("the request is longer than 1 MiB");
    reply_send(client->fd);
    return false;
}

static void client_read(struct app *app, struct server *server, int index)
{
    struct client *client = &server->clients[index];
    ssize_t count = recv(client->fd, client->request + client->length, REQUEST_BYTES_MAX - client->length, 0);
    seat_used(&server->seats, index, monotonic_ns());
    if (count > 0)
        client->length += (size_t)count;
    if (count <= 0 || !client_lines(app, client))
        client_close(server, index);
}

/* No file or memory for another connection: whoever has been idle longest gives up his, and the listener, at
 * which the new one goes on waiting, is left alone for a moment instead of being polled without end. */
static void accept_rest(struct server *server, const struct app *app, int error)
{
    if (error == ECONNABORTED || error == EINTR)
        return;
    int index = seat_longest_idle(&server->seats);
    if (server->accept_ns == 0)
        fprintf(stderr, "%s: control socket: %s\n", app->config.node.name, strerror(error));
    server->accept_ns = monotonic_ns() + ACCEPT_REST_NS;
    if (index >= 0)
        client_close(server, index);
}

static void client_accept(struct server *server, const struct app *app)
{
    int fd = accept4(app->listener.fd, NULL, NULL, SOCK_CLOEXEC);
    char *request = fd >= 0 ? malloc(REQUEST_BYTES_MAX) : NULL;
    if (request == NULL) {
        accept_rest(server, app, errno);
        if (fd >= 0)
            close(fd);
        return;
    }
    server->accept_ns = 0;
    struct timeval limit = {.tv_sec = SEND_TIMEOUT_S};
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
    struct caller caller;
    struct err err;
    if (!caller_of(&caller, fd, &err)) {
        request_fail(err.text);
        reply_send(fd);
        close(fd);
        free(request);
        return;
    }
    int index = seat_for(&server->seats, caller.user);
    client_close(server, index);
    seat_take(&server->seats, index, caller.user, monotonic_ns());
    server->clients[index] = (struct client){.fd = fd, .caller = caller, .request = request};
}

/* ---- the socket ---- */

static void socket_folder(const char *path)
{
    char folder[PATH_BYTES];
    name_copy(folder, sizeof(folder), path);
    char *slash = strrchr(folder, '/');
    if (slash == NULL || slash == folder)
        return;
    *slash = '\0';
    mkdir(folder, 0755);
}

bool server_listen(struct app *app, struct err *err)
{
    const char *path = app->config.control_socket;
    socket_folder(path);
    return unix_socket_listen(&app->listener, path, 0660, SEATS_MAX, err) ||
           err_context(err, "control socket");
}

static void server_turn(struct app *app, struct server *server)
{
    struct pollfd polled[SEATS_MAX + 1];
    int seats[SEATS_MAX];
    nfds_t count = 0; /* only what is open: poll refuses more entries than the process may have files */
    for (int index = 0; index < SEATS_MAX; index++)
        if (server->clients[index].fd >= 0) {
            polled[count] = (struct pollfd){.fd = server->clients[index].fd, .events = POLLIN};
            seats[count++] = index;
        }
    bool resting = monotonic_ns() < server->accept_ns;
    polled[count] = (struct pollfd){.fd = resting ? -1 : app->listener.fd, .events = POLLIN};
    if (poll(polled, count + 1, STOP_MS) <= 0)
        return;
    for (nfds_t index = 0; index < count; index++)
        if (polled[index].revents != 0)
            client_read(app, server, seats[index]);
    if (polled[count].revents != 0)
        client_accept(server, app);
}

void *server_main(void *argument)
{
    static struct server server;
    struct app *app = argument;
    eal_thread_background(&app->eal);
    for (int index = 0; index < SEATS_MAX; index++)
        server.clients[index].fd = -1;
    while (!app_stopping(app))
        server_turn(app, &server);
    for (int index = 0; index < SEATS_MAX; index++)
        client_close(&server, index);
    unix_socket_unlisten(&app->listener);
    return NULL;
}
