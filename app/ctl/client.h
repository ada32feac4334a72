/* One connection to an appliance: requests and replies as README.md describes them. */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#include "base/name.h"

#include "app/ctl/answer.h"

struct client {
    const char *path;
    int fd;
    char *line; /* what was received, REPLY_BYTES_MAX */
    size_t length;
    bool patient;
    const volatile sig_atomic_t *stop; /* NULL: nothing but time ends the waiting */
};

/* EXIT_OK or EXIT_UNREACHABLE, after a message. */
int client_open(struct client *client, const char *path);
void client_close(struct client *client);

/* Of what goes on at an appliance: that it stands still for a while does not end it. From now on replies are waited for up to 60 s
 * instead of 10, until a signal has set *stop. */
void client_be_patient(struct client *client, const volatile sig_atomic_t *stop);

/* Sends `request` (and releases it) and waits for its reply. EXIT_OK: *text is the reply's text, to be freed. EXIT_DETACHED: *stop
 * was set meanwhile. Else a message was printed, and it is EXIT_UNREACHABLE or EXIT_REFUSED. */
int client_ask(struct client *client, json_t *request, char **text);

/* What was done about a job, as a request with "json": true is answered. `asked` names that job alone in further requests. */
struct client_job {
    char document[1024], done[256]; /* the answer: for programs, for people */
    char asked[NAME_BYTES];
};
/* The same for a request that starts the job of that name. */
int client_ask_job(struct client *client, json_t *request, const char *name, struct client_job *job);
