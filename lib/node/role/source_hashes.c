/* What content is told by: hashes of blocks, and where a stream ends. Each site hears it from the source in their own session,
 * so that whoever feeds it can neither change the one nor shorten the other. */
#include <stdio.h>

#include "node/flow/edges.h"
#include "node/job/object_kind.h"
#include "node/kind/stream.h"
#include "node/peer/post.h"
#include "node/role/source.h"

#define HASH_INTERVAL_NS (5 * NS_PER_MS)

/* A site that only relays has nothing to compare. One that was given up may come back; but what it lacks of a stream is
 * gone by then. */
static bool compares(const struct job *job, const struct site *site)
{
    bool takes_part = site->has_part && site->included && site->receiver;
    return takes_part && !(job->kind->endless && site->ended);
}

static uint32_t count_comparing(const struct job *job)
{
    uint32_t count = 0;
    for (uint16_t index = 0; index < job->source->site_count; index++)
        count += compares(job, &job->source->sites[index]);
    return count;
}

/* The next hashes for the site, as far as they are known and it has room for them. */
static void next_hashes(const struct job *job, const struct site *site, struct control_hashes *hashes)
{
    const struct wire_hash *hash;
    uint64_t end = job->kind->endless ? site->hash_room : job->geometry.blocks;
    hashes->fixed = (struct wire_hashes){.job = job->id, .first_block = site->hash_next};
    for (uint64_t block = site->hash_next; block < end && hashes->fixed.count < CONTROL_HASHES_MAX; block++) {
        if ((hash = job->kind->hash(job, block)) == NULL)
            return;
        hashes->hashes[hashes->fixed.count++] = *hash;
    }
}

/* Of a file in groups: the more sites, the larger, so that all together cost what one would. A stream's window waits for
 * them. */
static void tell_hashes(struct node *node, struct job *job, struct site *site, uint32_t sites,
                        uint64_t now_ns)
{
    uint64_t interval_ns = MAX(node->peers[site->peer].sender.rtt.smoothed_ns / 16, HASH_INTERVAL_NS * sites);
    bool waited = job->kind->endless || now_ns >= later_ns(site->hash_sent_ns, interval_ns);
    struct control_hashes hashes;
    bool posted = true;
    while (posted && post_has_ample_room(node, site->peer)) {
        next_hashes(job, site, &hashes);
        bool last = !job->kind->endless && site->hash_next + hashes.fixed.count == job->geometry.blocks;
        if (hashes.fixed.count == 0 || (!waited && !last && hashes.fixed.count < CONTROL_HASHES_MAX))
            return;
        posted = last || job->kind->endless ? post_surely(node, site->peer, CONTROL_HASHES, &hashes)
                                            : post(node, site->peer, CONTROL_HASHES, &hashes);
        site->hash_next += posted ? hashes.fixed.count : 0;
        site->hash_sent_ns = now_ns;
    }
}

/* A site that has no room for what it is to compare with is as slow as one that takes no data. */
static void judge_slow(struct node *node, struct job *job, uint64_t now_ns)
{
    if (job->part.fixed.stream_slow == PART_SLOW_WAIT || job->controls.paused || !stream_waits_to_tell(job))
        return;
    for (uint16_t index = 0; index < job->source->site_count; index++) {
        struct site *site = &job->source->sites[index];
        if (!compares(job, site) || site->hash_next > job->hash_told)
            continue;
        edges_drop(node, job, site->peer);
        node->counters.live_dropped++;
        source_site_ended(site, SITE_FAILED,
                          "too slow for the retention window: takes no hashes of what is in it", now_ns);
    }
}

static void tell_all_hashes(struct node *node, struct job *job, uint64_t now_ns)
{
    uint32_t sites = count_comparing(job);
    job->hash_told = UINT64_MAX;
    for (uint16_t index = 0; index < job->source->site_count; index++) {
        struct site *site = &job->source->sites[index];
        if (!compares(job, site))
            continue;
        tell_hashes(node, job, site, sites, now_ns);
        job->hash_told = MIN(job->hash_told, site->hash_next);
    }
    if (job->kind->endless)
        judge_slow(node, job, now_ns);
}

static void tell_end(struct node *node, const struct job *job)
{
    for (uint16_t index = 0; index < job->source->site_count; index++) {
        struct site *site = &job->source->sites[index];
        if (site->has_part && site->included && !site->ended && !site->end_told)
            site->end_told = post(node, site->peer, CONTROL_STREAM_END, &job->stream->end);
    }
}

void source_tell_content(struct node *node, struct job *job, uint64_t now_ns)
{
    if (job->object == NULL)
        return;
    if (job->part.fixed.hash != PART_HASH_NONE)
        tell_all_hashes(node, job, now_ns);
    if (job->stream != NULL && job->stream->end_known)
        tell_end(node, job);
}

void source_on_room(struct job *job, uint16_t peer, uint64_t blocks)
{
    struct site *site = source_site(job, peer);
    if (site != NULL)
        site->hash_room = MAX(site->hash_room, blocks);
}
