/* The disk of relay_fuzz. Memory that it was given belongs to it until it answers; requests of a job come in
 * the order that store/disk.h states. */
#include <string.h>

#include "relay_bench.h"
#include "store/geometry.h"

#define INPUT_FEEDS 3 /* answers of a stream's input, the last of which ends it */

enum disk_act { ACT_MODE, ACT_ONE, ACT_REVERSED, ACT_SOURCE, ACT_COUNT };

static uint32_t data_bytes(const struct disk_request *request)
{
    bool stream = request->op == DISK_FEED || request->op == DISK_DRAIN;
    return stream ? (uint32_t)request->symbol_bytes * request->count : request->length;
}

/* An empty file's digest has none, nor has the end of a stream behind its last symbol. */
static bool has_data(const struct disk_request *request)
{
    return request->data != NULL && data_bytes(request) > 0;
}

static uint8_t *data_of(const struct disk_request *request)
{
    bool stream = request->op == DISK_FEED || request->op == DISK_DRAIN;
    return stream ? request->data + (size_t)request->symbol_bytes * request->first : request->data;
}

static void check_range(const struct disk_file *file, const struct disk_request *request)
{
    CHECK(file->open && !file->stream);
    CHECK(request->length > 0 && request->length <= BLOCK_BYTES_TARGET);
    CHECK(request->offset <= file->size_bytes);
    CHECK(request->length <= file->size_bytes - request->offset);
}

static void check_order(struct disk_file *file, const struct disk_request *request)
{
    switch ((enum disk_op)request->op) {
    case DISK_OPEN_SOURCE:
    case DISK_OPEN_TARGET:
        CHECK(!file->open && file->outstanding == 0);
        *file = (struct disk_file){.source = request->op == DISK_OPEN_SOURCE,
                                   .stream = request->open->object == PART_OBJECT_STREAM,
                                   .size_bytes = request->open->size_bytes};
        break;
    case DISK_READ:
        check_range(file, request);
        break;
    case DISK_WRITE:
        check_range(file, request);
        CHECK(!file->ended && !file->source);
        break;
    case DISK_FEED:
    case DISK_DRAIN:
        CHECK(file->open && file->stream && !file->ended && file->outstanding == 0);
        CHECK(file->source == (request->op == DISK_FEED));
        CHECK(request->count > 0 || request->block_symbols > 0); /* the end may come behind the last symbol */
        CHECK(request->first + request->count <= BLOCK_SYMBOLS_MAX);
        break;
    case DISK_FINISH:
    case DISK_ABORT:
        CHECK(file->open && !file->ended && (file->stream || !file->source));
        file->ended = true;
        break;
    case DISK_CLOSE:
        CHECK(file->open && file->outstanding == 0);
        CHECK(file->source || file->ended);
        break;
    case DISK_DIGEST:
    case DISK_MANIFEST:
        break;
    }
    file->outstanding++;
}

/* What the disk reads into is the disk's: nobody else may be reading or writing there. */
static void check_apart(const struct disk_model *disk, const struct disk_request *request)
{
    const uint8_t *from = data_of(request), *to = from + data_bytes(request);
    for (uint32_t index = 0; index < disk->count; index++) {
        const struct disk_request *other = &disk->pending[index].request;
        bool fills = request->op == DISK_READ || request->op == DISK_FEED || other->op == DISK_READ ||
                     other->op == DISK_FEED;
        if (fills && has_data(other))
            CHECK(to <= data_of(other) || from >= data_of(other) + data_bytes(other));
    }
}

static void take(struct disk_model *disk, const struct disk_request *request, uint64_t now_ns)
{
    CHECK(disk->count < PENDING_MAX);
    CHECK(request->handle < DISK_HANDLES_MAX);
    check_order(&disk->files[request->handle], request);
    struct pending *pending = &disk->pending[disk->count];
    *pending = (struct pending){.request = *request, .asked_ns = now_ns};
    if (has_data(request)) {
        check_apart(disk, request);
        if (request->op == DISK_READ || request->op == DISK_FEED)
            memset(data_of(request), 0xee, data_bytes(request));
        pending->sum = sum_of(data_of(request), data_bytes(request));
    }
    if (request->open != NULL)
        pending->open_sum = sum_of(request->open, sizeof(*request->open));
    disk->count++;
}

static void fill_hash(const struct disk_request *request, struct disk_reply *reply)
{
    memset(reply->hash.bytes, GOOD_BYTE, WIRE_HASH_BYTES);
    if (has_data(request))
        memcpy(reply->hash.bytes, request->data, MIN(data_bytes(request), (uint32_t)WIRE_HASH_BYTES));
}

static void open_source(struct disk_model *disk, const struct disk_request *request, struct disk_reply *reply)
{
    struct disk_file *file = &disk->files[request->handle];
    reply->object = file->stream ? PART_OBJECT_STREAM : disk->source_object;
    if (!file->stream)
        file->size_bytes = reply->size_bytes = disk->source_bytes;
    if (reply->object == PART_OBJECT_DIRECTORY)
        reply->index_bytes = MIN(reply->size_bytes, (uint64_t)64);
    memset(reply->index_hash.bytes, GOOD_BYTE, WIRE_HASH_BYTES);
}

