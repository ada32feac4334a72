#include "base/check.h"
#include "node/kind/stream_parts.h"

void stream_feed(struct node *node, struct job *job)
{
    struct job_stream *stream = job->stream;
    uint32_t first;
    if (stream->busy || stream->window.ended || !phase_runs(job->phase))
        return;
    uint32_t slot = stream_fill(&stream->window, &first);
    if (slot == SLOT_NONE)
        return; /* the input waits until the window moves */
    store_hold(&node->store, slot);
    stream->busy = true;
    stream->slot = slot;
    stream->count = job->geometry.block_symbols - first;
    job_request(node, job,
                &(struct disk_request){.op = DISK_FEED,
                                       .data = node->store.slots[slot].data,
                                       .sealed = job_sealed(node, job, slot, stream->window.next - first),
                                       .symbol_bytes = (uint16_t)job->geometry.symbol_bytes,
                                       .first = (uint16_t)first,
                                       .count = (uint16_t)stream->count,
                                       .block_symbols = (uint16_t)job->geometry.block_symbols});
}

static void on_whole(struct job *job, uint64_t place, const struct disk_reply *reply)
{
    struct stream *window = &job->stream->window;
    const struct wire_hash *hash = stream_hash_of(job, reply);
    uint32_t block_symbols = job->geometry.block_symbols;
    if (hash != NULL)
        stream_expect(window, stream_number(window, place * block_symbols) / block_symbols, hash);
    stream_done(window, place, hash);
}

bool stream_take_fed(struct node *node, struct job *job, const struct disk_reply *reply)
{
    struct job_stream *stream = job->stream;
    if (reply->status != DISK_OK && reply->status != DISK_ENDED)
        return false;
    CHECK(reply->symbols <= stream->count);
    stream->bytes += reply->size_bytes;
    uint64_t completed = stream_filled(&stream->window, reply->symbols);
    if (completed != UINT64_MAX)
        on_whole(job, completed, reply);
    if (reply->status == DISK_ENDED) {
        CHECK(stream_end(&stream->window, stream->window.next, &completed));
        if (completed != UINT64_MAX)
            on_whole(job, completed, reply);
        job->disk.sink = SINK_ENDED;
        job_request(node, job, &(struct disk_request){.op = DISK_FINISH});
    }
    return true;
}

bool stream_take_input_end(struct node *node, struct job *job, const struct disk_reply *reply)
{
    struct job_stream *stream = job->stream;
    if (reply->status != DISK_OK)
        return false;
    stream->end_known = true;
    stream->end = (struct wire_stream_end){
        .job = job->id, .symbols = stream->window.symbols, .bytes = stream->bytes, .chain = reply->hash};
    core_wake_jobs(node, node->now_ns);
    return true;
}
