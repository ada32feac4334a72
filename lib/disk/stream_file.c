#include "disk/stream_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/check.h"
#include "base/units.h"
#include "disk/hash.h"

/* The block in the clear. All of its symbols go through one request after the other, so that it is whole there at its end. */
static uint8_t *text_of(const struct stream_file *file)
{
    return file->request.sealed.secret == NULL ? file->request.data : file->sealed.clear;
}

uint8_t *stream_symbol(const struct stream_file *file, uint32_t at)
{
    return text_of(file) + (size_t)(file->request.first + at) * file->request.symbol_bytes;
}

int stream_connect(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t length = strlen(path);
    if (length >= sizeof(address.sun_path)) {
        errno = ENAMETOOLONG;
        return -1;
    }
    memcpy(address.sun_path, path, length + 1);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0 || connect(fd, (const struct sockaddr *)&address, sizeof(address)) == 0)
        return fd;
    int error = errno;
    close(fd);
    errno = error;
    return -1;
}

void stream_end_block(struct stream_file *file, uint32_t symbols, struct disk_reply *reply)
{
    hash_block(file->hash, text_of(file), (size_t)symbols * file->request.symbol_bytes, &reply->hash);
    hash_chain(file->hash, &file->chain, &reply->hash);
}

void stream_file_clear(struct stream_file *file)
{
    struct sealed_room sealed = file->sealed;
    *file = (struct stream_file){.fd = -1, .sealed = sealed};
}

bool stream_open_symbols(struct stream_file *file)
{
    const struct disk_request *request = &file->request;
    if (request->sealed.secret == NULL)
        return true;
    if (!sealed_begin(&file->sealed))
        return false;
    return request->op != DISK_DRAIN ||
           sealed_open_symbols(&file->sealed, request, request->first, stream_symbol(file, 0),
                               (size_t)request->count * request->symbol_bytes);
}

void stream_close_symbols(struct stream_file *file)
{
    const struct disk_request *request = &file->request;
    if (request->sealed.secret != NULL && file->symbols > 0)
        sealed_close_symbols(&file->sealed, request, request->first, stream_symbol(file, 0),
                             (size_t)file->symbols * request->symbol_bytes);
}

void stream_file_close(struct stream_file *file)
{
    if (file->kind == STREAM_PART)
        (void)part_remove(&file->place, file->fd); /* nobody is left to be told */
    if (file->fd >= 0 && file->kind != STREAM_CLOSED)
        close(file->fd);
    if (file->placed)
        place_close(&file->place);
    free(file->carry);
    stream_file_clear(file);
}

void stream_file_wants(const struct stream_file *file, struct pollfd *wanted, uint64_t *due_ns)
{
    bool input = file->kind == STREAM_INPUT;
    *wanted = (struct pollfd){.fd = file->waiting ? file->fd : -1, .events = input ? POLLIN : POLLOUT};
    *due_ns = UINT64_MAX;
    if (!file->waiting)
        return;
    if (input && file->bytes > 0)
        *due_ns = file->since_ns + file->flush_ns;
    if (!input && file->fd < 0)
        *due_ns = file->retry_ns;
}

void stream_file_interrupt(struct stream_file *file, struct disk_reply *reply)
{
    *reply = (struct disk_reply){.op = file->request.op,
                                 .handle = file->request.handle,
                                 .status = DISK_FAILED,
                                 .cookie = file->request.cookie};
    place_say(reply->text, "%s: interrupted", file->place.shown);
    file->waiting = false;
}
