#include "disk/part.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

#define CREATE_ATTEMPTS_MAX 8
#define MARK                "user.sluice.part"
#define MARK_BYTES          24 /* an inode's number in digits: a copy that kept the attribute is no part */

bool part_is(const struct place *place, int fd)
{
    struct stat mine, there;
    if (fstat(fd, &mine) != 0 || fstatat(place->directory_fd, place->part, &there, AT_SYMLINK_NOFOLLOW) != 0)
        return false;
    return mine.st_dev == there.st_dev && mine.st_ino == there.st_ino;
}

/* ---- the mark ---- */

static int mark_of(int fd, char mark[MARK_BYTES])
{
    struct stat stat;
    return fstat(fd, &stat) != 0 ? -1 : snprintf(mark, MARK_BYTES, "%llu", (unsigned long long)stat.st_ino);
}

static bool is_marked(int fd)
{
    char mark[MARK_BYTES], found[MARK_BYTES];
    int bytes = mark_of(fd, mark);
    return bytes > 0 && fgetxattr(fd, MARK, found, sizeof(found)) == bytes &&
           memcmp(mark, found, (size_t)bytes) == 0;
}

bool part_claim(struct place *place, int fd)
{
    char mark[MARK_BYTES];
    if (!place_lock(place, fd) || !part_is(place, fd))
        return false;
    int bytes = mark_of(fd, mark);
    if (bytes > 0)
        (void)fsetxattr(fd, MARK, mark, (size_t)bytes,
                        0); /* where that is refused, it is not removed later */
    return true;
}

/* Attributes of the user want the permission to write, which the final mode may forbid. There is no mark
 * where none could be set. */
void part_unmark(int fd)
{
    struct stat stat;
    if (fremovexattr(fd, MARK) == 0 || errno != EACCES || fstat(fd, &stat) != 0)
        return;
    if (fchmod(fd, (stat.st_mode & 07777) | S_IWUSR) == 0) {
        (void)fremovexattr(fd, MARK);
        (void)fchmod(fd, stat.st_mode & 07777);
    }
}

bool part_is_leftover(struct place *place, int fd, char text[DISK_TEXT_BYTES])
{
    bool locked = place_lock(place, fd);
    if (locked && (place->lacks & PLACE_NO_LOCKS) != 0)
        return place_say(
            text,
            "%s%s: is in the way, and its filesystem has no locks to tell whether a job writes it: remove it",
            place->shown, PLACE_PART_SUFFIX);
    if (!locked)
        return place_say(text, "%s%s: another job is writing it", place->shown, PLACE_PART_SUFFIX);
    return is_marked(fd) ||
           place_say(text, "%s%s: is in the way and not of a job: remove it, or give another name",
                     place->shown, PLACE_PART_SUFFIX);
}

/* ---- files ---- */

/* What a writer that is no more has left behind. False: it is no such thing, or is being written. */
static bool remove_leftover(struct place *place, char text[DISK_TEXT_BYTES])
{
    struct stat there;
    if (fstatat(place->directory_fd, place->part, &there, AT_SYMLINK_NOFOLLOW) != 0)
        return errno == ENOENT || place_fail(text, "open", place->shown, PLACE_PART_SUFFIX);
    if (!S_ISREG(there.st_mode))
        return place_say(text, "%s%s: is in the way and not a regular file", place->shown, PLACE_PART_SUFFIX);
    int fd = openat(place->directory_fd, place->part, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return errno == ENOENT || place_fail(text, "open", place->shown, PLACE_PART_SUFFIX);
    bool removed = part_is_leftover(place, fd, text) &&
                   (part_remove(place, fd) || place_fail(text, "remove", place->shown, PLACE_PART_SUFFIX));
    close(fd);
    return removed;
}

int part_create(struct place *place, mode_t mode, char text[DISK_TEXT_BYTES])
{
    const int flags = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
    for (int attempt = 0; attempt < CREATE_ATTEMPTS_MAX; attempt++) {
        int fd = openat(place->directory_fd, place->part, flags, mode);
        if (fd >= 0) {
            if (part_claim(place, fd))
                return fd;
            close(fd);
        } else if (errno != EEXIST) {
            place_write_fail(text, "create", place, PLACE_PART_SUFFIX, (struct place_need){0});
            return -1;
        } else if (!remove_leftover(place, text)) {
            return -1;
        }
    }
    place_say(text, "%s%s: another job is writing it", place->shown, PLACE_PART_SUFFIX);
    return -1;
}

bool part_remove(const struct place *place, int fd)
{
    return !part_is(place, fd) || unlinkat(place->directory_fd, place->part, 0) == 0 || errno == ENOENT;
}

static int look_and_rename(struct place *place)
{
    struct stat there;
    int fd = place->directory_fd;
    if (fstatat(fd, place->name, &there, AT_SYMLINK_NOFOLLOW) == 0)
        errno = EEXIST;
    if (errno != ENOENT)
        return -1;
    place->lacks |= PLACE_NO_NOREPLACE;
    return renameat(fd, place->part, fd, place->name);
}

/* A hard link never replaces either, and is known to more filesystems than RENAME_NOREPLACE. */
static int rename_noreplace(struct place *place)
{
    int fd = place->directory_fd;
    if (renameat2(fd, place->part, fd, place->name, RENAME_NOREPLACE) == 0)
        return 0;
    if (!place_is_unsupported())
        return -1;
    if (linkat(fd, place->part, fd, place->name, 0) == 0)
        return unlinkat(fd, place->part, 0);
    return errno == EPERM || place_is_unsupported() ? look_and_rename(place) : -1;
}

/* The mark goes last: what is not renamed remains a part, whatever happens. */
bool part_rename(struct place *place, int fd, bool replace, char text[DISK_TEXT_BYTES])
{
    int above_fd = place->directory_fd;
    int result = replace ? renameat(above_fd, place->part, above_fd, place->name) : rename_noreplace(place);
    if (result != 0)
        return place_fail(text, "rename to", place->shown, "");
    part_unmark(fd);
    return true;
}
