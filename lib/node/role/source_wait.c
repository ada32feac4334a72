/* Whether a site that gets nothing waits for something that others share: the disk of this node, which reads for all of its
 * jobs, or the memory of a site, which takes the blocks of all of them. Neither says anything against the site, and both go
 * on; what stands still is judged as ever. */
#include "node/flow/flow.h"
#include "node/role/source.h"

/* What a job sends may be on its way by so many packets, and one per edge, before the site tells of them. */
#define PATIENCE_PACKETS 4u

/* Of the object, as far as the disk has given it: what is read once more counts no more. */
static uint64_t given_bytes(const struct job *job)
{
    uint64_t block_bytes = (uint64_t)job->geometry.block_symbols * job->geometry.symbol_bytes;
    return MIN(job->disk.given_end * block_bytes, job->geometry.size_bytes);
}

/* This job's reads wait for the disk, or those of others that have the memory meanwhile. */
static bool disk_reads(const struct node *node)
{
    bool reads = false;
    for (uint32_t slot = 0; slot < NODE_JOBS_MAX && !reads; slot++)
        reads = job_is_known(&node->jobs[slot]) && node->jobs[slot].source != NULL &&
                node->jobs[slot].disk.loads > 0;
    return reads;
}

bool source_disk_is_silent(const struct node *node, const struct job *job)
{
    return job->disk.loads > 0 &&
           core_lived_ns(node) >= later_ns(job->disk.heard_ns, node->config.stall_timeout_ns);
}

/* It lacks nothing that the sites between this node and it have. */
static bool has_all_above(const struct job *job, const struct site *site)
{
    uint16_t to = source_node_of_site(job, site);
    for (uint16_t tree = 0; to != PEER_NONE && tree < job->source->plan.tree_count; tree++) {
        const struct plan_tree *of = &job->source->plan.trees[tree];
        for (int up = plan_parent(of, to); up > 0; up = plan_parent(of, (uint16_t)up))
            if (source_site_of_node(job, (uint16_t)up)->received_max > site->received_max)
                return false;
    }
    return true;
}

/* Another job of this source has got on at that site within the stall timeout. What waits itself is no witness: two that wait
 * would vouch for each other for ever. */
static bool gets_on_elsewhere(struct node *node, const struct job *job, uint16_t peer)
{
    for (uint32_t slot = 0; slot < NODE_JOBS_MAX; slot++) {
        struct job *other = &node->jobs[slot];
        if (other == job || other->source == NULL || !phase_runs(other->phase))
            continue;
        const struct site *site = source_site(other, peer);
        if (site != NULL && !site->ended && site->grew_ns != 0 &&
            core_lived_ns(node) < later_ns(site->grew_ns, node->config.stall_timeout_ns))
            return true;
    }
    return false;
}

/* The site has all that was given; or nothing of the job is in memory for anybody, since others have taken that before it was
 * sent: it would be read again and again for a site that takes nothing. */
static bool waits_for_disk(struct node *node, const struct job *job, const struct site *site)
{
    bool none_held = job->object->slots_in_use <= job->disk.loads && has_all_above(job, site) &&
                     gets_on_elsewhere(node, job, site->peer);
    return disk_reads(node) && (none_held || site->received_max >= given_bytes(job));
}

static bool waits_for_memory(struct node *node, const struct job *job, const struct site *site)
{
    struct site_limit limit = source_site_limit(node, job, site);
    const struct site *full = source_site_of_node(job, limit.to);
    bool memory = limit.cause == EDGE_LIMIT_credit || limit.cause == EDGE_LIMIT_receiver_disk;
    return memory && full != NULL && gets_on_elsewhere(node, job, full->peer);
}

bool source_site_waits(struct node *node, const struct job *job, const struct site *site)
{
    return job->object != NULL && (waits_for_disk(node, job, site) || waits_for_memory(node, job, site));
}

/* Among the jobs of this node on the edge to that child, if all of them have something to send. Alone it has no share: what
 * its edge falls to is no excuse. */
static uint64_t share_bps(const struct node *node, const struct job *job, const struct child *child)
{
    const struct peer *peer = &node->peers[child->peer];
    uint64_t weights = 0;
    for (uint16_t left = peer->jobs_out; left != 0; left &= (uint16_t)(left - 1))
        weights += UINT64_C(1) << node->jobs[__builtin_ctz(left)].controls.priority;
    uint64_t own = UINT64_C(1) << job->controls.priority;
    return weights <= own ? UINT64_MAX : muldiv64(peer->sender.congestion.rate_bps, own, weights);
}

/* What a packet takes at its share of the slowest edge to a child, or at its cap; alone: no edge is shared. */
static uint64_t packet_ns(const struct node *node, const struct job *job, bool *alone)
{
    uint64_t least_bps = UINT64_MAX;
    *alone = true;
    for (uint16_t index = 0; index < job->children.count; index++) {
        const struct child *child = &job->children.of[index];
        uint64_t edge_bps = child->gone ? UINT64_MAX : share_bps(node, job, child);
        *alone = *alone && edge_bps == UINT64_MAX;
        edge_bps = child->gone ? UINT64_MAX : MIN(edge_bps, child->pacer.rate_bps);
        least_bps = MIN(least_bps, edge_bps);
    }
    return transmit_ns(job->geometry.symbol_bytes, MAX(least_bps, UINT64_C(1)));
}

void source_note_share(const struct node *node, struct job *job)
{
    bool alone;
    uint64_t now_packet_ns = packet_ns(node, job, &alone);
    if (alone)
        return;
    job->source->shared_ns = core_lived_ns(node);
    job->source->shared_packet_ns = now_packet_ns;
}

uint64_t source_patience_ns(const struct node *node, const struct job *job, const struct site *site)
{
    uint16_t to = source_node_of_site(job, site);
    const struct source *source = job->source;
    uint64_t edges = 0, stall_ns = node->config.stall_timeout_ns;
    bool alone;
    for (uint16_t tree = 0; to != PEER_NONE && tree < source->plan.tree_count; tree++) {
        uint64_t depth = 0;
        for (int up = to; up > 0; up = plan_parent(&source->plan.trees[tree], (uint16_t)up))
            depth++;
        edges = MAX(edges, depth);
    }
    uint64_t patience_ns = stall_ns + (PATIENCE_PACKETS + edges) * packet_ns(node, job, &alone);
    if (!alone || source->shared_ns == 0)
        return patience_ns;
    uint64_t shared_ns = stall_ns + (PATIENCE_PACKETS + edges) * source->shared_packet_ns;
    uint64_t over_ns = elapsed_ns(later_ns(source->shared_ns, stall_ns), site->progress_ns);
    return MAX(patience_ns, MIN(shared_ns, over_ns));
}
