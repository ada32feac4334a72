/* Breadth first, as the index wants it: the list of entries is at the same time the queue of directories. */
#include "disk/walk.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/check.h"
#include "disk/hash.h"
#include "disk/identity.h"

#define ENTRIES_FIRST    1024u
#define XATTR_LIST_BYTES 65536
#define ACL_PREFIX       "system.posix_acl"

struct item {
    struct pack_entry entry; /* its texts lie at text_at: name, zero, target, zero, attributes */
    uint64_t text_at;
    struct tree_seen seen;
    uint32_t depth;
};

struct walk {
    uint8_t tree;   /* PART_TREE_… */
    bool of_caller; /* this thread acts as him, whoever reads later does not */
    struct item *items;
    uint32_t count, room;
    char *texts;
    uint64_t text_bytes, text_room;
    void *links; /* tsearch: files with more than one name */
    struct lost lost;
    struct stat root;
    int home_fd; /* where this thread was before; -1: it walks without going into directories */
    const char *shown;
    char *text; /* of the reply */
};

/* A file with several names, by where it was seen first. */
struct link_node {
    uint64_t device, inode;
    uint32_t number;
};

static void *grown(void *memory, uint64_t *room, uint64_t need, size_t item_bytes)
{
    if (need <= *room)
        return memory;
    uint64_t bigger = *room == 0 ? ENTRIES_FIRST : *room;
    while (bigger < need)
        bigger *= 2;
    void *moved = realloc(memory, bigger * item_bytes);
    if (moved != NULL)
        *room = bigger;
    return moved;
}

static bool out_of_memory(struct walk *walk)
{
    return place_say(walk->text, "walk %s: out of memory", walk->shown);
}

static bool walk_fail(struct walk *walk, const char *what, const char *name)
{
    int cause = errno;
    char shown[PLACE_SHOWN_BYTES];
    place_show(shown, name);
    return place_say(walk->text, "%s %s in %.60s: %s", what, shown, walk->shown, strerrordesc_np(cause));
}

static bool add_text(struct walk *walk, const void *text, uint64_t bytes, bool terminated)
{
    char *texts = grown(walk->texts, &walk->text_room, walk->text_bytes + bytes + 1, 1);
    if (texts == NULL)
        return out_of_memory(walk);
    walk->texts = texts;
    memcpy(texts + walk->text_bytes, text, bytes);
    walk->text_bytes += bytes;
    if (terminated)
        texts[walk->text_bytes++] = '\0';
    return true;
}

static struct item *add_item(struct walk *walk)
{
    uint64_t room = walk->room;
    struct item *items = grown(walk->items, &room, walk->count + 1ULL, sizeof(*items));
    if (items == NULL || walk->count >= PACK_INDEX_BYTES_MAX / PACK_RECORD_BYTES) {
        walk->items = items == NULL ? walk->items : items;
        out_of_memory(walk);
        return NULL;
    }
    walk->items = items;
    walk->room = (uint32_t)room;
    memset(&items[walk->count], 0, sizeof(*items));
    return &items[walk->count];
}

/* ---- one entry ---- */

static int compare_links(const void *left, const void *right)
{
    const struct link_node *a = left, *b = right;
    if (a->device != b->device)
        return a->device < b->device ? -1 : 1;
    return a->inode == b->inode ? 0 : a->inode < b->inode ? -1 : 1;
}

/* A second name of a file that is there already becomes a link to it. */
static bool note_link(struct walk *walk, struct item *item, const struct stat *stat)
{
    struct link_node *node = malloc(sizeof(*node));
    if (node == NULL)
        return out_of_memory(walk);
    *node = (struct link_node){.device = stat->st_dev, .inode = stat->st_ino, .number = walk->count};
    struct link_node **found = tsearch(node, &walk->links, compare_links);
    if (found != NULL && *found == node)
        return true;
    free(node);
    if (found == NULL)
        return out_of_memory(walk);
    struct pack_entry *entry = &item->entry;
    *entry = (struct pack_entry){.kind = PACK_HARDLINK,
                                 .parent = entry->parent,
                                 .link = (*found)->number,
                                 .name_bytes = entry->name_bytes};
    return true;
}

