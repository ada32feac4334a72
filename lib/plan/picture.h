/* Pictures of a plan: which tree feeds whom at which rate, and what is full.
 *
 * Full resources (load.h) are red: a node whose uplink is, an edge whose path or shared link is; a node
 * whose downlink is full has a blue frame. Equal plans give equal bytes. */
#pragma once

#include "plan/plan.h"

/* For Graphviz's dot: every tree in a colour of its own, rates on its edges. Of a plan that plan_validate has
 * accepted; false: the buffer is too small. */
bool picture_dot(const struct plan *plan, const struct plan_request *request, char *text, size_t room);
/* A page by itself: one tree below the other, each from left to right. */
bool picture_svg(const struct plan *plan, const struct plan_request *request, char *text, size_t room);

#define PICTURE_BYTES_MAX (512 * 1024) /* the largest takes less */
