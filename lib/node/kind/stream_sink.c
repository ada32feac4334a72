/* A stream at a site: what came in order goes to the sink at once, its hash is checked when its block is
 * whole, and the end says whether that was all. A site whose sink fails, or is too slow, goes on for its
 * children. */
#include <inttypes.h>
#include <string.h>

#include "node/kind/stream_parts.h"
#include "node/peer/post.h"

bool stream_has_sink(const struct job *job)
{
    return job->source == NULL && job->part.fixed.keep && !job_sink_lost(job) && job->phase <= PHASE_RUNNING;
}

bool stream_drains(const struct job *job)
{
    return stream_has_sink(job) && job->disk.sink != SINK_CLOSED && job->phase == PHASE_RUNNING;
}

/* The source itself hears of room for hashes. Where it feeds this site it hears enough. */
static void tell_hash_room(struct node *node, struct job *job)
{
    struct job_stream *stream = job->stream;
    uint64_t room = stream_limit(&stream->window) + STREAM_HASHES;
    struct wire_stream_room message = {.job = job->id, .blocks = room};
    bool compares = job->part.fixed.keep && job->part.fixed.hash != PART_HASH_NONE;
    if (compares && room >= stream->hash_room_told + STREAM_HASHES / 4 &&
        trees_fed_by(job, job->source_peer) == 0 &&
        post(node, job->source_peer, CONTROL_STREAM_ROOM, &message))
        stream->hash_room_told = room;
}

void stream_tell_room(struct node *node, struct job *job)
{
    struct job_stream *stream = job->stream;
    uint64_t limit = stream_limit(&stream->window);
    uint16_t parents[STRIPES_MAX];
    for (uint32_t index = trees_parents(job, parents); index-- > 0 && !phase_ends(job->phase);) {
        uint64_t *told = &stream->room_told[trees_first_of(job, parents[index])];
        /* One message per block is little, unless the path is so long that they pile up. */
        bool piled = post_room(node, parents[index]) < MAIL_QUEUE / 2;
        uint64_t step = piled ? job->geometry.blocks / 4 : 1;
        struct wire_stream_room room = {.job = job->id, .blocks = limit};
        if (limit >= *told + step && post(node, parents[index], CONTROL_STREAM_ROOM, &room))
            *told = limit;
    }
    if (!phase_ends(job->phase))
        tell_hash_room(node, job);
}

void stream_drain(struct node *node, struct job *job)
{
    struct job_stream *stream = job->stream;
    uint32_t slot, first, count;
    bool whole;
    if (stream->busy || !stream_drains(job) || !stream_run(&stream->window, &slot, &first, &count, &whole))
        return;
    store_hold(&node->store, slot);
    stream->busy = true;
    stream->slot = slot;
    stream->count = count;
    stream->whole = whole;
    job_request(node, job,
                &(struct disk_request){.op = DISK_DRAIN,
                                       .data = node->store.slots[slot].data,
                                       .sealed = job_sealed(node, job, slot, stream->window.next - first),
                                       .symbol_bytes = (uint16_t)job->geometry.symbol_bytes,
                                       .first = (uint16_t)first,
                                       .count = (uint16_t)count,
                                       .block_symbols = (uint16_t)(whole ? first + count : 0)});
}

void stream_interrupt(struct node *node, struct job *job)
{
    if (job->stream == NULL || !job->stream->busy || job->stream->interrupted)
        return;
    job->stream->interrupted = true;
    job->disk.sink = SINK_ENDED;
    job_request(node, job, &(struct disk_request){.op = DISK_ABORT});
}

/* What was handed out is compared no more: the source tells no hashes to whom it counts as failed. */
static void compare_no_more(struct job *job)
{
    for (uint64_t place = 0; place < job->geometry.blocks; place++)
        if (job->object->state[place] == BLOCK_HELD)
            object_expect(job->object, place, &job->object->hash[place]);
}

/* What is whole and was not handed out is only there for the children from now on. */
void stream_on_sink_lost(struct node *node, struct job *job)
{
    struct stream *window = &job->stream->window;
    compare_no_more(job);
    for (uint64_t place = stream_complete(window, 0); place != UINT64_MAX;
         place = stream_complete(window, place + 1))
        stream_done(window, place, NULL);
    stream_interrupt(node, job);
}

