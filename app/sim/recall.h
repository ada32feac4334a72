/* What the planners of a run remember of edges: the planner program's own history (planner/history), in memory, one for each
 * host that a planner stands beside. Virtual time is the calendar. */
#pragma once

#include "ctl/estimate.h"
#include "plan/plan.h"

/* Hooks of struct sim_options. */
void recall_learn(uint16_t host, const struct ctl_estimate *estimate, uint64_t now_ns);
void recall_complete(uint16_t host, struct plan_request *request, uint64_t now_ns);
/* All is forgotten: another run begins. */
void recall_end(void);
