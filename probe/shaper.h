/* A token bucket on the path, by one long train at one rate: what comes does so at the line's rate while
 * there are tokens, then at theirs. The bend of bits over time of arrival, at the point farthest from the
 * chord, tells both rates and the depth: depth = bits by the bend - token rate * time by then. Cross
 * traffic of one rate makes a random walk about the chord; what it explains is none. A policer drops
 * instead: the same bend in what came, and losses behind it. */
#pragma once

#include "probe/points.h"

struct shaper {
    bool found, drops;
    double rate;       /* of tokens, bit/ns */
    double depth_bits; /* of the bucket */
    double cross;      /* bit/ns of other traffic that goes the same way */
};

/* capacity: of the line, bit/ns; cross: of other traffic, at most; rate: at which the train left. */
void shaper_find(struct shaper *shaper, const struct probe_points *points, double capacity, double rate);
