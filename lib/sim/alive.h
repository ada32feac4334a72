/* The law of liveness (edge/liveness.h) by truth, of each edge between two nodes: deliveries, losses and waits in queues are
 * those that the network saw (meter.h). Of the node it takes what limits the edge, the queue that it wants, and whether its
 * strategy owes a rate. A run with an edge that broke it fails unless its file says what it
 * expects of that (`stuck_ms`, `late_ms`, `deep_ms`). */
#pragma once

struct sim;
struct sim_result;

/* Looks at all edges that have sent data. To be called as often as LIVENESS_LOOK_NS. */
void alive_look(struct sim *sim);
/* The worst edges. While the meters are still there. */
void alive_gather(struct sim *sim, struct sim_result *result);
