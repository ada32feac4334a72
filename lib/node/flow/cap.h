/* Caps: each job has a pacer on each of its edges: the smaller of the plan's rate and the operator's cap,
 * which is turned from payload to wire bytes of full packets. Everything that the job sends counts, repairs
 * included. The catch-up after a stall is twice the edge's, so that where the edge itself is the limit it is
 * the edge's pacer that decides. */
#pragma once

#include "node/flow/flow.h"

void cap_start(struct node *node, struct job *job, struct child *child, uint64_t now_ns);
/* The sum over the jobs that go to that peer, wire rate. */
uint64_t cap_edge_bps(const struct node *node, uint16_t peer);
/* The job's controls have changed. */
void cap_apply(struct node *node, struct job *job, uint64_t now_ns);
