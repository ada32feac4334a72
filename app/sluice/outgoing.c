#include "outgoing.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "disk/identity.h"

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

/* How much of a path below the entry's is the entry's; 0: the path does not lead there. */
static size_t entry_bytes(const struct app_outgoing *entry, const char *path)
{
    size_t length = strlen(entry->path);
    while (length > 1 && entry->path[length - 1] == '/')
        length--;
    bool leads = strncmp(path, entry->path, length) == 0 &&
                 (path[length] == '/' || path[length] == '\0' || length == 1);
    return leads ? length : 0;
}

static bool listed(const struct app_config *config, struct job_spec *spec, struct err *err)
{
    const struct caller *caller = &spec->rights.caller;
    bool there = false;
    for (uint16_t index = 0; index < config->outgoing_count; index++) {
        const struct app_outgoing *entry = &config->outgoing[index];
        size_t bytes = entry_bytes(entry, spec->file);
        there |= bytes != 0;
        if (bytes == 0 || !entry_names(entry, caller))
            continue;
        spec->rights.kind = RIGHTS_BELOW;
        spec->rights.below_bytes = (uint16_t)bytes;
        return true;
    }
    return err_set(err,
                   there ? "no entry of outgoing there names user %u"
                         : "outgoing lists nothing there that user %u may send",
                   caller->user);
}

/* ---- the decision ---- */

/* Tells at once what would else come out at the end of a long job. As the caller, whom the file will be of. */
static bool manifest_writable(const char *folder, const struct rights *rights, struct err *err)
{
    char text[DISK_TEXT_BYTES];
    if (folder[0] == '\0')
        return true;
    int fd = identity_open(rights, folder, O_PATH);
    if (fd < 0) {
        identity_fail(text, rights, folder);
        return err_set(err, "manifest: %s", text);
    }
    bool good = syscall(SYS_faccessat2, fd, "", W_OK | X_OK, AT_EMPTY_PATH | AT_EACCESS) == 0 ||
                err_set(err, "manifest in %s: %s", folder, strerrordesc_np(errno));
    close(fd);
    return good;
}

/* What the caller's own rights are needed for. */
static bool caller_may(const struct job_spec *spec, struct err *err)
{
    struct rights rights = spec->rights;
    struct identity own;
    rights.kind = RIGHTS_CALLER;
    if (!identity_begin(&own, &rights, err))
        return false;
    bool good = manifest_writable(spec->manifest, &rights, err);
    identity_end(&own);
    return good || err_context(err, "user %u", rights.caller.user);
}

bool outgoing_permits(const struct app_config *config, const struct caller *caller, struct job_spec *spec,
                      struct err *err)
{
    spec->rights = (struct rights){.kind = RIGHTS_OWN, .caller = *caller};
    if (caller->user == 0 || caller->user == geteuid())
        return true;
    spec->rights.kind = RIGHTS_CALLER;
    if (config->outgoing_count > 0 && !spec->fed && !listed(config, spec, err))
        return err_context(err, "%s", spec->file);
    return (spec->rights.kind == RIGHTS_BELOW && spec->manifest[0] == '\0') || caller_may(spec, err);
}
