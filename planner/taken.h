/* What a plan takes of the rows of its request's net. */
#pragma once

#include "planner/request.h"

#define TAKEN_TIGHT (1 - 1e-6) /* of a row's capacity */

struct taken {
    const struct request_net *from;
    const struct plan *plan;
    uint16_t host_of[PLAN_NODES_MAX]; /* of a node */
    double *common;                   /* [rows] bit/s of edges that carry the plan's common rate … */
    double *paced;                    /* … and of those that carry less, for a slow receiver */
};

size_t taken_bytes(const struct net *net); /* of arena */
void taken_init(struct taken *taken, const struct request_net *from, const struct plan *plan,
                struct arena *arena);
/* New data on the edge into the node, and whether the edge is given less than the plan's common rate: by what
 * is sent, since the rates of a tree by one metric have their repairs in them. */
double taken_edge_bps(const struct taken *taken, uint16_t tree, struct plan_edge edge, bool *slow);
/* By how much the common rate can grow until this row is full; NET_NO_LIMIT: it takes nothing of it. */
double taken_growth(const struct taken *taken, uint32_t row);
/* A row as plans name it. */
struct plan_limit taken_limit(const struct request_net *from, uint32_t row);
