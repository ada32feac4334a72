/* The unix socket for sluicectl: one JSON object per line each way (app/ctl/README.md). One thread serves all
 * clients in turn. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <jansson.h>

#include "app/unix_socket.h"
#include "command.h"

#define CLIENTS_MAX       16
#define REQUEST_BYTES_MAX (1u << 20)
#define STOP_MS           200
#define SEND_TIMEOUT_S    2

struct client {
    int fd;
    char *request; /* REQUEST_BYTES_MAX */
    size_t length;
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
    if (strcmp(word, "help") == 0) {
        command->kind = COMMAND_HELP;
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
static bool request_serve(struct app *app, int fd, const char *line, size_t length)
{
    struct command command;
    json_t *object = json_loadb(line, length, JSON_REJECT_DUPLICATES, NULL);
    if (!json_is_object(object)) {
        json_decref(object);
        request_fail("malformed request: one JSON object per line expected");
        reply_send(fd);
        return false;
    }
    if (request_parse(object, &command))
        command_run(app, &command, &reply);
    json_decref(object);
    return reply_send(fd);
}

/* ---- clients ---- */

static void client_close(struct client *client)
{
    close(client->fd);
    free(client->request);
    *client = (struct client){.fd = -1};
}

static bool client_lines(struct app *app, struct client *client)
{
    size_t start = 0;
    for (;;) {
        char *line = client->request + start;
        char *end = memchr(line, '\n', client->length - start);
        if (end == NULL)
            break;
        if (!request_serve(app, client->fd, line, (size_t)(end - line)))
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

static void client_read(struct app *app, struct client *client)
{
    ssize_t count = recv(client->fd, client->request + client->length, REQUEST_BYTES_MAX - client->length, 0);
    if (count > 0)
        client->length += (size_t)count;
    if (count <= 0 || !client_lines(app, client))
        client_close(client);
}

static void client_accept(int listener, struct client *clients)
{
    int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    if (fd < 0)
        return;
    struct timeval limit = {.tv_sec = SEND_TIMEOUT_S};
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
    for (int index = 0; index < CLIENTS_MAX; index++)
        if (clients[index].fd < 0) {
            clients[index].request = malloc(REQUEST_BYTES_MAX);
            if (clients[index].request == NULL)
                break;
            clients[index].fd = fd;
            return;
        }
    request_fail("too many clients");
    reply_send(fd);
    close(fd);
}

/* ---- the socket ---- */

/* Whether somebody answers on the path; a file that nobody serves is stale. */
static bool socket_served(const struct sockaddr_un *address)
{
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool served = fd >= 0 && connect(fd, (const struct sockaddr *)address, sizeof(*address)) == 0;
    if (fd >= 0)
        close(fd);
    return served;
}

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

int server_listen(const struct app *app, struct err *err)
{
    const char *path = app->config.control_socket;
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (!name_copy(address.sun_path, sizeof(address.sun_path), path)) {
        err_set(err, "control socket %s: a path of at most %zu characters expected", path,
                sizeof(address.sun_path) - 1);
        return -1;
    }
    if (socket_served(&address)) {
        err_set(err, "control socket %s: another appliance answers there", path);
        return -1;
    }
    socket_folder(path);
    unlink(path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    mode_t mask = umask(0117); /* owner and group, from the first moment */
    bool bound = fd >= 0 && bind(fd, (const struct sockaddr *)&address, sizeof(address)) == 0;
    umask(mask);
    if (bound && listen(fd, CLIENTS_MAX) == 0)
        return fd;
    err_set(err, "control socket %s: %s", path, strerror(errno));
    if (fd >= 0)
        close(fd);
    return -1;
}

static void server_turn(struct app *app, int listener, struct client *clients)
{
    struct pollfd polled[CLIENTS_MAX + 1] = {{.fd = listener, .events = POLLIN}};
    for (int index = 0; index < CLIENTS_MAX; index++)
        polled[index + 1] = (struct pollfd){.fd = clients[index].fd, .events = POLLIN};
    if (poll(polled, CLIENTS_MAX + 1, STOP_MS) <= 0)
        return;
    for (int index = 0; index < CLIENTS_MAX; index++)
        if (polled[index + 1].revents != 0)
            client_read(app, &clients[index]);
    if (polled[0].revents != 0)
        client_accept(listener, clients);
}

void *server_main(void *argument)
{
    struct app *app = argument;
    struct client clients[CLIENTS_MAX];
    eal_thread_background(&app->eal);
    for (int index = 0; index < CLIENTS_MAX; index++)
        clients[index] = (struct client){.fd = -1};
    while (!app_stopping(app))
        server_turn(app, app->listener, clients);
    for (int index = 0; index < CLIENTS_MAX; index++)
        if (clients[index].fd >= 0)
            client_close(&clients[index]);
    close(app->listener);
    unlink(app->config.control_socket);
    return NULL;
}
