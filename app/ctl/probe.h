/* Asks for a measurement of the path to a peer, waits for its end, and prints what it came to. */
#pragma once

#include "app/ctl/client.h"

/* `request`: the command; released. `to`: from the peer to that node; empty: from the appliance to the peer. Returns an exit
 * status: EXIT_JOB_FAILED where nothing is known of the path after it. With `json` the path's row of `show probes` is all that is
 * printed. `plot`: the newest train goes into that file as a picture, whatever was found out, EXIT_USAGE if it can't be
 * written; NULL: it does not. */
int probe_and_print(struct client *client, json_t *request, const char *peer, const char *to, bool json,
                    const char *plot);
/* All of `show probes`; NULL with an exit status. To be released. */
json_t *probe_ask_all(struct client *client, int *result);
/* A row of it as a line: what is known of the path, or why nothing is. `older_too`: what is known by older measurements
 * counts where the newest came to nothing. */
void probe_print_row(const json_t *row, const char *name, bool older_too);
/* What the reason of the newest refusal means and what helps; "": nothing to say. */
const char *probe_row_help(const json_t *row);
/* It says something of the path. */
bool probe_row_is_known(const json_t *row);
