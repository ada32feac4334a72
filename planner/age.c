#include "planner/age.h"

#include <math.h>

#include "base/units.h"

#define LEAST_SHARE 0.1

/* s(t) on the side that is half_kbps wide. */
static double deviation_kbps(const struct plan_path *path, double half_kbps)
{
    double own_kbps = half_kbps / AGE_SIGMAS_OF_INTERVAL;
    if (path->avb_widened)
        return own_kbps;
    double drift = MIN(AGE_DRIFT_SHARE * sqrt(path->avb_age_s), AGE_MOST_SHARE) * path->avb_kbps;
    return sqrt(own_kbps * own_kbps + drift * drift);
}

static double low_deviation_kbps(const struct plan_path *path)
{
    return deviation_kbps(path, (double)(path->avb_kbps - path->avb_low_kbps));
}

uint32_t age_planned_kbps(const struct plan_path *path)
{
    if (plan_path_told(path))
        return path->avb_kbps;
    double planned_kbps = path->avb_kbps - AGE_QUANTILE_SIGMAS * low_deviation_kbps(path);
    double least_kbps = MAX(LEAST_SHARE * path->avb_kbps, 1.0);
    return (uint32_t)MAX(planned_kbps, least_kbps);
}

uint32_t age_low_kbps(const struct plan_path *path)
{
    if (plan_path_told(path))
        return path->avb_low_kbps;
    return (uint32_t)MAX(path->avb_kbps - AGE_SIGMAS_OF_INTERVAL * low_deviation_kbps(path), 1.0);
}

uint32_t age_high_kbps(const struct plan_path *path)
{
    if (plan_path_told(path) || path->avb_high_kbps == 0)
        return path->avb_high_kbps;
    double deviation = deviation_kbps(path, (double)(path->avb_high_kbps - path->avb_kbps));
    return (uint32_t)MIN(path->avb_kbps + AGE_SIGMAS_OF_INTERVAL * deviation, (double)UINT32_MAX);
}

uint64_t age_down_bps(const struct plan_request *request, uint16_t node)
{
    const struct plan_path *line = &request->lines_in[node];
    uint64_t down_bps = request->nodes[node].down_bps;
    return plan_path_limits(request->avb_of, line) ? MIN(down_bps, age_planned_kbps(line) * UINT64_C(1000))
                                                   : down_bps;
}

uint64_t age_up_bps(const struct plan_request *request, uint16_t node)
{
    const struct plan_path *line = &request->paths[node][node];
    uint64_t up_bps = request->nodes[node].up_bps;
    return plan_path_limits(request->avb_of, line) ? MIN(up_bps, age_planned_kbps(line) * UINT64_C(1000))
                                                   : up_bps;
}
