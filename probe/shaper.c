#include "probe/shaper.h"

#include <math.h>

#include "base/units.h"

#define POINTS_LEAST    64u
#define WALK_DEVIATIONS 6
#define SLOWER_LEAST    0.95 /* behind the bend, of the rate before it */
/* A policer's losses, of those that its rates explain. */
#define LOST_LEAST  0.5
#define PART_LEAST  16u
#define EDGE_PART   8    /* of a side of the bend: it is left out of the side's rate */
#define CROSS_LEAST 0.02 /* of the capacity: less is none */

static double bits_between(const struct probe_points *points, uint32_t a, uint32_t b)
{
    return (points->point[b].rank - points->point[a].rank) * points->packet_bits;
}

static double ns_between(const struct probe_points *points, uint32_t a, uint32_t b)
{
    return (double)(points->point[b].received_ns - points->point[a].received_ns);
}

static uint32_t farthest(const struct probe_points *points, double *off_ns)
{
    uint32_t last = points->count - 1, bend = 0;
    double per_bit = ns_between(points, 0, last) / bits_between(points, 0, last);
    *off_ns = 0;
    for (uint32_t i = 1; i < last; i++) {
        double early_ns = bits_between(points, 0, i) * per_bit - ns_between(points, 0, i);
        if (early_ns > *off_ns) {
            *off_ns = early_ns;
            bend = i;
        }
    }
    return bend;
}

void shaper_find(struct shaper *shaper, const struct probe_points *points, double capacity, double rate)
{
    *shaper = (struct shaper){0};
    if (points->count < POINTS_LEAST || points->batch > 1 || capacity <= 0)
        return;
    uint32_t last = points->count - 1;
    double off_ns;
    uint32_t bend = farthest(points, &off_ns);
    if (bend < PART_LEAST || bend + PART_LEAST > last)
        return;
    uint32_t early = bend - bend / EDGE_PART, late = bend + (last - bend) / EDGE_PART;
    double before = bits_between(points, 0, early) / ns_between(points, 0, early);
    double behind = bits_between(points, late, last) / ns_between(points, late, last);
    shaper->cross = rate * (fmin(capacity, rate) / before - 1);
    if (shaper->cross < CROSS_LEAST * capacity)
        shaper->cross = 0;
    double sent_ns = (double)points->point[last].sent_ns;
    double walk_ns = sqrt(shaper->cross * points->packet_bits * sent_ns) / 2 / capacity;
    double packet_ns = points->packet_bits / capacity;
    if (behind > SLOWER_LEAST * before ||
        off_ns < WALK_DEVIATIONS * (walk_ns + points->noise_ns) + 8 * packet_ns)
        return;
    double sent = points->point[last].index - points->point[bend].index;
    double lost = sent - (points->point[last].rank - points->point[bend].rank);
    shaper->drops = lost > LOST_LEAST * (1 - behind / before) * sent;
    double all = 1 + shaper->cross / rate; /* what went the same way, of what is ours */
    shaper->rate = behind * all;
    /* Where both lines meet. */
    double bend_ns =
        (bits_between(points, 0, last) - behind * ns_between(points, 0, last)) / (before - behind);
    shaper->depth_bits = before * all * bend_ns + points->packet_bits - shaper->rate * (bend_ns + packet_ns);
    shaper->found = shaper->depth_bits > 0;
}
