#include "disk/unpack.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/units.h"
#include "disk/fully.h"

#define PRIVATE_DIRECTORY 0700
#define PRIVATE_FILE      0600
/* Runs of zeros are looked for in steps of this length, on multiples of it. A piece may begin or end within
 * one: punching a part of a block that is not there leaves it so. */
#define HOLE_STEP       4096u
#define COPY_STEP_BYTES 65536
#define NEW_FILE        (O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC)

bool unpack_begin(struct unpack *unpack, const struct pack *pack, struct disk_accept keep, int root_fd)
{
    *unpack = (struct unpack){.pack = pack,
                              .keep = keep,
                              .root_fd = root_fd,
                              .made = calloc(pack->entries / 8 + 1, 1),
                              .split = calloc(pack->entries / 8 + 1, 1)};
    pthread_mutex_init(&unpack->lock, NULL);
    return unpack->made != NULL && unpack->split != NULL;
}

void unpack_end(struct unpack *unpack)
{
    if (unpack->pack != NULL)
        pthread_mutex_destroy(&unpack->lock);
    free(unpack->made);
    free(unpack->split);
}

/* ---- what entries carry besides content ---- */

static void times_of(const struct pack_entry *entry, struct timespec times[2])
{
    times[0] = (struct timespec){.tv_nsec = UTIME_OMIT};
    times[1] = (struct timespec){.tv_sec = entry->modified_s, .tv_nsec = (long)entry->modified_ns};
}

/* The sender's word for the mode, as far as the receiver follows it. A directory's sticky bit only takes
 * rights away. */
static uint16_t mode_of(const struct unpack *unpack, const struct pack_entry *entry)
{
    uint16_t refused = unpack->keep.set_id             ? 0
                       : entry->kind == PACK_DIRECTORY ? TREE_SET_ID_BITS
                                                       : TREE_SET_BITS;
    return entry->mode & (uint16_t)~refused;
}

static bool set_xattrs(const struct unpack *unpack, int fd, const struct pack_entry *entry)
{
    struct pack_xattr xattr;
    for (uint16_t at = 0; unpack->keep.xattrs && pack_xattr_next(entry, &at, &xattr);)
        if (fsetxattr(fd, xattr.name, xattr.value, xattr.value_bytes, 0) != 0)
            return false;
    return true;
}

/* Looking costs a tenth of setting, and mostly the mode a file was created with is the right one. */
static bool set_mode(int fd, uint16_t mode)
{
    struct stat stat;
    return (fstat(fd, &stat) == 0 && (stat.st_mode & PACK_MODE_MASK) == mode) || fchmod(fd, mode) == 0;
}

/* In this order: changing the owner takes set-id bits away, and a mode may forbid what comes before it. */
static bool set_rest(const struct unpack *unpack, int fd, const struct pack_entry *entry)
{
    struct timespec times[2];
    times_of(entry, times);
    return set_xattrs(unpack, fd, entry) &&
           (!unpack->keep.owner || fchown(fd, entry->uid, entry->gid) == 0) &&
           set_mode(fd, mode_of(unpack, entry)) && futimens(fd, times) == 0;
}

void unpack_count_lost(const struct unpack *unpack, struct lost *lost)
{
    *lost = (struct lost){0};
    for (uint32_t number = 0; number < unpack->pack->entries; number++) {
        struct pack_entry entry;
        pack_entry(unpack->pack, number, &entry);
        bool foreign = entry.uid != geteuid() || entry.gid != getegid();
        lost->entries[LOST_OWNERS] += !unpack->keep.owner && foreign ? 1 : 0;
        lost->entries[LOST_SET_IDS] += mode_of(unpack, &entry) != entry.mode ? 1 : 0;
        lost->entries[LOST_XATTRS] += !unpack->keep.xattrs && entry.xattr_bytes != 0 ? 1 : 0;
    }
    lost->entries[LOST_LINKS] = unpack->links_copied;
}

/* ---- content ---- */

static bool all_zero(const uint8_t *data, uint64_t length)
{
    return data[0] == 0 && memcmp(data, data + 1, length - 1) == 0;
}

