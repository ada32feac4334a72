#include "disk/place.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/text.h"

#define CREATE_ATTEMPTS_MAX 8

void place_show(char shown[PLACE_SHOWN_BYTES], const char *path)
{
    size_t length = strlen(path);
    if (length < PLACE_SHOWN_BYTES) {
        memcpy(shown, path, length + 1);
        return;
    }
    memcpy(shown, "...", 3);
    memcpy(shown + 3, path + length - (PLACE_SHOWN_BYTES - 4), PLACE_SHOWN_BYTES - 3);
}

bool place_say(char text[DISK_TEXT_BYTES], const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, DISK_TEXT_BYTES, format, arguments);
    va_end(arguments);
    text_make_printable(text);
    return false;
}

bool place_fail(char text[DISK_TEXT_BYTES], const char *what, const char *shown, const char *suffix)
{
    return place_say(text, "%s %s%s: %s", what, shown, suffix, strerrordesc_np(errno));
}

/* Opens, after making it where it is missing, one directory below fd. */
static int descend(int fd, const char *name)
{
    const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    int below = openat(fd, name, flags);
    if (below >= 0 || errno != ENOENT)
        return below;
    if (mkdirat(fd, name, 0755) != 0 && errno != EEXIST)
        return -1;
    return openat(fd, name, flags);
}

static bool open_parent(struct place *place, const char *file, char text[DISK_TEXT_BYTES])
{
    const char *rest = file;
    for (const char *slash = strchr(rest, '/'); slash != NULL; slash = strchr(rest, '/')) {
        char name[PATH_BYTES];
        snprintf(name, sizeof(name), "%.*s", (int)(slash - rest), rest);
        int below = descend(place->directory_fd, name);
        if (below < 0) {
            place_say(text, "%s: a directory on the way: %s", place->shown,
                      errno == ELOOP || errno == ENOTDIR ? "Not a directory, or a symbolic link"
                                                         : strerrordesc_np(errno));
            return false;
        }
        close(place->directory_fd);
        place->directory_fd = below;
        rest = slash + 1;
    }
    snprintf(place->name, sizeof(place->name), "%s", rest);
    snprintf(place->part, sizeof(place->part), "%s%s", rest, PLACE_PART_SUFFIX);
    return true;
}

bool place_open(struct place *place, const char *directory, const char *file, char text[DISK_TEXT_BYTES])
{
    snprintf(place->path, sizeof(place->path), "%s/%s", directory, file);
    place_show(place->shown, place->path);
    if (!path_stays_below(file))
        return place_say(text, "%s: not a path below the directory", place->shown);
    place->directory_fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (place->directory_fd < 0)
        return place_say(text, "%s: its directory: %s", place->shown, strerrordesc_np(errno));
    if (open_parent(place, file, text))
        return true;
    close(place->directory_fd);
    return false;
}

void place_close(struct place *place)
{
    close(place->directory_fd);
}

bool place_check_space(const struct place *place, int fd, uint64_t size_bytes, char text[DISK_TEXT_BYTES])
{
    struct statvfs stat;
    if (fstatvfs(fd, &stat) != 0)
        return place_fail(text, "free space at", place->shown, "");
    uint64_t free_bytes = (uint64_t)stat.f_bavail * stat.f_frsize;
    if (free_bytes >= size_bytes)
        return true;
    return place_say(text, "no space left for %s: %" PRIu64 " MB needed, %" PRIu64 " MB free", place->shown,
                     size_bytes / 1000000 + 1, free_bytes / 1000000);
}

bool place_part_is(const struct place *place, int fd)
{
    struct stat mine, there;
    if (fstat(fd, &mine) != 0 || fstatat(place->directory_fd, place->part, &there, AT_SYMLINK_NOFOLLOW) != 0)
        return false;
    return mine.st_dev == there.st_dev && mine.st_ino == there.st_ino;
}

/* What a writer that is no more has left behind. False: it is no such thing, or is being written. */
static bool remove_leftover(const struct place *place, char text[DISK_TEXT_BYTES])
{
    struct stat there;
    if (fstatat(place->directory_fd, place->part, &there, AT_SYMLINK_NOFOLLOW) != 0)
        return errno == ENOENT || place_fail(text, "open", place->shown, PLACE_PART_SUFFIX);
    if (!S_ISREG(there.st_mode))
        return place_say(text, "%s%s: is in the way and not a regular file", place->shown, PLACE_PART_SUFFIX);
    int fd = openat(place->directory_fd, place->part, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return errno == ENOENT || place_fail(text, "open", place->shown, PLACE_PART_SUFFIX);
    bool removed = flock(fd, LOCK_EX | LOCK_NB) == 0;
    if (!removed)
        place_say(text, "%s%s: another job is writing it", place->shown, PLACE_PART_SUFFIX);
    else if (place_part_is(place, fd) && unlinkat(place->directory_fd, place->part, 0) != 0 &&
             errno != ENOENT)
        removed = place_fail(text, "remove", place->shown, PLACE_PART_SUFFIX);
    close(fd);
    return removed;
}

/* Another job may take the new file for a leftover until the lock is ours: then begin again. */
int place_create_part(const struct place *place, char text[DISK_TEXT_BYTES])
{
    for (int attempt = 0; attempt < CREATE_ATTEMPTS_MAX; attempt++) {
        int fd = openat(place->directory_fd, place->part, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                        0644);
        if (fd >= 0) {
            if (flock(fd, LOCK_EX | LOCK_NB) == 0 && place_part_is(place, fd))
                return fd;
            close(fd);
        } else if (errno != EEXIST) {
            place_fail(text, "create", place->shown, PLACE_PART_SUFFIX);
            return -1;
        } else if (!remove_leftover(place, text)) {
            return -1;
        }
    }
    place_say(text, "%s%s: another job is writing it", place->shown, PLACE_PART_SUFFIX);
    return -1;
}

/* A hard link never replaces either, and is known to more filesystems than RENAME_NOREPLACE. */
static int rename_noreplace(const struct place *place)
{
    int fd = place->directory_fd;
    if (renameat2(fd, place->part, fd, place->name, RENAME_NOREPLACE) == 0)
        return 0;
    if (errno != EINVAL && errno != ENOSYS)
        return -1;
    if (linkat(fd, place->part, fd, place->name, 0) != 0)
        return -1;
    return unlinkat(fd, place->part, 0);
}

bool place_rename(const struct place *place, bool replace, char text[DISK_TEXT_BYTES])
{
    int fd = place->directory_fd;
    int result = replace ? renameat(fd, place->part, fd, place->name) : rename_noreplace(place);
    return result == 0 || place_fail(text, "rename to", place->shown, "");
}
