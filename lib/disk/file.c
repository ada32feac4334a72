#include "disk/file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/check.h"
#include "base/file_time.h"
#include "disk/fully.h"
#include "disk/hash.h"
#include "disk/identity.h"
#include "disk/manifest.h"
#include "disk/tree_sink.h"
#include "disk/tree_source.h"

#define PRIVATE_FILE 0600 /* while it comes: who may read the source is known to the source alone */

static uint64_t modified_of(const struct stat *stat)
{
    return file_time_of(stat->st_mtim.tv_sec, (uint32_t)stat->st_mtim.tv_nsec);
}

static bool set_modified(int fd, uint64_t modified_ns)
{
    const struct timespec times[2] = {
        {.tv_nsec = UTIME_OMIT},
        {.tv_sec = (time_t)file_time_seconds(modified_ns), .tv_nsec = (long)file_time_ns(modified_ns)},
    };
    return futimens(fd, times) == 0;
}

/* ---- opening ---- */

static enum disk_status open_tree_source(struct file *file, int fd, const struct stat *stat,
                                         const struct disk_open *open_as, struct disk_reply *reply)
{
    file->source = tree_source_open(fd, open_as, file->place.shown, reply);
    if (file->source == NULL)
        return DISK_FAILED;
    file->kind = FILE_TREE_SOURCE;
    reply->modified_ns = modified_of(stat);
    return DISK_OK;
}

static enum disk_status open_source(struct file *file, const struct disk_open *open_as,
                                    struct disk_reply *reply)
{
    struct stat stat;
    place_show(file->place.shown, open_as->file);
    /* O_NONBLOCK: a pipe by this name would hold the thread. */
    int fd = identity_open(&open_as->rights, open_as->file, O_RDONLY | O_NONBLOCK);
    if (fd < 0) {
        identity_fail(reply->text, &open_as->rights, file->place.shown);
        return DISK_FAILED;
    }
    bool known = fstat(fd, &stat) == 0;
    file->device = known ? stat.st_dev : 0;
    if (known && S_ISDIR(stat.st_mode))
        return open_tree_source(file, fd, &stat, open_as, reply);
    if (!known || !S_ISREG(stat.st_mode)) {
        place_say(reply->text, "open %s: not a regular file or directory", file->place.shown);
        close(fd);
        return DISK_FAILED;
    }
    (void)posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL); /* a hint: refusing it changes nothing */
    file->fd = fd;
    file->kind = FILE_SOURCE;
    file->size_bytes = reply->size_bytes = (uint64_t)stat.st_size;
    file->modified_ns = reply->modified_ns = modified_of(&stat);
    file->changed = tree_changed(&stat);
    reply->mode = (uint16_t)(stat.st_mode & PART_MODE_MAX);
    return DISK_OK;
}

