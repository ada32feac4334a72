/* A request as the net that trees are planned on, and what was found there as a plan. Hosts of the net are
 * in the order of their names, so the order in which a request lists its nodes decides nothing. */
#pragma once

#include "plan/plan.h"
#include "planner/tree/choose.h"

struct request_net {
    const struct plan_request *request;
    struct net net;
    uint16_t node_of[PLAN_NODES_MAX]; /* host → node */
};

size_t request_net_bytes(uint16_t node_count); /* of arena */
/* Interfaces less what is kept back for acks and probes (solve.h), RTTs the smaller of both directions; a
 * pair that nobody measured is closed. Paths are as wide as the interfaces: the request does not know
 * better. */
void request_net(const struct plan_request *request, struct arena *arena, struct request_net *result);
/* Parents before children, siblings by name. */
void request_tree(const struct request_net *from, const struct net_tree *grown, struct plan_tree *tree);
/* The whole plan; it fulfils plan_validate unless some edge would get less than SEND_RATE_MIN_BPS. */
void request_plan(const struct request_net *from, const struct choice *choice, struct plan *plan);
