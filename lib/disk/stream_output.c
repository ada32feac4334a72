#include "disk/stream_output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/units.h"
#include "store/stream.h"

#define VECTORS_MAX 64

/* ---- opening ---- */

static bool is_sink(const struct stat *stat)
{
    return S_ISFIFO(stat->st_mode) || S_ISSOCK(stat->st_mode) || S_ISCHR(stat->st_mode);
}

/* Opens NAME, which is a sink, without waiting for who reads it. */
static int open_sink(const struct stream_file *file)
{
    const int flags = O_WRONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | O_APPEND;
    struct stat stat_of;
    if (!file->placed) {
        if (stat(file->place.path, &stat_of) != 0)
            return -1;
        return S_ISSOCK(stat_of.st_mode) ? stream_connect(file->place.path) : open(file->place.path, flags);
    }
    if (fstatat(file->place.directory_fd, file->place.name, &stat_of, AT_SYMLINK_NOFOLLOW) != 0)
        return -1;
    if (!S_ISSOCK(stat_of.st_mode))
        return openat(file->place.directory_fd, file->place.name, flags | O_NOFOLLOW);
    char path[PATH_BYTES + 64];
    snprintf(path, sizeof(path), "/proc/self/fd/%d/%s", file->place.directory_fd, file->place.name);
    return stream_connect(path);
}

/* False: it failed. Otherwise fd tells whether somebody reads already. */
static bool find_reader(struct stream_file *file, uint64_t now_ns, char text[DISK_TEXT_BYTES])
{
    file->fd = open_sink(file);
    file->retry_ns = now_ns + STREAM_RETRY_NS;
    return file->fd >= 0 || errno == ENXIO || errno == ECONNREFUSED || errno == EAGAIN ||
           place_fail(text, "open", file->place.shown, "");
}

static enum disk_status open_record(struct stream_file *file, char text[DISK_TEXT_BYTES])
{
    file->fd = part_create(&file->place, 0644, text);
    if (file->fd < 0)
        return DISK_FAILED;
    file->kind = STREAM_PART;
    return DISK_OK;
}

static enum disk_status open_below(struct stream_file *file, char text[DISK_TEXT_BYTES])
{
    struct stat stat_of;
    bool there = fstatat(file->place.directory_fd, file->place.name, &stat_of, AT_SYMLINK_NOFOLLOW) == 0;
    if (!there && errno != ENOENT) {
        place_fail(text, "open", file->place.shown, "");
        return DISK_FAILED;
    }
    if (!there || (S_ISREG(stat_of.st_mode) && file->exists == PART_EXISTS_REPLACE))
        return open_record(file, text);
    if (!is_sink(&stat_of)) {
        place_say(text, "%s: is there already%s", file->place.shown,
                  S_ISREG(stat_of.st_mode) ? "" : " and no FIFO, socket or device");
        return DISK_FAILED;
    }
    file->kind = STREAM_OUTPUT;
    return find_reader(file, 0, text) ? DISK_OK : DISK_FAILED;
}

/* The permitted place itself is the sink. */
static enum disk_status open_itself(struct stream_file *file, const char *path, char text[DISK_TEXT_BYTES])
{
    snprintf(file->place.path, sizeof(file->place.path), "%s", path);
    place_show(file->place.shown, path);
    file->kind = STREAM_OUTPUT;
    return find_reader(file, 0, text) ? DISK_OK : DISK_FAILED;
}

enum disk_status stream_output_open(struct stream_file *file, const struct disk_open *open_as,
                                    char text[DISK_TEXT_BYTES])
{
    struct stat stat_of;
    if (open_as->memory) {
        file->kind = STREAM_MEMORY;
        return DISK_OK;
    }
    enum disk_status status;
    if (stat(open_as->directory, &stat_of) == 0 && !S_ISDIR(stat_of.st_mode)) {
        status = open_itself(file, open_as->directory, text);
    } else if (place_open(&file->place, open_as->directory, open_as->file, text)) {
        file->placed = true;
        status = open_below(file, text);
    } else {
        status = DISK_FAILED;
    }
    if (status == DISK_FAILED) {
        if (file->placed)
            place_undo(&file->place);
        file->placed = false;
        file->kind = STREAM_CLOSED;
    }
    return status;
}

/* ---- writing ---- */