/* What stands at NAME, against the job's policy. DISK_OK: go on and write. */
static enum disk_status check_existing(struct file *file, char text[DISK_TEXT_BYTES])
{
    struct stat stat;
    if (fstatat(file->place.directory_fd, file->place.name, &stat, AT_SYMLINK_NOFOLLOW) != 0) {
        if (errno == ENOENT)
            return DISK_OK;
        place_fail(text, "open", file->place.shown, "");
        return DISK_FAILED;
    }
    if (file->exists == PART_EXISTS_FAIL || !S_ISREG(stat.st_mode)) {
        place_say(text, "%s: %s", file->place.shown,
                  S_ISREG(stat.st_mode) ? "is there already" : "is there already and not a regular file");
        return DISK_FAILED;
    }
    if (file->exists != PART_EXISTS_SKIP_IF_SAME || (uint64_t)stat.st_size != file->size_bytes ||
        modified_of(&stat) != file->modified_ns)
        return DISK_OK;
    file->fd = openat(file->place.directory_fd, file->place.name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (file->fd >= 0)
        return DISK_ALREADY_THERE;
    place_fail(text, "open", file->place.shown, "");
    return DISK_FAILED;
}

/* Full length, its space reserved where the filesystem can. glibc's posix_fallocate would write the whole
 * file where it can't. */
static bool allocate(const struct file *file, int fd, char text[DISK_TEXT_BYTES])
{
    if (file->size_bytes == 0)
        return true;
    bool reserve = !file->common->sparse;
    if (reserve && fallocate(fd, 0, 0, (off_t)file->size_bytes) == 0)
        return true;
    if (reserve && errno != EOPNOTSUPP && errno != ENOSYS)
        return place_write_fail(text, "reserve space for", &file->place, PLACE_PART_SUFFIX,
                                (struct place_need){.bytes = file->size_bytes});
    return ftruncate(fd, (off_t)file->size_bytes) == 0 ||
           place_fail(text, "set the length of", file->place.shown, PLACE_PART_SUFFIX);
}

static enum disk_status open_part(struct file *file, char text[DISK_TEXT_BYTES])
{
    int fd = part_create(&file->place, PRIVATE_FILE, text);
    if (fd < 0)
        return DISK_FAILED;
    if ((!file->common->sparse && !place_check_space(&file->place, fd, file->size_bytes, text)) ||
        !allocate(file, fd, text)) {
        (void)part_remove(&file->place, fd); /* the first failure is what counts */
        close(fd);
        return DISK_FAILED;
    }
    file->fd = fd;
    file->kind = FILE_PART;
    return DISK_OK;
}

static enum disk_status open_tree_target(struct file *file, const struct disk_open *open_as,
                                         struct disk_reply *reply)
{
    file->sink =
        tree_sink_open(&file->place, open_as, &file->common->index_memory, file->common->sparse, reply);
    if (file->sink == NULL) {
        place_undo(&file->place);
        return DISK_FAILED;
    }
    file->kind = FILE_TREE;
    return (enum disk_status)reply->status;
}

static uint64_t device_of(int fd)
{
    struct stat stat;
    return fstat(fd, &stat) == 0 ? stat.st_dev : 0;
}

static enum disk_status open_target(struct file *file, const struct disk_open *open_as,
                                    struct disk_reply *reply)
{
    file->device = 0;
    file->exists = open_as->exists;
    file->durable = open_as->durable;
    file->size_bytes = open_as->size_bytes;
    file->modified_ns = open_as->modified_ns;
    file->mode = open_as->mode & PART_MODE_MAX; /* set-id bits would be those of another user */
    if (open_as->memory) {
        file->kind = FILE_MEMORY;
        return DISK_OK;
    }
    if (!place_open(&file->place, open_as->directory, open_as->file, reply->text))
        return DISK_FAILED;
    file->device = device_of(file->place.directory_fd);
    if (open_as->object == PART_OBJECT_DIRECTORY)
        return open_tree_target(file, open_as, reply);
    enum disk_status status = check_existing(file, reply->text);
    if (status == DISK_OK)
        status = open_part(file, reply->text);
    else if (status == DISK_ALREADY_THERE)
        file->kind = FILE_FINISHED;
    if (status == DISK_FAILED)
        place_undo(&file->place);
    return status;
}

static enum disk_status open_file(struct file *file, const struct disk_request *request,
                                  struct disk_reply *reply)
{
    CHECK(file->kind == FILE_CLOSED);
    file->hash = request->open->hash;
    atomic_store(&file->unsynced, false);
    return request->op == DISK_OPEN_SOURCE ? open_source(file, request->open, reply)
                                           : open_target(file, request->open, reply);
}

/* ---- blocks ---- */

static enum disk_status not_open(const struct file *file, char text[DISK_TEXT_BYTES])
{
    place_say(text, "%s: not open for this", file->place.shown);
    return DISK_FAILED;
}

static const char *suffix_of(const struct file *file)
{
    return file->kind == FILE_PART ? PLACE_PART_SUFFIX : "";
}

static bool source_changed(const struct file *file)
{
    struct stat stat;
    return fstat(file->fd, &stat) != 0 || (uint64_t)stat.st_size != file->size_bytes ||
           modified_of(&stat) != file->modified_ns || tree_changed(&stat) != file->changed;
}

static enum disk_status read_tree(struct file *file, const struct disk_request *request,
                                  struct disk_reply *reply)
{
    enum disk_status status = file->kind == FILE_TREE ? tree_sink_read(file->sink, request, reply->text)
                                                      : tree_source_read(file->source, request, reply->text);
    if (status == DISK_OK)
        hash_block(file->hash, request->data, request->length, &reply->hash);
    return status;
}

static enum disk_status read_block(struct file *file, const struct disk_request *request,
                                   struct disk_reply *reply)
{
    if (file->kind == FILE_TREE_SOURCE || file->kind == FILE_TREE)
        return read_tree(file, request, reply);
    if (file->kind != FILE_SOURCE && file->kind != FILE_PART && file->kind != FILE_FINISHED)
        return not_open(file, reply->text);
    int64_t got = read_fully(file->fd, request->data, request->length, request->offset);
    if (got < 0) {
        place_fail(reply->text, "read", file->place.shown, suffix_of(file));
        return DISK_FAILED;
    }
    if (file->kind == FILE_SOURCE && source_changed(file)) {
        place_say(reply->text, "%s: changed since the job began", file->place.shown);
        return DISK_CHANGED;
    }
    if (got < (int64_t)request->length) {
        place_say(reply->text, "read %s%s: ends at byte %" PRIu64, file->place.shown, suffix_of(file),
                  request->offset + (uint64_t)got);
        return file->kind == FILE_SOURCE ? DISK_CHANGED : DISK_FAILED;
    }
    hash_block(file->hash, request->data, request->length, &reply->hash);
    return DISK_OK;
}

static bool all_zero(const uint8_t *data, uint32_t length)
{
    return data[0] == 0 && memcmp(data, data + 1, length - 1) == 0;
}

/* A block of zeros becomes a hole: the target is about as sparse as the source. */
static bool store_block(const struct file *file, const struct disk_request *request)
{
    const int punch = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE;
    if (request->length != 0 && all_zero(request->data, request->length) &&
        fallocate(file->fd, punch, (off_t)request->offset, request->length) == 0)
        return true;
    return write_fully(file->fd, request->data, request->length, request->offset);
}

static bool sync_file(struct file *file, int result, char text[DISK_TEXT_BYTES])
{
    if (result == 0)
        return true;
    atomic_store(&file->unsynced, true);
    return place_write_fail(text, "fsync", &file->place, PLACE_PART_SUFFIX, (struct place_need){0});
}

static enum disk_status write_block(struct file *file, const struct disk_request *request,
                                    struct disk_reply *reply)
{
    if (file->kind != FILE_MEMORY && file->kind != FILE_PART && file->kind != FILE_TREE)
        return not_open(file, reply->text);
    hash_block(file->hash, request->data, request->length, &reply->hash);
    if (file->kind == FILE_TREE)
        return tree_sink_write(file->sink, request, reply->text);
    if (file->kind == FILE_MEMORY)
        return DISK_OK;
    if (!store_block(file, request)) {
        place_write_fail(reply->text, "write", &file->place, PLACE_PART_SUFFIX, (struct place_need){0});
        return DISK_FAILED;
    }
    if (file->durable == PART_DURABLE_BLOCK)
        return sync_file(file, fdatasync(file->fd), reply->text) ? DISK_OK : DISK_FAILED;
    /* Starts the write-back now, so that FINISH need not wait for the whole file; a hint. */
    if (file->durable == PART_DURABLE_END)
        (void)sync_file_range(file->fd, (off_t)request->offset, request->length, SYNC_FILE_RANGE_WRITE);
    return DISK_OK;
}

/* ---- the end ---- */

/* The kernel may drop what a failed fsync could not write and call it clean, so a second fsync that succeeds
 * proves nothing (Rebello et al., "Can Applications Recover from fsync Failures?", 2020): the first is
 * final. */
static bool finish_part(struct file *file, char text[DISK_TEXT_BYTES])
{
    bool durable = file->durable != PART_DURABLE_NONE;
    if (atomic_load(&file->unsynced)) {
        place_say(text, "%s%s: an earlier fsync failed", file->place.shown, PLACE_PART_SUFFIX);
        return false;
    }
    if (!part_is(&file->place, file->fd)) {
        place_say(text, "%s%s: was removed or replaced", file->place.shown, PLACE_PART_SUFFIX);
        return false;
    }
    if (file->mode != 0 && fchmod(file->fd, file->mode) != 0)
        return place_fail(text, "set the permissions of", file->place.shown, PLACE_PART_SUFFIX);
    if (!set_modified(file->fd, file->modified_ns))
        return place_fail(text, "set the time of", file->place.shown, PLACE_PART_SUFFIX);
    /* Not fdatasync: the time counts for skip-if-same. */
    if (durable && !sync_file(file, fsync(file->fd), text))
        return false;
    if (!part_rename(&file->place, file->fd, file->exists != PART_EXISTS_FAIL, text))
        return false;
    file->kind = FILE_FINISHED;
    return !durable || place_sync(&file->place, text);
}

static enum disk_status finish_file(struct file *file, struct disk_reply *reply)
{
    if (file->kind == FILE_MEMORY) {
        place_say(reply->text, "discarded");
        return DISK_OK;
    }
    if (file->kind != FILE_PART && file->kind != FILE_FINISHED && file->kind != FILE_TREE)
        return not_open(file, reply->text);
    if (file->kind == FILE_TREE && tree_sink_finish(file->sink, reply->text) != DISK_OK)
        return DISK_FAILED;
    if (file->kind == FILE_TREE)
        tree_sink_tell_lost(file->sink, reply->note);
    if (file->kind == FILE_PART && !finish_part(file, reply->text))
        return DISK_FAILED;
    place_tell_lacks(&file->place, reply->note);
    bool fits = strlen(file->place.path) < sizeof(reply->text);
    place_say(reply->text, "%s", fits ? file->place.path : file->place.shown);
    return DISK_OK;
}

static enum disk_status abort_file(struct file *file, struct disk_reply *reply)
{
    if (file->kind == FILE_TREE)
        return tree_sink_abort(file->sink, reply->text);
    if (file->kind != FILE_PART)
        return file->kind == FILE_FINISHED ? DISK_ALREADY_THERE : DISK_OK;
    file->kind = FILE_ABORTED;
    if (part_remove(&file->place, file->fd))
        return DISK_OK;
    place_fail(reply->text, "remove", file->place.shown, PLACE_PART_SUFFIX);
    return DISK_FAILED;
}

void file_close(struct file *file)
{
    switch ((enum file_kind)file->kind) {
    case FILE_CLOSED:
    case FILE_MEMORY:
        break;
    case FILE_SOURCE:
        close(file->fd);
        break;
    case FILE_PART:
    case FILE_FINISHED:
    case FILE_ABORTED:
        close(file->fd);
        place_close(&file->place);
        break;
    case FILE_TREE_SOURCE:
        tree_source_close(file->source);
        break;
    case FILE_TREE:
        tree_sink_close(file->sink);
        place_close(&file->place);
        break;
    }
    file->kind = FILE_CLOSED;
}

static enum disk_status serve(struct file *file, const struct disk_request *request, struct disk_reply *reply)
{
    switch ((enum disk_op)request->op) {
    case DISK_OPEN_SOURCE:
    case DISK_OPEN_TARGET:
        return open_file(file, request, reply);
    case DISK_READ:
        return read_block(file, request, reply);
    case DISK_WRITE:
        return write_block(file, request, reply);
    case DISK_FINISH:
        return finish_file(file, reply);
    case DISK_ABORT:
        return abort_file(file, reply);
    case DISK_CLOSE:
        file_close(file);
        return DISK_OK;
    case DISK_DIGEST:
        hash_block(PART_HASH_SHA256, request->data, request->length, &reply->hash);
        return DISK_OK;
    case DISK_MANIFEST:
        return manifest_serve(request, reply);
    case DISK_FEED:
    case DISK_DRAIN:
        return not_open(file, reply->text);
    }
    CHECK(false);
    return DISK_FAILED;
}

/* Opening and writing a manifest is done with the job's rights, all else by descriptors that are open. */
static enum disk_status serve_as(struct file *file, const struct disk_request *request,
                                 struct disk_reply *reply)
{
    struct identity own;
    struct err err;
    if (request->op != DISK_OPEN_SOURCE && request->op != DISK_MANIFEST)
        return serve(file, request, reply);
    if (!identity_begin(&own, &request->open->rights, &err)) {
        place_say(reply->text, "%s", err.text);
        return DISK_FAILED;
    }
    enum disk_status status = serve(file, request, reply);
    identity_end(&own);
    return status;
}

void file_serve(struct file *file, const struct disk_request *request, struct disk_reply *reply)
{
    *reply = (struct disk_reply){.op = request->op, .handle = request->handle, .cookie = request->cookie};
    reply->status = (uint8_t)serve_as(file, request, reply);
}
