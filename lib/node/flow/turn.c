#include "node/flow/turn.h"

#include "node/job/object_kind.h"

/* What lies in memory only would keep its place from other jobs for as long as a pause lasts. */
static bool passes_on(const struct job *job)
{
    return job->source == NULL && job->object->discard && !job->kind->endless;
}

static bool wants(const struct job *job)
{
    return phase_runs(job->phase) && job->object != NULL && (!job->controls.paused || passes_on(job));
}

/* What the job has for that child now, of what has a place there. */
static bool offers(const struct job *job, uint8_t index, struct feed_item *item)
{
    uint32_t count_max = job->children.of[index].symbols_per_packet;
    if (!wants(job) || !feed_peek(job->object, index, count_max, item))
        return false;
    return job->kind->may_send == NULL || job->kind->may_send(job, index, count_max, item);
}

/* The job with the smallest tag. */
static uint32_t next_slot(const struct flow *flow, uint16_t jobs)
{
    uint32_t next = 0;
    uint64_t least = UINT64_MAX;
    for (; jobs != 0; jobs &= (uint16_t)(jobs - 1)) {
        uint32_t slot = (uint32_t)__builtin_ctz(jobs);
        uint64_t tag = fair_tag(&flow->turns, &flow->shares[slot]);
        next = tag < least ? slot : next;
        least = MIN(tag, least);
    }
    return next;
}

/* Asks the job; what has nothing is not asked again before something happens to it. */
static bool ask(struct node *node, const struct peer *peer, uint32_t slot, bool urgent,
                struct feed_item *item)
{
    struct flow *flow = flow_of(node, peer);
    const struct job *job = &node->jobs[slot];
    if (!offers(job, job->children.of_peer[peer->index], item)) {
        flow->dry |= (uint16_t)(1u << slot);
        return false;
    }
    return !urgent || item->repair || item->begun;
}

static uint64_t cap_ns(const struct node *node, const struct peer *peer, uint32_t slot)
{
    const struct job *job = &node->jobs[slot];
    return pacer_next_ns(&job->children.of[job->children.of_peer[peer->index]].pacer);
}

/* When the first of the jobs that have something may send. */
static uint64_t first_cap_ns(struct node *node, const struct peer *peer, uint16_t jobs, bool urgent)
{
    uint64_t first_ns = TIME_NEVER;
    struct feed_item item;
    for (; jobs != 0; jobs &= (uint16_t)(jobs - 1)) {
        uint32_t slot = (uint32_t)__builtin_ctz(jobs);
        if (ask(node, peer, slot, urgent, &item))
            first_ns = MIN(first_ns, cap_ns(node, peer, slot));
    }
    return first_ns;
}

struct job *turn_next_item(struct node *node, struct peer *peer, bool urgent, uint64_t horizon_ns,
                           struct feed_item *item, uint64_t *held_ns)
{
    const struct flow *flow = flow_of(node, peer);
    uint16_t held = 0;
    *held_ns = TIME_NEVER;
    for (uint16_t left = peer->jobs_out & (uint16_t)~flow->dry; left != 0;) {
        uint32_t slot = next_slot(flow, left);
        left &= (uint16_t) ~(1u << slot);
        if (cap_ns(node, peer, slot) > horizon_ns)
            held |= (uint16_t)(1u << slot);
        else if (ask(node, peer, slot, urgent, item))
            return &node->jobs[slot];
    }
    *held_ns = first_cap_ns(node, peer, held, urgent);
    return NULL;
}

void turn_on_sent(struct flow *flow, struct job *job, struct child *child, uint32_t wire_bytes,
                  uint64_t depart_ns)
{
    if (job->first_data_ns == 0)
        job->first_data_ns = depart_ns;
    fair_on_sent(&flow->turns, &flow->shares[job->slot],
                 (uint64_t)wire_bytes << (CONTROL_PRIORITY_MAX - job->controls.priority));
    pacer_on_sent(&child->pacer, wire_bytes, MAX(depart_ns, pacer_next_ns(&child->pacer)));
}
