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

/* What the job has for that child now, of the stripes that have a place there. */
static bool offers(const struct flow *flow, const struct job *job, uint8_t index, bool urgent,
                   struct feed_item *item)
{
    uint32_t count_max = job->children.of[index].symbols_per_packet;
    uint8_t full = job->trees.schedule.count > 1 ? flow->full_there : 0;
    if (!wants(job) || !feed_peek_past(job->object, index, full, count_max, item))
        return false;
    if (job->kind->may_send != NULL && !job->kind->may_send(job, index, full, count_max, item))
        return false;
    return !urgent || item->repair || item->begun;
}

struct job *turn_next_item(struct node *node, struct peer *peer, bool urgent, uint64_t horizon_ns,
                           struct feed_item *item, uint64_t *held_ns)
{
    const struct flow *flow = flow_of(node, peer);
    struct job *chosen = NULL;
    uint64_t least = UINT64_MAX;
    *held_ns = TIME_NEVER;
    for (uint16_t mask = peer->jobs_out; mask != 0; mask &= (uint16_t)(mask - 1)) {
        struct job *job = &node->jobs[__builtin_ctz(mask)];
        uint8_t index = job->children.of_peer[peer->index];
        const struct child *child = &job->children.of[index];
        uint64_t tag = fair_tag(&flow->turns, &child->share);
        struct feed_item found;
        if (tag >= least || !offers(flow, job, index, urgent, &found))
            continue;
        if (pacer_next_ns(&child->pacer) > horizon_ns) {
            *held_ns = MIN(*held_ns, pacer_next_ns(&child->pacer));
            continue;
        }
        chosen = job;
        least = tag;
        *item = found;
    }
    return chosen;
}

void turn_on_sent(struct flow *flow, struct job *job, struct child *child, uint32_t wire_bytes,
                  uint64_t depart_ns)
{
    if (job->first_data_ns == 0)
        job->first_data_ns = depart_ns;
    fair_on_sent(&flow->turns, &child->share,
                 (uint64_t)wire_bytes << (CONTROL_PRIORITY_MAX - job->controls.priority));
    pacer_on_sent(&child->pacer, wire_bytes, MAX(depart_ns, pacer_next_ns(&child->pacer)));
}
