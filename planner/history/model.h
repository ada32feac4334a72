/* How fast an edge changes, by its own history: what its interval grows by as it ages.
 *
 * Available bandwidth is taken for a random walk that stays within bounds: after t seconds a value has a variance of
 *     min(drift^2 * t, most^2)
 * more than it had. drift^2 is the mean of (difference of successive values)^2 less what both intervals explain, per second
 * between them; most^2 is the variance of all values. The prior (planner/age.h: shares of the value) counts like
 * MODEL_PRIOR differences more, so that a short history says little and a long one all. */
#pragma once

#include "planner/history/store.h"

#define MODEL_ROWS  64
#define MODEL_PRIOR 4

struct model {
    double drift_bps; /* per square root of a second */
    double most_bps;
};

/* Rows newest first, all with a rate. */
struct model model_fit(const struct store_row *rows, unsigned count);
/* Ends of the interval of `row` when it is age_s old; *high_bps 0: "at least". */
void model_widen(const struct model *model, const struct store_row *row, double age_s, double *low_bps,
                 double *high_bps);
