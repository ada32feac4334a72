/* A forest made better by small steps: a host changes its parent in one tree. A step is taken when it
 * lowers the sum over rows of (load / largest load)^16, which the fullest rows dominate; so loads level
 * out, and a step that only helps the next one is taken too. Ends where no step helps, or when the budget
 * does. */
#pragma once

#include "planner/tree/booking.h"

/* The booking is open on the forest. `budget` counts edges looked at; what is left of it comes back. */
uint64_t improve(struct booking *booking, uint64_t budget);