/* What is still to be written, as vectors over the payloads; -1: a record that cannot be. */
static int payloads_left(const struct stream_file *file, struct iovec vectors[VECTORS_MAX])
{
    uint32_t payload = stream_payload_bytes(file->request.symbol_bytes), done = file->bytes;
    int count = 0;
    for (uint32_t at = file->symbols; at < file->request.count && count < VECTORS_MAX; at++) {
        uint8_t *symbol = stream_symbol(file, at);
        uint32_t bytes = stream_record_bytes(symbol);
        if (bytes > payload)
            return -1;
        vectors[count++] =
            (struct iovec){.iov_base = symbol + STREAM_HEAD_BYTES + done, .iov_len = bytes - done};
        done = 0;
    }
    return count;
}

static void advance(struct stream_file *file, size_t put)
{
    file->payload += put;
    put += file->bytes;
    file->bytes = 0;
    while (file->symbols < file->request.count) {
        uint32_t bytes = stream_record_bytes(stream_symbol(file, file->symbols));
        if (put < bytes) {
            file->bytes = (uint32_t)put;
            return;
        }
        put -= bytes;
        file->symbols++;
    }
}

static bool write_failed(const struct stream_file *file, char text[DISK_TEXT_BYTES])
{
    const char *suffix = file->kind == STREAM_PART ? PLACE_PART_SUFFIX : "";
    if (errno == EPIPE || errno == ECONNRESET)
        return place_say(text, "write %s: the reader went away", file->place.shown);
    return place_write_fail(text, "write", &file->place, suffix, (struct place_need){0});
}

/* False: it failed. Otherwise *put tells how much; 0: no more now. */
static bool write_some(const struct stream_file *file, size_t *put, char text[DISK_TEXT_BYTES])
{
    struct iovec vectors[VECTORS_MAX];
    int count = payloads_left(file, vectors);
    *put = 0;
    if (count < 0)
        return place_say(text, "%s: a symbol claims more than it holds", file->place.shown);
    if (file->kind == STREAM_MEMORY) {
        for (int vector = 0; vector < count; vector++)
            *put += vectors[vector].iov_len;
        return true;
    }
    ssize_t written;
    do
        written = writev(file->fd, vectors, count);
    while (written < 0 && errno == EINTR);
    if (written < 0)
        return errno == EAGAIN || write_failed(file, text);
    *put = (size_t)written;
    return true;
}

static bool fail_drain(struct disk_reply *reply)
{
    reply->status = DISK_FAILED;
    return true;
}

bool stream_output_drain(struct stream_file *file, uint64_t now_ns, struct disk_reply *reply)
{
    const struct disk_request *request = &file->request;
    advance(file, 0); /* records without a payload */
    if (file->fd < 0 && file->kind == STREAM_OUTPUT && file->symbols < request->count) {
        if (now_ns < file->retry_ns)
            return false;
        if (!find_reader(file, now_ns, reply->text))
            return fail_drain(reply);
        if (file->fd < 0)
            return false;
    }
    while (file->symbols < request->count) {
        size_t put;
        if (!write_some(file, &put, reply->text))
            return fail_drain(reply);
        if (put == 0)
            return false;
        advance(file, put);
    }
    reply->size_bytes = file->payload;
    if (request->block_symbols != 0)
        stream_end_block(file, request->block_symbols, reply);
    return true;
}

/* ---- the end ---- */

static bool finish_record(struct stream_file *file, char text[DISK_TEXT_BYTES])
{
    if (!part_is(&file->place, file->fd))
        return place_say(text, "%s%s: was removed or replaced", file->place.shown, PLACE_PART_SUFFIX);
    if (file->durable != PART_DURABLE_NONE && fsync(file->fd) != 0)
        return place_write_fail(text, "fsync", &file->place, PLACE_PART_SUFFIX, (struct place_need){0});
    if (!part_rename(&file->place, file->fd, file->exists == PART_EXISTS_REPLACE, text))
        return false;
    file->kind = STREAM_FINISHED; /* NAME is there, whatever comes */
    return file->durable == PART_DURABLE_NONE || place_sync(&file->place, text);
}

enum disk_status stream_output_finish(struct stream_file *file, char text[DISK_TEXT_BYTES])
{
    if (file->kind != STREAM_PART && file->kind != STREAM_OUTPUT) {
        place_say(text, "%s: not open for this", file->place.shown);
        return DISK_FAILED;
    }
    if (file->kind == STREAM_PART && !finish_record(file, text))
        return DISK_FAILED;
    /* Closed now, so that the reader sees the end when it is known to be the right one. */
    if (file->fd >= 0)
        close(file->fd);
    file->fd = -1;
    file->kind = STREAM_FINISHED;
    place_say(text, "%s", strlen(file->place.path) < DISK_TEXT_BYTES ? file->place.path : file->place.shown);
    return DISK_OK;
}
