#include "world_disk.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/units.h"
#include "store/stream.h"

uint8_t world_source_byte(uint64_t offset)
{
    uint16_t low = (uint16_t)offset; /* 16 bits, which compilers do many at a time */
    return (uint8_t)((uint16_t)(low * 0x79b1u) >> 7 ^ low);
}

/* Bytes repeat after 64 KiB: made once. One by one they were a third of what the node tests cost. */
static void read_source(uint8_t *data, uint64_t offset, uint32_t length)
{
    static uint8_t period[UINT16_MAX + 1];
    if (period[1] != world_source_byte(1))
        for (uint32_t index = 0; index < sizeof(period); index++)
            period[index] = world_source_byte(index);
    while (length > 0) {
        uint32_t at = (uint16_t)offset;
        uint32_t run = MIN(length, (uint32_t)sizeof(period) - at);
        memcpy(data, period + at, run);
        data += run;
        offset += run;
        length -= run;
    }
}

static void fake_hash(const uint8_t *data, uint32_t length, struct wire_hash *hash)
{
    uint64_t value = 0xcbf29ce484222325ULL ^ length;
    for (uint32_t index = 0; index < length; index += sizeof(value)) {
        uint64_t word = 0; /* by bytes these were half of what the node tests cost */
        memcpy(&word, data + index, MIN(sizeof(word), (size_t)(length - index)));
        value = (value ^ word) * 0x9e3779b97f4a7c15ULL;
        value ^= value >> 32;
    }
    memset(hash, 0, sizeof(*hash));
    memcpy(hash->bytes, &value, sizeof(value));
}

static void disk_open_target(struct world_node *node, const struct disk_request *request,
                             struct disk_reply *reply)
{
    struct world_file *file = request->op == DISK_MANIFEST ? NULL : &node->files[request->handle];
    CHECK(!file->open);
    free(file->data);
    *file = (struct world_file){
        .size = request->open->size_bytes, .open = node->open_status != DISK_FAILED, .clear = file->clear};
    file->data = calloc(1, file->size + 1);
    snprintf(file->path, sizeof(file->path), "%.200s/%.200s", request->open->directory, request->open->file);
    reply->status = (uint8_t)node->open_status;
    if (node->open_status == DISK_FAILED)
        snprintf(reply->text, sizeof(reply->text), "no space left");
}

/* A stream whose input has everything at once. */
static void disk_feed(struct world *world, struct world_file *file, const struct disk_request *request,
                      struct disk_reply *reply)
{
    uint32_t payload = stream_payload_bytes(request->symbol_bytes);
    while (reply->symbols < request->count && file->place < world->source_bytes) {
        uint8_t *symbol = request->data + (size_t)(request->first + reply->symbols) * request->symbol_bytes;
        uint32_t bytes = (uint32_t)MIN(world->source_bytes - file->place, (uint64_t)payload);
        read_source(symbol + STREAM_HEAD_BYTES, file->place, bytes);
        stream_record_close(symbol, request->symbol_bytes, bytes);
        file->place += bytes;
        reply->size_bytes += bytes;
        reply->symbols++;
    }
    if (file->place == world->source_bytes)
        reply->status = DISK_ENDED;
}

static void reserve(struct world_file *file, uint64_t bytes)
{
    if (bytes <= file->room)
        return;
    file->room = MAX(2 * file->room, bytes + 4096);
    file->data = realloc(file->data, file->room);
    CHECK(file->data != NULL);
}

static void disk_drain(struct world_file *file, const struct disk_request *request, struct disk_reply *reply)
{
    for (uint32_t at = 0; at < request->count; at++) {
        const uint8_t *symbol = request->data + (size_t)(request->first + at) * request->symbol_bytes;
        uint32_t bytes = stream_record_bytes(symbol);
        CHECK(bytes <= stream_payload_bytes(request->symbol_bytes));
        reserve(file, file->place + bytes);
        memcpy(file->data + file->place, symbol + STREAM_HEAD_BYTES, bytes);
        file->place += bytes;
        reply->size_bytes += bytes;
    }
    file->size = file->place;
}

static void end_block(struct world_file *file, const struct disk_request *request, uint32_t symbols,
                      struct disk_reply *reply)
{
    uint8_t both[2 * WIRE_HASH_BYTES];
    fake_hash(request->data, symbols * request->symbol_bytes, &reply->hash);
    memcpy(both, &file->chain, WIRE_HASH_BYTES);
    memcpy(both + WIRE_HASH_BYTES, &reply->hash, WIRE_HASH_BYTES);
    fake_hash(both, sizeof(both), &file->chain);
}

