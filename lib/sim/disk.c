#include "sim/disk.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "disk/hash.h"

#define QUEUE_ROOM_FIRST 64
#define FILE_MODE        0640         /* of every file */
#define HASH_CACHE_STEP  (512u << 10) /* blocks are about twice as long: neighbours never collide */

void sim_disk_init(struct sim_disk *disk, uint64_t rate_bps, uint64_t free_bytes, struct sim_source *sources,
                   uint32_t source_count)
{
    CHECK(source_count <= SIM_SOURCES_MAX);
    *disk = (struct sim_disk){.rate_bps = rate_bps != 0 ? rate_bps : SIM_DISK_RATE_BPS,
                              .free_bytes = free_bytes,
                              .sources = sources,
                              .source_count = source_count,
                              .queue_room = QUEUE_ROOM_FIRST};
    disk->queue = malloc(disk->queue_room * sizeof(*disk->queue));
    CHECK(disk->queue != NULL);
}

/* ABORT, or CLOSE: what was not finished, or failed to, is removed and its space is free again. */
static void close_handle(struct sim_disk *disk, struct sim_handle *handle)
{
    bool had_space = handle->target && !handle->discards && !handle->whole && !handle->finished;
    if (had_space && disk->free_bytes != UINT64_MAX)
        disk->free_bytes += handle->size_bytes;
    extent_clear(&handle->right);
    sealed_end(&handle->stream.sealed);
    *handle = (struct sim_handle){0};
}

void sim_disk_crash(struct sim_disk *disk)
{
    disk->queue_head = disk->queue_tail;
    disk->busy_until_ns = 0;
    for (uint32_t handle = 0; handle < DISK_HANDLES_MAX; handle++)
        close_handle(disk, &disk->handles[handle]);
}

void sim_disk_free(struct sim_disk *disk)
{
    sim_disk_crash(disk);
    sealed_end(&disk->sealed);
    free(disk->queue);
    disk->queue = NULL;
}

static void grow(struct sim_disk *disk)
{
    uint32_t count = disk->queue_tail - disk->queue_head;
    struct sim_disk_waiting *queue = malloc(2 * disk->queue_room * sizeof(*queue));
    CHECK(queue != NULL);
    for (uint32_t place = 0; place < count; place++)
        queue[place] = disk->queue[(disk->queue_head + place) & (disk->queue_room - 1)];
    free(disk->queue);
    disk->queue = queue;
    disk->queue_room *= 2;
    disk->queue_head = 0;
    disk->queue_tail = count;
}

void sim_disk_submit(struct sim_disk *disk, const struct disk_request *request, uint64_t now_ns)
{
    if (request->op == DISK_FEED || request->op == DISK_DRAIN) {
        sim_stream_submit(disk, request, now_ns);
        return;
    }
    if (request->op == DISK_ABORT)
        sim_stream_interrupt(disk, request->handle, now_ns);
    if (disk->queue_tail - disk->queue_head == disk->queue_room)
        grow(disk);
    disk->busy_until_ns = MAX(disk->busy_until_ns, now_ns) + transmit_ns(request->length, disk->rate_bps);
    if (request->op == DISK_WRITE && disk->handles[request->handle].open) {
        struct sim_copy *copy = &disk->copies[disk->handles[request->handle].source];
        if (copy->first_ns == 0) {
            copy->first_ns = now_ns;
            copy->first_bytes = request->length;
        }
    }
    disk->queue[disk->queue_tail++ & (disk->queue_room - 1)] =
        (struct sim_disk_waiting){*request, disk->busy_until_ns + SIM_DISK_LATENCY_NS};
}

static uint64_t queue_next_ns(const struct sim_disk *disk)
{
    if (disk->queue_head == disk->queue_tail)
        return TIME_NEVER;
    return disk->queue[disk->queue_head & (disk->queue_room - 1)].done_ns;
}

uint64_t sim_disk_next_ns(const struct sim_disk *disk)
{
    uint8_t handle;
    return MIN(queue_next_ns(disk), sim_stream_next_ns(disk, &handle));
}

