/* Whose job may send what: a job names a path at the source, and the appliance may read more than its caller.
 *
 * Guarantee: root, the user that the appliance runs as and its console may send what the appliance can read.
 * For everybody else, with `outgoing` in the node file: only what lies below the path of an entry that names
 * the caller, reached from there without any symbolic link. Without it: only what the kernel lets the caller
 * himself open, every file and directory of a tree included, by his user, group and groups as they were when he
 * connected. Standard input is a socket of the caller's own. A job's own manifest is written by the caller's
 * rights, and is his.
 *
 * What is decided here is with whose rights the disk opens (base/rights.h); it does so when it opens, so that
 * nothing can be put in the place of what was looked at, and the walk of a large tree holds up no other
 * client. Not guaranteed: hard links and directories that somebody moves into a listed one are in it. */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "base/rights.h"
#include "conf/app_config.h"
#include "ctl/job_spec.h"

/* Who is at the other end of a connected unix socket. */
bool caller_of(struct caller *caller, int fd, struct err *err);
/* Whether the caller may run the job; fills its rights. What is fed comes from a socket of his own and need not
 * be listed. Needs the right to act as other users (root) where it comes to what the caller can read himself;
 * without it refuses. Makes a bounded number of system calls; the calling thread alone acts as the caller
 * meanwhile. */
bool outgoing_permits(const struct app_config *config, const struct caller *caller, struct job_spec *spec,
                      struct err *err);
