/* Opening with the rights that a job has (base/rights.h).
 *
 * Guarantee: between identity_begin and identity_end the calling thread, and no other one, opens files as the
 * caller would: by the kernel's judgement of his user, group and groups, and what it makes is his. Of a path
 * with RIGHTS_BELOW no symbolic link below the directory is followed, whoever puts one there and when; of any other
 * none of /proc that leads to what a process, ours above all, has open (RIGHTS_OWN: where the kernel has openat2).
 * Nothing of procfs is opened, with whatever rights: its files show, and judge, the process that opens them, so that
 * a caller would read of the appliance what he may read of himself.
 *
 * Blocking calls. */
#pragma once

#include <errno.h>
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

#define IDENTITY_PROCFS      EMEDIUMTYPE /* an errno that opening files does not use */
#define IDENTITY_PROCFS_TEXT "it lies on procfs, which would tell about the appliance"

/* Opens an absolute path for reading, between the two. -1: errno; ELOOP or EXDEV: the way leads through a
 * link or out of the directory; IDENTITY_PROCFS: it lies there; ENOSYS: this kernel can't tell (it has no openat2). */
int identity_open(const struct rights *rights, const char *path, int flags);
/* For directories that are reached on the way down a tree. */
bool identity_is_procfs(int fd);
/* "open PATH: CAUSE", the cause being errno's after identity_open or what followed on it. Always false. */
bool identity_fail(char text[DISK_TEXT_BYTES], const struct rights *rights, const char *shown);
