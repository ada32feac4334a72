#include "disk/identity.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdint.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/check.h"
#include "base/name.h"
#include "disk/place.h"

_Static_assert(sizeof(uid_t) == sizeof(uint32_t) && sizeof(gid_t) == sizeof(uint32_t), "as in base/rights.h");

/* The C library would change the groups of all threads. */
static bool thread_groups(int count, const gid_t *groups)
{
    return syscall(SYS_setgroups, (size_t)count, groups) == 0;
}

static void restore(const struct identity *own)
{
    setfsuid(own->user);
    setfsgid(own->group);
    CHECK((uid_t)setfsuid((uid_t)-1) == own->user && (gid_t)setfsgid((gid_t)-1) == own->group);
    CHECK(thread_groups(own->group_count, own->groups));
}

bool identity_begin(struct identity *own, const struct rights *rights, struct err *err)
{
    const struct caller *caller = &rights->caller;
    own->assumed = false;
    if (rights->kind != RIGHTS_CALLER)
        return true;
    own->user = geteuid();
    own->group = getegid();
    own->group_count = getgroups(CALLER_GROUPS_MAX, own->groups);
    if (own->group_count >= 0 && thread_groups((int)caller->group_count, caller->groups)) {
        setfsgid(caller->group);
        setfsuid(caller->user);
        /* Neither call tells whether it worked; an impossible id only asks. */
        own->assumed =
            (uid_t)setfsuid((uid_t)-1) == caller->user && (gid_t)setfsgid((gid_t)-1) == caller->group;
        if (own->assumed)
            return true;
        restore(own);
    }
    return err_set(
        err,
        "this appliance does not run as root, so it cannot read with the rights of user %u: let its "
        "node file say what he may send (outgoing), or run it as root",
        caller->user);
}

void identity_end(const struct identity *own)
{
    if (own->assumed)
        restore(own);
}

static int open_below(const struct rights *rights, const char *path, int flags)
{
    struct open_how how = {.flags = (uint64_t)flags, .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS};
    char directory[PATH_BYTES];
    CHECK(rights->below_bytes < sizeof(directory) && rights->below_bytes <= strlen(path));
    memcpy(directory, path, rights->below_bytes);
    directory[rights->below_bytes] = '\0';
    const char *rest = path + rights->below_bytes;
    rest += strspn(rest, "/");
    int above = open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (above < 0)
        return -1;
    int fd = (int)syscall(SYS_openat2, above, rest[0] == '\0' ? "." : rest, &how, sizeof(how));
    int cause = errno;
    close(above);
    errno = cause;
    return fd;
}

/* What our own process has open, and where it is (/proc/self/fd, cwd, root), the caller could not reach by a name:
 * the kernel asks nobody's rights on the way there. */
static int open_by_names(const char *path, int flags)
{
    struct open_how how = {.flags = (uint64_t)flags, .resolve = RESOLVE_NO_MAGICLINKS};
    return (int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof(how));
}

/* Here those links are no danger, only no path that the one who asks can have meant; an old kernel follows them. */
static int open_as_ourselves(const char *path, int flags)
{
    int fd = open_by_names(path, flags);
    return fd < 0 && errno == ENOSYS ? open(path, flags) : fd;
}

static int open_as(const struct rights *rights, const char *path, int flags)
{
    switch ((enum rights_kind)rights->kind) {
    case RIGHTS_CALLER:
        return open_by_names(path, flags);
    case RIGHTS_BELOW:
        return open_below(rights, path, flags);
    case RIGHTS_OWN:
        break;
    }
    return open_as_ourselves(path, flags);
}

bool identity_is_procfs(int fd)
{
    struct statfs stat;
    return fstatfs(fd, &stat) == 0 && stat.f_type == PROC_SUPER_MAGIC;
}

int identity_open(const struct rights *rights, const char *path, int flags)
{
    int fd = open_as(rights, path, flags | O_CLOEXEC);
    if (fd < 0 || !identity_is_procfs(fd))
        return fd;
    close(fd);
    errno = IDENTITY_PROCFS;
    return -1;
}

bool identity_fail(char text[DISK_TEXT_BYTES], const struct rights *rights, const char *shown)
{
    bool below = rights->kind == RIGHTS_BELOW, caller = rights->kind == RIGHTS_CALLER;
    const char *cause = below && errno == ELOOP    ? "a symbolic link on the way"
                        : errno == ELOOP           ? "a link of /proc on the way, or too many symbolic ones"
                        : below && errno == EXDEV  ? "it leads out of what outgoing lists"
                        : errno == IDENTITY_PROCFS ? IDENTITY_PROCFS_TEXT
                        : errno == ENOSYS && rights->kind != RIGHTS_OWN
                            ? "this kernel has no openat2, which jobs of others than root need (Linux 5.6)"
                            : strerrordesc_np(errno);
    if (caller)
        return place_say(text, "open %s as user %u: %s", shown, rights->caller.user, cause);
    return place_say(text, "open %s: %s", shown, cause);
}
