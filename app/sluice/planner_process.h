/* The planner that the appliance starts by itself: asks the starter for one while it is needed, in growing gaps (retry.h),
 * and keeps the log's and the jobs' word on what became of it. One that runs and does not attach for PLANNER_ABSENT_NS
 * while a job wants one is killed. Background thread. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "ctl/ctl.h"
#include "retry.h"
#include "said.h"
#include "starter.h"

#define PLANNER_ABSENT_NS (10 * NS_PER_S)

enum planner_need {
    PLANNER_NONE_MISSED, /* one is attached, or there is no ring to attach to */
    PLANNER_ABSENT,      /* none is attached, and nobody asks for one */
    PLANNER_NEEDED       /* none is attached, and a job wants one */
};

struct planner_process {
    struct retry retry;
    bool under_way;     /* asked for, or running */
    uint64_t absent_ns; /* since when it could have attached and did not */
    struct said said;
    char news[CTL_NEWS_BYTES];
};

/* Each turn. What jobs that wait are to be told from now on; NULL: as
 * before. Lines of the log go under the name of this node. */
const char *planner_process_turn(struct planner_process *planner, struct starter *starter,
                                 enum planner_need need, const char *node_name, uint64_t now_ns);
