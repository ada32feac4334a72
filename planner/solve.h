/* From a request to a plan: one tree by the metric asked for, and the rate it can carry; or what the planner
 * itself finds best (auto.h). Pure functions, used by the planner program and by the simulator; no IO, no
 * clock, no allocation; equal requests give equal plans, whatever the order in which ties come.
 *
 * Rate model of one tree (Mutualcast, Kumar and Ross): a node sends every symbol once per child, so a tree
 * carries
 *   edge rate    = 0.985 * min over nodes of (up / children, down), wire bit/s: what all edges carry
 *   payload rate = edge rate * 1408 / 1538     (a 1408-byte symbol occupies 1538 bytes of the wire)
 * A slow site need not hold the others: each edge has a rate of its own, at least that one. Every node
 * shares its uplink max-min fairly among its children, none of which is given more than its downlink,
 * or than the node itself is sent. Where the request knows what a path has, or a link that several
 * paths cross, they count like interfaces: edge rate <= path's bandwidth, <= shared link / edges that
 * cross it. The 1.5 % are left for acks, control and probes; repairs are part of the edge rate. No plan
 * of any number of trees exceeds
 *   bound        = min(U_source, (U_source + sum of the other U) / receivers, min D of the receivers)
 *                  * 1408 / 1538
 * where relays count among the U. rate_cap_bps (payload) lowers both. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/units.h"
#include "plan/plan.h"

#define SOLVE_HEADROOM_PPM      15000
#define SOLVE_SYMBOL_BYTES      FULL_PACKET_SYMBOL_BYTES
#define SOLVE_SYMBOL_WIRE_BYTES FULL_PACKET_WIRE_BYTES
#define SOLVE_PAYLOAD           ((double)SOLVE_SYMBOL_BYTES / SOLVE_SYMBOL_WIRE_BYTES) /* of a wire rate */

/* Of arena, for any request. */
size_t solve_bytes(void);
/* Validates the request first; a plan that comes back fulfils plan_validate; it does not say why (why.h). The
 * arena may be NULL where the metric is star, a given tree, or rtt with ties by name. False: err says what is
 * impossible, by name. The arena is as before on return. */
bool solve(const struct plan_request *request, struct arena *arena, struct plan *plan, struct err *err);

/* ---- the parts, each in a file of its own ---- */

/* What of a wire rate is the object's own, by full packets. */
uint64_t solve_payload_bps(uint64_t wire_bps);
/* What of an interface, path or shared link data may take: the rest is for acks, control and probes. */
uint64_t solve_usable_bps(uint64_t wire_bps);

/* RTT of a pair, the smaller of both directions: a round trip is the same path from either end, and queues
 * only ever add to it. PLAN_RTT_UNKNOWN: neither was measured. */
uint32_t solve_rtt_us(const struct plan_request *request, uint16_t one, uint16_t other);

/* Minimum spanning tree on RTT by Prim from the source, over source and receivers; a node that has
 * children_max children gets no more (a greedy answer to the degree-constrained tree, which is NP-hard; exact
 * while the limit does not bind). Ties go to the smaller child's name, then the smaller parent's. Pairs that
 * were not measured are left out. */
bool solve_mst(const struct plan_request *request, struct plan_tree *tree, struct err *err);
/* Every receiver straight from the source, by name. */
bool solve_star(const struct plan_request *request, struct plan_tree *tree, struct err *err);
/* By the request's metric, one of those that plan on the net: all but star, auto and a given tree. rtt is for
 * ties by seed; those by name are what solve_mst is for. */
bool solve_mode(const struct plan_request *request, struct arena *arena, struct plan_tree *tree,
                struct err *err);
/* The operator's tree, parents before children. */
bool solve_given(const struct plan_request *request, struct plan_tree *tree, struct err *err);

/* The one model, on a tree that fulfils plan_validate. False: an edge would
 * get less than SEND_RATE_MIN_BPS. */
bool solve_rate(const struct plan_request *request, const struct plan_tree *tree, uint64_t *edge_rate_bps,
                uint64_t *rate_bps, struct err *err);
/* The rate of each edge, into the plan; its tree and edge rate are there already. */
void solve_edge_rates(const struct plan_request *request, struct plan *plan);
uint64_t solve_bound_bps(const struct plan_request *request);
/* False: an edge of the tree was not measured; err names the pair. */
bool solve_delay(const struct plan_request *request, const struct plan_tree *tree, uint64_t *delay_us,
                 struct err *err);
