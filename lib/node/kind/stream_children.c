#include "node/kind/stream_parts.h"

#include "node/peer/post.h"

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

void stream_tell_end(struct node *node, struct job *job)
{
    for (uint16_t child = 0; child < job->children.count; child++) {
        uint32_t bit = 1u << child;
        if ((job->stream->end_due & bit) == 0)
            continue;
        const struct child *to = &job->children.of[child];
        if (to->gone || post(node, to->peer, CONTROL_STREAM_END, &job->stream->end))
            job->stream->end_due &= ~bit;
    }
}

static void send_hash_group(struct node *node, const struct job *job, struct child *child)
{
    struct control_hashes hashes = {.fixed = {.job = job->id, .first_block = child->hash_next}};
    const struct wire_hash *hash;
    while (hashes.fixed.count < CONTROL_HASHES_MAX &&
           child->hash_next + hashes.fixed.count < child->room_blocks &&
           (hash = stream_hash(&job->stream->window, child->hash_next + hashes.fixed.count)) != NULL)
        hashes.hashes[hashes.fixed.count++] = *hash;
    if (hashes.fixed.count > 0 && post(node, child->peer, CONTROL_HASHES, &hashes))
        child->hash_next += hashes.fixed.count;
}

uint64_t stream_send_hashes(struct node *node, struct job *job)
{
    uint64_t told = UINT64_MAX;
    if (job->part.fixed.hash == PART_HASH_NONE)
        return told;
    for (uint16_t index = 0; index < job->children.count; index++) {
        struct child *child = &job->children.of[index];
        if (child->gone || (child->stripes & 1) == 0)
            continue; /* once per site: down the first tree */
        send_hash_group(node, job, child);
        told = MIN(told, child->hash_next);
    }
    return told;
}
