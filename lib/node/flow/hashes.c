#include "node/flow/hashes.h"

#include <string.h>

#include "node/peer/post.h"

#define HASH_INTERVAL_NS (5 * NS_PER_MS)

static void note_known_hashes(struct job *job)
{
    while (job->hash_ready < job->geometry.blocks && (job->object->hash_known[job->hash_ready] & 1) != 0)
        job->hash_ready++;
}

static bool send_hash_group(struct node *node, const struct job *job, struct child *child)
{
    struct control_hashes hashes = {.fixed = {.job = job->id, .first_block = child->hash_next}};
    uint64_t count = MIN(job->hash_ready - child->hash_next, (uint64_t)CONTROL_HASHES_MAX);
    hashes.fixed.count = (uint16_t)count;
    memcpy(hashes.hashes, &job->object->hash[child->hash_next], count * sizeof(hashes.hashes[0]));
    if (!post(node, child->peer, CONTROL_HASHES, &hashes))
        return false;
    child->hash_next += count;
    return true;
}

void hashes_send(struct node *node, struct job *job, uint64_t now_ns)
{
    if (job->part.fixed.hash == PART_HASH_NONE || job->object == NULL || !phase_runs(job->phase))
        return;
    note_known_hashes(job);
    for (uint16_t index = 0; index < job->children.count; index++) {
        struct child *child = &job->children.of[index];
        if (child->gone || (child->stripes & 1) == 0)
            continue; /* once per site: down the first tree */
        uint64_t interval_ns = MAX(node->peers[child->peer].sender.rtt.smoothed_ns / 16, HASH_INTERVAL_NS);
        bool waited = now_ns >= later_ns(child->hash_sent_ns, interval_ns);
        while (job->hash_ready > child->hash_next && post_has_ample_room(node, child->peer) &&
               (waited || job->hash_ready - child->hash_next >= CONTROL_HASHES_MAX)) {
            if (!send_hash_group(node, job, child))
                break;
            child->hash_sent_ns = now_ns;
        }
    }
}
