/* A flow that is one edge of Sluice and nothing else: a sender and a receiver of lib/edge joined by the
 * simulated path, without nodes, jobs and stores. The source always has something to send, the receiver has
 * always room; data packets and acks have their real sizes. The strategy is the kind's, by name; a flow with
 * a rate knows it, as an edge of a plan does, and never exceeds it. */
#pragma once

#include "sim/cross_flow.h"

struct cross_edge;

/* Whether there is a strategy for the kind (enum scenario_cross_kind). */
bool cross_edge_known(unsigned kind);
struct cross_edge *cross_edge_new(struct cross_flow *flow, uint64_t now_ns);
void cross_edge_free(struct cross_edge *edge);
/* Does what is due and says when to call again. `stopped`: sends nothing more. */
uint64_t cross_edge_run(struct cross_edge *edge, bool stopped, uint64_t now_ns);
/* `back`: an ack. */
void cross_edge_on_packet(struct cross_edge *edge, const struct sim_packet *packet, bool back,
                          uint64_t now_ns);