static void bad_block(struct node *node, struct job *job, uint64_t block, uint64_t now_ns)
{
    node->counters.blocks_bad++;
    job_fail(node, job, now_ns, "block %" PRIu64 " of the stream is not what the source read", block);
}

static void count_verified(struct job *job)
{
    struct job_stream *stream = job->stream;
    if (stream->whole_blocks > 0 && stream_verified(&stream->window, stream->whole_blocks - 1))
        stream->verified_bytes = stream->whole_bytes;
}

bool stream_take_drained(struct node *node, struct job *job, const struct disk_reply *reply, uint64_t now_ns)
{
    struct job_stream *stream = job->stream;
    if (job_sink_lost(job))
        return false;
    if (reply->status != DISK_OK) {
        job_fail(node, job, now_ns, "%s", reply->text);
        return true;
    }
    uint64_t block = stream->window.next / job->geometry.block_symbols;
    stream->bytes += reply->size_bytes;
    stream->window.next += stream->count;
    if (stream->whole) {
        uint64_t place = block % job->geometry.blocks;
        stream->whole_bytes = stream->bytes;
        stream->whole_blocks = block + 1;
        if (!stream_done(&stream->window, place, stream_hash_of(job, reply)))
            bad_block(node, job, block, now_ns);
        else
            node->counters.blocks_verified++;
        count_verified(job);
    }
    return true;
}

void stream_give_hashes(struct node *node, struct job *job)
{
    struct job_stream *stream = job->stream;
    uint64_t end = MIN(stream->hash_next, stream_limit(&stream->window));
    for (; stream->hash_taken < end; stream->hash_taken++)
        if (!stream_expect(&stream->window, stream->hash_taken,
                           &stream->hashes[stream->hash_taken % STREAM_HASHES]))
            bad_block(node, job, stream->hash_taken, node->now_ns);
}

bool stream_take_hashes(struct node *node, struct job *job, const struct control_hashes *hashes)
{
    struct job_stream *stream = job->stream;
    uint64_t first = hashes->fixed.first_block, limit = stream_limit(&stream->window);
    if (first > stream->hash_next || first + hashes->fixed.count > limit + STREAM_HASHES)
        return false;
    while (stream->hash_next < first + hashes->fixed.count) { /* the first one of a block counts */
        stream->hashes[stream->hash_next % STREAM_HASHES] = hashes->hashes[stream->hash_next - first];
        stream->hash_next++;
        stream_give_hashes(node, job);
    }
    count_verified(job);
    return true;
}

static bool all_verified(const struct job *job)
{
    const struct stream *window = &job->stream->window;
    uint32_t block_symbols = job->geometry.block_symbols;
    /* Nothing is added to what the source told: it may be any number. */
    uint64_t blocks = window->symbols / block_symbols + (window->symbols % block_symbols != 0);
    for (uint64_t block = window->first; block < blocks; block++)
        if (!stream_verified(window, block))
            return false;
    return true;
}

void stream_check_complete(struct node *node, struct job *job)
{
    struct job_stream *stream = job->stream;
    if (!stream->end_known || job->phase != PHASE_RUNNING || stream->busy || !all_verified(job))
        return;
    if (!job->part.fixed.keep) {
        job_verified(node, job, "relayed");
        return;
    }
    if (job->result != SITE_RECEIVING || stream->window.next != stream->window.symbols)
        return;
    stream->verified_bytes = stream->bytes;
    job->disk.sink = SINK_ENDED;
    job_finish(node, job);
}

void stream_on_finished(struct node *node, struct job *job, const struct disk_reply *reply, uint64_t now_ns)
{
    const struct wire_stream_end *end = &job->stream->end;
    const struct wire_hash *chain = stream_hash_of(job, reply);
    if (reply->status != DISK_OK)
        job_fail(node, job, now_ns, "%s", reply->text);
    else if (job->stream->bytes != end->bytes)
        job_fail(node, job, now_ns, "%" PRIu64 " bytes were handed out, the source read %" PRIu64,
                 job->stream->bytes, end->bytes);
    else if (chain != NULL && memcmp(chain, &end->chain, sizeof(*chain)) != 0)
        job_fail(node, job, now_ns, "the hash over all blocks is not the source's");
    else
        job_verified(node, job, reply->text);
    name_copy(job->note, sizeof(job->note), reply->note);
}
