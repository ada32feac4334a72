/* The unix socket for sluicectl: one JSON object per line each way (app/ctl/PROTOCOL.md). One thread serves all
 * clients in turn; which of them give way when others come is seats.h.
 *
 * Guarantee: a client waits for one request of each other one, whatever those ask for and however they read.
 * Nobody's next request is read before he took the reply, for which he has REPLY_NS. */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <jansson.h>

#include "base/text.h"
#include "command.h"
#include "conf/places.h"
#include "seats.h"

#define REQUEST_BYTES_MAX (1u << 20)
#define STOP_MS           200
#define REPLY_NS          (2 * NS_PER_S)
#define ACCEPT_REST_NS    (200 * NS_PER_MS)

struct client {
    int fd; /* -1: none */
    struct caller caller;
    char *request; /* REQUEST_BYTES_MAX: whole lines and the beginning of one */
    size_t length;
    size_t searched; /* in so many bytes of it no line ends */
    char *reply;     /* a line that is being sent; NULL: none */
    size_t reply_length, sent;
    uint64_t due_ns; /* until when it is to be taken */
    bool last;       /* no further request is served */
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

/* Asked for once only: its bytes become those that the client has, which may be no UTF-8 (base/text.h). */
static const char *member_text(const json_t *object, const char *key)
{
    char *text = (char *)(uintptr_t)json_string_value(json_object_get(object, key));
    if (text != NULL)
        text_disarm(text);
    return text;
}

/* False: not a command; reply says why. The texts are the object's. */
static bool request_parse(const json_t *object, struct command *command)
{
    const char *words = member_text(object, "command");
    char name[COMMAND_NAME_BYTES];
    *command =
        (struct command){.words.kind = command_find(COMMAND_AT_SOCKET, words != NULL ? words : ""),
                         .form = json_is_true(json_object_get(object, "json")) ? REPORT_JSON : REPORT_TEXT,
                         .job = member_text(object, "job"),
                         .text = member_text(object, "text"),
                         .input = member_text(object, "input")};
    if (command->words.kind == COMMAND_COUNT)
        return request_fail("unknown command");
    for (unsigned index = 0; command_argument(command->words.kind, index, name); index++) {
        command->words.arguments[index] = member_text(object, name);
        if (command->words.arguments[index] == NULL &&
            command_argument_is_optional(command->words.kind, index))
            command->words.arguments[index] = "";
        if (command->words.arguments[index] == NULL) {
            snprintf(reply.text, sizeof(reply.text), "%s: \"%s\" is missing", words, name);
            return reply.ok = false;
        }
    }
    bool takes_file = command->words.kind == COMMAND_JOB_RUN || command->words.kind == COMMAND_JOB_PLAN;
    return !takes_file || command->text != NULL || request_fail("the text of the job file is missing");
}

/* The reply as a line, to be freed; NULL: there is no memory for it. */
static char *reply_line(size_t *length)
{
    json_t *object = json_pack("{s:b, s:s}", "ok", reply.ok, reply.ok ? "text" : "error", reply.text);
    char *line = object != NULL ? json_dumps(object, JSON_COMPACT) : NULL;
    json_decref(object);
    *length = line == NULL ? 0 : strlen(line) + 1;
    if (line != NULL)
        line[*length - 1] = '\n'; /* where its zero was */
    return line;
}

/* Fills the reply. False: no further request of this client makes sense. */
static bool request_serve(struct app *app, const struct client *client, const char *line, size_t length)
{
    struct command command;
    json_t *object = json_loadb(line, length, JSON_REJECT_DUPLICATES, NULL);
    bool good = json_is_object(object);
    if (!good)
        request_fail("malformed request: one JSON object per line expected");
    else if (request_parse(object, &command)) {
        command.caller = &client->caller;
        command_run(app, &command, &reply);
    }
    json_decref(object);
    return good;
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
    free(client->reply);
    *client = (struct client){.fd = -1};
    seat_leave(&server->seats, index);
}

/* As much of the reply as goes. Of this one and the next ones, false: the connection is to be closed. */
static bool client_send(const struct app *app, struct client *client)
{
    ssize_t sent = send(client->fd, client->reply + client->sent, client->reply_length - client->sent,
                        MSG_NOSIGNAL | MSG_DONTWAIT);
    client->sent += sent > 0 ? (size_t)sent : 0;
    if (client->sent == client->reply_length) {
        free(client->reply);
        client->reply = NULL;
        return !client->last;
    }
    if (sent < 0 && errno != EAGAIN && errno != EINTR)
        return false;
    if (monotonic_ns() < client->due_ns)
        return true;
    fprintf(stderr,
            "%s: control socket: a client of user %u did not take its reply within 2 s and is dropped\n",
            app->config.node.name, client->caller.user);
    return false;
}

static bool client_reply(const struct app *app, struct client *client)
{
    client->reply = reply_line(&client->reply_length);
    client->sent = 0;
    client->due_ns = monotonic_ns() + REPLY_NS;
    return client->reply != NULL && client_send(app, client);
}

/* A whole request is there, and its turn may be: it ends at request[searched]. */
static bool client_has_line(struct client *client)
{
    if (client->reply != NULL)
        return false;
    const char *unseen = client->request + client->searched;
    const char *end = memchr(unseen, '\n', client->length - client->searched);
    client->searched = end != NULL ? (size_t)(end - client->request) : client->length;
    return end != NULL;
}

static bool client_serve(struct app *app, struct client *client)
{
    size_t length = client->searched;
    client->last = !request_serve(app, client, client->request, length);
    client->length -= length + 1;
    client->searched = 0;
    memmove(client->request, client->request + length + 1, client->length);
    return client_reply(app, client);
}

static bool client_read(struct app *app, struct client *client)
{
    ssize_t count =
        recv(client->fd, client->request + client->length, REQUEST_BYTES_MAX - client->length, MSG_DONTWAIT);
    if (count <= 0)
        return count < 0 && (errno == EAGAIN || errno == EINTR);
    client->length += (size_t)count;
    if (client_has_line(client))
        return client_serve(app, client);
    if (client->length < REQUEST_BYTES_MAX)
        return true;
    client->last = true;
    request_fail("the request is longer than 1 MiB");
    return client_reply(app, client);
}

/* One step: what is left of a reply, or a request that is there, or what came. */
static void client_turn(struct app *app, struct server *server, int index, bool ready)
{
    struct client *client = &server->clients[index];
    bool good = true;
    if (client->reply != NULL)
        good = client_send(app, client);
    else if (client_has_line(client))
        good = client_serve(app, client);
    else if (ready)
        good = client_read(app, client);
    if (client->reply == NULL && ready)
        seat_used(&server->seats, index, monotonic_ns());
    if (!good)
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
    struct client client = {.fd = fd, .request = request};
    struct err err;
    if (!caller_of(&client.caller, fd, &err)) {
        fprintf(stderr, "%s: control socket: %s\n", app->config.node.name, err.text);
        close(fd);
        free(request);
        return;
    }
    int index = seat_for(&server->seats, client.caller.user);
    client_close(server, index);
    seat_take(&server->seats, index, client.caller.user, monotonic_ns());
    server->clients[index] = client;
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
    place_make(folder, 0755);
}

bool server_listen(struct app *app, struct err *err)
{
    const char *path = app->config.control_socket;
    socket_folder(path);
    const struct app_group *group = &app->config.control_group;
    bool given = group->name[0] != '\0'; /* then nobody's group gets in before */
    bool good = unix_socket_listen(&app->listener, path, given ? 0600 : 0660, SEATS_MAX, err) &&
                (!given || unix_socket_give(&app->listener, group->id, 0660, err) ||
                 err_context(err, "control.group %s", group->name));
    return good || err_context(err, "control socket");
}

/* How long there is nothing to do unless a descriptor is ready. */
static int pause_ms(struct server *server)
{
    for (int index = 0; index < SEATS_MAX; index++)
        if (server->clients[index].fd >= 0 && client_has_line(&server->clients[index]))
            return 0;
    return STOP_MS;
}

static void server_turn(struct app *app, struct server *server)
{
    struct pollfd polled[SEATS_MAX + 1];
    int seats[SEATS_MAX];
    nfds_t count = 0; /* only what is open: poll refuses more entries than the process may have files */
    for (int index = 0; index < SEATS_MAX; index++) {
        const struct client *client = &server->clients[index];
        if (client->fd < 0)
            continue;
        short events = client->reply != NULL ? POLLOUT : POLLIN;
        polled[count] = (struct pollfd){.fd = client->fd, .events = events};
        seats[count++] = index;
    }
    bool resting = monotonic_ns() < server->accept_ns;
    polled[count] = (struct pollfd){.fd = resting ? -1 : app->listener.fd, .events = POLLIN};
    if (poll(polled, count + 1, pause_ms(server)) < 0)
        return;
    for (nfds_t index = 0; index < count; index++)
        client_turn(app, server, seats[index], polled[index].revents != 0);
    if (polled[count].revents != 0)
        client_accept(server, app);
}

void *server_main(void *argument)
{
    static struct server server;
    struct app *app = argument;
    pthread_setname_np(pthread_self(), "control");
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
