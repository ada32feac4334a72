#include "node/flow/credit.h"

#include "edge/receiver.h"

#define PLACES_FEW 16u /* blocks: from so many on a job's room is not told, the edge's credit is enough */
_Static_assert(WIRE_ACK_PLACES_MAX >= NODE_JOBS_MAX && PLACES_FEW < FEED_ROOM_ANY,
               "an ack says it of all jobs");

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

/* What no other block of the job has a place for here: its stripes that come from the peer, one bit each. */
static uint8_t full_stripes(const struct job *job, const struct peer *peer)
{
    return object_full_stripes(job->object) & trees_fed_by(job, peer->index);
}

/* One tree alone has all of the memory: credit says it all. */
static bool has_few(const struct node *node, const struct job *job)
{
    return job_is_known(job) && job->object != NULL && !job->object->source &&
           (node->store.objects_open > 1 || job->trees.schedule.count > 1);
}

uint8_t credit_places(const struct node *node, struct peer *peer, struct wire_place *places)
{
    struct flow *flow = flow_of(node, peer);
    uint8_t count = 0;
    flow->jobs_full = 0;
    for (uint32_t slot = 0; slot < NODE_JOBS_MAX; slot++) {
        const struct job *job = &node->jobs[slot];
        if (!has_few(node, job) || trees_fed_by(job, peer->index) == 0)
            continue;
        uint32_t room = object_room(job->object);
        if (room >= PLACES_FEW && job->trees.schedule.count == 1)
            continue;
        uint8_t full = full_stripes(job, peer);
        if (room >= PLACES_FEW && full == 0)
            continue;
        places[count++] =
            (struct wire_place){.job = job->id, .full_stripes = full, .room = (uint8_t)MIN(room, PLACES_FEW)};
        flow->full_told[slot] = full;
        flow->jobs_full |= (uint16_t)((full != 0) << slot);
    }
    return count;
}

/* Of what some job was said to have no place for it has one again. */
static bool has_place_again(const struct node *node, const struct peer *peer)
{
    const struct flow *flow = flow_of(node, peer);
    for (uint16_t jobs = flow->jobs_full; jobs != 0; jobs &= (uint16_t)(jobs - 1)) {
        uint32_t slot = (uint32_t)__builtin_ctz(jobs);
        const struct job *job = &node->jobs[slot];
        if (!has_few(node, job) || (flow->full_told[slot] & ~full_stripes(job, peer)) != 0)
            return true;
    }
    return false;
}

bool credit_has_news(const struct node *node, struct peer *peer)
{
    struct flow *flow = flow_of(node, peer);
    if (has_place_again(node, peer)) {
        flow->jobs_full = 0;
        return true;
    }
    if (flow->credit_told >= RECEIVER_ACK_PACKETS || credit_packets(node, peer) < RECEIVER_ACK_PACKETS)
        return false;
    flow->credit_told = UINT32_MAX;
    return true;
}
