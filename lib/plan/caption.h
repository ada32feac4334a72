/* What stands in the pictures of a plan: the lines above its trees, and the words at a node. Plain text: whoever writes
 * them into a format escapes them (sheet.h). */
#pragma once

#include "plan/load.h"
#include "plan/plan.h"
#include "plan/sheet.h"

#define CAPTION_LINES_MAX 9   /* title, object, slow sites, bound, three limits, more limits, paths */
#define CAPTION_BYTES     192 /* a limit with two long names and what raising it brings takes 140 */
#define CAPTION_TITLE_MAX 96  /* bytes of a title that are shown, with the terminating zero */

struct caption {
    unsigned count;
    char lines[CAPTION_LINES_MAX][CAPTION_BYTES]; /* the first one is the title */
};

/* Title (any bytes: what cannot be shown becomes '?'), size, receivers and expected time, what holds the plan, how well
 * its paths are known. Rates are payload, and say so. */
void caption_fill(struct caption *caption, const struct plan *plan, const struct plan_request *request,
                  const char *title);
/* "up 98 %, down 0 %" of its interface, over all trees, and "slow" if it gets less than others. */
void caption_add_node(struct sheet *sheet, const struct plan *plan, const struct plan_request *request,
                      const struct load *load, uint16_t node);
