#include "disk/tree_sink.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/units.h"
#include "disk/flush.h"
#include "disk/fully.h"
#include "disk/hash.h"
#include "disk/part.h"
#include "disk/replace.h"
#include "disk/unpack.h"
#include "disk/walk.h"

#define EARLY_NAME      ".early" /* exists for a moment, while the tree is still empty */
#define CREATE_ATTEMPTS 8
#define CREATE_REST_US  1000
#define RANGES_FIRST    64u

struct range {
    uint64_t offset, length;
};

/* Distinct ranges, by their offsets. */
struct ranges {
    struct range *at;
    uint64_t count, room, bytes;
};

struct tree_sink {
    struct place *place;
    int root_fd;
    uint8_t exists, durable, tree;
    struct disk_accept keep;              /* of what the job asks for, so much is done here */
    const char *refuser[LOST_KIND_COUNT]; /* who does not keep the rest */
    bool sparse;                          /* no space is asked for beforehand */
    bool there;                           /* NAME was the same tree already */
    bool renamed;                         /* NAME.part has become NAME */
    bool unsynced; /* a syncfs has failed: nothing tells any more what is on the disk */
    uint64_t index_bytes, object_bytes;
    struct budget *index_memory;
    uint64_t taken_bytes; /* of it */
    struct wire_hash index_hash;
    uint8_t *index;
    struct pack pack;
    struct unpack unpack;
    struct flush flush;
    /* The index is whole and right, its directories are made, early blocks are unpacked. */
    atomic_bool ready;
    pthread_mutex_t lock; /* until it is ready: all below */
    struct ranges index_parts, early;
    int early_fd;                  /* -1: none yet */
    char refused[DISK_TEXT_BYTES]; /* the index came and is not to be believed */
};

/* ---- opening ---- */

