#include "disk/replace.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "disk/part.h"
#include "disk/tree.h"

#define OLD_SUFFIX ".old"

bool replace_allowed(const struct place *place, int fd, char text[DISK_TEXT_BYTES])
{
    return !tree_holds_mount(fd) ||
           place_say(text, "%s: another filesystem is mounted in it, so it is not replaced", place->shown);
}

/* NFS, say, does not know the flag. Without it a directory takes the place of nothing, or of an empty directory; else ENOTEMPTY. */
static bool rename_new(const struct place *place)
{
    int fd = place->directory_fd;
    return renameat2(fd, place->part, fd, place->name, RENAME_NOREPLACE) == 0 ||
           (place_is_unsupported() && renameat(fd, place->part, fd, place->name) == 0);
}

/* Unlocked as well: whoever replaces it in turn wants to mark it. */
static void end_part(int part_fd)
{
    part_unmark(part_fd);
    (void)flock(part_fd, LOCK_UN);
}

bool replace_nothing(const struct place *place, int part_fd, char text[DISK_TEXT_BYTES])
{
    if (!rename_new(place))
        return place_fail(text, "rename to", place->shown, "");
    end_part(part_fd);
    return true;
}

/* The old tree stands at NAME.part, open as old_fd. It is marked: should its removal be cut short, the rest is a
 * leftover, and already now a job that wants to make its own NAME.part may remove it. Hence it is emptied by its
 * descriptor, and the name is removed under the lock, which that job needs as well, and only while it still is
 * this one's. False: errno. */
static bool remove_old(struct place *place, int old_fd)
{
    if (part_claim(place, old_fd))
        (void)flock(old_fd, LOCK_UN);
    if (!tree_empty(old_fd))
        return false;
    if (!place_lock(place, old_fd) || !part_is(place, old_fd))
        return true; /* another job removes it, or has */
    return unlinkat(place->directory_fd, place->part, AT_REMOVEDIR) == 0;
}

/* Two names that can't change places in one step: NAME is not there for a moment, and a crash then leaves it as
 * NAME.old. */
static bool step_aside(const struct place *place, const char *old, char text[DISK_TEXT_BYTES])
{
    int fd = place->directory_fd;
    if (!place_is_unsupported() || renameat(fd, place->name, fd, old) != 0)
        return place_fail(text, "rename to", place->shown, "");
    if (rename_new(place))
        return true;
    place_fail(text, "rename to", place->shown, "");
    (void)renameat(fd, old, fd, place->name); /* the first failure is what counts */
    return false;
}

static bool swap(struct place *place, int part_fd, int old_fd, bool *renamed, char text[DISK_TEXT_BYTES])
{
    int fd = place->directory_fd;
    char old[sizeof(place->name) + sizeof(OLD_SUFFIX)];
    snprintf(old, sizeof(old), "%s" OLD_SUFFIX, place->name);
    bool exchanged = renameat2(fd, place->part, fd, place->name, RENAME_EXCHANGE) == 0;
    if (!exchanged && !step_aside(place, old, text))
        return false;
    *renamed = true;
    end_part(part_fd);
    return (exchanged ? remove_old(place, old_fd) : tree_remove(fd, old)) ||
           place_say(text, "%s is there, but removing the one before: %s", place->shown,
                     strerrordesc_np(errno));
}

bool replace_tree(struct place *place, int part_fd, bool *renamed, char text[DISK_TEXT_BYTES])
{
    int old_fd = openat(place->directory_fd, place->name, PLACE_DIRECTORY);
    if (old_fd < 0)
        return place_fail(text, "open", place->shown, "");
    bool good = replace_allowed(place, old_fd, text) && swap(place, part_fd, old_fd, renamed, text);
    close(old_fd);
    return good;
}
