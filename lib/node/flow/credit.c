#include "node/flow/credit.h"

#include "edge/receiver.h"

enum edge_limit credit_limit(const struct node *node)
{
    uint64_t writing = 0;
    for (uint32_t slot = 0; slot < NODE_JOBS_MAX; slot++)
        if (job_is_known(&node->jobs[slot]) && node->jobs[slot].source == NULL)
            writing += node->jobs[slot].disk.outstanding;
    return writing > node->store.slot_count / 2 ? EDGE_LIMIT_receiver_disk : EDGE_LIMIT_credit;
}

/* One bit per peer that the job's object comes from. */
static uint64_t parents_of(const struct job *job)
{
    uint64_t parents = 0;
    if (!job_is_known(job) || job->object == NULL)
        return 0;
    for (uint8_t stripe = 0; stripe < job->trees.schedule.count; stripe++)
        if (job->trees.parent[stripe] != PEER_NONE)
            parents |= 1ULL << job->trees.parent[stripe];
    return parents;
}

uint32_t credit_packets(const struct node *node, const struct peer *peer)
{
    uint64_t parents = 0, jobs = 0;
    for (uint32_t slot = 0; slot < NODE_JOBS_MAX; slot++) {
        uint64_t of_job = parents_of(&node->jobs[slot]);
        parents |= of_job;
        jobs += of_job != 0;
    }
    uint64_t slots = store_room(&node->store, peer->index);
    if (slots == 0)
        return 0;
    slots = slots > jobs + 2 ? slots - jobs - 1 : 1;
    uint64_t share = MAX((uint64_t)__builtin_popcountll(parents), 1ULL);
    const struct flow *flow = flow_of(node, peer);
    uint64_t packets = slots * flow->credit_symbols / (share * flow->run_symbols);
    return (uint32_t)MIN(MAX(packets, (uint64_t)RECEIVER_ACK_PACKETS), (uint64_t)INT32_MAX);
}

/* Where several jobs of the peer travel in stripes, a stripe is full when it is so for all of them. */
uint8_t credit_full_stripes(const struct node *node, const struct peer *peer)
{
    uint8_t full = 0, open = 0;
    for (uint32_t slot = 0; slot < NODE_JOBS_MAX; slot++) {
        const struct job *job = &node->jobs[slot];
        if (!job_is_known(job) || job->object == NULL || job->trees.schedule.count < 2)
            continue;
        uint8_t fed = trees_fed_by(job, peer->index), of_job = object_full_stripes(job->object);
        full |= fed & of_job;
        open |= fed & (uint8_t)~of_job;
    }
    return full & (uint8_t)~open;
}

bool credit_has_news(const struct node *node, struct peer *peer)
{
    struct flow *flow = flow_of(node, peer);
    uint8_t full = flow->full_told == 0 ? 0 : flow->full_told & credit_full_stripes(node, peer);
    if (full != flow->full_told) {
        flow->full_told = full;
        return true;
    }
    if (flow->credit_told >= RECEIVER_ACK_PACKETS || credit_packets(node, peer) < RECEIVER_ACK_PACKETS)
        return false;
    flow->credit_told = UINT32_MAX;
    return true;
}
