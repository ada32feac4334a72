/* What is known of paths and interfaces from elsewhere than the nodes' own measurements: from a matrix of the
 * operator's, or in the simulator from its links. All of it replaces what was told before. */
#pragma once

#include "plan/plan.h"

struct ctl_paths {
    uint16_t site_count;
    struct ctl_site {
        char name[NAME_BYTES];
        /* What its interface has left for jobs; 0: all that the site itself tells. */
        uint64_t up_bps, down_bps;
    } sites[PLAN_NODES_MAX];
    uint16_t shared_count;
    struct plan_shared shared[PLAN_SHARED_MAX];
    /* [from][to]: loss, available bandwidth with its interval, distance, shared links; the rest is not looked at. */
    struct plan_path paths[PLAN_NODES_MAX][PLAN_NODES_MAX];
};
