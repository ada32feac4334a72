#include "outgoing.h"

#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <grp.h>
#include <linux/openat2.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/name.h"

#define ACCOUNT_BYTES 16384

bool caller_of(struct caller *caller, int fd, struct err *err)
{
    struct ucred peer;
    socklen_t length = sizeof(peer), bytes = sizeof(caller->groups);
    *caller = (struct caller){0};
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0)
        return err_set(err, "the user at the other end is not known: %s", strerror(errno));
    caller->user = peer.uid;
    caller->group = peer.gid;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, caller->groups, &bytes) != 0)
        return err_set(err, "the groups of user %u are not known: %s", peer.uid, strerror(errno));
    caller->group_count = (uint32_t)(bytes / sizeof(gid_t));
    return true;
}

/* ---- acting as the caller ---- */

struct identity {
    uid_t user;
    gid_t group;
    int group_count;
    gid_t groups[CALLER_GROUPS_MAX];
};

/* The C library would change the groups of all threads. */
static bool thread_groups(int count, const gid_t *groups)
{
    return syscall(SYS_setgroups, (size_t)count, groups) == 0;
}

static void identity_restore(const struct identity *own)
{
    setfsuid(own->user);
    setfsgid(own->group);
    CHECK(thread_groups(own->group_count, own->groups));
}

/* From here on this thread opens files as the caller would. False: not permitted, and nothing is changed. */
static bool identity_assume(const struct caller *caller, struct identity *own, struct err *err)
{
    own->user = geteuid();
    own->group = getegid();
    own->group_count = getgroups(CALLER_GROUPS_MAX, own->groups);
    if (own->group_count >= 0 && thread_groups((int)caller->group_count, caller->groups)) {
        setfsgid(caller->group);
        setfsuid(caller->user);
        /* Neither call tells whether it worked; an impossible id only asks. */
        if ((uid_t)setfsuid((uid_t)-1) == caller->user && (gid_t)setfsgid((gid_t)-1) == caller->group)
            return true;
        identity_restore(own);
    }
    return err_set(err,
                   "this appliance may not look with the eyes of user %u, since it does not run as root: say "
                   "in its node file, by outgoing, what others may send",
                   caller->user);
}

/* ---- what the caller can read himself ---- */

static bool may(int fd, const char *path, int how, int flags)
{
    return syscall(SYS_faccessat2, fd, path, how, flags | AT_EACCESS) == 0;
}

/* Every file and directory of a tree; what a symbolic link points to is not sent. */
static bool tree_readable(const char *root, struct err *err)
{
    char *const roots[] = {(char *)(uintptr_t)root, NULL};
    FTS *tree = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
    const char *refused = tree == NULL ? root : NULL;
    int error = errno;
    char path[PATH_BYTES];
    for (FTSENT *entry; refused == NULL && (entry = fts_read(tree)) != NULL;) {
        bool bad = entry->fts_info == FTS_DNR || entry->fts_info == FTS_ERR || entry->fts_info == FTS_NS;
        error = entry->fts_errno;
        if (entry->fts_info == FTS_F && !may(AT_FDCWD, entry->fts_accpath, R_OK, AT_SYMLINK_NOFOLLOW)) {
            bad = true;
            error = errno;
        }
        if (bad) {
            snprintf(path, sizeof(path), "%s", entry->fts_path);
            refused = path;
        }
    }
    if (tree != NULL)
        fts_close(tree);
    return refused == NULL || err_set(err, "%s: %s", refused, strerror(error));
}

/* The path of what an O_PATH descriptor is, free of symbolic links. */
static bool path_of(int fd, char path[PATH_BYTES], struct err *err)
{
    char link[32];
    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, PATH_BYTES);
    if (length < 0 || length >= PATH_BYTES)
        return err_set(err, "%s",
                       length < 0 ? strerror(errno) : "without symbolic links its path is too long");
    path[length] = '\0';
    return true;
}

/* A socket is connected to, which takes the right to write; all else is read. */
static bool object_readable(int fd, const char *path, struct err *err)
{
    struct stat status;
    if (fstat(fd, &status) != 0)
        return err_set(err, "%s", strerror(errno));
    if (S_ISDIR(status.st_mode))
        return tree_readable(path, err);
    return may(fd, "", S_ISSOCK(status.st_mode) ? W_OK : R_OK, AT_EMPTY_PATH) ||
           err_set(err, "%s", strerror(errno));
}

static bool own_socket(int fd, const struct caller *caller, struct err *err)
{
    struct stat status;
    if (fstat(fd, &status) != 0)
        return err_set(err, "%s", strerror(errno));
    return (S_ISSOCK(status.st_mode) && status.st_uid == caller->user) ||
           err_set(err, "no socket of user %u", caller->user);
}

