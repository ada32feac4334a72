#include "disk/stream_input.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/units.h"
#include "disk/identity.h"
#include "store/stream.h"

#define VECTORS_MAX 64 /* a pipe holds 64 KiB as a rule */

/* To the socket that `fd` (O_PATH) is, whatever lies at its path by now. -1: text says why. */
static int connect_to(const struct stream_file *file, int fd, const struct stat *stat,
                      const struct rights *rights, char text[DISK_TEXT_BYTES])
{
    char path[32];
    if (rights->kind == RIGHTS_CALLER && stat->st_uid != rights->caller.user) {
        place_say(text, "connect to %s: no socket of user %u", file->place.shown, rights->caller.user);
        return -1;
    }
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    int socket_fd = stream_connect(path);
    if (socket_fd < 0)
        place_fail(text, "connect to", file->place.shown, "");
    return socket_fd;
}

static int open_input(struct stream_file *file, const struct disk_open *open_as, char text[DISK_TEXT_BYTES])
{
    struct stat stat;
    int fd = identity_open(&open_as->rights, open_as->file, O_RDONLY | O_NONBLOCK | O_NOCTTY);
    bool socket = fd < 0 && errno == ENXIO; /* or a device that is not there */
    if (socket)
        fd = identity_open(&open_as->rights, open_as->file, O_PATH);
    if (fd < 0 || fstat(fd, &stat) != 0) {
        identity_fail(text, &open_as->rights, file->place.shown);
        if (fd >= 0)
            close(fd);
        return -1;
    }
    if (!socket && !S_ISDIR(stat.st_mode) && !file->fed)
        return fd;
    int socket_fd = -1;
    if (file->fed && !S_ISSOCK(stat.st_mode))
        place_say(text, "open %s: no socket, which a client's input must be", file->place.shown);
    else if (S_ISDIR(stat.st_mode))
        place_say(text, "open %s: a directory is no stream", file->place.shown);
    else if (S_ISSOCK(stat.st_mode))
        socket_fd = connect_to(file, fd, &stat, &open_as->rights, text);
    else
        place_say(text, "open %s: %s", file->place.shown, strerrordesc_np(ENXIO));
    close(fd);
    return socket_fd;
}

enum disk_status stream_input_open(struct stream_file *file, const struct disk_open *open_as,
                                   char text[DISK_TEXT_BYTES])
{
    place_show(file->place.shown, open_as->file);
    file->carry = malloc(UINT16_MAX);
    file->fd = file->carry == NULL ? -1 : open_input(file, open_as, text);
    if (file->carry == NULL)
        place_say(text, "open %s: out of memory", file->place.shown);
    if (file->fd < 0) {
        free(file->carry);
        file->carry = NULL;
        return DISK_FAILED;
    }
    file->kind = STREAM_INPUT;
    return DISK_OK;
}

/* A FIFO that nobody has written to yet reads like one at its end; only poll tells them apart. */
static bool readable(const struct stream_file *file)
{
    struct pollfd wanted = {.fd = file->fd, .events = POLLIN};
    return poll(&wanted, 1, 0) > 0;
}

/* The free room behind what came, as vectors over the payloads. Returns its bytes. */
static size_t free_payloads(const struct stream_file *file, struct iovec vectors[VECTORS_MAX], int *count)
{
    uint32_t payload = stream_payload_bytes(file->request.symbol_bytes), used = file->bytes;
    size_t bytes = 0;
    *count = 0;
    for (uint32_t at = file->symbols; at < file->request.count && *count < VECTORS_MAX; at++) {
        vectors[(*count)++] = (struct iovec){.iov_base = stream_symbol(file, at) + STREAM_HEAD_BYTES + used,
                                             .iov_len = payload - used};
        bytes += payload - used;
        used = 0;
    }
    return bytes;
}

static void close_symbol(struct stream_file *file, uint32_t bytes)
{
    stream_record_close(stream_symbol(file, file->symbols), file->request.symbol_bytes, bytes);
    file->symbols++;
    file->payload += bytes;
    file->bytes = 0;
}

static void note_read(struct stream_file *file, size_t got, uint64_t now_ns)
{
    uint32_t payload = stream_payload_bytes(file->request.symbol_bytes);
    if (file->bytes == 0)
        file->since_ns = now_ns;
    for (size_t left = file->bytes + got; left > 0;) {
        file->bytes = (uint32_t)MIN(left, (size_t)payload);
        left -= file->bytes;
        if (file->bytes < payload)
            return;
        close_symbol(file, payload);
        file->since_ns = now_ns;
    }
}

enum reading { READ_MORE_LATER, READ_FULL, READ_ENDED, READ_FAILED, READ_CUT };

/* Nothing more will come. A feeder that has died, for whatever reason, has closed both halves of his socket. */
static enum reading end_of(const struct stream_file *file)
{
    struct pollfd socket = {.fd = file->fd, .events = POLLRDHUP};
    bool gone = file->fed && poll(&socket, 1, 0) > 0 && (socket.revents & (POLLHUP | POLLERR)) != 0;
    return gone ? READ_CUT : READ_ENDED;
}

static enum reading read_all(struct stream_file *file, uint64_t now_ns)
{
    struct iovec vectors[VECTORS_MAX];
    int count;
    while (file->symbols < file->request.count) {
        size_t wanted = free_payloads(file, vectors, &count);
        ssize_t got = readv(file->fd, vectors, count);
        if (got == 0)
            return end_of(file);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return errno == EAGAIN ? READ_MORE_LATER : READ_FAILED;
        note_read(file, (size_t)got, now_ns);
        if ((size_t)got < wanted && file->symbols > 0)
            return READ_MORE_LATER;
    }
    return READ_FULL;
}

/* What came of the next symbol waits for the next request, which may be for another block. */
static void carry_over(struct stream_file *file)
{
    memcpy(file->carry, stream_symbol(file, file->symbols) + STREAM_HEAD_BYTES, file->bytes);
    file->carried = file->bytes;
    file->bytes = 0;
}

bool stream_input_feed(struct stream_file *file, uint64_t now_ns, struct disk_reply *reply)
{
    const struct disk_request *request = &file->request;
    if (file->carried > 0) {
        memcpy(stream_symbol(file, 0) + STREAM_HEAD_BYTES, file->carry, file->carried);
        file->bytes = file->carried;
        file->carried = 0;
    }
    enum reading reading = readable(file) ? read_all(file, now_ns) : READ_MORE_LATER;
    if (reading == READ_FAILED || reading == READ_CUT) {
        if (reading == READ_FAILED)
            place_fail(reply->text, "read", file->place.shown, "");
        else
            place_say(reply->text, "read %s: who fed it went away without telling its end",
                      file->place.shown);
        reply->status = DISK_FAILED;
        return true;
    }
    bool due = file->bytes > 0 && now_ns >= file->since_ns + file->flush_ns;
    if (due || (reading == READ_ENDED && file->bytes > 0))
        close_symbol(file, file->bytes);
    if (file->symbols == 0 && reading != READ_ENDED)
        return false;
    if (file->bytes > 0)
        carry_over(file);
    stream_close_symbols(file);
    reply->status = reading == READ_ENDED ? DISK_ENDED : DISK_OK;
    reply->symbols = file->symbols;
    reply->size_bytes = file->payload;
    uint32_t filled = request->first + file->symbols;
    if (filled == request->block_symbols || (reading == READ_ENDED && filled > 0))
        stream_end_block(file, filled, reply);
    return true;
}
