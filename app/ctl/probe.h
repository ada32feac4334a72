/* Asks for a measurement of the path to a peer, waits for its end, and prints what it came to. */
#pragma once

#include "app/ctl/client.h"

/* `request`: the command; released. Returns an exit status: EXIT_JOB_FAILED where nothing is known of the path after it.
 * With `json` the peer's row of `show probes` is all that is printed. `plot`: the newest train goes into that file as a
 * picture, whatever was found out, EXIT_USAGE if it can't be written; NULL: it does not. */
int probe_and_print(struct client *client, json_t *request, const char *peer, bool json, const char *plot);
