/* What a plan counts on of a path whose available bandwidth was measured, and how wide its interval has become since.
 *
 * A path's value that was told (plan_path_told) holds as it is, however old. It was measured where it has an interval.
 * One without a high end ("at least") is no limit to a plan (plan_path_limits), and ages for classes alone. Then, with s the standard deviation on a side (half of 95 %: 1.96 s) and t its age,
 *     s(t)^2 = s^2 + min(drift^2 * t, most^2)
 * and the plan counts on the AGE_QUANTILE of what may be there: avail - 1.2816 s(t), a tenth of avail at least. Where a
 * path's own history says how fast it changes (history/model.h), that stands in its interval already (avb_widened);
 * elsewhere drift and most are shares of avail. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "plan/plan.h"

#define AGE_SIGMAS_OF_INTERVAL 1.96
#define AGE_QUANTILE_SIGMAS    1.2816 /* 10 % */
#define AGE_DRIFT_SHARE        0.004  /* per square root of a second: 3 % after a minute */
#define AGE_MOST_SHARE         0.25   /* reached after 65 minutes: what an old value is still worth */

/* kbit/s, with avb_kbps known; never more than that. */
uint32_t age_planned_kbps(const struct plan_path *path);
/* Ends of the interval by its age; 0: not known, as in the path. */
uint32_t age_low_kbps(const struct plan_path *path);
uint32_t age_high_kbps(const struct plan_path *path);
/* Wire rate that a plan counts on of the node's way out: its interface, and its line as far as that is known. */
uint64_t age_up_bps(const struct plan_request *request, uint16_t node);
uint64_t age_down_bps(const struct plan_request *request, uint16_t node); /* the same of its way in */