static bool is_directory(int directory_fd, const char *name, struct stat *stat)
{
    return fstatat(directory_fd, name, stat, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(stat->st_mode);
}

static int open_directory(int directory_fd, const char *name)
{
    return openat(directory_fd, name, PLACE_DIRECTORY);
}

/* The same names, kinds, modes, times, sizes and targets: the same index. */
static bool is_same(struct tree_sink *sink, int fd)
{
    struct walked walked;
    char ignored[DISK_TEXT_BYTES];
    if (!walk_tree(&walked, fd, sink->tree, sink->place->shown, ignored))
        return false;
    bool same = walked.pack.object_bytes == sink->object_bytes &&
                memcmp(&walked.hash, &sink->index_hash, sizeof(walked.hash)) == 0;
    free(walked.seen);
    if (same) {
        sink->index = walked.bytes;
        sink->pack = walked.pack;
    } else {
        free(walked.bytes);
    }
    return same;
}

/* What stands at NAME, against the job's policy. DISK_OK: go on and make NAME.part. */
static enum disk_status check_existing(struct tree_sink *sink, char text[DISK_TEXT_BYTES])
{
    const struct place *place = sink->place;
    struct stat stat;
    if (fstatat(place->directory_fd, place->name, &stat, AT_SYMLINK_NOFOLLOW) != 0) {
        if (errno == ENOENT)
            return DISK_OK;
        place_fail(text, "open", place->shown, "");
        return DISK_FAILED;
    }
    if (sink->exists == PART_EXISTS_FAIL || !S_ISDIR(stat.st_mode)) {
        place_say(text, "%s: %s", place->shown,
                  S_ISDIR(stat.st_mode) ? "is there already" : "is there already and not a directory");
        return DISK_FAILED;
    }
    int fd = open_directory(place->directory_fd, place->name);
    if (fd < 0) {
        place_fail(text, "open", place->shown, "");
        return DISK_FAILED;
    }
    if (sink->exists == PART_EXISTS_SKIP_IF_SAME && is_same(sink, fd)) {
        sink->root_fd = fd;
        return DISK_ALREADY_THERE;
    }
    bool may = replace_allowed(place, fd, text);
    close(fd);
    return may ? DISK_OK : DISK_FAILED;
}

/* What a writer that is no more has left behind. False: it is no such thing, or is being written. */
static bool remove_leftover(struct place *place, char text[DISK_TEXT_BYTES])
{
    struct stat stat;
    if (!is_directory(place->directory_fd, place->part, &stat))
        return place_say(text, "%s%s: is in the way and not a directory", place->shown, PLACE_PART_SUFFIX);
    int fd = open_directory(place->directory_fd, place->part);
    if (fd < 0)
        return errno == ENOENT || place_fail(text, "open", place->shown, PLACE_PART_SUFFIX);
    bool removed =
        part_is_leftover(place, fd, text) && (tree_remove(place->directory_fd, place->part) ||
                                              place_fail(text, "remove", place->shown, PLACE_PART_SUFFIX));
    close(fd);
    return removed;
}

/* Another job may take the new directory for a leftover until the lock is ours: then begin again. One that removes
 * a tree which it has replaced holds that for a moment (replace.c). */
static int create_part(struct place *place, char text[DISK_TEXT_BYTES])
{
    bool told = false;
    for (int attempt = 0; attempt < CREATE_ATTEMPTS; attempt++) {
        if (mkdirat(place->directory_fd, place->part, 0700) == 0) {
            int fd = open_directory(place->directory_fd, place->part);
            if (fd >= 0 && part_claim(place, fd))
                return fd;
            if (fd >= 0)
                close(fd);
        } else if (errno != EEXIST) {
            place_fail(text, "create", place->shown, PLACE_PART_SUFFIX);
            return -1;
        } else if (!remove_leftover(place, text)) {
            told = true;
            usleep(CREATE_REST_US);
        }
    }
    if (!told)
        place_say(text, "%s%s: another job is writing it", place->shown, PLACE_PART_SUFFIX);
    return -1;
}

/* The sender says how long the index is. What he does not send costs no memory but the right to it. */
static bool reserve_index(struct tree_sink *sink, char text[DISK_TEXT_BYTES])
{
    struct budget *memory = sink->index_memory;
    if (!budget_take(memory, sink->index_bytes))
        return place_say(text,
                         "%s: an index of %" PRIu64 " bytes; for all indexes there are %" PRIu64 ", %" PRIu64
                         " in use",
                         sink->place->shown, sink->index_bytes, memory->limit_bytes,
                         (uint64_t)atomic_load(&memory->used_bytes));
    sink->taken_bytes = sink->index_bytes;
    sink->index = malloc(sink->index_bytes);
    return sink->index != NULL || place_say(text, "%s: no memory for an index of %" PRIu64 " bytes",
                                            sink->place->shown, sink->index_bytes);
}

static enum disk_status open_part(struct tree_sink *sink, char text[DISK_TEXT_BYTES])
{
    if (!reserve_index(sink, text))
        return DISK_FAILED;
    sink->root_fd = create_part(sink->place, text);
    if (sink->root_fd < 0)
        return DISK_FAILED;
    if (sink->sparse || place_check_space(sink->place, sink->root_fd, sink->object_bytes, text))
        return DISK_OK;
    (void)tree_remove(sink->place->directory_fd, sink->place->part); /* the first failure is what counts */
    return DISK_FAILED;
}

static enum disk_status open_sink(struct tree_sink *sink, char text[DISK_TEXT_BYTES])
{
    if (sink->index_bytes < PACK_HEADER_BYTES || sink->index_bytes > PACK_INDEX_BYTES_MAX) {
        place_say(text, "%s: an index of %" PRIu64 " bytes, expected %d to %" PRIu64, sink->place->shown,
                  sink->index_bytes, PACK_HEADER_BYTES, PACK_INDEX_BYTES_MAX);
        return DISK_FAILED;
    }
    enum disk_status status = check_existing(sink, text);
    return status == DISK_OK ? open_part(sink, text) : status;
}

/* The job's keys say what the sender would like; the directory's owner says what comes of it. Set-id bits
 * without the owner would be somebody else's rights. */
static void decide_what_is_kept(struct tree_sink *sink, struct disk_accept accept)
{
    bool owner = (sink->tree & PART_TREE_OWNER) != 0, xattrs = (sink->tree & PART_TREE_XATTR) != 0;
    bool root = geteuid() == 0;
    sink->keep.owner = owner && accept.owner && root;
    sink->keep.set_id = sink->keep.owner && accept.set_id;
    sink->keep.xattrs = xattrs && accept.xattrs;
    const char *no_owner = !owner ? "owner" : accept.owner ? "only root can" : "accept.owner";
    sink->refuser[LOST_OWNERS] = no_owner;
    sink->refuser[LOST_SET_IDS] = sink->keep.owner ? "accept.setid" : no_owner;
    sink->refuser[LOST_XATTRS] = xattrs ? "accept.xattrs" : "xattrs";
    sink->refuser[LOST_LINKS] = "its filesystem has none";
}

/* Before the index has come nobody can count. */
static void tell_what_is_not_kept(const struct tree_sink *sink, char text[DISK_TEXT_BYTES])
{
    struct lost lost = {0};
    bool owner = (sink->tree & PART_TREE_OWNER) != 0, xattrs = (sink->tree & PART_TREE_XATTR) != 0;
    lost.entries[LOST_OWNERS] = owner && !sink->keep.owner ? LOST_UNCOUNTED : 0;
    lost.entries[LOST_SET_IDS] = owner && !sink->keep.set_id ? LOST_UNCOUNTED : 0;
    lost.entries[LOST_XATTRS] = xattrs && !sink->keep.xattrs ? LOST_UNCOUNTED : 0;
    lost_tell(&lost, sink->refuser, text);
}

struct tree_sink *tree_sink_open(struct place *place, const struct disk_open *open,
                                 struct budget *index_memory, bool sparse, struct disk_reply *reply)
{
    struct tree_sink *sink = calloc(1, sizeof(*sink));
    if (sink == NULL) {
        place_say(reply->text, "open %s: out of memory", place->shown);
        return NULL;
    }
    sink->place = place;
    sink->index_memory = index_memory;
    sink->root_fd = sink->early_fd = -1;
    sink->exists = open->exists;
    sink->durable = open->durable;
    sink->tree = open->tree;
    sink->sparse = sparse;
    sink->index_bytes = open->index_bytes;
    sink->object_bytes = open->size_bytes;
    decide_what_is_kept(sink, open->accept);
    sink->index_hash = open->index_hash;
    pthread_mutex_init(&sink->lock, NULL);
    reply->status = (uint8_t)open_sink(sink, reply->text);
    if (reply->status == DISK_FAILED) {
        tree_sink_close(sink);
        return NULL;
    }
    if (reply->status == DISK_OK)
        tell_what_is_not_kept(sink, reply->text);
    sink->there = reply->status == DISK_ALREADY_THERE;
    atomic_store(&sink->ready, sink->there);
    return sink;
}

/* ---- the index comes ---- */

static bool add_range(struct ranges *ranges, uint64_t offset, uint64_t length)
{
    for (uint64_t at = 0; at < ranges->count; at++)
        if (ranges->at[at].offset == offset)
            return true;
    if (ranges->count == ranges->room) {
        uint64_t room = ranges->room == 0 ? RANGES_FIRST : 2 * ranges->room;
        struct range *moved = realloc(ranges->at, room * sizeof(*moved));
        if (moved == NULL)
            return false;
        ranges->at = moved;
        ranges->room = room;
    }
    ranges->at[ranges->count++] = (struct range){offset, length};
    ranges->bytes += length;
    return true;
}

/* Small files take whole blocks of the filesystem, and one inode each. */
static bool check_space(const struct tree_sink *sink, char text[DISK_TEXT_BYTES])
{
    struct statvfs stat;
    uint64_t bytes = 0;
    if (fstatvfs(sink->root_fd, &stat) != 0 || place_free_bytes(&stat) == UINT64_MAX)
        return true;
    for (uint32_t number = 0; number < sink->pack.entries; number++) {
        struct pack_entry entry;
        pack_entry(&sink->pack, number, &entry);
        bytes += (entry.size_bytes + stat.f_frsize - 1) / stat.f_frsize * stat.f_frsize;
    }
    bool has_inodes = stat.f_files == 0 || stat.f_favail >= sink->pack.entries;
    if (has_inodes && bytes <= place_free_bytes(&stat))
        return true;
    errno = ENOSPC;
    return place_full(text, sink->place->shown, "", sink->root_fd,
                      (struct place_need){.bytes = bytes, .files = sink->pack.entries});
}

/* False: text says why. What was never written, or lies behind the last of it, is no content. */
static bool read_early(const struct tree_sink *sink, uint8_t *data, uint64_t length, uint64_t offset,
                       char text[DISK_TEXT_BYTES])
{
    int64_t got = read_fully(sink->early_fd, data, length, offset);
    if (got >= 0 && (uint64_t)got < length)
        return place_say(text, "read early blocks of %s%s: end at byte %" PRIu64, sink->place->shown,
                         PLACE_PART_SUFFIX, offset + (uint64_t)got);
    return got >= 0 || place_fail(text, "read early blocks of", sink->place->shown, PLACE_PART_SUFFIX);
}

static bool unpack_early(struct tree_sink *sink, char text[DISK_TEXT_BYTES])
{
    bool good = true;
    for (uint64_t at = 0; good && at < sink->early.count; at++) {
        const struct range *range = &sink->early.at[at];
        uint8_t *data = malloc(range->length + 1);
        if (data == NULL)
            good = place_say(text, "%s: out of memory", sink->place->shown);
        else
            good = read_early(sink, data, range->length, range->offset, text) &&
                   unpack_range(&sink->unpack, range->offset, range->offset + range->length, data, text);
        free(data);
    }
    return good;
}

/* All bytes of the index are here. A hash that differs is no failure: a block of it was bad and comes
 * again. */
static bool believe_index(struct tree_sink *sink, char text[DISK_TEXT_BYTES])
{
    struct wire_hash hash;
    struct err err;
    hash_block(PART_HASH_SHA256, sink->index, sink->index_bytes, &hash);
    if (memcmp(&hash, &sink->index_hash, sizeof(hash)) != 0)
        return true;
    if (!pack_open(&sink->pack, sink->index, sink->index_bytes, sink->object_bytes, &err))
        return place_say(text, "%s refused: %.100s", sink->place->shown, err.text);
    if (!sink->sparse && !check_space(sink, text))
        return false;
    if (!unpack_begin(&sink->unpack, &sink->pack, sink->keep, sink->root_fd))
        return place_say(text, "%s: out of memory", sink->place->shown);
    sink->unpack.sync = sink->durable == PART_DURABLE_BLOCK;
    if (sink->durable == PART_DURABLE_END)
        flush_start(&sink->flush, sink->root_fd);
    if (!unpack_directories(&sink->unpack, text) || !unpack_early(sink, text))
        return false;
    atomic_store(&sink->ready, true);
    return true;
}

static bool take_index(struct tree_sink *sink, uint64_t offset, uint64_t length, const uint8_t *data,
                       char text[DISK_TEXT_BYTES])
{
    memcpy(sink->index + offset, data, length);
    if (!add_range(&sink->index_parts, offset, length))
        return place_say(text, "%s: out of memory", sink->place->shown);
    if (sink->index_parts.bytes < sink->index_bytes || believe_index(sink, text))
        return true;
    memcpy(sink->refused, text, sizeof(sink->refused));
    return false;
}

/* ---- blocks before the index ---- */

static bool open_early(struct tree_sink *sink)
{
    if (sink->early_fd >= 0)
        return true;
    sink->early_fd =
        openat(sink->root_fd, EARLY_NAME, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    return sink->early_fd >= 0 && unlinkat(sink->root_fd, EARLY_NAME, 0) == 0;
}

static bool put_early(struct tree_sink *sink, uint64_t offset, uint64_t length, const uint8_t *data,
                      char text[DISK_TEXT_BYTES])
{
    if (open_early(sink) && write_fully(sink->early_fd, data, length, offset))
        return add_range(&sink->early, offset, length) ||
               place_say(text, "%s: out of memory", sink->place->shown);
    return place_fail(text, "write early blocks of", sink->place->shown, PLACE_PART_SUFFIX);
}

/* ---- requests ---- */

/* The part of a request that lies behind the index. */
static uint64_t content_start(const struct tree_sink *sink, const struct disk_request *request)
{
    return MIN(MAX(request->offset, sink->index_bytes), request->offset + request->length);
}

/* A range up to `end` has to do with content; empty files at the object's end count. */
static bool has_content(const struct tree_sink *sink, uint64_t end)
{
    return end > sink->index_bytes || end == sink->object_bytes;
}

static bool outside(const struct tree_sink *sink, const struct disk_request *request,
                    char text[DISK_TEXT_BYTES])
{
    if (request->offset <= sink->object_bytes && request->length <= sink->object_bytes - request->offset)
        return false;
    place_say(text, "%s: block beyond the object's end", sink->place->shown);
    return true;
}

/* Under the lock. *unpack: the content is still to be unpacked. */
static bool write_before_ready(struct tree_sink *sink, const struct disk_request *request, bool *unpack,
                               char text[DISK_TEXT_BYTES])
{
    uint64_t end = request->offset + request->length, content = content_start(sink, request);
    if (sink->refused[0] != '\0')
        return place_say(text, "%s", sink->refused);
    if (content > request->offset && !atomic_load(&sink->ready) &&
        !take_index(sink, request->offset, content - request->offset, request->data, text))
        return false;
    *unpack = atomic_load(&sink->ready);
    if (*unpack || !has_content(sink, end))
        return true;
    return put_early(sink, content, end - content, request->data + (content - request->offset), text);
}

enum disk_status tree_sink_write(struct tree_sink *sink, const struct disk_request *request,
                                 char text[DISK_TEXT_BYTES])
{
    uint64_t end = request->offset + request->length, content = content_start(sink, request);
    bool good = true, unpack = true, stands = sink->there || sink->renamed; /* at NAME: it is not touched */
    if (stands)
        place_say(text, "%s: not open for this", sink->place->shown);
    if (stands || outside(sink, request, text))
        return DISK_FAILED;
    if (!atomic_load(&sink->ready)) {
        pthread_mutex_lock(&sink->lock);
        good = write_before_ready(sink, request, &unpack, text);
        pthread_mutex_unlock(&sink->lock);
    }
    /* Where the index ends with the block content starts as well: none, or that of empty files. */
    if (good && unpack && end >= sink->index_bytes)
        good = unpack_range(&sink->unpack, content, end, request->data + (content - request->offset), text);
    if (good && unpack)
        flush_note(&sink->flush, end - content);
    return good ? DISK_OK : DISK_FAILED;
}

enum disk_status tree_sink_read(struct tree_sink *sink, const struct disk_request *request,
                                char text[DISK_TEXT_BYTES])
{
    uint64_t end = request->offset + request->length, content = content_start(sink, request);
    enum disk_status status = DISK_OK;
    if (outside(sink, request, text))
        return DISK_FAILED;
    bool ready = atomic_load(&sink->ready);
    if (!ready)
        pthread_mutex_lock(&sink->lock);
    if (content > request->offset)
        memcpy(request->data, sink->index + request->offset, content - request->offset);
    uint8_t *data = request->data + (content - request->offset);
    bool early = !ready && !atomic_load(&sink->ready);
    if (early && content < end && !read_early(sink, data, end - content, content, text))
        status = DISK_FAILED;
    if (!ready)
        pthread_mutex_unlock(&sink->lock);
    if (!early && content < end)
        status = tree_read(&sink->pack, sink->root_fd, NULL, content, end, data, text);
    return status;
}

/* ---- the end ---- */

static bool rename_part(struct tree_sink *sink, char text[DISK_TEXT_BYTES])
{
    struct place *place = sink->place;
    int fd = place->directory_fd;
    struct stat stat;
    if (!part_is(place, sink->root_fd))
        return place_say(text, "%s%s: was removed or replaced", place->shown, PLACE_PART_SUFFIX);
    if (sink->exists != PART_EXISTS_FAIL && is_directory(fd, place->name, &stat))
        return replace_tree(place, sink->root_fd, &sink->renamed, text);
    sink->renamed = replace_nothing(place, sink->root_fd, text);
    return sink->renamed;
}

/* syncfs, not an fsync per file: one journal commit in place of as many as there are files. It writes back
 * what others have written to that filesystem as well, and since Linux 5.8 tells of write errors. The first
 * that fails is final, as in file.c. */
static bool sync_tree(struct tree_sink *sink, char text[DISK_TEXT_BYTES])
{
    if (sink->durable == PART_DURABLE_NONE)
        return true;
    if (sink->unsynced)
        return place_say(text, "%s%s: an earlier syncfs failed", sink->place->shown, PLACE_PART_SUFFIX);
    errno = flush_stop(&sink->flush);
    sink->unsynced = errno != 0 || syncfs(sink->root_fd) != 0;
    return !sink->unsynced || place_fail(text, "syncfs", sink->place->shown, PLACE_PART_SUFFIX);
}

enum disk_status tree_sink_finish(struct tree_sink *sink, char text[DISK_TEXT_BYTES])
{
    bool durable = sink->durable != PART_DURABLE_NONE;
    if (sink->there || sink->renamed)
        return DISK_OK;
    if (!atomic_load(&sink->ready)) {
        place_say(text, "%s: its index never came whole", sink->place->shown);
        return DISK_FAILED;
    }
    if (!unpack_finish(&sink->unpack, text) || !sync_tree(sink, text) || !rename_part(sink, text))
        return DISK_FAILED;
    return !durable || place_sync(sink->place, text) ? DISK_OK : DISK_FAILED;
}

void tree_sink_tell_lost(const struct tree_sink *sink, char text[DISK_TEXT_BYTES])
{
    struct lost lost;
    text[0] = '\0';
    if (sink->there || !atomic_load(&sink->ready))
        return;
    unpack_count_lost(&sink->unpack, &lost);
    if ((sink->tree & PART_TREE_OWNER) == 0)
        lost.entries[LOST_OWNERS] = 0; /* the job does not ask for them, and the index does not have them */
    lost_tell(&lost, sink->refuser, text);
}

enum disk_status tree_sink_abort(struct tree_sink *sink, char text[DISK_TEXT_BYTES])
{
    const struct place *place = sink->place;
    if (sink->there || sink->renamed)
        return DISK_ALREADY_THERE;
    if (!part_is(place, sink->root_fd) || tree_remove(place->directory_fd, place->part))
        return DISK_OK;
    place_fail(text, "remove", place->shown, PLACE_PART_SUFFIX);
    return DISK_FAILED;
}

void tree_sink_close(struct tree_sink *sink)
{
    (void)flush_stop(&sink->flush);
    if (sink->root_fd >= 0)
        close(sink->root_fd);
    if (sink->early_fd >= 0)
        close(sink->early_fd);
    pthread_mutex_destroy(&sink->lock);
    unpack_end(&sink->unpack);
    free(sink->index_parts.at);
    free(sink->early.at);
    free(sink->index);
    budget_give_back(sink->index_memory, sink->taken_bytes);
    free(sink);
}
