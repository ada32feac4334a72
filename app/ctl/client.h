/* One connection to an appliance: requests and replies as README.md describes them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#include "app/exit_usage.h"

#define EXIT_OK          0
#define EXIT_JOB_FAILED  1
#define EXIT_UNREACHABLE 3
#define EXIT_REFUSED     4
#define EXIT_DETACHED    130

struct client {
    const char *path;
    int fd;
    char *line; /* what was received, REPLY_BYTES_MAX */
    size_t length;
};

/* EXIT_OK or EXIT_UNREACHABLE, after a message. */
int client_open(struct client *client, const char *path);
void client_close(struct client *client);

/* Sends `request` (and releases it) and waits for its reply. EXIT_OK: *text is the reply's text, to be freed.
 * Else a message was printed, and it is EXIT_UNREACHABLE or EXIT_REFUSED. */
int client_ask(struct client *client, json_t *request, char **text);
