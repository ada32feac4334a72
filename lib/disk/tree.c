#include "disk/tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/openat2.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/check.h"
#include "base/units.h"
#include "disk/fully.h"

/* ---- ways down ---- */

static void name_in_pack(const void *context, uint32_t number, uint32_t *parent, const char **name)
{
    struct pack_entry entry;
    pack_entry(context, number, &entry);
    *parent = entry.parent;
    *name = entry.name;
}

struct tree_names tree_names_of(const struct pack *pack)
{
    return (struct tree_names){.of = name_in_pack, .context = pack};
}

void tree_chain_begin(struct tree_chain *chain, struct tree_names names, int root_fd)
{
    chain->names = names;
    chain->root_fd = root_fd;
    chain->depth = 0;
}

static void cut_to(struct tree_chain *chain, uint32_t depth)
{
    while (chain->depth > depth)
        close(chain->fds[--chain->depth]);
}

int tree_chain_open(struct tree_chain *chain, uint32_t number)
{
    uint32_t way[PACK_DEPTH_MAX], depth = 0, kept = 0, parent;
    const char *name;
    for (uint32_t up = number; up != 0; up = parent) {
        CHECK(depth < PACK_DEPTH_MAX);
        way[depth++] = up;
        chain->names.of(chain->names.context, up, &parent, &name);
    }
    while (kept < MIN(depth, chain->depth) && chain->entries[kept] == way[depth - 1 - kept])
        kept++;
    cut_to(chain, kept);
    for (; kept < depth; kept++) {
        uint32_t entry = way[depth - 1 - kept];
        chain->names.of(chain->names.context, entry, &parent, &name);
        int above = kept == 0 ? chain->root_fd : chain->fds[kept - 1];
        int fd = openat(above, name, PLACE_DIRECTORY);
        if (fd < 0)
            return -1;
        chain->entries[kept] = entry;
        chain->fds[kept] = fd;
        chain->depth++;
    }
    return depth == 0 ? chain->root_fd : chain->fds[depth - 1];
}

void tree_chain_end(struct tree_chain *chain)
{
    cut_to(chain, 0);
}

bool tree_fail(char text[DISK_TEXT_BYTES], const char *what, const struct pack *pack, uint32_t number)
{
    int cause = errno;
    char shown[TREE_SHOWN_BYTES];
    pack_show(pack, number, shown, sizeof(shown));
    return place_say(text, "%s %s: %s", what, shown, strerrordesc_np(cause));
}

/* ---- reading ---- */

static bool unchanged(const struct pack_entry *entry, const struct tree_seen *seen, const struct stat *stat)
{
    return S_ISREG(stat->st_mode) && (uint64_t)stat->st_size == entry->size_bytes &&
           stat->st_ino == seen->inode && stat->st_mtim.tv_sec == entry->modified_s &&
           stat->st_mtim.tv_nsec == (long)entry->modified_ns && tree_changed(stat) == seen->changed;
}

static enum disk_status changed(const struct pack *pack, uint32_t number, char text[DISK_TEXT_BYTES])
{
    char shown[TREE_SHOWN_BYTES];
    pack_show(pack, number, shown, sizeof(shown));
    place_say(text, "%s: changed since the job began", shown);
    return DISK_CHANGED;
}

/* Its mode forbids even us, who own it, to read: we are not root, and children want what was unpacked. The
 * mode is given back at once; one at a time, so that it is the right one. -1: errno. */
static int open_unreadable(int directory_fd, const char *name)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    struct stat stat;
    char path[32];
    int fd = -1, name_fd = openat(directory_fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (name_fd < 0)
        return -1;
    snprintf(path, sizeof(path), "/proc/self/fd/%d", name_fd);
    pthread_mutex_lock(&lock);
    if (fstat(name_fd, &stat) == 0 && S_ISREG(stat.st_mode) &&
        chmod(path, (stat.st_mode & PACK_MODE_MASK) | S_IRUSR) == 0) {
        fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
        (void)chmod(path, stat.st_mode & PACK_MODE_MASK); /* it worked a moment ago */
    }
    int cause = fd < 0 ? EACCES : 0;
    pthread_mutex_unlock(&lock);
    close(name_fd);
    errno = cause;
    return fd;
}