/* How far from `at` the data is all zeros, or all not, in whole steps of the file's offsets. */
static uint64_t run_end(const uint8_t *data, uint64_t length, uint64_t at, uint64_t offset, bool *zero)
{
    bool first = true;
    while (at < length) {
        uint64_t step = MIN(HOLE_STEP - (offset + at) % HOLE_STEP, length - at);
        bool zeros = all_zero(data + at, step);
        if (!first && zeros != *zero)
            break;
        *zero = zeros;
        first = false;
        at += step;
    }
    return at;
}

/* Zeros become holes: left out of a new file, punched into one that may have had other content there. */
static bool write_content(int fd, const uint8_t *data, uint64_t length, uint64_t offset, bool is_new)
{
    const int punch = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE;
    for (uint64_t at = 0, end; at < length; at = end) {
        bool zero = false;
        end = run_end(data, length, at, offset, &zero);
        if (zero && (is_new || fallocate(fd, punch, (off_t)(offset + at), (off_t)(end - at)) == 0))
            continue;
        if (!write_fully(fd, data + at, end - at, offset + at))
            return false;
    }
    return true;
}

/* What ends in a hole has not got its length by writing. */
static bool set_length(int fd, const uint8_t *data, const struct pack_entry *entry)
{
    return data[entry->size_bytes - 1] != 0 || ftruncate(fd, (off_t)entry->size_bytes) == 0;
}

static bool bit(const uint8_t *bits, uint32_t number)
{
    return (__atomic_load_n(&bits[number / 8], __ATOMIC_ACQUIRE) >> number % 8 & 1) != 0;
}

static void set_bit(uint8_t *bits, uint32_t number)
{
    __atomic_fetch_or(&bits[number / 8], (uint8_t)(1u << number % 8), __ATOMIC_RELEASE);
}

/* What has come before, and was bad, makes room. Anything else by that name stays: it is another entry of
 * this tree, in a filesystem that takes the two names for one, or somebody else's. */
static bool make_room(const struct unpack *unpack, int directory_fd, uint32_t number, const char *name)
{
    return !bit(unpack->made, number) || unlinkat(directory_fd, name, 0) == 0 || errno == ENOENT;
}

/* Created with its own permissions, unless they could forbid setting attributes. */
static bool put_whole(const struct unpack *unpack, int directory_fd, uint32_t number,
                      const struct pack_entry *entry, const uint8_t *data)
{
    if (!make_room(unpack, directory_fd, number, entry->name))
        return false;
    mode_t mode = entry->xattr_bytes != 0 ? PRIVATE_FILE : entry->mode & ~TREE_SET_BITS;
    int fd = openat(directory_fd, entry->name, NEW_FILE, mode);
    if (fd < 0)
        return false;
    set_bit(unpack->made, number);
    bool good = entry->size_bytes == 0 ||
                (write_content(fd, data, entry->size_bytes, 0, true) && set_length(fd, data, entry));
    good = good && set_rest(unpack, fd, entry) && (!unpack->sync || fsync(fd) == 0);
    int cause = errno;
    close(fd);
    errno = cause;
    return good;
}

/* The first piece to come, whichever it is, creates the file; another thread may be at the second one. */
static int open_split(struct unpack *unpack, int directory_fd, uint32_t number, const char *name)
{
    pthread_mutex_lock(&unpack->lock);
    int flags = bit(unpack->made, number) ? O_WRONLY | O_NOFOLLOW | O_CLOEXEC : NEW_FILE;
    int fd = openat(directory_fd, name, flags, PRIVATE_FILE);
    if (fd >= 0)
        set_bit(unpack->made, number);
    pthread_mutex_unlock(&unpack->lock);
    return fd;
}

static bool put_part(struct unpack *unpack, int directory_fd, const struct pack_entry *entry,
                     const struct pack_piece *piece, const uint8_t *data)
{
    set_bit(unpack->split, piece->entry);
    int fd = open_split(unpack, directory_fd, piece->entry, entry->name);
    if (fd < 0)
        return false;
    bool good = ftruncate(fd, (off_t)entry->size_bytes) == 0 &&
                write_content(fd, data, piece->length, piece->file_offset, false) &&
                (!unpack->sync || fdatasync(fd) == 0);
    int cause = errno;
    close(fd);
    errno = cause;
    return good;
}

