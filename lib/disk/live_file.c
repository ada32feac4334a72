#include "disk/live_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/check.h"
#include "base/units.h"
#include "disk/hash.h"

uint8_t *live_symbol(const struct live_file *file, uint32_t at)
{
    return file->request.data + (size_t)(file->request.first + at) * file->request.symbol_bytes;
}

int live_connect(const char *path)
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

void live_end_block(struct live_file *file, uint32_t symbols, struct disk_reply *reply)
{
    hash_block(file->hash, file->request.data, (size_t)symbols * file->request.symbol_bytes, &reply->hash);
    hash_chain(file->hash, &file->chain, &reply->hash);
}

static enum disk_status open_file(struct live_file *file, const struct disk_request *request,
                                  char text[DISK_TEXT_BYTES])
{
    const struct disk_open *open_as = request->open;
    CHECK(file->kind == LIVE_CLOSED);
    *file = (struct live_file){.fd = -1,
                               .hash = open_as->hash,
                               .exists = open_as->exists,
                               .durable = open_as->durable,
                               .flush_ns = open_as->flush_ns};
    return request->op == DISK_OPEN_SOURCE ? live_input_open(file, open_as, text)
                                           : live_output_open(file, open_as, text);
}

void live_file_close(struct live_file *file)
{
    if (file->kind == LIVE_PART)
        (void)unlinkat(file->place.directory_fd, file->place.part, 0); /* nobody is left to be told */
    if (file->fd >= 0 && file->kind != LIVE_CLOSED)
        close(file->fd);
    if (file->placed)
        place_close(&file->place);
    free(file->carry);
    *file = (struct live_file){.fd = -1};
}

static enum disk_status finish(struct live_file *file, struct disk_reply *reply)
{
    reply->hash = file->chain;
    if (file->kind != LIVE_INPUT && file->kind != LIVE_MEMORY)
        return live_output_finish(file, reply->text);
    if (file->kind == LIVE_MEMORY)
        place_say(reply->text, "hashed only: nothing is stored here");
    file->kind = LIVE_FINISHED;
    return DISK_OK;
}

bool live_file_serve(struct live_file *file, const struct disk_request *request, uint64_t now_ns,
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
        return live_file_try(file, now_ns, reply);
    case DISK_FINISH:
        reply->status = (uint8_t)finish(file, reply);
        return true;
    case DISK_ABORT:
    case DISK_CLOSE:
        live_file_close(file);
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

bool live_file_try(struct live_file *file, uint64_t now_ns, struct disk_reply *reply)
{
    *reply = (struct disk_reply){
        .op = file->request.op, .handle = file->request.handle, .cookie = file->request.cookie};
    bool input = file->request.op == DISK_FEED;
    if (input ? file->kind != LIVE_INPUT : file->kind == LIVE_CLOSED || file->kind == LIVE_FINISHED) {
        place_say(reply->text, "%s: not open for this", file->place.shown);
        reply->status = DISK_FAILED;
        file->waiting = false;
        return true;
    }
    file->waiting = !(input ? live_input_feed(file, now_ns, reply) : live_output_drain(file, now_ns, reply));
    return !file->waiting;
}

void live_file_wants(const struct live_file *file, struct pollfd *wanted, uint64_t *due_ns)
{
    bool input = file->kind == LIVE_INPUT;
    *wanted = (struct pollfd){.fd = file->waiting ? file->fd : -1, .events = input ? POLLIN : POLLOUT};
    *due_ns = UINT64_MAX;
    if (!file->waiting)
        return;
    if (input && file->bytes > 0)
        *due_ns = file->since_ns + file->flush_ns;
    if (!input && file->fd < 0)
        *due_ns = file->retry_ns;
}

void live_file_interrupt(struct live_file *file, struct disk_reply *reply)
{
    *reply = (struct disk_reply){.op = file->request.op,
                                 .handle = file->request.handle,
                                 .status = DISK_FAILED,
                                 .cookie = file->request.cookie};
    place_say(reply->text, "%s: interrupted", file->place.shown);
    file->waiting = false;
}
