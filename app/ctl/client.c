#include "app/ctl/client.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "app/unix_socket.h"
#include "base/check.h"

#define REPLY_BYTES_MAX (4u << 20)
#define REPLY_TIMEOUT_S 10
#define PATIENCE        6 /* so many of these; a site may stand still for 20 s, and its source with it */
#define NO_ANSWER       "the appliance does not answer"

static int unreachable(const struct client *client, const char *why)
{
    complain("%s: %s", client->path, why);
    return EXIT_UNREACHABLE;
}

int client_open(struct client *client, const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct timeval timeout = {.tv_sec = REPLY_TIMEOUT_S};
    *client = (struct client){.path = path, .fd = -1};
    if (strlen(path) >= sizeof(address.sun_path))
        return unreachable(client, "the path is too long for a socket");
    memcpy(address.sun_path, path, strlen(path) + 1);
    client->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (client->fd >=
        0) { /* before connecting: where more wait than the appliance has places for, that waits, too */
        setsockopt(client->fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout));
        setsockopt(client->fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof(timeout));
    }
    if (client->fd < 0 || connect(client->fd, (struct sockaddr *)&address, sizeof(address)) != 0) {
        int error = errno;
        client_close(client);
        unreachable(client, error == EAGAIN ? NO_ANSWER : strerror(error));
        if (error == ENOENT || error == ECONNREFUSED)
            fprintf(stderr, "Is the appliance running, and is this its control socket? (-s SOCKET)\n");
        return EXIT_UNREACHABLE;
    }
    client->line = malloc(REPLY_BYTES_MAX);
    CHECK(client->line != NULL);
    return EXIT_OK;
}

void client_close(struct client *client)
{
    if (client->fd >= 0)
        close(client->fd);
    free(client->line);
    *client = (struct client){.path = client->path, .fd = -1};
}

void client_be_patient(struct client *client, const volatile sig_atomic_t *stop)
{
    client->patient = true;
    client->stop = stop;
}

/* Nothing came for REPLY_TIMEOUT_S, once more. True: it is waited on. */
static bool go_on_waiting(const struct client *client, unsigned times)
{
    if (!client->patient || times == PATIENCE)
        return false;
    if (times == 1)
        fprintf(stderr, "sluicectl: %s: " NO_ANSWER ": waiting for it, up to %d s\n", client->path,
                PATIENCE * REPLY_TIMEOUT_S);
    return true;
}

/* Why the connection failed; NULL: a whole line is there, or *stop is set. */
static const char *receive_line(struct client *client)
{
    unsigned times = 0;
    client->length = 0;
    for (;;) {
        if (client->stop != NULL && *client->stop)
            return NULL;
        ssize_t count = recv(client->fd, client->line + client->length, REPLY_BYTES_MAX - client->length, 0);
        if (count < 0 && (errno == EINTR || (errno == EAGAIN && go_on_waiting(client, ++times))))
            continue;
        if (count < 0)
            return errno == EAGAIN ? NO_ANSWER : strerror(errno);
        if (count == 0)
            return client->length == REPLY_BYTES_MAX ? "the reply is too long"
                                                     : "the appliance closed the connection";
        client->length += (size_t)count;
        if (client->line[client->length - 1] == '\n') /* one request, one line: nothing can follow it */
            return NULL;
    }
}

static int read_reply(const struct client *client, char **text)
{
    json_t *reply = json_loadb(client->line, client->length, 0, NULL);
    const char *good = json_string_value(json_object_get(reply, "text"));
    const char *error = json_string_value(json_object_get(reply, "error"));
    int result = EXIT_OK;
    if (json_is_true(json_object_get(reply, "ok")) && good != NULL) {
        *text = strdup(good);
        CHECK(*text != NULL);
    } else if (error != NULL) {
        complain("%s", error);
        result = EXIT_REFUSED;
    } else {
        result = unreachable(client, "the reply is none of an appliance");
    }
    json_decref(reply);
    return result;
}

int client_ask(struct client *client, json_t *request, char **text)
{
    char *line = json_dumps(request, JSON_COMPACT);
    json_decref(request);
    CHECK(line != NULL);
    bool sent = unix_socket_send(client->fd, line, strlen(line)) && unix_socket_send(client->fd, "\n", 1);
    free(line);
    if (!sent)
        return unreachable(client, strerror(errno));
    const char *failure = receive_line(client);
    if (client->stop != NULL && *client->stop)
        return EXIT_DETACHED;
    return failure != NULL ? unreachable(client, failure) : read_reply(client, text);
}

int client_ask_job(struct client *client, json_t *request, const char *name, struct client_job *job)
{
    char *text = NULL;
    int result = client_ask(client, request, &text);
    if (result != EXIT_OK)
        return result;
    json_t *reply = json_loads(text, 0, NULL);
    const char *done = json_string_value(json_object_get(reply, "done"));
    json_int_t id = json_integer_value(json_object_get(reply, "id"));
    snprintf(job->document, sizeof(job->document), "%s", text);
    snprintf(job->done, sizeof(job->done), "%s", done != NULL ? done : text);
    if (id > 0)
        snprintf(job->asked, sizeof(job->asked), "%lld", (long long)id);
    else
        name_copy(job->asked, sizeof(job->asked), name);
    json_decref(reply);
    free(text);
    return result;
}
