#include "probe/clock_step.h"

#include <math.h>

#include "base/units.h"

#define DEVIATIONS 8  /* of stamps */
#define CAPACITIES 16 /* at which cross traffic may come in at most */
#define SIDE_POINTS                                                                                          \
    8u /* before it, and behind: fewer tell no level, unless the step exceeds the rest of the train */

/* One stamp of many, in order. */
static bool falls(uint64_t before_ns, uint64_t at_ns, int64_t least_ns)
{
    return (int64_t)(at_ns - before_ns) < -least_ns;
}

static bool shows_back(const struct probe_points *points, const struct train_record *record)
{
    int64_t least_ns = CLOCK_STEP_BACK_NS_LEAST + (int64_t)(DEVIATIONS * points->noise_ns);
    for (uint32_t i = 1; i < points->order_count; i++) {
        const struct train_sample *before = &record->samples[points->order[i - 1]];
        if (falls(before->received_ns, record->samples[points->order[i]].received_ns, least_ns))
            return true;
    }
    for (uint32_t i = 1; i < record->count; i++)
        if (falls(record->samples[i - 1].sent_ns, record->samples[i].sent_ns, least_ns))
            return true;
    return false;
}

/* What the delay grows by from point i to the next, beyond what cross traffic may bring meanwhile. */
static int64_t rise_ns(const struct probe_points *points, uint32_t i)
{
    int64_t gap_ns = points->point[i + 1].sent_ns - points->point[i].sent_ns;
    return points_delay_ns(points, i + 1) - points_delay_ns(points, i) - CAPACITIES * gap_ns;
}

static bool shows_ahead(const struct probe_points *points)
{
    uint32_t last = points->count - 1, at = 0;
    for (uint32_t i = 0; i < last; i++)
        at = rise_ns(points, i) > rise_ns(points, at) ? i : at;
    int64_t step_ns = points_delay_ns(points, at + 1) - points_delay_ns(points, at);
    int64_t came_ns = points->point[last].received_ns - points->point[0].received_ns - step_ns;
    bool in_middle = at + 1 >= SIDE_POINTS && last - at >= SIDE_POINTS;
    double packets = points->point[last].index - points->point[0].index;
    double least_ns = CLOCK_STEP_PACKETS * fmax((double)came_ns, 0) / packets + DEVIATIONS * points->noise_ns;
    if ((double)rise_ns(points, at) <= least_ns || (!in_middle && step_ns <= came_ns))
        return false;
    int64_t before_ns = INT64_MIN, behind_ns = INT64_MAX;
    for (uint32_t i = 0; i <= at; i++)
        before_ns = MAX(before_ns, points_delay_ns(points, i));
    for (uint32_t i = at + 1; i <= last; i++)
        behind_ns = MIN(behind_ns, points_delay_ns(points, i));
    return behind_ns > before_ns;
}

bool clock_step_shows(const struct probe_points *points, const struct train_record *record)
{
    return shows_back(points, record) || (points->count >= 2 * SIDE_POINTS && shows_ahead(points));
}