static void failed(struct disk_reply *reply, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void failed(struct disk_reply *reply, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(reply->text, sizeof(reply->text), format, arguments);
    va_end(arguments);
    reply->status = DISK_FAILED;
}

/* The hash of data that is known to equal the source's content there. */
static struct wire_hash content_hash(struct sim_source *source, uint64_t offset, const uint8_t *data,
                                     uint32_t length)
{
    struct sim_hash *known = &source->hashes[offset / HASH_CACHE_STEP % SIM_HASHES];
    if (known->length != length || known->offset != offset || length == 0) {
        known->offset = offset;
        known->length = length;
        hash_block(PART_HASH_SHA256, data, length, &known->hash);
    }
    return known->hash;
}

static struct sim_file *file_find(struct sim_disk *disk, const char *name)
{
    for (uint32_t file = 0; file < disk->file_count; file++)
        if (strcmp(disk->files[file].name, name) == 0)
            return &disk->files[file];
    return NULL;
}

static uint8_t kind_of(const struct sim_source *source)
{
    return source->content.index_bytes != 0 ? PART_OBJECT_DIRECTORY : PART_OBJECT_FILE;
}

static uint16_t mode_of(const struct sim_source *source)
{
    return kind_of(source) == PART_OBJECT_FILE ? FILE_MODE : 0;
}

/* What the part told of the object is what its source's disk said. */
static bool is_object(const struct sim_source *source, const struct disk_open *open)
{
    return open->object == PART_OBJECT_STREAM ||
           (open->object == kind_of(source) && open->size_bytes == source->content.size_bytes &&
            open->mode == mode_of(source) && open->index_bytes == source->content.index_bytes &&
            memcmp(&open->index_hash, &source->index_hash, sizeof(open->index_hash)) == 0);
}

static void open_source(struct sim_disk *disk, struct sim_handle *handle, const struct disk_open *open,
                        struct disk_reply *reply)
{
    for (uint32_t source = 0; source < disk->source_count; source++) {
        if (strcmp(disk->sources[source].path, open->file) != 0)
            continue;
        *handle = (struct sim_handle){.open = true, .source = (uint8_t)source, .hash = open->hash};
        handle->stream =
            (struct sim_stream){.on = open->object == PART_OBJECT_STREAM, .flush_ns = open->flush_ns};
        reply->size_bytes = disk->sources[source].content.size_bytes;
        reply->modified_ns = disk->sources[source].modified_ns;
        reply->object = kind_of(&disk->sources[source]);
        reply->mode = handle->stream.on ? 0 : mode_of(&disk->sources[source]);
        reply->index_bytes = disk->sources[source].content.index_bytes;
        reply->index_hash = disk->sources[source].index_hash;
        return;
    }
    failed(reply, "%.150s: No such file or directory", open->file);
}

/* What stands in the way of the new file, or DISK_ALREADY_THERE; DISK_OK: nothing. */
static void check_target(struct sim_disk *disk, const struct disk_open *open, uint8_t source,
                         struct disk_reply *reply)
{
    const struct sim_file *file = open->memory ? NULL : file_find(disk, open->file);
    if (file != NULL && open->exists == PART_EXISTS_SKIP_IF_SAME && file->source == source &&
        file->size_bytes == open->size_bytes)
        reply->status = DISK_ALREADY_THERE;
    else if (file != NULL && open->exists != PART_EXISTS_REPLACE)
        failed(reply, "%.150s: File exists", open->file);
    else if (!open->memory && (disk->full || open->size_bytes > disk->free_bytes))
        failed(reply, "no space left for %.100s: %" PRIu64 " MB needed, %" PRIu64 " MB free", open->file,
               open->size_bytes / 1000000 + 1, disk->full ? 0 : disk->free_bytes / 1000000);
    else if (file == NULL && disk->file_count == SIM_FILES_MAX)
        failed(reply, "no space left for %.100s: the directory is full", open->file);
}

static void open_target(struct sim_disk *disk, struct sim_handle *handle, const struct disk_open *open,
                        struct disk_reply *reply, uint64_t now_ns)
{
    uint32_t source = 0;
    while (source < disk->source_count && disk->sources[source].modified_ns != open->modified_ns)
        source++;
    if (source == disk->source_count) {
        failed(reply, "%.150s: not the file of any job here", open->file);
        return;
    }
    if (open->object != PART_OBJECT_STREAM)
        if (!is_object(&disk->sources[source], open)) {
            failed(reply, "%.150s: not the object that its source has", open->file);
            return;
        }
    check_target(disk, open, (uint8_t)source, reply);
    if (reply->status == DISK_FAILED)
        return;
    *handle = (struct sim_handle){.open = true,
                                  .target = true,
                                  .discards = open->memory,
                                  .source = (uint8_t)source,
                                  .hash = open->hash,
                                  .exists = open->exists,
                                  .size_bytes = open->size_bytes};
    handle->stream =
        (struct sim_stream){.on = open->object == PART_OBJECT_STREAM, .rate_bps = disk->sink_rate_bps};
    name_copy(handle->name, sizeof(handle->name), open->file);
    if (open->object == PART_OBJECT_STREAM)
        return;
    if (reply->status == DISK_ALREADY_THERE) {
        bool right = file_find(disk, open->file)->right;
        if (right)
            extent_add(&handle->right, 0, open->size_bytes);
        handle->whole = true;
        disk->copies[source] = (struct sim_copy){
            .finished_ns = now_ns, .right_bytes = right ? open->size_bytes : 0, .verified = right};
    } else if (!open->memory && disk->free_bytes != UINT64_MAX) {
        disk->free_bytes -= open->size_bytes;
    }
}

static void read_block(struct sim_disk *disk, const struct sim_handle *handle,
                       const struct disk_request *request, struct disk_reply *reply)
{
    struct sim_source *source = &disk->sources[handle->source];
    uint64_t end = request->offset + request->length;
    disk->reads++;
    if (handle->target && (handle->discards || !extent_covers(&handle->right, request->offset, end))) {
        failed(reply, "%.120s: read of bytes that were not written", handle->name);
        return;
    }
    if (!handle->target && (source->changed || end > source->content.size_bytes)) {
        reply->status = DISK_CHANGED;
        snprintf(reply->text, sizeof(reply->text), "%.120s: changed during the job", source->path);
        return;
    }
    content_fill(&source->content, request->offset, request->data, request->length);
    if (handle->hash == PART_HASH_SHA256)
        reply->hash = content_hash(source, request->offset, request->data, request->length);
    if (request->sealed.secret == NULL)
        return;
    CHECK(sealed_begin(&disk->sealed));
    sealed_close_symbols(&disk->sealed, request, 0, request->data, request->length);
}

/* The text of what is to be written. */
static const uint8_t *text_of(struct sim_disk *disk, const struct disk_request *request)
{
    if (request->sealed.secret == NULL)
        return request->data;
    CHECK(sealed_begin(&disk->sealed));
    CHECK(sealed_open_symbols(&disk->sealed, request, 0, disk->sealed.clear, request->length));
    return disk->sealed.clear;
}

static void write_block(struct sim_disk *disk, struct sim_handle *handle, const struct disk_request *request,
                        struct disk_reply *reply)
{
    struct sim_source *source = &disk->sources[handle->source];
    uint64_t end = request->offset + request->length;
    disk->writes++;
    if (disk->full && !handle->discards) {
        failed(reply, "no space left for %.100s.part: 0 MB free", handle->name);
        return;
    }
    if (end > handle->size_bytes) {
        failed(reply, "%.120s: write behind the end", handle->name);
        return;
    }
    const uint8_t *text = text_of(disk, request);
    bool right = content_equal(&source->content, request->offset, text, request->length);
    if (right) {
        extent_add(&handle->right, request->offset, end);
    } else {
        disk->wrong_writes++;
        extent_remove(&handle->right, request->offset, end);
    }
    disk->copies[handle->source].right_bytes = extent_bytes(&handle->right);
    if (handle->hash != PART_HASH_SHA256)
        return;
    if (right)
        reply->hash = content_hash(source, request->offset, text, request->length);
    else
        hash_block(PART_HASH_SHA256, text, request->length, &reply->hash);
}

static void finish_live(struct sim_disk *disk, struct sim_handle *handle, struct disk_reply *reply,
                        uint64_t now_ns)
{
    reply->hash = handle->stream.chain;
    if (!handle->target)
        return;
    struct sim_copy *copy = &disk->copies[handle->source];
    snprintf(reply->text, sizeof(reply->text), "/incoming/%.160s", handle->name);
    copy->finished_ns = now_ns;
    copy->verified = handle->stream.offset == disk->sources[handle->source].content.size_bytes &&
                     extent_covers(&handle->right, 0, handle->stream.offset);
}

static void finish(struct sim_disk *disk, struct sim_handle *handle, struct disk_reply *reply,
                   uint64_t now_ns)
{
    if (handle->stream.on) {
        finish_live(disk, handle, reply, now_ns);
        return;
    }
    bool right = extent_covers(&handle->right, 0, handle->size_bytes);
    struct sim_file *file = file_find(disk, handle->name);
    struct sim_copy *copy = &disk->copies[handle->source];
    snprintf(reply->text, sizeof(reply->text), "/incoming/%.160s", handle->name);
    bool stored = !handle->discards && !handle->whole;
    if (stored && file != NULL && handle->exists != PART_EXISTS_REPLACE) {
        failed(reply, "%.150s: File exists", handle->name);
        *copy = (struct sim_copy){0};
        return;
    }
    handle->finished = true;
    copy->finished_ns = now_ns;
    copy->right_bytes = extent_bytes(&handle->right);
    copy->verified = right;
    if (!stored)
        return;
    if (file == NULL) {
        CHECK(disk->file_count < SIM_FILES_MAX);
        file = &disk->files[disk->file_count++];
        name_copy(file->name, sizeof(file->name), handle->name);
    }
    file->source = handle->source;
    file->right = right;
    file->size_bytes = handle->size_bytes;
}

static void carry_out(struct sim_disk *disk, const struct disk_request *request, struct disk_reply *reply,
                      uint64_t now_ns)
{
    struct sim_handle *handle = &disk->handles[request->handle];
    bool of_handle = request->op != DISK_DIGEST && request->op != DISK_MANIFEST;
    if (of_handle && request->op != DISK_OPEN_SOURCE && request->op != DISK_OPEN_TARGET && !handle->open) {
        if (request->op != DISK_ABORT && request->op != DISK_CLOSE)
            failed(reply, "Bad file descriptor");
        return;
    }
    switch ((enum disk_op)request->op) {
    case DISK_OPEN_SOURCE:
        open_source(disk, handle, request->open, reply);
        break;
    case DISK_OPEN_TARGET:
        open_target(disk, handle, request->open, reply, now_ns);
        break;
    case DISK_READ:
        read_block(disk, handle, request, reply);
        break;
    case DISK_WRITE:
        write_block(disk, handle, request, reply);
        break;
    case DISK_FINISH:
        finish(disk, handle, reply, now_ns);
        break;
    case DISK_FEED:
    case DISK_DRAIN:
        break; /* not of this queue */
    case DISK_ABORT:
        if (handle->target && !handle->discards && (handle->finished || handle->whole))
            reply->status = DISK_ALREADY_THERE;
        close_handle(disk, handle);
        break;
    case DISK_CLOSE:
        close_handle(disk, handle);
        break;
    case DISK_DIGEST:
        hash_block(PART_HASH_SHA256, request->data, request->length, &reply->hash);
        break;
    case DISK_MANIFEST:
        snprintf(reply->text, sizeof(reply->text), "%.90s/%.90s", request->open->directory,
                 request->open->file);
        break;
    }
}

void sim_disk_answer(struct sim_disk *disk, struct disk_reply *reply, uint64_t now_ns)
{
    uint8_t stream = 0;
    if (sim_stream_next_ns(disk, &stream) < queue_next_ns(disk)) {
        sim_stream_answer(disk, stream, reply, now_ns);
        return;
    }
    CHECK(sim_disk_next_ns(disk) <= now_ns);
    struct disk_request request = disk->queue[disk->queue_head++ & (disk->queue_room - 1)].request;
    CHECK(request.handle < DISK_HANDLES_MAX);
    *reply = (struct disk_reply){.op = request.op, .handle = request.handle, .cookie = request.cookie};
    carry_out(disk, &request, reply, now_ns);
}