/* As the caller. A manifest is made beside its place and moved there. */
static bool manifest_writable(const char *manifest, struct err *err)
{
    char folder[PATH_BYTES];
    name_copy(folder, sizeof(folder), manifest);
    char *slash = strrchr(folder, '/');
    if (slash != NULL)
        slash[slash == folder] = '\0';
    return manifest[0] == '\0' || may(AT_FDCWD, folder, W_OK | X_OK, 0) ||
           err_set(err, "manifest in %s: %s", folder, strerror(errno));
}

/* As the caller. */
static bool readable_by(const struct caller *caller, bool input, const char *path, char real[PATH_BYTES],
                        struct err *err)
{
    int fd = open(path, O_PATH | O_CLOEXEC);
    if (fd < 0)
        return err_set(err, "%s", strerror(errno));
    bool good =
        path_of(fd, real, err) && (input ? own_socket(fd, caller, err) : object_readable(fd, real, err));
    close(fd);
    return good;
}

/* ---- what the node file says ---- */

static bool in_group(const struct caller *caller, gid_t group)
{
    bool found = caller->group == group;
    for (uint32_t index = 0; index < caller->group_count; index++)
        found |= caller->groups[index] == group;
    return found;
}

static bool named(const char *name, const struct caller *caller)
{
    char room[ACCOUNT_BYTES];
    struct passwd user, *found_user = NULL;
    struct group group, *found_group = NULL;
    if (name[0] == '@')
        return getgrnam_r(name + 1, &group, room, sizeof(room), &found_group) == 0 && found_group != NULL &&
               in_group(caller, group.gr_gid);
    return getpwnam_r(name, &user, room, sizeof(room), &found_user) == 0 && found_user != NULL &&
           user.pw_uid == caller->user;
}

static bool entry_names(const struct app_outgoing *entry, const struct caller *caller)
{
    bool found = entry->user_count == 0;
    for (uint16_t index = 0; !found && index < entry->user_count; index++)
        found = named(entry->users[index], caller);
    return found;
}

/* What stands behind the entry's path; NULL: the path does not lead there. */
static const char *below(const struct app_outgoing *entry, const char *path)
{
    size_t length = strlen(entry->path);
    while (length > 1 && entry->path[length - 1] == '/')
        length--;
    if (strncmp(path, entry->path, length) != 0 ||
        (path[length] != '/' && path[length] != '\0' && length > 1))
        return NULL;
    path += length;
    path += strspn(path, "/");
    return path[0] == '\0' ? "." : path;
}

static bool entry_leads_to(const struct app_outgoing *entry, const char *relative, char real[PATH_BYTES],
                           struct err *err)
{
    struct open_how how = {.flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS};
    int folder = open(entry->path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    int fd = folder < 0 ? -1 : (int)syscall(SYS_openat2, folder, relative, &how, sizeof(how));
    int error = errno;
    if (folder >= 0)
        close(folder);
    if (fd < 0)
        return err_set(err, "%s",
                       error == ELOOP   ? "a symbolic link on the way"
                       : error == EXDEV ? "it leads out of there"
                                        : strerror(error));
    bool good = path_of(fd, real, err);
    close(fd);
    return good;
}

static bool listed(const struct app_config *config, const struct caller *caller, const char *path,
                   char real[PATH_BYTES], struct err *err)
{
    bool there = false;
    for (uint16_t index = 0; index < config->outgoing_count; index++) {
        const struct app_outgoing *entry = &config->outgoing[index];
        const char *relative = below(entry, path);
        if (relative == NULL)
            continue;
        there = true;
        if (entry_names(entry, caller))
            return entry_leads_to(entry, relative, real, err);
    }
    return err_set(err,
                   there ? "no entry of outgoing there names user %u"
                         : "outgoing lists nothing there that user %u may send",
                   caller->user);
}

/* ---- the decision ---- */

/* The object keeps the name by which it was asked for. */
static bool keep_name(struct job_spec *spec)
{
    const char *slash = strrchr(spec->file, '/');
    const char *name = slash != NULL ? slash + 1 : spec->file;
    return spec->target[0] != '\0' || name_copy(spec->target, sizeof(spec->target), name);
}

bool outgoing_permits(const struct app_config *config, const struct caller *caller, bool input,
                      struct job_spec *spec, struct err *err)
{
    char real[PATH_BYTES];
    struct identity own;
    bool by_list = config->outgoing_count > 0 && !input, good = true;
    if (caller->user == 0 || caller->user == geteuid())
        return true;
    if (by_list && !listed(config, caller, spec->file, real, err))
        return err_context(err, "%s", spec->file);
    if (!by_list || spec->manifest[0] != '\0') {
        if (!identity_assume(caller, &own, err))
            return false;
        good = manifest_writable(spec->manifest, err) &&
               (by_list || readable_by(caller, input, spec->file, real, err));
        identity_restore(&own);
    }
    if (!good)
        return err_context(err, "%s: user %u may not send it", spec->file, caller->user);
    return (input || keep_name(spec) || err_set(err, "%s: its name is too long", spec->file)) &&
           (name_copy(spec->file, sizeof(spec->file), real) || err_set(err, "%s: too long", real));
}
