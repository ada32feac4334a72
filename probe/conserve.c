#include "probe/conserve.h"

#include <math.h>

#include "base/units.h"

#define DRY_DEVIATIONS   4 /* of stamps */
#define CROSS_DEVIATIONS 2
/* A step that holds more cross traffic than so many times what the hop serves in its time, and some packets. */
#define JUMP_CAPACITIES 4
#define JUMP_PACKETS    8
#define JUMP_DEVIATIONS 6

bool conserve_busy(const struct probe_points *points, const struct conserve_path *path, uint32_t i,
                   int64_t least_ns)
{
    const struct probe_point *from = &points->point[i], *until = from + 1;
    double wait_ns = (double)(points_delay_ns(points, i) - least_ns);
    double gap_ns = (double)(until->sent_ns - from->sent_ns);
    double own_ns = (until->index - from->index) * points->packet_bits / path->capacity;
    double guard_ns = DRY_DEVIATIONS * points->noise_ns;
    if (gap_ns <= own_ns + wait_ns - guard_ns || (gap_ns <= own_ns + 1 && points->noise_ns == 0))
        return true;
    if (points->batch == 1 || path->cross <= 0)
        return gap_ns <= own_ns; /* as fast as it serves: it takes no rest, whatever came between */
    double cross_bits = path->cross * gap_ns;
    double cross_ns = (cross_bits - CROSS_DEVIATIONS * sqrt(cross_bits * path->packet_bits)) / path->capacity;
    return wait_ns > guard_ns && gap_ns <= own_ns + wait_ns - guard_ns + fmax(cross_ns, 0);
}

struct block {
    double cross_bits, sent_ns;
};

/* Variance of a part's ends that does not add up over the parts: three times it is in what neighbours differ by. */
struct ends {
    double noise_bits2, closing_bits2;
};

/* Twice the variance of the sum is what neighbours differ by. Whole packets, noise of stamps and batches
 * that time closed make a part of it that does not add up: from one part's end to the next one's begin. The
 * outermost ends' is added elsewhere. */
static double variance_of(const struct block *blocks, double packet_bits, const struct ends *ends)
{
    double total_ns = 0, total_bits = 0;
    unsigned used = 0;
    for (unsigned i = 0; i < CONSERVE_BLOCKS; i++) {
        total_ns += blocks[i].sent_ns;
        total_bits += blocks[i].cross_bits;
        used += blocks[i].sent_ns > 0;
    }
    double rate = total_ns > 0 ? total_bits / total_ns : 0, sum = 0, differences = 0;
    const struct block *before = NULL;
    for (unsigned i = 0; i < CONSERVE_BLOCKS; i++) {
        if (blocks[i].sent_ns <= 0)
            continue;
        if (before != NULL) {
            double step = (blocks[i].cross_bits - rate * blocks[i].sent_ns) -
                          (before->cross_bits - rate * before->sent_ns);
            sum += step * step / 2;
            differences++;
        }
        before = &blocks[i];
    }
    double whole = packet_bits * packet_bits;
    if (differences < 2)
        return rate * total_ns * packet_bits + whole;
    double block = sum / differences - whole / 4 - 3 * (ends->noise_bits2 + ends->closing_bits2);
    return fmax(block, 0) * used + whole / 4;
}

static void add_to(struct conserve_sums *sums, const struct probe_points *points,
                   const struct probe_point *from, const struct probe_point *until)
{
    sums->sent_ns += (double)(until->sent_ns - from->sent_ns);
    sums->received_ns += (double)(until->received_ns - from->received_ns);
    sums->index_bits += (until->index - from->index) * points->packet_bits;
    sums->rank_bits += (until->rank - from->rank) * points->packet_bits;
}

static double closing_ns2(const struct probe_point *point)
{
    return (double)point->closing_ns * point->closing_ns;
}

static void add_step(struct conserve *fit, const struct probe_points *points, uint32_t i)
{
    const struct probe_point *from = &points->point[i], *until = from + 1;
    if (fit->steps == 0) {
        fit->first = i;
        fit->from_ns = points->sent_at_ns + (uint64_t)from->sent_ns;
    }
    bool new_stretch = fit->steps == 0 || fit->last != i;
    fit->edges += new_stretch;
    fit->closing_ns2 += closing_ns2(until) + (new_stretch ? closing_ns2(from) : -closing_ns2(from));
    fit->steps++;
    fit->last = i + 1;
    fit->until_ns = points->sent_at_ns + (uint64_t)until->sent_ns;
    add_to(&fit->all, points, from, until);
    if (from->sent_ns >= points->point[points->count - 1].sent_ns / 2)
        add_to(&fit->tail, points, from, until);
}

