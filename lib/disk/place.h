/* Where a target lies: the permitted directory, directories below it, NAME. Resolved one component at a time
 * from the permitted directory's descriptor, never through a symbolic link, so that no name and no link made
 * meanwhile leads out of it. What becomes of NAME.part is part.h. */
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "base/name.h"
#include "store/disk.h"

/* How any directory below one that is open is opened: by its name alone, never through a link. */
#define PLACE_DIRECTORY   (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
#define PLACE_PART_SUFFIX ".part"
#define PLACE_SHOWN_BYTES 120 /* leaves room for the cause in a reply's text */

struct place {
    int directory_fd; /* of the directory that NAME lies in */
    uint32_t depth;   /* directories from the permitted one down to that; 0: NAME lies in the permitted one */
    uint32_t made;    /* so many of them, the last ones, were missing */
    char name[PATH_BYTES];
    char part[PATH_BYTES + sizeof(PLACE_PART_SUFFIX)];
    char way[PATH_BYTES];          /* from the permitted directory to that of NAME */
    char path[2 * PATH_BYTES];     /* the whole path */
    char shown[PLACE_SHOWN_BYTES]; /* its end, for texts */
    uint8_t lacks;                 /* enum place_lack: what its filesystem was found not to have */
};

/* What some filesystems can't do, and what is done instead; told once a job (place_tell_lacks). */
enum place_lack {
    PLACE_NO_LOCKS = 1,     /* nobody else is kept out of NAME.part */
    PLACE_NO_NOREPLACE = 2, /* NAME is looked for just before the rename */
};

/* The path, or "..." and its end where it is too long. */
void place_show(char shown[PLACE_SHOWN_BYTES], const char *path);
/* Formats a reply's text, cut at its end where it is too long; names of files are bytes, so what a terminal
 * must not have becomes "?". Always false. */
bool place_say(char text[DISK_TEXT_BYTES], const char *format, ...) __attribute__((format(printf, 2, 3)));
/* "WHAT PATHsuffix: CAUSE"; the cause is errno's. Always false. */
bool place_fail(char text[DISK_TEXT_BYTES], const char *what, const char *shown, const char *suffix);

/* Makes missing directories below the permitted one. False: text says why, nothing is open, nothing made. */
bool place_open(struct place *place, const char *directory, const char *file, char text[DISK_TEXT_BYTES]);
/* The same below a directory that is open, whose path is only shown. The descriptor stays the caller's. */
bool place_open_in(struct place *place, int directory_fd, const char *directory, const char *file,
                   char text[DISK_TEXT_BYTES]);
void place_close(struct place *place);
/* Closes, and removes the directories that place_open made, unless there is something or somebody in them. */
void place_undo(struct place *place);
/* fsync of the directory of NAME and of those above it, up to the permitted one: NAME outlasts a power loss
 * only if they do, and whoever made them need not have asked for that. False: text says why. */
bool place_sync(const struct place *place, char text[DISK_TEXT_BYTES]);
/* What a filesystem can do no more for want of room: what is missing, where it is known. */
struct place_need {
    uint64_t bytes, files; /* 0: not known */
};
/* errno says that there is no room. */
static inline bool place_is_full(void)
{
    return errno == ENOSPC || errno == EDQUOT;
}
/* errno says that the filesystem has no such call, or not with these flags; of a hard link also EPERM. */
static inline bool place_is_unsupported(void)
{
    return errno == EINVAL || errno == ENOSYS || errno == EOPNOTSUPP;
}
/* One text for no room, wherever it is found out: "no space left for PATHsuffix: 12 MB needed, 3 MB free", or inodes, or the
 * quota (errno is EDQUOT). `fd`: anything on that filesystem. Always false. */
bool place_full(char text[DISK_TEXT_BYTES], const char *shown, const char *suffix, int fd,
                struct place_need need);
/* place_fail of what is written at the place; where there is no room, place_full. Always false. */
bool place_write_fail(char text[DISK_TEXT_BYTES], const char *what, const struct place *place,
                      const char *suffix, struct place_need need);
/* flock of what is open there, exclusively and without waiting. A filesystem that has no locks (NFS without its lock server,
 * Lustre without -o flock) is noted, and the answer is true. False: another has it locked. */
bool place_lock(struct place *place, int fd);
/* Free bytes by statvfs; UINT64_MAX: the filesystem does not know (buckets by FUSE: all zeros). */
uint64_t place_free_bytes(const struct statvfs *stat);
/* Behind what the note says already: what the filesystem lacks, and what that meant for this job. */
void place_tell_lacks(const struct place *place, char note[DISK_TEXT_BYTES]);
/* False: text says how much is needed and how much is free. A filesystem that does not know what is free is not full. */
bool place_check_space(const struct place *place, int fd, uint64_t size_bytes, char text[DISK_TEXT_BYTES]);
