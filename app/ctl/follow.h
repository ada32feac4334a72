/* Follows a job from acceptance to its end, with progress on stdout. */
#pragma once

#include "app/ctl/client.h"

/* Returns an exit status. `name`: of the job in messages; `asked`: in requests, its id or name. `fresh`: the job was just accepted, so it must be there. `feeds`: its
 * stream is this program's standard input, so an interrupt cancels it instead of leaving it alone. With
 * `json` nothing is printed but the job's last state, as one JSON object. */
int follow_job(struct client *client, const char *name, const char *asked, bool fresh, bool feeds, bool json);
