#include "node/role/unlisted.h"

#include <inttypes.h>

#include "node/role/rights.h"

bool unlisted_may_tell(struct node *node, uint16_t peer, uint64_t now_ns)
{
    struct offer_budget *budget = &node->offers[peer].budget;
    if (rights_listed(node, peer))
        return true;
    uint64_t passed_ns = elapsed_ns(now_ns, budget->filled_ns);
    uint64_t more = MIN(muldiv64(passed_ns, UNLISTED_PARTS_PS, NS_PER_S), (uint64_t)UNLISTED_PARTS);
    budget->used -= MIN(budget->used, (uint32_t)more);
    budget->filled_ns = budget->used == 0 ? now_ns : budget->filled_ns + more * NS_PER_S / UNLISTED_PARTS_PS;
    if (budget->used == UNLISTED_PARTS)
        return false;
    budget->used++;
    return true;
}

/* Block tables that the part takes, at most: a stream's window has no more than there are slots. What is no geometry has none. */
static uint64_t blocks_of(const struct node *node, const struct wire_part *part)
{
    struct geometry geometry;
    struct err err;
    if (part->object == PART_OBJECT_STREAM)
        return MIN(part->stream_blocks, node->store.slot_count);
    return geometry_init(&geometry, part->size_bytes, part->symbol_bytes, part->block_symbols, &err)
               ? geometry.blocks
               : 0;
}

/* It counts against the peer's bounds: of its own, or of all that no directory lists. */
static bool shares_bounds(const struct node *node, uint16_t peer, const struct job *job)
{
    if (!job_is_known(job) || job->phase == PHASE_CLOSED || job->source != NULL)
        return false;
    if (job->source_peer == peer)
        return true;
    return node->config.directory_count > 0 && !rights_listed(node, job->source_peer);
}

/* What the jobs have that share the peer's bounds. */
struct held {
    uint32_t jobs, slots;
    uint64_t blocks;
};

static struct held held_beside(const struct node *node, uint16_t peer, const struct job *replaced)
{
    struct held held = {0};
    for (uint32_t slot = 0; slot < NODE_JOBS_MAX; slot++) {
        const struct job *job = &node->jobs[slot];
        if (job == replaced || !shares_bounds(node, peer, job))
            continue;
        held.jobs++;
        held.blocks += job->object == NULL ? 0 : job->object->geometry.blocks;
        held.slots += job->object == NULL ? 0 : object_kept(job->object);
    }
    return held;
}

static bool has_bounds(const struct node *node, uint16_t peer)
{
    return node->peer_count > 1 && !rights_listed(node, peer);
}

/* Of what there is, in quarters. */
static uint64_t share_of(const struct node *node, uint64_t all, unsigned quarters)
{
    return all / 4 * (node->config.directory_count > 0 ? quarters : 3);
}

bool unlisted_fits(const struct node *node, uint16_t peer, const struct job *replaced,
                   const struct wire_part *part, struct err *err)
{
    uint64_t jobs_max = share_of(node, NODE_JOBS_MAX, 2),
             blocks_max = share_of(node, node->config.blocks_max, 1);
    if (!has_bounds(node, peer))
        return true;
    struct held held = held_beside(node, peer, replaced);
    uint64_t blocks = blocks_of(node, part), free_blocks = blocks_max - MIN(held.blocks, blocks_max);
    if (held.jobs >= jobs_max)
        return err_set(err, "%s relays %" PRIu64 " jobs at once for sources that no directory lists",
                       node->config.name, jobs_max);
    return blocks <= free_blocks ||
           err_set(err,
                   "%s has %" PRIu64 " blocks for sources that no directory lists; %" PRIu64
                   " needed, %" PRIu64 " free",
                   node->config.name, blocks_max, blocks, free_blocks);
}

uint32_t unlisted_trees(const struct node *node, uint16_t peer, const struct job *replaced, uint32_t most)
{
    uint32_t slots_max = (uint32_t)share_of(node, node->store.slot_count, 1);
    if (!has_bounds(node, peer))
        return most;
    struct held held = held_beside(node, peer, replaced);
    uint32_t left = slots_max - MIN(held.slots, slots_max);
    left = MIN(most, left);
    return MAX(left, 1u);
}
