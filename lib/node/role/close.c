#include "node/role/close.h"

#include "node/flow/edges.h"

void close_begin(struct node *node, struct job *job, enum job_state outcome, uint64_t now_ns)
{
    if (phase_ends(job->phase))
        return;
    job->outcome = (uint8_t)outcome;
    job->ended_ns = now_ns;
    edges_stop(node, job);
    job_enter(node, job, PHASE_CLOSING);
    core_note_state(node, job->id, outcome);
    core_wake_jobs(node, now_ns);
    core_schedule(node, now_ns);
}
