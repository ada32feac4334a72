/* Pictures of a plan: what a job is expected to take and what holds it, which tree feeds whom at which rate, what each
 * rate rests on, and what is full.
 *
 * Full resources (load.h) are red: a node whose uplink is, an edge whose path or shared link is; a node whose downlink
 * is full has a blue frame. An edge of whose path nothing is known is dashed. Rates of the job are payload, those at edges
 * are on the wire, and the picture says which is which. Equal plans give equal bytes. */
#pragma once

#include "plan/plan.h"

/* For Graphviz's dot: every tree in a colour of its own, rates on its edges. Of a plan that plan_validate has accepted.
 * `title` is what the picture is of, in any bytes: "job backup". False: the buffer is too small. */
bool picture_dot(const struct plan *plan, const struct plan_request *request, const char *title, char *text,
                 size_t room);
/* A page by itself, laid out by place.h. Its texts have a letter's width in common, so that none runs into another. */
bool picture_svg(const struct plan *plan, const struct plan_request *request, const char *title, char *text,
                 size_t room);

#define PICTURE_BYTES_MAX (512 * 1024) /* the largest takes less */