static enum disk_status read_piece(const struct pack *pack, int directory_fd, const struct tree_seen *seen,
                                   const struct pack_piece *piece, uint8_t *data, char text[DISK_TEXT_BYTES])
{
    struct pack_entry entry;
    struct stat stat;
    pack_entry(pack, piece->entry, &entry);
    int fd = openat(directory_fd, entry.name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0 && seen == NULL && errno == EACCES)
        fd = open_unreadable(directory_fd, entry.name);
    if (fd < 0 && seen != NULL && (errno == ENOENT || errno == ELOOP))
        return changed(pack, piece->entry, text);
    int64_t got = fd < 0 ? -1 : read_fully(fd, data, piece->length, piece->file_offset);
    if (got < 0)
        tree_fail(text, fd < 0 ? "open" : "read", pack, piece->entry);
    /* Looked at after the read: what was read while it changed is not used. */
    bool same =
        got < 0 || seen == NULL || (fstat(fd, &stat) == 0 && unchanged(&entry, &seen[piece->entry], &stat));
    if (fd >= 0)
        close(fd);
    if (got < 0)
        return DISK_FAILED;
    if (same && got == (int64_t)piece->length)
        return DISK_OK;
    if (seen != NULL)
        return changed(pack, piece->entry, text);
    errno = EIO;
    tree_fail(text, "read", pack, piece->entry);
    return DISK_FAILED;
}

enum disk_status tree_read(const struct pack *pack, int root_fd, const struct tree_seen *seen, uint64_t start,
                           uint64_t end, uint8_t *data, char text[DISK_TEXT_BYTES])
{
    struct pack_cursor cursor;
    struct pack_piece piece;
    struct tree_chain chain;
    enum disk_status status = DISK_OK;
    tree_chain_begin(&chain, tree_names_of(pack), root_fd);
    pack_seek(&cursor, pack, start, end);
    while (status == DISK_OK && pack_next(&cursor, &piece)) {
        struct pack_entry entry;
        if (piece.length == 0)
            continue;
        pack_entry(pack, piece.entry, &entry);
        int directory_fd = tree_chain_open(&chain, entry.parent);
        if (directory_fd >= 0) {
            status = read_piece(pack, directory_fd, seen, &piece, data + piece.range_offset, text);
        } else if (seen != NULL && (errno == ENOENT || errno == ENOTDIR || errno == ELOOP)) {
            status = changed(pack, entry.parent, text);
        } else {
            tree_fail(text, "open", pack, entry.parent);
            status = DISK_FAILED;
        }
    }
    tree_chain_end(&chain);
    return status;
}

/* ---- mounted filesystems ---- */

/* A line of mountinfo names its place behind four words, with \ooo in place of what separates words. */
static bool mounted_at(char *line, char place[PATH_MAX])
{
    char *rest = line;
    for (int words = 0; words < 4 && rest != NULL; words++)
        rest = strchr(rest, ' ') == NULL ? NULL : strchr(rest, ' ') + 1;
    size_t length = 0;
    for (; rest != NULL && *rest != ' ' && *rest != '\0' && length < PATH_MAX - 1; rest++) {
        bool coded = rest[0] == '\\' && strspn(rest + 1, "01234567") >= 3;
        place[length++] = coded ? (char)((rest[1] - '0') * 64 + (rest[2] - '0') * 8 + rest[3] - '0') : *rest;
        rest += coded ? 3 : 0;
    }
    place[length] = '\0';
    return length > 0;
}

bool tree_holds_mount(int fd)
{
    char link[32], path[PATH_MAX], place[PATH_MAX], *line = NULL;
    size_t room = 0;
    bool found = false;
    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof(path));
    FILE *mounts =
        length <= 0 || length == (ssize_t)sizeof(path) ? NULL : fopen("/proc/thread-self/mountinfo", "re");
    if (mounts == NULL)
        return false;
    while (!found && getline(&line, &room, mounts) > 0)
        found = mounted_at(line, place) && strncmp(place, path, (size_t)length) == 0 &&
                (place[length] == '/' || place[length] == '\0');
    free(line);
    fclose(mounts);
    return found;
}

/* ---- removal ---- */

#define LEVELS_MAX (PACK_DEPTH_MAX + 1) /* so many descriptors at once */

/* One directory that is being emptied. */
struct emptied {
    DIR *stream;
    char name[NAME_MAX + 1];
};

