#include "sim/stream.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/check.h"
#include "disk/hash.h"
#include "sim/disk.h"
#include "store/stream.h"

/* ---- the pattern ---- */

uint64_t sim_input_bytes(uint64_t rate_bps, uint64_t on_ns, uint64_t off_ns, uint64_t duration_ns)
{
    uint64_t active_ns = duration_ns;
    if (on_ns != 0)
        active_ns = duration_ns / (on_ns + off_ns) * on_ns + MIN(duration_ns % (on_ns + off_ns), on_ns);
    return bytes_within(rate_bps, active_ns);
}

/* When the first `bytes` bytes are there, unless the pipe was full. */
static uint64_t arrival_ns(const struct sim_input *input, uint64_t bytes)
{
    uint64_t active_ns = muldiv64(bytes * 8, NS_PER_S, input->rate_bps);
    if (input->on_ns != 0)
        active_ns += active_ns / input->on_ns * input->off_ns;
    return input->start_ns + active_ns;
}

static uint64_t arrived_bytes(const struct sim_input *input, uint64_t now_ns)
{
    uint64_t low = input->read_bytes, high = input->total_bytes;
    while (low < high) {
        uint64_t middle = low + (high - low + 1) / 2;
        if (arrival_ns(input, middle) <= now_ns)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

static void note_symbol(struct sim_input *input, uint64_t came_ns)
{
    if (input->symbols == input->room) {
        input->room = MAX(2 * input->room, (uint64_t)4096);
        input->came_ns = realloc(input->came_ns, input->room * sizeof(*input->came_ns));
        CHECK(input->came_ns != NULL);
    }
    input->came_ns[input->symbols++] = came_ns;
}

void sim_input_free(struct sim_input *input)
{
    free(input->came_ns);
    input->came_ns = NULL;
}

/* ---- submitting ---- */

static uint64_t feed_due_ns(struct sim_input *input, const struct sim_stream *stream, uint64_t now_ns)
{
    uint32_t payload = stream_payload_bytes(stream->request.symbol_bytes);
    if (input->start_ns == 0)
        input->start_ns = now_ns;
    uint64_t full = input->read_bytes + SIM_PIPE_BYTES;
    if (full < input->total_bytes && arrival_ns(input, full) < now_ns)
        input->start_ns += now_ns - arrival_ns(input, full);
    uint64_t enough = MIN(input->read_bytes + payload, input->total_bytes);
    uint64_t first_ns = arrival_ns(input, MIN(input->read_bytes + 1, input->total_bytes));
    uint64_t flush_ns = MAX(now_ns, first_ns + stream->flush_ns);
    return MAX(now_ns, MIN(arrival_ns(input, enough), flush_ns));
}

/* The block in the clear; it stays so from one request to the next. */
static uint8_t *text_of(const struct sim_stream *stream)
{
    return stream->request.sealed.secret == NULL ? stream->request.data : stream->sealed.clear;
}

static uint8_t *symbol_of(const struct sim_stream *stream, uint32_t at)
{
    return text_of(stream) + (size_t)(stream->request.first + at) * stream->request.symbol_bytes;
}

static uint64_t drained_bytes(const struct sim_stream *stream)
{
    uint64_t bytes = 0;
    for (uint32_t at = 0; at < stream->request.count; at++)
        bytes += stream_record_bytes(symbol_of(stream, at));
    return bytes;
}

static void open_text(const struct sim_disk *disk, struct sim_stream *stream)
{
    const struct disk_request *request = &stream->request;
    if (request->sealed.secret == NULL)
        return;
    stream->sealed.primitives = disk->sealed.primitives;
    CHECK(sealed_begin(&stream->sealed));
    if (request->op == DISK_DRAIN)
        CHECK(sealed_open_symbols(&stream->sealed, request, request->first, symbol_of(stream, 0),
                                  (size_t)request->count * request->symbol_bytes));
}

void sim_stream_submit(struct sim_disk *disk, const struct disk_request *request, uint64_t now_ns)
{
    struct sim_handle *handle = &disk->handles[request->handle];
    struct sim_stream *stream = &handle->stream;
    CHECK(handle->open && stream->on && !stream->waiting);
    stream->waiting = true;
    stream->request = *request;
    open_text(disk, stream);
    if (request->op == DISK_FEED) {
        stream->due_ns = feed_due_ns(&disk->sources[handle->source].input, stream, now_ns);
        return;
    }
    struct sim_copy *copy = &disk->copies[handle->source];
    uint64_t bytes = drained_bytes(stream);
    stream->busy_until_ns = MAX(stream->busy_until_ns, now_ns);
    if (stream->rate_bps != 0)
        stream->busy_until_ns += transmit_ns(bytes, stream->rate_bps);
    stream->due_ns = stream->busy_until_ns;
    if (copy->first_ns == 0) {
        copy->first_ns = now_ns;
        copy->first_bytes = (uint32_t)bytes;
    }
}

void sim_stream_interrupt(struct sim_disk *disk, uint8_t handle, uint64_t now_ns)
{
    struct sim_stream *stream = &disk->handles[handle].stream;
    if (!stream->waiting)
        return;
    stream->interrupted = true;
    stream->due_ns = now_ns;
}

uint64_t sim_stream_next_ns(const struct sim_disk *disk, uint8_t *handle)
{
    uint64_t next_ns = TIME_NEVER;
    for (uint8_t index = 0; index < DISK_HANDLES_MAX; index++) {
        if (!disk->handles[index].stream.waiting || disk->handles[index].stream.due_ns >= next_ns)
            continue;
        next_ns = disk->handles[index].stream.due_ns;
        *handle = index;
    }
    return next_ns;
}

/* ---- answering ---- */

static void end_block(const struct sim_handle *handle, struct sim_stream *stream, uint32_t symbols,
                      struct disk_reply *reply)
{
    const struct disk_request *request = &stream->request;
    hash_block((enum part_hash)handle->hash, text_of(stream), (size_t)symbols * request->symbol_bytes,
               &reply->hash);
    hash_chain((enum part_hash)handle->hash, &stream->chain, &reply->hash);
}

static void feed(struct sim_disk *disk, struct sim_handle *handle, struct disk_reply *reply, uint64_t now_ns)
{
    struct sim_stream *stream = &handle->stream;
    struct sim_source *source = &disk->sources[handle->source];
    struct sim_input *input = &source->input;
    const struct disk_request *request = &stream->request;
    uint32_t payload = stream_payload_bytes(request->symbol_bytes);
    uint64_t arrived = arrived_bytes(input, now_ns);
    bool ends = arrived == input->total_bytes;
    while (reply->symbols < request->count && input->read_bytes < arrived) {
        uint32_t bytes = (uint32_t)MIN(arrived - input->read_bytes, (uint64_t)payload);
        if (bytes < payload && !ends && reply->symbols > 0)
            break;
        uint8_t *symbol = symbol_of(stream, reply->symbols);
        content_fill(&source->content, input->read_bytes, symbol + STREAM_HEAD_BYTES, bytes);
        stream_record_close(symbol, request->symbol_bytes, bytes);
        note_symbol(input, arrival_ns(input, input->read_bytes + 1));
        input->read_bytes += bytes;
        reply->size_bytes += bytes;
        reply->symbols++;
    }
    if (request->sealed.secret != NULL && reply->symbols > 0)
        sealed_close_symbols(&stream->sealed, request, request->first, symbol_of(stream, 0),
                             (size_t)reply->symbols * request->symbol_bytes);
    if (input->read_bytes == input->total_bytes)
        reply->status = DISK_ENDED;
    uint32_t filled = request->first + reply->symbols;
    if (filled == request->block_symbols || (reply->status == DISK_ENDED && filled > 0))
        end_block(handle, stream, filled, reply);
}

static void drain(struct sim_disk *disk, struct sim_handle *handle, struct disk_reply *reply, uint64_t now_ns)
{
    struct sim_stream *stream = &handle->stream;
    struct sim_source *source = &disk->sources[handle->source];
    struct sim_copy *copy = &disk->copies[handle->source];
    const struct disk_request *request = &stream->request;
    for (uint32_t at = 0; at < request->count; at++) {
        const uint8_t *symbol = symbol_of(stream, at);
        uint32_t bytes = stream_record_bytes(symbol);
        bool inside =
            bytes <= stream_payload_bytes(request->symbol_bytes) && stream->symbols < source->input.symbols;
        if (inside && content_equal(&source->content, stream->offset, symbol + STREAM_HEAD_BYTES, bytes))
            extent_add(&handle->right, stream->offset, stream->offset + bytes);
        else
            disk->wrong_writes++;
        if (inside)
            wait_add(&copy->latency, elapsed_ns(now_ns, source->input.came_ns[stream->symbols]));
        stream->symbols++;
        stream->offset += bytes;
        reply->size_bytes += bytes;
    }
    copy->right_bytes = extent_bytes(&handle->right);
    disk->writes++;
    if (request->block_symbols != 0)
        end_block(handle, stream, request->block_symbols, reply);
}

void sim_stream_answer(struct sim_disk *disk, uint8_t index, struct disk_reply *reply, uint64_t now_ns)
{
    struct sim_handle *handle = &disk->handles[index];
    struct sim_stream *stream = &handle->stream;
    stream->waiting = false;
    *reply = (struct disk_reply){
        .op = stream->request.op, .handle = stream->request.handle, .cookie = stream->request.cookie};
    if (stream->interrupted) {
        reply->status = DISK_FAILED;
        snprintf(reply->text, sizeof(reply->text), "interrupted");
    } else if (stream->request.op == DISK_FEED) {
        feed(disk, handle, reply, now_ns);
    } else {
        drain(disk, handle, reply, now_ns);
    }
}
