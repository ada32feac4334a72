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

uint32_t credit_packets(const struct node *node, const struct peer *peer)
{
    uint64_t parents = 0, jobs = 0;
    for (uint32_t slot = 0; slot < NODE_JOBS_MAX; slot++) {
        const struct job *job = &node->jobs[slot];
        if (!job_is_known(job) || job->object == NULL || job->parent >= NODE_PEERS_MAX)
            continue;
        parents |= 1ULL << job->parent;
        jobs++;
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

bool credit_has_news(const struct node *node, struct peer *peer)
{
    struct flow *flow = flow_of(node, peer);
    if (flow->credit_told >= RECEIVER_ACK_PACKETS || credit_packets(node, peer) < RECEIVER_ACK_PACKETS)
        return false;
    flow->credit_told = UINT32_MAX;
    return true;
}