/* -1: errno; EXDEV: another filesystem is mounted there. */
static int open_inside(int above_fd, const char *name)
{
    const struct open_how how = {.flags = PLACE_DIRECTORY, .resolve = RESOLVE_NO_XDEV | RESOLVE_NO_SYMLINKS};
    struct stat above, here;
    int fd = (int)syscall(SYS_openat2, above_fd, name, &how, sizeof(how));
    if (fd >= 0 || errno != ENOSYS)
        return fd;
    fd = openat(above_fd, name, PLACE_DIRECTORY);
    if (fd < 0 || (fstat(above_fd, &above) == 0 && fstat(fd, &here) == 0 && above.st_dev == here.st_dev))
        return fd;
    close(fd);
    errno = EXDEV;
    return -1;
}

/* Takes the descriptor. */
static bool begin_level(struct emptied *level, int fd, const char *name)
{
    if (fd >= 0)
        (void)fchmod(fd, 0700); /* where it is not ours, what follows says why it fails */
    level->stream = fd < 0 ? NULL : fdopendir(fd);
    if (level->stream == NULL && fd >= 0)
        close(fd);
    snprintf(level->name, sizeof(level->name), "%s", name);
    return level->stream != NULL;
}

/* Removes what is no directory; the first directory found is left for the caller to descend to. */
static const char *empty_until_directory(DIR *stream, bool *good)
{
    struct dirent *found;
    *good = true;
    for (errno = 0; *good && (found = readdir(stream)) != NULL; errno = 0) {
        if (strcmp(found->d_name, ".") == 0 || strcmp(found->d_name, "..") == 0 ||
            unlinkat(dirfd(stream), found->d_name, 0) == 0 || errno == ENOENT)
            continue;
        if (errno == EISDIR || errno == EPERM)
            return found->d_name;
        *good = false;
    }
    *good = *good && errno == 0;
    return NULL;
}

/* What lies too deep for one descriptor each goes to the top, to be emptied from there. What it replaces there is
 * an empty directory that was to go as well. */
static bool lift(const struct emptied *levels, uint32_t depth, const char *name, uint32_t *lifted)
{
    int from_fd = dirfd(levels[depth - 1].stream), fd = open_inside(from_fd, name);
    if (fd < 0)
        return errno == ENOENT;
    (void)fchmod(fd, 0700); /* it gets another "..", which is writing to it */
    close(fd);
    for (;;) {
        char up[32];
        snprintf(up, sizeof(up), ".lifted-%" PRIu32, (*lifted)++);
        if (renameat(from_fd, name, dirfd(levels[0].stream), up) == 0 || errno == ENOENT)
            return true;
        if (errno != EEXIST && errno != ENOTEMPTY && errno != ENOTDIR)
            return false;
    }
}

/* levels[0] is open and stays there. False: errno. */
static bool empty(struct emptied *levels)
{
    uint32_t depth = 1, lifted = 0, seen = 0;
    bool good = true;
    while (depth > 0) {
        struct emptied *level = &levels[depth - 1];
        const char *below = good ? empty_until_directory(level->stream, &good) : NULL;
        if (below != NULL && depth == LEVELS_MAX) {
            good = lift(levels, depth, below, &lifted);
            continue;
        }
        if (below != NULL) {
            good = begin_level(&levels[depth], open_inside(dirfd(level->stream), below), below);
            depth += good ? 1 : 0;
            good = good || errno == ENOENT;
            continue;
        }
        if (good && depth == 1 && lifted != seen) {
            seen = lifted;
            rewinddir(level->stream);
            continue;
        }
        int cause = errno;
        closedir(level->stream);
        depth--;
        errno = cause;
        good = good &&
               (depth == 0 || unlinkat(dirfd(levels[depth - 1].stream), level->name, AT_REMOVEDIR) == 0 ||
                errno == ENOENT);
    }
    return good;
}

/* Takes the descriptor. */
static bool empty_below(int fd)
{
    struct emptied *levels = calloc(LEVELS_MAX, sizeof(*levels));
    bool good = levels != NULL && begin_level(&levels[0], fd, "") && empty(levels);
    int cause = errno;
    if (levels == NULL && fd >= 0)
        close(fd);
    free(levels);
    errno = cause;
    return good;
}

bool tree_empty(int fd)
{
    (void)fchmod(fd, 0700); /* as in begin_level */
    return empty_below(openat(fd, ".", PLACE_DIRECTORY));
}

bool tree_remove(int directory_fd, const char *name)
{
    if (unlinkat(directory_fd, name, 0) == 0 || errno == ENOENT)
        return true;
    bool good =
        empty_below(open_inside(directory_fd, name)) && unlinkat(directory_fd, name, AT_REMOVEDIR) == 0;
    return good || errno == ENOENT;
}
