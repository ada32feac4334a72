#include "node/kind/stream_parts.h"

static bool has_place(const struct job *job, uint32_t child, uint32_t count_max, struct feed_item *item)
{
    uint64_t limit = job->children.of[child].room_blocks * job->geometry.block_symbols;
    if (item->repair || stream_number(&job->stream->window, item->symbol) < limit)
        return true;
    /* Blocks come nearly in order: nearly always none of the others has a place either. */
    for (uint32_t left = job->object->feeds[child].ready.count; left > 0; left--) {
        feed_defer(job->object, child);
        if (feed_peek(job->object, child, count_max, item) &&
            stream_number(&job->stream->window, item->symbol) < limit)
            return true;
    }
    return false;
}

bool stream_may_send(const struct job *job, uint32_t child, uint32_t count_max, struct feed_item *item)
{
    if (!has_place(job, child, count_max, item))
        return false;
    /* No packet goes over the end of what it can count. */
    uint64_t left = (1ULL << STREAM_WIRE_BITS) -
                    stream_number(&job->stream->window, item->symbol) % (1ULL << STREAM_WIRE_BITS);
    item->count = (uint32_t)MIN((uint64_t)item->count, left);
    return true;
}