static void fail(const struct disk_request *request, uint8_t status, struct disk_reply *reply)
{
    bool same = request->op == DISK_OPEN_TARGET && request->open->exists == PART_EXISTS_SKIP_IF_SAME;
    reply->status = status == DISK_ALREADY_THERE && same ? DISK_ALREADY_THERE : DISK_FAILED;
    if (status == DISK_CHANGED && request->op == DISK_READ)
        reply->status = DISK_CHANGED;
    strcpy(reply->text, "Input/output error");
}

/* `variant`: how much of a block the input had; bad content when its highest bit is set. */
static void serve(struct disk_model *disk, const struct disk_request *request, uint8_t variant,
                  struct disk_reply *reply)
{
    uint32_t payload_bytes = request->symbol_bytes - 2u;
    switch ((enum disk_op)request->op) {
    case DISK_OPEN_SOURCE:
        open_source(disk, request, reply);
        break;
    case DISK_READ:
        memset(request->data, (variant & 0x80) != 0 ? BAD_BYTE : GOOD_BYTE, request->length);
        break;
    case DISK_FEED:
        if (disk->feeds_left == 0 || --disk->feeds_left == 0)
            reply->status = DISK_ENDED;
        reply->symbols = request->count;
        if ((variant & 0x7f) != 0)
            reply->symbols = MIN((uint32_t)(variant & 0x7f), (uint32_t)request->count);
        memset(data_of(request), GOOD_BYTE, (size_t)reply->symbols * request->symbol_bytes);
        reply->size_bytes = (uint64_t)reply->symbols * payload_bytes;
        break;
    case DISK_DRAIN:
        reply->size_bytes = (uint64_t)request->count * payload_bytes;
        break;
    case DISK_OPEN_TARGET:
    case DISK_WRITE:
    case DISK_FINISH:
    case DISK_ABORT:
    case DISK_CLOSE:
    case DISK_DIGEST:
    case DISK_MANIFEST:
        break;
    }
    fill_hash(request, reply);
}

static void note(struct disk_file *file, const struct disk_request *request, uint8_t status)
{
    file->outstanding--;
    if (request->op == DISK_OPEN_SOURCE || request->op == DISK_OPEN_TARGET) {
        file->open = status == DISK_OK || status == DISK_ALREADY_THERE;
        file->ended = status == DISK_ALREADY_THERE;
    }
    /* What is there is to be taken away by ABORT. */
    if (request->op == DISK_FINISH && status != DISK_OK && !file->source && !file->stream)
        file->ended = false;
    if (request->op == DISK_CLOSE)
        file->open = false;
}

static void answer(struct bench *bench, uint32_t index, uint8_t status, uint8_t variant)
{
    struct disk_model *disk = &bench->disk;
    struct pending pending = disk->pending[index];
    const struct disk_request *request = &pending.request;
    struct disk_reply reply = {.op = request->op, .handle = request->handle, .cookie = request->cookie};
    memmove(&disk->pending[index], &disk->pending[index + 1], (--disk->count - index) * sizeof(pending));
    if (has_data(request))
        CHECK(pending.sum == sum_of(data_of(request), data_bytes(request)));
    if (request->open != NULL)
        CHECK(pending.open_sum == sum_of(request->open, sizeof(*request->open)));
    if (status != DISK_OK)
        fail(request, status, &reply);
    else
        serve(disk, request, variant, &reply);
    note(&disk->files[request->handle], request, reply.status);
    node_disk_done(bench->node, &reply, 1, bench->now_ns);
}

static uint8_t status_now(const struct disk_model *disk, uint32_t index)
{
    return (disk->fails >> disk->pending[index].request.op & 1) != 0 ? disk->fail_status : DISK_OK;
}

static bool answer_all(struct bench *bench)
{
    bool any = bench->disk.count > 0;
    while (bench->disk.count > 0)
        answer(bench, 0, status_now(&bench->disk, 0), 0);
    return any;
}

bool disk_take(struct bench *bench)
{
    struct disk_request requests[8];
    uint16_t count = node_disk(bench->node, requests, 8, bench->now_ns);
    CHECK(count <= 8);
    for (uint16_t index = 0; index < count; index++)
        take(&bench->disk, &requests[index], bench->now_ns);
    bool answered = !bench->disk.holds && answer_all(bench);
    return count > 0 || answered;
}

void disk_step(struct bench *bench, const uint8_t *arguments)
{
    struct disk_model *disk = &bench->disk;
    switch ((enum disk_act)(arguments[0] % ACT_COUNT)) {
    case ACT_MODE:
        disk->holds = arguments[1] & 1;
        disk->fails = load_be16(&arguments[2]);
        disk->fail_status = 1 + arguments[4] % DISK_CHANGED;
        break;
    case ACT_ONE:
        if (disk->count > 0)
            answer(bench, arguments[1] % disk->count, arguments[2] % (DISK_CHANGED + 1), arguments[3]);
        break;
    case ACT_REVERSED:
        for (uint32_t left = arguments[1]; left > 0 && disk->count > 0; left--)
            answer(bench, disk->count - 1, status_now(disk, disk->count - 1), arguments[3]);
        break;
    case ACT_SOURCE: /* what lies at the path of the node's next own job */
        disk->source_object = arguments[1] & 1;
        disk->source_bytes = MIN(wide(arguments[2]), (uint64_t)1 << 62) + arguments[3];
        disk->feeds_left = arguments[4] == 0 ? INPUT_FEEDS : arguments[4];
        break;
    case ACT_COUNT:
        break;
    }
}
