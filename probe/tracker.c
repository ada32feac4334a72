#include "probe/tracker.h"

#include <math.h>

#define FAR_DEVIATIONS 4

enum tracker_verdict tracker_take(struct tracker *tracker, double value, double variance, double walk,
                                  uint64_t now_ns)
{
    if (!tracker->known) {
        *tracker = (struct tracker){.known = true, .value = value, .variance = variance, .at_ns = now_ns};
        return TRACKER_TAKEN;
    }
    double expected = tracker->variance + walk * (double)(now_ns - tracker->at_ns);
    double innovation = value - tracker->value;
    if (fabs(innovation) > FAR_DEVIATIONS * sqrt(expected + variance)) {
        int side = innovation > 0 ? 1 : -1;
        if (tracker->held != side) {
            tracker->held = side;
            return TRACKER_HELD;
        }
        *tracker = (struct tracker){0};
        return TRACKER_CHANGED;
    }
    double gain = expected / (expected + variance);
    tracker->value += gain * innovation;
    tracker->variance = (1 - gain) * expected;
    tracker->at_ns = now_ns;
    tracker->held = 0;
    return TRACKER_TAKEN;
}
