/* What a plan takes of each resource of its request: interfaces, paths, shared links.
 *
 * Shares are in thousandths, rounded down; a resource whose limit is not known has none (0). */
#pragma once

#include "plan/plan.h"

/* A plan leaves 1.5 % to acks, control and probes: what is fuller than this decides its rate. */
#define LOAD_TIGHT 970

struct load {
    /* Over all trees, on the wire; a downlink gets what is not lost. */
    uint64_t up_bps[PLAN_NODES_MAX], down_bps[PLAN_NODES_MAX];
    uint64_t path_bps[PLAN_NODES_MAX][PLAN_NODES_MAX]; /* [from][to] */
    uint64_t shared_bps[PLAN_SHARED_MAX];
};

/* Of a plan that plan_validate has accepted. */
void load_init(struct load *load, const struct plan *plan, const struct plan_request *request);
unsigned load_up(const struct load *load, const struct plan_request *request, uint16_t node);
unsigned load_down(const struct load *load, const struct plan_request *request, uint16_t node);
/* Of the path's own available bandwidth, or of a shared link that it crosses, whichever is fuller. */
unsigned load_path(const struct load *load, const struct plan_request *request, uint16_t from, uint16_t to);
