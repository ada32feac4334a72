#include "node/flow/unasked.h"

#include "node/flow/flow.h"
#include "node/peer/post.h"

#define AGAIN_NS NS_PER_S

/* Where the job stands, or the place that was used longest ago; UNASKED_JOBS: not now. */
static unsigned place_for(const struct unasked *unasked, uint32_t job, uint64_t now_ns)
{
    unsigned chosen = 0;
    for (unsigned place = 0; place < UNASKED_JOBS; place++) {
        if (unasked->told_ns[place] < unasked->told_ns[chosen])
            chosen = place;
        if (unasked->jobs[place] != job || unasked->told_ns[place] == 0)
            continue;
        chosen = place;
        break;
    }
    bool rests = unasked->told_ns[chosen] != 0 && now_ns < later_ns(unasked->told_ns[chosen], AGAIN_NS);
    return rests ? UNASKED_JOBS : chosen;
}

void unasked_data(struct node *node, struct peer *peer, uint32_t job, uint64_t now_ns)
{
    struct unasked *unasked = &flow_of(node, peer)->unasked;
    struct control_close_job close = {.fixed = {.job = job, .outcome = CLOSE_FAILED}};
    unsigned place = place_for(unasked, job, now_ns);
    if (place == UNASKED_JOBS || !post_has_ample_room(node, peer->index))
        return;
    name_copy(close.text, sizeof(close.text), "the job is not known here, or is not fed from there");
    if (!post(node, peer->index, CONTROL_CLOSE_JOB, &close))
        return;
    unasked->jobs[place] = job;
    unasked->told_ns[place] = MAX(now_ns, UINT64_C(1));
    node->counters.feeds_unasked++;
}
