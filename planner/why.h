/* Why a plan is as it is: what every other metric would have given, which rows hold the plan, and what
 * raising one of them would bring. */
#pragma once

#include "planner/request.h"

size_t why_bytes(const struct plan_request *request); /* of arena; auto_bytes() are enough for all else */
/* Fills plan->why of a plan that solve() made for this request. The arena is as before
 * on return. What raising brings is found by planning again a few times at most (metric auto), else on the
 * same tree. */
void why_fill(const struct plan_request *request, struct arena *arena, struct plan *plan);
