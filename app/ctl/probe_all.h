/* Has all pairs measured: says what it costs, starts it, follows it, and prints what is known. */
#pragma once

#include "app/ctl/client.h"

struct probe_all_options {
    bool order; /* only what a plan may need */
    bool yes;   /* starts without asking; so it does where nobody can be asked */
    bool json;
};

/* Returns an exit status: EXIT_JOB_FAILED where of some pair there is neither an estimate nor a refusal, EXIT_DETACHED where it was
 * interrupted: then the round is stopped, and what is known is printed. */
int probe_all_follow(struct client *client, const struct probe_all_options *options);
