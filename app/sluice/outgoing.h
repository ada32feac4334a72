/* Whose job may send what: a job names a path at the source, and the appliance reads it with its own rights.
 *
 * Guarantee, at the moment a job is accepted: root, the user that the appliance runs as and its console may
 * send what the appliance can read. For everybody else, with `outgoing` in the node file: only what lies below
 * the path of an entry that names the caller, reached from there without any symbolic link. Without it: only
 * what the kernel lets the caller himself read, every file and directory of a tree included; the check runs
 * as the caller's user, group and groups, as they were when he connected. A manifest goes only where the
 * caller may write himself. The job then has the path without symbolic links.
 *
 * Not guaranteed: that what lies at the path is still the same when it is opened for reading, soon after. Who
 * may write into a directory on the way can put another thing there; what he could not read he can't put
 * there but as a symbolic link, which the reading side must not follow. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "conf/app_config.h"
#include "ctl/job_spec.h"

#define CALLER_GROUPS_MAX 256

struct caller {
    uid_t user;
    gid_t group;
    uint32_t group_count;
    gid_t groups[CALLER_GROUPS_MAX];
};

/* Who is at the other end of a connected unix socket. */
bool caller_of(struct caller *caller, int fd, struct err *err);
/* Whether the caller may run the job; changes its paths to what was checked. `input`: the stream is the
 * caller's own socket, which he feeds. Needs the right to act as other users (root) where it comes to what
 * the caller can read himself; without it refuses. The calling thread alone acts as the caller meanwhile. */
bool outgoing_permits(const struct app_config *config, const struct caller *caller, bool input,
                      struct job_spec *spec, struct err *err);
