#include "probe/in_band.h"

#include <math.h>

#include "base/units.h"

/* Student's t at 95 %, by degrees of freedom from 1. */
static const double quantiles[IN_BAND_WINDOWS] = {12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31};

static void set_value(const struct in_band *in_band, uint64_t until_ns, struct estimate *estimate)
{
    uint32_t count = MIN(in_band->count, (uint32_t)IN_BAND_WINDOWS);
    double sum_bps = 0, squares = 0;
    for (uint32_t at = 0; at < count; at++)
        sum_bps += (double)in_band->rates_bps[at];
    double mean_bps = sum_bps / count, half_bps = IN_BAND_FIRST_SHARE * mean_bps;
    for (uint32_t at = 0; at < count; at++) {
        double off_bps = (double)in_band->rates_bps[at] - mean_bps;
        squares += off_bps * off_bps;
    }
    /* Two windows that happen to agree say little: then t is large, and the first share is the better guess. */
    if (count > 1)
        half_bps =
            MAX(IN_BAND_LEAST_SHARE * mean_bps, quantiles[count - 2] * sqrt(squares / (count - 1) / count));
    half_bps = MIN(half_bps, mean_bps);
    estimate->kind = ESTIMATE_VALUE;
    estimate->avail_bps = (uint64_t)mean_bps;
    estimate->low_bps = (uint64_t)(mean_bps - half_bps);
    estimate->high_bps = (uint64_t)(mean_bps + half_bps);
    estimate->from_ns = in_band->first_ns[in_band->count > count ? in_band->count % IN_BAND_WINDOWS : 0];
    estimate->until_ns = until_ns;
}

bool in_band_take(struct in_band *in_band, const struct in_band_window *window, struct estimate *estimate)
{
    uint64_t duration_ns = elapsed_ns(window->until_ns, window->from_ns);
    *estimate = (struct estimate){.flags = ESTIMATE_IN_BAND, .loss_ppm = window->loss_ppm};
    if (duration_ns < IN_BAND_WINDOW_NS || window->delivered_bytes == 0)
        return false;
    uint64_t rate_bps = muldiv64(window->delivered_bytes * 8, NS_PER_S, duration_ns);
    if (window->congested_ppm >= IN_BAND_CONGESTED_PPM) {
        uint32_t place = in_band->count++ % IN_BAND_WINDOWS;
        in_band->rates_bps[place] = rate_bps;
        in_band->first_ns[place] = window->from_ns;
        set_value(in_band, window->until_ns, estimate);
        return true;
    }
    in_band->count = 0;
    estimate->kind = ESTIMATE_AT_LEAST;
    estimate->avail_bps = estimate->low_bps = rate_bps;
    estimate->from_ns = window->from_ns;
    estimate->until_ns = window->until_ns;
    return true;
}
