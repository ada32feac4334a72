/* The standard input as the source of a stream: a unix socket that the appliance connects to, and a thread
 * that passes on what comes, and tells its end. Whatever ends this program before that makes the job fail. */
#pragma once

#include <limits.h>
#include <stdbool.h>

#include "app/unix_socket.h"

struct input {
    char folder[32]; /* only this user may enter it */
    char path[48];   /* of the socket in it; "": not open */
    struct unix_listener listener;
};

/* False after a message. */
bool input_open(struct input *input);
/* Removes the socket; bytes that were not taken are lost. */
void input_close(struct input *input);
