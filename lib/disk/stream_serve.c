#include "disk/stream_serve.h"

#include "base/check.h"
#include "disk/identity.h"
#include "disk/stream_input.h"
#include "disk/stream_output.h"

static enum disk_status open_input(struct stream_file *file, const struct disk_open *open_as,
                                   char text[DISK_TEXT_BYTES])
{
    struct identity own;
    struct err err;
    if (!identity_begin(&own, &open_as->rights, &err)) {
        place_say(text, "%s", err.text);
        return DISK_FAILED;
    }
    enum disk_status status = stream_input_open(file, open_as, text);
    identity_end(&own);
    return status;
}

static enum disk_status open_file(struct stream_file *file, const struct disk_request *request,
                                  char text[DISK_TEXT_BYTES])
{
    const struct disk_open *open_as = request->open;
    CHECK(file->kind == STREAM_CLOSED);
    stream_file_clear(file);
    file->fed = open_as->fed;
    file->hash = open_as->hash;
    file->exists = open_as->exists;
    file->durable = open_as->durable;
    file->flush_ns = open_as->flush_ns;
    return request->op == DISK_OPEN_SOURCE ? open_input(file, open_as, text)
                                           : stream_output_open(file, open_as, text);
}

static enum disk_status finish(struct stream_file *file, struct disk_reply *reply)
{
    reply->hash = file->chain;
    if (file->kind != STREAM_INPUT && file->kind != STREAM_MEMORY) {
        enum disk_status status = stream_output_finish(file, reply->text);
        place_tell_lacks(&file->place, reply->note);
        return status;
    }
    if (file->kind == STREAM_MEMORY)
        place_say(reply->text, "hashed only: nothing is stored here");
    file->kind = STREAM_FINISHED;
    return DISK_OK;
}

bool stream_serve(struct stream_file *file, const struct disk_request *request, uint64_t now_ns,
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
        if (!stream_open_symbols(file)) {
            file->waiting = false;
            reply->status = DISK_FAILED;
            place_say(reply->text, "%s: no memory for a block, or one that failed", file->place.shown);
            return true;
        }
        return stream_try(file, now_ns, reply);
    case DISK_FINISH:
        reply->status = (uint8_t)finish(file, reply);
        return true;
    case DISK_ABORT:
        reply->status = file->kind == STREAM_FINISHED ? DISK_ALREADY_THERE : DISK_OK;
        stream_file_close(file);
        return true;
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

bool stream_try(struct stream_file *file, uint64_t now_ns, struct disk_reply *reply)
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
