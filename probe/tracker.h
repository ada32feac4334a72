/* One quantity of a path over time: what it is about now, and whether a new value belongs to the same path.
 *
 * A Kalman filter of a random walk: each value comes with its variance; between values the walk's adds up with time. A
 * value more than four deviations from what was expected is held back: a second one on the same side is a change of the
 * path, and what was known before does not count any more; anything else makes it an outlier, taken then. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct tracker {
    bool known;
    double value, variance;
    uint64_t at_ns;
    int held; /* the last value was too far off: its side; 0: it was not */
};

enum tracker_verdict { TRACKER_TAKEN, TRACKER_HELD, TRACKER_CHANGED };

/* walk: variance per ns. After TRACKER_CHANGED it knows nothing. */
enum tracker_verdict tracker_take(struct tracker *tracker, double value, double variance, double walk,
                                  uint64_t now_ns);