static bool put_symlink(const struct unpack *unpack, int directory_fd, uint32_t number,
                        const struct pack_entry *entry)
{
    struct timespec times[2];
    times_of(entry, times);
    if (!make_room(unpack, directory_fd, number, entry->name) ||
        symlinkat(entry->target, directory_fd, entry->name) != 0)
        return false;
    set_bit(unpack->made, number);
    return (!unpack->keep.owner ||
            fchownat(directory_fd, entry->name, entry->uid, entry->gid, AT_SYMLINK_NOFOLLOW) == 0) &&
           utimensat(directory_fd, entry->name, times, AT_SYMLINK_NOFOLLOW) == 0;
}

static bool put_piece(struct unpack *unpack, struct tree_chain *chain, const struct pack_piece *piece,
                      const uint8_t *data)
{
    struct pack_entry entry;
    pack_entry(unpack->pack, piece->entry, &entry);
    int directory_fd = tree_chain_open(chain, entry.parent);
    if (directory_fd < 0)
        return false;
    if (entry.kind == PACK_SYMLINK)
        return put_symlink(unpack, directory_fd, piece->entry, &entry);
    if (piece->length == entry.size_bytes)
        return put_whole(unpack, directory_fd, piece->entry, &entry, data + piece->range_offset);
    return put_part(unpack, directory_fd, &entry, piece, data + piece->range_offset);
}

static void fail(const struct unpack *unpack, const char *what, uint32_t number, char text[DISK_TEXT_BYTES])
{
    char shown[TREE_SHOWN_BYTES];
    if (!place_is_full()) {
        tree_fail(text, what, unpack->pack, number);
        return;
    }
    int cause = errno;
    pack_show(unpack->pack, number, shown, sizeof(shown));
    errno = cause;
    place_full(text, shown, "", unpack->root_fd, (struct place_need){0});
}

bool unpack_range(struct unpack *unpack, uint64_t start, uint64_t end, const uint8_t *data,
                  char text[DISK_TEXT_BYTES])
{
    struct pack_cursor cursor;
    struct pack_piece piece;
    struct tree_chain chain;
    bool good = true;
    tree_chain_begin(&chain, tree_names_of(unpack->pack), unpack->root_fd);
    pack_seek(&cursor, unpack->pack, start, end);
    while (good && pack_next(&cursor, &piece)) {
        good = put_piece(unpack, &chain, &piece, data);
        if (!good)
            fail(unpack, "write", piece.entry, text);
    }
    tree_chain_end(&chain);
    return good;
}

/* ---- before and after ---- */

/* Something that is done to every entry, from the first or from the last on. */
struct pass {
    const char *doing; /* for texts */
    bool backwards;
    bool (*step)(struct unpack *, struct tree_chain *, uint32_t, const struct pack_entry *);
};

static bool run_pass(struct unpack *unpack, struct pass pass, char text[DISK_TEXT_BYTES])
{
    struct tree_chain chain;
    bool good = true;
    tree_chain_begin(&chain, tree_names_of(unpack->pack), unpack->root_fd);
    for (uint32_t step = 0; good && step < unpack->pack->entries; step++) {
        uint32_t number = pass.backwards ? unpack->pack->entries - 1 - step : step;
        struct pack_entry entry;
        pack_entry(unpack->pack, number, &entry);
        good = pass.step(unpack, &chain, number, &entry);
        if (!good)
            fail(unpack, pass.doing, number, text);
    }
    tree_chain_end(&chain);
    return good;
}

static bool make_directory(struct unpack *unpack, struct tree_chain *chain, uint32_t number,
                           const struct pack_entry *entry)
{
    (void)unpack;
    if (entry->kind != PACK_DIRECTORY || number == 0)
        return true;
    int above_fd = tree_chain_open(chain, entry->parent);
    return above_fd >= 0 && mkdirat(above_fd, entry->name, PRIVATE_DIRECTORY) == 0;
}

bool unpack_directories(struct unpack *unpack, char text[DISK_TEXT_BYTES])
{
    return run_pass(unpack, (struct pass){.doing = "make", .step = make_directory}, text);
}

