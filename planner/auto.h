/* The planner's own choice for a request: as many trees as help and may be, paces for slow receivers,
 * relays where they add rate. What `auto` in a job means. */
#pragma once

#include "base/err.h"
#include "planner/request.h"

#define AUTO_EPS       0.03 /* within that of the shortest time other things are worth more (tree/pool.h) */
#define AUTO_TREES_MAX 4    /* where the request leaves it open */

/* How `auto` chooses on the net of a request. */
struct choose_options auto_options(const struct request_net *from);
size_t auto_bytes(const struct plan_request *request); /* of arena */
/* Of a valid request. False: err names who can't be reached, or which edge would get less than 1 kbit/s. */
bool auto_plan(const struct plan_request *request, struct arena *arena, struct plan *plan, struct err *err);
