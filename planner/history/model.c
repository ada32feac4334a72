#include "planner/history/model.h"

#include <math.h>

#include "base/units.h"
#include "planner/age.h"

/* One side of an interval as a variance. */
static double variance(double half_bps)
{
    double deviation = half_bps / AGE_SIGMAS_OF_INTERVAL;
    return deviation * deviation;
}

static double own_variance(const struct store_row *row)
{
    const struct estimate *estimate = &row->estimate;
    return estimate->kind == ESTIMATE_VALUE ? variance((double)(estimate->high_bps - estimate->low_bps) / 2)
                                            : 0;
}

static double difference(const struct store_row *one, const struct store_row *other)
{
    return (double)one->estimate.avail_bps - (double)other->estimate.avail_bps;
}

struct model model_fit(const struct store_row *rows, unsigned count)
{
    double newest_bps = count > 0 ? (double)rows[0].estimate.avail_bps : 0, sum_bps = 0;
    double prior_drift = AGE_DRIFT_SHARE * newest_bps, prior_most = AGE_MOST_SHARE * newest_bps;
    double moved = 0, seconds = 0, spread = 0;
    for (unsigned row = 0; row < count; row++)
        sum_bps += (double)rows[row].estimate.avail_bps;
    for (unsigned row = 0; row < count; row++) {
        double off_bps = (double)rows[row].estimate.avail_bps - sum_bps / count;
        spread += MAX(off_bps * off_bps - own_variance(&rows[row]), 0.0);
    }
    for (unsigned row = 0; row + 1 < count; row++) {
        double step_bps = difference(&rows[row], &rows[row + 1]);
        double explained = own_variance(&rows[row]) + own_variance(&rows[row + 1]);
        moved += step_bps * step_bps - explained;
        seconds += (double)elapsed_ns(rows[row].kept_ms, rows[row + 1].kept_ms) / 1000;
    }
    double prior_s = count > 1 ? MODEL_PRIOR * seconds / (count - 1) : 1;
    double drift2 = (prior_drift * prior_drift * prior_s + moved) / MAX(prior_s + seconds, 1e-3);
    double most2 = (prior_most * prior_most * MODEL_PRIOR + spread) / (MODEL_PRIOR + count);
    /* Intervals that explain more than there was to explain do not make it stand still. */
    double least = prior_drift / 10;
    return (struct model){.drift_bps = sqrt(MAX(drift2, least * least)), .most_bps = sqrt(most2)};
}

static double widened(const struct model *model, double half_bps, double age_s)
{
    double grown = MIN(model->drift_bps * model->drift_bps * age_s, model->most_bps * model->most_bps);
    return AGE_SIGMAS_OF_INTERVAL * sqrt(variance(half_bps) + grown);
}

void model_widen(const struct model *model, const struct store_row *row, double age_s, double *low_bps,
                 double *high_bps)
{
    const struct estimate *estimate = &row->estimate;
    double avail_bps = (double)estimate->avail_bps;
    *low_bps = MAX(avail_bps - widened(model, avail_bps - (double)estimate->low_bps, age_s), 0.0);
    *high_bps = 0;
    if (estimate->kind == ESTIMATE_VALUE)
        *high_bps = avail_bps + widened(model, (double)estimate->high_bps - avail_bps, age_s);
}
