#include "probe/fingerprint.h"

#include <math.h>

#include "base/units.h"

#define SPACINGS_LEAST 6
/* Rounding to ns, of one spacing. */
#define ROUNDING_NS 1.0
/* Spacings within so many deviations of the closest are one kind. */
#define KIND_DEVIATIONS 3.0
/* Above this share of a spacing, noise hides the small packets between. */
#define NOISE_SHARE_MAX 0.2
/* Packets of a part: enough that the noise of its ends is small. */
#define PART_PACKETS 16u

static bool spacing(const struct probe_points *points, uint32_t i, double *ns)
{
    const struct probe_point *from = &points->point[i], *until = from + 1;
    *ns = (double)(until->received_ns - from->received_ns);
    return until->index == from->index + points->turns && until->rank == from->rank + points->turns;
}

/* Mean of the spacings within [low, high]; returns how many there are. */
static uint32_t mean_within(const struct probe_points *points, double low, double high, double *mean,
                            uint32_t *runs)
{
    double sum = 0, ns;
    uint32_t count = 0, last = UINT32_MAX;
    *runs = 0;
    for (uint32_t i = 0; i + 1 < points->count; i++) {
        if (!spacing(points, i, &ns) || ns < low || ns > high)
            continue;
        *runs += last == UINT32_MAX || last + 1 != i;
        last = i;
        sum += ns;
        count++;
    }
    *mean = count > 0 ? sum / count : 0;
    return count;
}

void fingerprint_spacing(struct fingerprint *print, const struct probe_points *points)
{
    *print = (struct fingerprint){0};
    if (points->batch > 1 || points->count < 2)
        return;
    double least = INFINITY, ns, mean;
    for (uint32_t i = 0; i + 1 < points->count; i++)
        if (spacing(points, i, &ns))
            least = fmin(least, ns);
    double noise = sqrt(2) * points->noise_ns;
    double half = ROUNDING_NS + KIND_DEVIATIONS * noise;
    uint32_t runs, count = mean_within(points, least, least + 2 * half, &mean, &runs);
    for (unsigned round = 0; round < 4 && count > 0; round++)
        count = mean_within(points, mean - half, mean + half, &mean, &runs);
    if (count < SPACINGS_LEAST || mean <= 0 || noise > NOISE_SHARE_MAX * mean)
        return;
    print->capacity = points->turns * points->packet_bits / mean;
    print->error = print->capacity * (noise + ROUNDING_NS / 2) * sqrt(runs) / (count * mean);
    print->count = count;
}

void slopes_add(struct slopes *slopes, const struct probe_points *points, uint32_t first, uint32_t last)
{
    for (uint32_t from = first, until; from < last; from = until) {
        until = from + 1;
        while (until < last && points->point[until].index - points->point[from].index < PART_PACKETS)
            until++;
        const struct probe_point *a = &points->point[from], *b = &points->point[until];
        double bits = (b->rank - a->rank) * points->packet_bits;
        double sent_ns = (double)(b->sent_ns - a->sent_ns);
        double received_ns = (double)(b->received_ns - a->received_ns);
        if (sent_ns <= 0)
            continue;
        /* What cross traffic adds to a part has a variance in proportion to its time. */
        slopes->bb += bits * bits / sent_ns;
        slopes->bs += bits;
        slopes->ss += sent_ns;
        slopes->rb += received_ns * bits / sent_ns;
        slopes->rs += received_ns;
        slopes->rr += received_ns * received_ns / sent_ns;
        slopes->count++;
    }
}

void slopes_solve(const struct slopes *slopes, struct fingerprint *print)
{
    *print = (struct fingerprint){0};
    double determinant = slopes->bb * slopes->ss - slopes->bs * slopes->bs;
    if (slopes->count < 4 || determinant <= 1e-9 * slopes->bb * slopes->ss)
        return;
    double per_bit = (slopes->rb * slopes->ss - slopes->rs * slopes->bs) / determinant;
    double share = (slopes->rs * slopes->bb - slopes->rb * slopes->bs) / determinant;
    if (per_bit <= 0)
        return;
    double left = fmax(slopes->rr - per_bit * slopes->rb - share * slopes->rs, 0);
    double per_bit_error = sqrt(left / (slopes->count - 2) * slopes->ss / determinant);
    print->capacity = 1 / per_bit;
    print->error = per_bit_error / (per_bit * per_bit);
    print->cross = share / per_bit;
    print->count = slopes->count;
}

double fingerprint_rise_ns(const struct probe_points *points, uint32_t first, uint32_t last)
{
    if (last < first + 8)
        return 0;
    uint32_t quarter = (last - first + 1) / 4;
    double begin = 0, end = 0;
    for (uint32_t i = 0; i < quarter; i++) {
        begin += (double)points_delay_ns(points, first + i);
        end += (double)points_delay_ns(points, last - i);
    }
    return (end - begin) / quarter;
}