/* Steps in which index and rank advance alike tell the cross traffic; what others differ from that by is theirs. */
static void weigh(struct conserve *fit, const struct probe_points *points, const struct conserve_path *path,
                  const uint8_t *busy)
{
    double sent_ns = 0, cross_bits = 0;
    for (int both = 0; both < 2; both++) {
        double cross = sent_ns > 0 ? cross_bits / sent_ns : path->cross;
        for (uint32_t i = fit->first; i < fit->last; i++) {
            if ((busy[i / 8] >> i % 8 & 1) == 0)
                continue;
            const struct probe_point *from = &points->point[i], *until = from + 1;
            double index = until->index - from->index, rank = until->rank - from->rank;
            double step_ns = (double)(until->sent_ns - from->sent_ns);
            double step_bits = path->capacity * (double)(until->received_ns - from->received_ns) -
                               index * points->packet_bits;
            if (both == 0 && index == rank) {
                sent_ns += step_ns;
                cross_bits += step_bits;
            } else if (both == 1 && index != rank) {
                fit->evidence -= (index - rank) * (step_bits - cross * step_ns) / points->packet_bits;
                fit->evidence_weight += (index - rank) * (index - rank);
            }
        }
    }
}

/* Cross bits by eighths of the time that the steps take together. */
static void divide(struct conserve *fit, const struct probe_points *points, const struct conserve_path *path,
                   const uint8_t *busy)
{
    struct block blocks[CONSERVE_BLOCKS] = {{0, 0}};
    double sent_ns = 0, closing = 0;
    bool rank = fit->evidence > fit->evidence_weight / 2;
    for (uint32_t i = fit->first; i < fit->last; i++) {
        if ((busy[i / 8] >> i % 8 & 1) == 0)
            continue;
        const struct probe_point *from = &points->point[i], *until = from + 1;
        double place =
            CONSERVE_BLOCKS * sent_ns / fmax(fit->all.sent_ns, 1); /* noise may make a step negative */
        struct block *block = &blocks[place <= 0 ? 0 : MIN((unsigned)place, CONSERVE_BLOCKS - 1)];
        double step_ns = (double)(until->sent_ns - from->sent_ns);
        sent_ns += step_ns;
        block->sent_ns += step_ns;
        closing += closing_ns2(until);
        double served = rank ? until->rank - from->rank : until->index - from->index;
        double cross_bits =
            path->capacity * (double)(until->received_ns - from->received_ns) - served * points->packet_bits;
        block->cross_bits += cross_bits;
        double most_bits = JUMP_CAPACITIES * path->capacity * step_ns + JUMP_PACKETS * path->packet_bits;
        if (cross_bits > most_bits + JUMP_DEVIATIONS * points->noise_ns * path->capacity)
            fit->jump_bits += cross_bits;
    }
    double squared = path->capacity * path->capacity;
    struct ends ends = {squared * points->noise_ns * points->noise_ns, squared * closing / fit->steps};
    fit->variance_bits2 = variance_of(blocks, path->packet_bits, &ends) + squared * fit->closing_ns2;
}

void conserve_fit(struct conserve *fit, const struct probe_points *points, const struct conserve_path *path)
{
    uint8_t busy[TRAIN_PACKETS_MAX / 8] = {0};
    *fit = (struct conserve){0};
    int64_t least_ns = INT64_MAX;
    for (uint32_t i = 0; i + 1 < points->count; i++) {
        least_ns = MIN(least_ns, points_delay_ns(points, i));
        if (!conserve_busy(points, path, i, least_ns))
            continue;
        busy[i / 8] |= (uint8_t)(1 << i % 8);
        add_step(fit, points, i);
        fit->wait_ns = fmax(fit->wait_ns, (double)(points_delay_ns(points, i) - least_ns));
    }
    if (fit->steps == 0)
        return;
    fit->span_ns = (double)(points->point[points->count - 1].sent_ns - points->point[0].sent_ns);
    weigh(fit, points, path, busy);
    divide(fit, points, path, busy);
}

double conserve_cross_bits(const struct conserve_sums *sums, double capacity, bool rank)
{
    return capacity * sums->received_ns - (rank ? sums->rank_bits : sums->index_bits);
}
