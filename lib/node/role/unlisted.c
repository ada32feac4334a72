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
    if (more > 0) {
        budget->used -= MIN(budget->used, (uint32_t)more);
        budget->filled_ns = now_ns;
    }
    if (budget->used == UNLISTED_PARTS)
        return false;
    budget->used++;
    return true;
}

/* Block tables that the part takes, at most: a stream's window may be made smaller. What is no geometry has none. */
static uint64_t blocks_of(const struct wire_part *part)
{
    struct geometry geometry;
    struct err err;
    if (part->object == PART_OBJECT_STREAM)
        return part->stream_blocks;
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

bool unlisted_fits(const struct node *node, uint16_t peer, const struct job *replaced,
                   const struct wire_part *part, struct err *err)
{
    uint64_t share = node->config.directory_count > 0 ? 2 : 3; /* quarters */
    uint64_t blocks_max = node->config.blocks_max / 4 * share, blocks = blocks_of(part);
    uint32_t jobs_max = NODE_JOBS_MAX * (uint32_t)share / 4, jobs = 1;
    uint64_t taken = 0;
    if (rights_listed(node, peer) || node->peer_count == 1)
        return true;
    for (uint32_t slot = 0; slot < NODE_JOBS_MAX; slot++) {
        const struct job *job = &node->jobs[slot];
        if (job == replaced || !shares_bounds(node, peer, job))
            continue;
        jobs++;
        taken += job->object == NULL ? 0 : job->object->geometry.blocks;
    }
    if (jobs > jobs_max)
        return err_set(err, "%s relays %u jobs at once for sources that no directory lists",
                       node->config.name, jobs_max);
    if (blocks + taken <= blocks_max)
        return true;
    return err_set(err,
                   "%s relays %" PRIu64 " blocks at once for sources that no directory lists; %" PRIu64
                   " needed, %" PRIu64 " free",
                   node->config.name, blocks_max, blocks, blocks_max - MIN(taken, blocks_max));
}
