/* Plans a job and prints the plan; nothing of it is sent. */
#pragma once

#include "app/ctl/client.h"
#include "ctl/ctl.h"

/* `request` (released) starts the job `name`; `what` is the word of `show` that is printed of it. Nothing else
 * goes to stdout. Returns an exit status. */
int job_plan_print(struct client *client, json_t *request, const char *name, enum ctl_show what, bool json);
