/* Opening with the rights that a job has (base/rights.h).
 *
 * Guarantee: between identity_begin and identity_end the calling thread, and no other one, opens files as the
 * caller would: by the kernel's judgement of his user, group and groups, and what it makes is his. Of a path
 * with RIGHTS_BELOW no symbolic link below the directory is followed, whoever puts one there and when; of one with
 * RIGHTS_CALLER none of /proc that leads to what a process, ours above all, has open.
 *
 * Blocking calls. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/rights.h"
#include "store/disk.h"

struct identity {
    bool assumed; /* the rest counts */
    uid_t user;
    gid_t group;
    int group_count;
    gid_t groups[CALLER_GROUPS_MAX];
};

/* For anything but RIGHTS_CALLER changes nothing. False: the process may not act as the caller (it is not
 * root), and nothing is changed. */
bool identity_begin(struct identity *own, const struct rights *rights, struct err *err);
void identity_end(const struct identity *own);

/* Opens an absolute path for reading, between the two. -1: errno; ELOOP or EXDEV: the way leads through a
 * link or out of the directory; ENOSYS: this kernel can't tell (it has no openat2). */
int identity_open(const struct rights *rights, const char *path, int flags);
/* "open PATH: CAUSE", the cause being errno's after identity_open or what followed on it. Always false. */
bool identity_fail(char text[DISK_TEXT_BYTES], const struct rights *rights, const char *shown);
