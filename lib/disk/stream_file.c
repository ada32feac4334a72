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

uint8_t *stream_symbol(const struct stream_file *file, uint32_t at)
{
    return file->request.data + (size_t)(file->request.first + at) * file->request.symbol_bytes;
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
    hash_block(file->hash, file->request.data, (size_t)symbols * file->request.symbol_bytes, &reply->hash);
    hash_chain(file->hash, &file->chain, &reply->hash);
}

static enum disk_status open_file(struct stream_file *file, const struct disk_request *request,
                                  char text[DISK_TEXT_BYTES])
{
    const struct disk_open *open_as = request->open;
    CHECK(file->kind == STREAM_CLOSED);
    *file = (struct stream_file){.fd = -1,
                                 .hash = open_as->hash,
                                 .exists = open_as->exists,
                                 .durable = open_as->durable,
                                 .flush_ns = open_as->flush_ns};
    return request->op == DISK_OPEN_SOURCE ? stream_input_open(file, open_as, text)
                                           : stream_output_open(file, open_as, text);
}

void stream_file_close(struct stream_file *file)
{
    if (file->kind == STREAM_PART)
        (void)unlinkat(file->place.directory_fd, file->place.part, 0); /* nobody is left to be told */
    if (file->fd >= 0 && file->kind != STREAM_CLOSED)
        close(file->fd);
    if (file->placed)
        place_close(&file->place);
    free(file->carry);
    *file = (struct stream_file){.fd = -1};
}

static enum disk_status finish(struct stream_file *file, struct disk_reply *reply)
{
    reply->hash = file->chain;
    if (file->kind != STREAM_INPUT && file->kind != STREAM_MEMORY)
        return stream_output_finish(file, reply->text);
    if (file->kind == STREAM_MEMORY)
        place_say(reply->text, "hashed only: nothing is stored here");
    file->kind = STREAM_FINISHED;
    return DISK_OK;
}

bool stream_file_serve(struct stream_file *file, const struct disk_request *request, uint64_t now_ns,
                       struct disk_reply *reply)
{
    *reply = (struct disk_reply){.op = request->op, .handle = request->handle, .cookie = request->cookie};
    switch ((enum disk_op)request->op) {
    case DISK_OPEN_SOURCE:
    case DISK_OPEN_TARGET:
        reply->object = PART_OBJECT_STREAM;
        reply->status = (uint8_t)open_file(file, request, reply->text);
        return true;
    case DISK_FEED:
    case DISK_DRAIN:
        CHECK(!file->waiting);
        file->request = *request;
        file->waiting = true;
        file->symbols = file->bytes = 0;
        file->payload = 0;
        return stream_file_try(file, now_ns, reply);
    case DISK_FINISH:
        reply->status = (uint8_t)finish(file, reply);
        return true;
    case DISK_ABORT:
    case DISK_CLOSE:
        stream_file_close(file);
        return true;
    case DISK_READ:
    case DISK_WRITE:
    case DISK_DIGEST:
    case DISK_MANIFEST:
        break;
    }
    CHECK(false);
    return false;
}

bool stream_file_try(struct stream_file *file, uint64_t now_ns, struct disk_reply *reply)
{
    *reply = (struct disk_reply){
        .op = file->request.op, .handle = file->request.handle, .cookie = file->request.cookie};
    bool input = file->request.op == DISK_FEED;
    if (input ? file->kind != STREAM_INPUT : file->kind == STREAM_CLOSED || file->kind == STREAM_FINISHED) {
        place_say(reply->text, "%s: not open for this", file->place.shown);
        reply->status = DISK_FAILED;
        file->waiting = false;
        return true;
    }
    file->waiting =
        !(input ? stream_input_feed(file, now_ns, reply) : stream_output_drain(file, now_ns, reply));
    return !file->waiting;
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