static bool add_target(struct walk *walk, struct item *item, int directory_fd, const char *name)
{
    char target[PACK_TARGET_BYTES_MAX + 2];
    ssize_t bytes = readlinkat(directory_fd, name, target, sizeof(target));
    if (bytes <= 0)
        return walk_fail(walk, "read the link", name);
    if (bytes > PACK_TARGET_BYTES_MAX) {
        errno = ENAMETOOLONG;
        return walk_fail(walk, "read the link", name);
    }
    item->entry.target_bytes = (uint16_t)bytes;
    return add_text(walk, target, (uint64_t)bytes, true);
}

static int compare_names(const void *left, const void *right)
{
    return strcmp(*(char *const *)left, *(char *const *)right);
}

/* Those of `list` that are the user's, by name. */
static bool collect_xattrs(int fd, const char *list, ssize_t list_bytes, uint8_t *blob, uint16_t *bytes)
{
    static _Thread_local uint8_t value[XATTR_LIST_BYTES];
    const char *names[256];
    size_t count = 0;
    for (const char *name = list; name < list + list_bytes; name += strlen(name) + 1)
        if (strncmp(name, PACK_XATTR_PREFIX, sizeof(PACK_XATTR_PREFIX) - 1) == 0) {
            if (count == sizeof(names) / sizeof(names[0]))
                return false;
            names[count++] = name;
        }
    qsort(names, count, sizeof(names[0]), compare_names);
    for (size_t at = 0; at < count; at++) {
        ssize_t value_bytes = fgetxattr(fd, names[at], value, sizeof(value));
        if (value_bytes < 0 ||
            !pack_xattr_put(blob, UINT16_MAX, bytes, names[at], value, (size_t)value_bytes))
            return false;
    }
    return true;
}

