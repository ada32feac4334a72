/* The end of a job at this node begins: it leaves its edges; what the disk and the ports still hold is let
 * go of by role_tick, step by step. */
#pragma once

#include "node/job/job.h"
#include "node/job_state.h"

/* Nothing happens to a job that is closing. */
void close_begin(struct node *node, struct job *job, enum job_state outcome, uint64_t now_ns);
