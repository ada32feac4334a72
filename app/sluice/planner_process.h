/* The planner that the appliance starts by itself: asks the starter for one while it is needed, in growing gaps (retry.h),
 * and keeps the log's and the jobs' word on what became of it. Background thread. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "ctl/ctl.h"
#include "retry.h"
#include "starter.h"

struct planner_process {
    struct retry retry;
    bool under_way; /* asked for, or running */
    char news[CTL_NEWS_BYTES];
};

/* Each turn. needed: a job wants one, and none is attached. What jobs that wait are to be told from now on; NULL: as
 * before. Lines of the log go under the name of this node. */
const char *planner_process_turn(struct planner_process *planner, struct starter *starter, bool needed,
                                 const char *node_name, uint64_t now_ns);