static bool add_xattrs(struct walk *walk, struct item *item, int directory_fd, const char *name)
{
    static _Thread_local char list[XATTR_LIST_BYTES];
    static _Thread_local uint8_t blob[UINT16_MAX];
    int fd =
        openat(directory_fd, name[0] == '\0' ? "." : name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return walk_fail(walk, "open", name);
    ssize_t list_bytes = flistxattr(fd, list, sizeof(list));
    bool none = list_bytes == 0 || (list_bytes < 0 && errno == EOPNOTSUPP);
    bool good =
        none || (list_bytes > 0 && collect_xattrs(fd, list, list_bytes, blob, &item->entry.xattr_bytes));
    if (!good)
        walk_fail(walk, "read the attributes of", name);
    close(fd);
    return good && add_text(walk, blob, item->entry.xattr_bytes, false);
}

/* Attributes can be listed by descriptor or path only. The cheap path is a name in the working directory, 1
 * us in place of 4 by /proc: this thread gets one of its own. Where it can't, attributes go uncounted. */
static void leave_home(struct walk *walk)
{
    walk->home_fd = unshare(CLONE_FS) == 0 ? open(".", O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
}

static void go_into(struct walk *walk, int directory_fd)
{
    if (walk->home_fd < 0 || fchdir(directory_fd) == 0)
        return;
    close(walk->home_fd);
    walk->home_fd = -1;
}

static void go_home(const struct walk *walk)
{
    if (walk->home_fd < 0)
        return;
    (void)fchdir(walk->home_fd); /* fails where home was removed: then no relative path leads there anyway */
    close(walk->home_fd);
}

/* Access lists, and the user's attributes unless they are kept; others (security labels) are the system's. */
static bool loses_xattrs(const struct walk *walk, const char *name)
{
    char list[1024];
    bool user_kept = (walk->tree & PART_TREE_XATTR) != 0;
    ssize_t bytes = walk->home_fd < 0 ? 0 : llistxattr(name[0] == '\0' ? "." : name, list, sizeof(list));
    for (const char *at = list; at < list + bytes; at += strlen(at) + 1) {
        if (strncmp(at, ACL_PREFIX, sizeof(ACL_PREFIX) - 1) == 0 ||
            (!user_kept && strncmp(at, PACK_XATTR_PREFIX, sizeof(PACK_XATTR_PREFIX) - 1) == 0))
            return true;
    }
    return bytes < 0 && errno == ERANGE;
}

static void count_lost(struct walk *walk, const char *name, const struct stat *stat)
{
    if (walk->count == 0)
        walk->root = *stat;
    bool owner = (walk->tree & PART_TREE_OWNER) != 0, linked = !S_ISDIR(stat->st_mode) && stat->st_nlink > 1;
    bool foreign = stat->st_uid != walk->root.st_uid || stat->st_gid != walk->root.st_gid;
    uint32_t *lost = walk->lost.entries;
    lost[LOST_OWNERS] += !owner && foreign ? 1 : 0;
    lost[LOST_SET_IDS] +=
        !owner && !S_ISDIR(stat->st_mode) && (stat->st_mode & TREE_SET_ID_BITS) != 0 ? 1 : 0;
    if (!S_ISLNK(stat->st_mode))
        lost[LOST_XATTRS] += loses_xattrs(walk, name) ? 1 : 0;
    lost[LOST_LINKS] += linked && (walk->tree & PART_TREE_HARDLINKS) == 0 ? 1 : 0;
}

static uint8_t kind_of(mode_t mode)
{
    if (S_ISDIR(mode))
        return PACK_DIRECTORY;
    if (S_ISREG(mode))
        return PACK_FILE;
    return S_ISLNK(mode) ? PACK_SYMLINK : 0;
}

/* Asked while walking: a few links on disk, with many names each, can make an index of any length. */
static bool index_fits(const struct walk *walk)
{
    return pack_index_bytes(walk->count, walk->text_bytes) <= PACK_INDEX_BYTES_MAX ||
           place_say(walk->text, "%s: too many files for one job", walk->shown);
}

static bool add_entry(struct walk *walk, uint32_t parent, int directory_fd, const char *name,
                      const struct stat *stat)
{
    struct item *item = add_item(walk);
    if (item == NULL)
        return false;
    bool owner = (walk->tree & PART_TREE_OWNER) != 0;
    uint32_t dropped = owner ? 0 : S_ISDIR(stat->st_mode) ? TREE_SET_ID_BITS : TREE_SET_BITS;
    struct pack_entry *entry = &item->entry;
    *entry = (struct pack_entry){.kind = kind_of(stat->st_mode),
                                 .mode = (uint16_t)(stat->st_mode & PACK_MODE_MASK & ~dropped),
                                 .parent = parent,
                                 .uid = owner ? stat->st_uid : 0,
                                 .gid = owner ? stat->st_gid : 0,
                                 .modified_s = stat->st_mtim.tv_sec,
                                 .modified_ns = (uint32_t)stat->st_mtim.tv_nsec,
                                 .name_bytes = (uint16_t)strlen(name)};
    item->text_at = walk->text_bytes;
    item->seen = (struct tree_seen){.inode = stat->st_ino, .changed = tree_changed(stat)};
    item->depth = walk->count == 0 ? 0 : walk->items[parent].depth + 1;
    if (entry->kind == 0)
        return place_say(walk->text, "%.100s in %.60s: neither file, directory nor symbolic link", name,
                         walk->shown);
    if (entry->kind == PACK_DIRECTORY && item->depth > PACK_DEPTH_MAX)
        return place_say(walk->text, "%.100s in %.60s: lies deeper than %d directories", name, walk->shown,
                         PACK_DEPTH_MAX);
    if (entry->kind == PACK_FILE)
        entry->size_bytes = (uint64_t)stat->st_size;
    if (!add_text(walk, name, entry->name_bytes, true))
        return false;
    if (entry->kind == PACK_FILE && stat->st_nlink > 1 && (walk->tree & PART_TREE_HARDLINKS) != 0 &&
        !note_link(walk, item, stat))
        return false;
    if (entry->kind == PACK_SYMLINK && !add_target(walk, item, directory_fd, name))
        return false;
    bool may_have = entry->kind == PACK_FILE || entry->kind == PACK_DIRECTORY;
    if (may_have && (walk->tree & PART_TREE_XATTR) != 0 && !add_xattrs(walk, item, directory_fd, name))
        return false;
    count_lost(walk, name, stat);
    walk->count++;
    return index_fits(walk);
}

/* ---- one directory ---- */

struct names {
    char **names;
    uint64_t count, room;
};

static void free_names(struct names *names)
{
    for (uint64_t at = 0; at < names->count; at++)
        free(names->names[at]);
    free(names->names);
}

/* False: errno. */
static bool list_names(int directory_fd, struct names *names)
{
    struct dirent *found;
    int fd = openat(directory_fd, ".", PLACE_DIRECTORY);
    DIR *stream = fd < 0 ? NULL : fdopendir(fd);
    if (stream == NULL) {
        if (fd >= 0)
            close(fd);
        return false;
    }
    for (errno = 0; (found = readdir(stream)) != NULL; errno = 0) {
        if (strcmp(found->d_name, ".") == 0 || strcmp(found->d_name, "..") == 0)
            continue;
        char **moved = grown(names->names, &names->room, names->count + 1, sizeof(*moved));
        names->names = moved == NULL ? names->names : moved;
        char *name = moved == NULL ? NULL : strdup(found->d_name);
        if (name == NULL) {
            errno = ENOMEM;
            break;
        }
        names->names[names->count++] = name;
    }
    int cause = errno;
    closedir(stream);
    errno = cause;
    return cause == 0;
}

/* What lies there, if the caller may read it: asked of one descriptor, so that a name that is given to another
 * file meanwhile cannot make the two answers be about different ones. Directories show it when they are read.
 * False: errno. */
static bool look_as_caller(int directory_fd, const char *name, struct stat *stat)
{
    int fd = openat(directory_fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return false;
    bool good = fstat(fd, stat) == 0 && (!S_ISREG(stat->st_mode) || syscall(SYS_faccessat2, fd, "", R_OK,
                                                                            AT_EMPTY_PATH | AT_EACCESS) == 0);
    int cause = errno;
    close(fd);
    errno = cause;
    return good;
}

/* A walk of / meets what opening /proc refuses. */
static bool may_list(struct walk *walk, int fd, const char *name)
{
    char shown[PLACE_SHOWN_BYTES];
    place_show(shown, name);
    return !identity_is_procfs(fd) ||
           place_say(walk->text, "%s in %.60s: %s", shown, walk->shown, IDENTITY_PROCFS_TEXT);
}

static bool walk_directory(struct walk *walk, struct tree_chain *chain, uint32_t number)
{
    const char *name = walk->texts + walk->items[number].text_at;
    struct names names = {0};
    int fd = tree_chain_open(chain, number);
    if (fd >= 0 && !may_list(walk, fd, name))
        return false;
    bool good = (fd >= 0 && list_names(fd, &names)) || walk_fail(walk, "read the directory", name);
    if (good)
        go_into(walk, fd);
    if (good && names.count > 0)
        qsort(names.names, names.count, sizeof(names.names[0]), compare_names);
    for (uint64_t at = 0; good && at < names.count; at++) {
        struct stat stat;
        if (walk->of_caller ? look_as_caller(fd, names.names[at], &stat)
                            : fstatat(fd, names.names[at], &stat, AT_SYMLINK_NOFOLLOW) == 0)
            good = add_entry(walk, number, fd, names.names[at], &stat);
        else /* ENOENT: just removed, not there */
            good = errno == ENOENT || walk_fail(walk, "look at", names.names[at]);
    }
    free_names(&names);
    return good;
}

static void name_in_walk(const void *context, uint32_t number, uint32_t *parent, const char **name)
{
    const struct walk *walk = context;
    *parent = walk->items[number].entry.parent;
    *name = walk->texts + walk->items[number].text_at;
}

static bool walk_all(struct walk *walk, int root_fd)
{
    struct tree_chain chain;
    struct stat stat;
    if (fstat(root_fd, &stat) != 0)
        return walk_fail(walk, "look at", "");
    leave_home(walk);
    go_into(walk, root_fd);
    bool good = add_entry(walk, 0, root_fd, "", &stat);
    tree_chain_begin(&chain, (struct tree_names){.of = name_in_walk, .context = walk}, root_fd);
    for (uint32_t number = 0; good && number < walk->count; number++)
        if (walk->items[number].entry.kind == PACK_DIRECTORY)
            good = walk_directory(walk, &chain, number);
    tree_chain_end(&chain);
    go_home(walk);
    return good;
}

/* ---- the index ---- */

static void write_index(const struct walk *walk, struct walked *walked)
{
    struct pack_writer writer;
    pack_write_begin(&writer, walked->bytes, walk->count, walk->text_bytes);
    for (uint32_t number = 0; number < walk->count; number++) {
        struct pack_entry entry = walk->items[number].entry;
        entry.name = walk->texts + walk->items[number].text_at;
        entry.target = entry.name + entry.name_bytes + 1;
        uint32_t target_room = entry.target_bytes == 0 ? 0 : entry.target_bytes + 1u;
        entry.xattrs = (const uint8_t *)entry.target + target_room;
        pack_write(&writer, &entry);
        walked->seen[number] = walk->items[number].seen;
    }
    walked->pack.index_bytes = writer.index_bytes;
    walked->pack.object_bytes = pack_write_end(&writer);
}

static bool make_index(struct walk *walk, struct walked *walked)
{
    struct err err;
    uint64_t index_bytes = pack_index_bytes(walk->count, walk->text_bytes);
    walked->bytes = malloc(index_bytes);
    walked->seen = malloc(walk->count * sizeof(*walked->seen));
    if (walked->bytes == NULL || walked->seen == NULL)
        return out_of_memory(walk);
    write_index(walk, walked);
    hash_block(PART_HASH_SHA256, walked->bytes, index_bytes, &walked->hash);
    return pack_open(&walked->pack, walked->bytes, index_bytes, walked->pack.object_bytes, &err) ||
           place_say(walk->text, "%.60s: %.120s", walk->shown, err.text);
}

static bool walk_and_index(struct walk *walk, struct walked *walked, int root_fd)
{
    memset(walked, 0, sizeof(*walked));
    bool good = walk_all(walk, root_fd) && make_index(walk, walked);
    if (!good) {
        free(walked->bytes);
        free(walked->seen);
        memset(walked, 0, sizeof(*walked));
    }
    tdestroy(walk->links, free);
    free(walk->items);
    free(walk->texts);
    walked->lost = walk->lost;
    return good;
}

bool walk_tree(struct walked *walked, int root_fd, uint8_t tree, const char *shown,
               char text[DISK_TEXT_BYTES])
{
    struct walk walk = {.tree = tree, .shown = shown, .text = text};
    return walk_and_index(&walk, walked, root_fd);
}

bool walk_tree_of_caller(struct walked *walked, int root_fd, uint8_t tree, const char *shown,
                         char text[DISK_TEXT_BYTES])
{
    struct walk walk = {.tree = tree, .of_caller = true, .shown = shown, .text = text};
    return walk_and_index(&walk, walked, root_fd);
}
