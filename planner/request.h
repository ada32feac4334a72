/* A request as the net that trees are planned on, and what was found there as a plan. Hosts of the net are
 * in the order of their names, so the order in which a request lists its nodes decides nothing. */
#pragma once

#include "plan/plan.h"
#include "planner/tree/choose.h"

struct request_net {
    const struct plan_request *request;
    struct net net;
    uint16_t node_of[PLAN_NODES_MAX]; /* host → node */
    struct mode_options modes; /* what the request says of metrics: ties, degree, distances, intervals */
};

/* A search among source and receivers alone, nobody with a pace of his own. Not to be
 * copied: it points into itself. */
struct request_search {
    bool member[PLAN_NODES_MAX];
    double pace_bps[PLAN_NODES_MAX];
    struct task task;
    struct shares shares;
    struct search search;
};

size_t request_net_bytes(const struct plan_request *request); /* of arena */
/* Of a valid request. Interfaces, paths and shared links less what is kept back for acks and probes
 * (solve.h), RTTs the smaller of both directions. Closed are pairs that nobody measured, forbidden
 * ones, and all that lead to a node beside the one that it is pinned to. A path of unknown
 * bandwidth is as wide as the interfaces, or the share of them that the request assumes. */
void request_net(const struct plan_request *request, struct arena *arena, struct request_net *result);
/* Of a net made from a request: paths and lines that were measured are as wide as was measured, where a plan counts on
 * less of them; lines and paths that are guessed are as wide as their ports. */
void request_as_measured(struct request_net *result);
/* What each edge of the plan may be sent, by the rate and the paces of the choice. */
void request_edge_rates(const struct request_net *from, const struct choice *choice, struct plan *plan);
/* Parents before children, siblings by name. */
void request_tree(const struct request_net *from, const struct net_tree *grown, struct plan_tree *tree);
/* The whole plan; it fulfils plan_validate unless some edge would get less than SEND_RATE_MIN_BPS. */
void request_plan(const struct request_net *from, const struct choice *choice, struct plan *plan);
/* On the request's net; takes of the arena what shares and search need. */
void request_search_init(struct request_search *among, const struct net *net, struct arena *arena);