static void answer_in_the_clear(struct world *world, struct world_node *node,
                                const struct disk_request *request, struct disk_reply *reply)
{
    struct world_file *file = &node->files[request->handle];
    *reply = (struct disk_reply){.op = request->op, .handle = request->handle, .cookie = request->cookie};
    switch ((enum disk_op)request->op) {
    case DISK_OPEN_SOURCE:
        CHECK(!file->open);
        *file = (struct world_file){.open = !world->source_missing, .data = file->data, .clear = file->clear};
        reply->size_bytes = world->source_bytes;
        reply->status = world->source_missing ? DISK_FAILED : DISK_OK;
        snprintf(reply->text, sizeof(reply->text), world->source_missing ? "No such file" : "");
        break;
    case DISK_OPEN_TARGET:
        disk_open_target(node, request, reply);
        break;
    case DISK_READ:
        CHECK(file->open);
        read_source(request->data, request->offset, request->length);
        fake_hash(request->data, request->length, &reply->hash);
        break;
    case DISK_WRITE:
        CHECK(file->open && !file->finished);
        CHECK(request->offset + request->length <= file->size);
        memcpy(file->data + request->offset, request->data, request->length);
        fake_hash(request->data, request->length, &reply->hash);
        if (request->cookie == node->corrupt_block) {
            reply->hash.bytes[0] ^= 1;
            node->corrupt_block = UINT64_MAX;
        }
        reply->status = node->write_fails ? DISK_FAILED : DISK_OK;
        snprintf(reply->text, sizeof(reply->text), node->write_fails ? "Input/output error" : "");
        break;
    case DISK_FEED:
        CHECK(file->open && !file->finished);
        disk_feed(world, file, request, reply);
        if (request->first + reply->symbols == request->block_symbols || reply->status == DISK_ENDED)
            end_block(file, request, request->first + reply->symbols, reply);
        break;
    case DISK_DRAIN:
        CHECK(file->open && !file->finished);
        disk_drain(file, request, reply);
        if (request->block_symbols != 0)
            end_block(file, request, request->block_symbols, reply);
        break;
    case DISK_FINISH:
        CHECK(file->open && !file->finished);
        file->finished = true;
        reply->hash = file->chain;
        snprintf(reply->text, sizeof(reply->text), "%.190s", file->path);
        break;
    case DISK_ABORT:
        CHECK(file->open && !file->finished && node->open_status != DISK_ALREADY_THERE);
        file->aborted = true;
        break;
    case DISK_CLOSE:
        CHECK(file->open);
        file->open = false;
        break;
    case DISK_DIGEST:
        fake_hash(request->data, request->length, &reply->hash);
        break;
    case DISK_MANIFEST:
        CHECK(request->length < sizeof(node->manifest));
        memcpy(node->manifest, request->data, request->length);
        node->manifest[request->length] = '\0';
        reply->status = node->write_fails ? DISK_FAILED : DISK_OK;
        snprintf(reply->text, sizeof(reply->text), "%.90s/%.90s", request->open->directory,
                 request->open->file);
        break;
    }
}

/* Symbols of a request: from `first` on, `bytes` in all. */
struct symbols {
    uint32_t first, bytes;
};

static struct symbols symbols_of(const struct disk_request *request, uint32_t count)
{
    bool stream = request->op == DISK_FEED || request->op == DISK_DRAIN;
    return stream ? (struct symbols){request->first, count * request->symbol_bytes}
                  : (struct symbols){0, request->length};
}

/* Between the block as it lies in memory and as the disk has it. */
static void turn_over(const struct world_node *node, const struct disk_request *request, uint8_t *clear,
                      struct symbols symbols, bool seals)
{
    static struct body_cipher cipher;
    const struct disk_sealed *sealed = &request->sealed;
    size_t at = (size_t)symbols.first * sealed->secret->symbol_bytes;
    uint8_t *tags = sealed->tags + (size_t)symbols.first * SEAL_TAG_BYTES;
    uint64_t number = sealed->symbol + symbols.first;
    if (cipher.primitives != node->config.primitives)
        body_cipher_init(&cipher, node->config.primitives);
    if (seals)
        body_seal(&cipher, sealed->secret, number, clear + at, symbols.bytes, request->data + at, tags);
    else
        CHECK(
            body_open(&cipher, sealed->secret, number, request->data + at, symbols.bytes, clear + at, tags));
}

void world_disk_answer(struct world *world, struct world_node *node, const struct disk_request *request,
                       struct disk_reply *reply)
{
    struct world_file *file = &node->files[request->handle];
    struct disk_request clear = *request;
    if (request->sealed.secret == NULL) {
        answer_in_the_clear(world, node, request, reply);
        return;
    }
    if (file->clear == NULL)
        file->clear = malloc(BLOCK_BYTES_TARGET);
    CHECK(file->clear != NULL);
    clear.data = file->clear;
    if (request->op == DISK_WRITE || request->op == DISK_DRAIN)
        turn_over(node, request, file->clear, symbols_of(request, request->count), false);
    answer_in_the_clear(world, node, &clear, reply);
    if (request->op == DISK_READ || (request->op == DISK_FEED && reply->symbols > 0))
        turn_over(node, request, file->clear, symbols_of(request, reply->symbols), true);
}