static bool finish_split(const struct unpack *unpack, struct tree_chain *chain,
                         const struct pack_entry *entry)
{
    int above_fd = tree_chain_open(chain, entry->parent);
    int fd = above_fd < 0 ? -1 : openat(above_fd, entry->name, O_WRONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return false;
    bool good = set_rest(unpack, fd, entry);
    int cause = errno;
    close(fd);
    errno = cause;
    return good;
}

/* The content of one open file into another; false: errno. */
static bool copy_content(int from_fd, int to_fd)
{
    uint8_t data[COPY_STEP_BYTES];
    int64_t got = 1;
    for (uint64_t offset = 0; got > 0; offset += (uint64_t)got) {
        got = read_fully(from_fd, data, sizeof(data), offset);
        if (got < 0 || !write_fully(to_fd, data, (uint64_t)got, offset))
            return false;
    }
    return true;
}

/* The filesystem has no hard links (exFAT, much by FUSE): the further name becomes a file of its own. */
static bool copy_file(struct unpack *unpack, int from_fd, const struct pack_entry *file, int to_fd,
                      const char *name)
{
    int source = openat(from_fd, file->name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    bool hidden = source < 0 && errno == EACCES && fchmodat(from_fd, file->name, PRIVATE_FILE, 0) == 0;
    if (hidden) /* its mode is set already, and forbids even its owner to read it */
        source = openat(from_fd, file->name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    int copy = source < 0 ? -1 : openat(to_fd, name, NEW_FILE, PRIVATE_FILE);
    bool good = copy >= 0 && copy_content(source, copy) && set_rest(unpack, copy, file) &&
                (!hidden || set_mode(source, mode_of(unpack, file))) && (!unpack->sync || fsync(copy) == 0);
    int cause = errno;
    if (source >= 0)
        close(source);
    if (copy >= 0)
        close(copy);
    errno = cause;
    unpack->links_copied += good ? 1 : 0;
    return good;
}

static bool link_or_copy(struct unpack *unpack, int from_fd, const struct pack_entry *file, int to_fd,
                         const char *name)
{
    if (linkat(from_fd, file->name, to_fd, name, 0) == 0)
        return true;
    return (errno == EPERM || place_is_unsupported()) && copy_file(unpack, from_fd, file, to_fd, name);
}

static bool make_hardlink(struct unpack *unpack, struct tree_chain *chain, const struct pack_entry *entry)
{
    struct pack_entry file;
    struct tree_chain other; /* the two directories are needed at once */
    pack_entry(unpack->pack, entry->link, &file);
    tree_chain_begin(&other, tree_names_of(unpack->pack), unpack->root_fd);
    int from_fd = tree_chain_open(&other, file.parent);
    int to_fd = from_fd < 0 ? -1 : tree_chain_open(chain, entry->parent);
    bool good = to_fd >= 0 && link_or_copy(unpack, from_fd, &file, to_fd, entry->name);
    int cause = errno;
    tree_chain_end(&other);
    errno = cause;
    return good;
}

static bool finish_file(struct unpack *unpack, struct tree_chain *chain, uint32_t number,
                        const struct pack_entry *entry)
{
    if (entry->kind == PACK_FILE && bit(unpack->split, number))
        return finish_split(unpack, chain, entry);
    return entry->kind != PACK_HARDLINK || make_hardlink(unpack, chain, entry);
}

static bool finish_directory(struct unpack *unpack, struct tree_chain *chain, uint32_t number,
                             const struct pack_entry *entry)
{
    if (entry->kind != PACK_DIRECTORY)
        return true;
    int fd = tree_chain_open(chain, number);
    return fd >= 0 && set_rest(unpack, fd, entry);
}

/* Directories from the last to the first, hence each after what lies in it, which would change its time. */
bool unpack_finish(struct unpack *unpack, char text[DISK_TEXT_BYTES])
{
    const struct pass files = {.doing = "finish", .step = finish_file};
    const struct pass directories = {.doing = "finish", .backwards = true, .step = finish_directory};
    return run_pass(unpack, files, text) && run_pass(unpack, directories, text);
}
