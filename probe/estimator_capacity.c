/* capacity: packet pairs. Trains as fast as the port sends; the narrow hop stretches the gaps between their
 * packets to its own packet time, cross packets that come between stretch some of them further. So the most
 * frequent gap of all that were stretched tells the narrow hop's capacity (Dovrolis, Ramanathan, Moore
 * 2001), whatever crosses. It says nothing of what is available: NONE with capacity_bps; no capacity where
 * no gap was stretched.
 *
 * The mode is found on a logarithmic scale, in two looks: bins of 2^(1/16), then the mean of all gaps
 * within ± 2 % of the fullest bin's mean: so stamps of 1 ns give far better than a bin. */
#include <math.h>

#include "base/units.h"
#include "probe/estimators.h"
#include "probe/search.h"

#define TRAINS          8
#define PACKETS         64
#define BINS            512
#define BINS_PER_OCTAVE 16
#define NEAR            0.02
#define GAPS_MAX        (TRAINS * PACKETS)

struct capacity {
    struct search search;
    float gaps_ns[GAPS_MAX]; /* stretched ones, of the newest trains */
    uint32_t gap_count;
};

static void start(void *state, const struct estimator_goal *goal, uint64_t now_ns)
{
    struct capacity *capacity = state;
    capacity->gap_count = 0;
    search_start(&capacity->search, goal, now_ns);
}

static enum estimator_step next(void *state, uint64_t now_ns, struct train_shape *shape, uint64_t *at_ns)
{
    struct capacity *capacity = state;
    struct search *search = &capacity->search;
    *shape = (struct train_shape){.wire_bytes = search->goal.wire_bytes};
    train_add(shape, PACKETS, search->goal.port_bps);
    uint32_t answered = search->trains + search->discarded;
    if (search->goal.continuous)
        return search_next(search, shape, 1, now_ns, at_ns);
    search->over = answered >= TRAINS;
    return search_next(search, shape, TRAINS - answered, now_ns, at_ns);
}

static void take(void *state, const struct train_record *record, uint64_t now_ns)
{
    struct capacity *capacity = state;
    struct search *search = &capacity->search;
    (void)now_ns;
    if (!search_take(search, record, 2))
        return;
    double own_ns = (double)transmit_ns(search->goal.wire_bytes, search->goal.port_bps);
    for (uint32_t i = 1; i < record->count; i++) {
        const struct train_sample *before = &record->samples[i - 1], *after = &record->samples[i];
        double gap_ns = (double)(int64_t)(after->received_ns - before->received_ns);
        if (after->index != before->index + 1 || gap_ns <= own_ns * (1 + NEAR))
            continue;
        capacity->gaps_ns[capacity->gap_count++ % GAPS_MAX] = (float)gap_ns;
    }
}

static unsigned bin_of(double gap_ns)
{
    double bin = log2(gap_ns) * BINS_PER_OCTAVE;
    return bin < 0 ? 0 : bin >= BINS ? BINS - 1 : (unsigned)bin;
}

/* Mean of all gaps within [low, high]; 0: there are none. */
static double mean_within(const struct capacity *capacity, double low_ns, double high_ns)
{
    double sum = 0;
    uint32_t found = 0, count = MIN(capacity->gap_count, (uint32_t)GAPS_MAX);
    for (uint32_t i = 0; i < count; i++) {
        if (capacity->gaps_ns[i] < low_ns || capacity->gaps_ns[i] > high_ns)
            continue;
        sum += capacity->gaps_ns[i];
        found++;
    }
    return found > 0 ? sum / found : 0;
}

static double mode_ns(const struct capacity *capacity)
{
    uint16_t bins[BINS] = {0};
    unsigned best = 0;
    uint32_t count = MIN(capacity->gap_count, (uint32_t)GAPS_MAX);
    for (uint32_t i = 0; i < count; i++)
        bins[bin_of(capacity->gaps_ns[i])]++;
    for (unsigned i = 0; i < BINS; i++)
        if (bins[i] > bins[best])
            best = i;
    double center_ns =
        mean_within(capacity, exp2((double)best / BINS_PER_OCTAVE), exp2((best + 1.0) / BINS_PER_OCTAVE));
    return mean_within(capacity, center_ns * (1 - NEAR), center_ns * (1 + NEAR));
}

static void result(const void *state, uint64_t now_ns, struct estimate *estimate)
{
    const struct capacity *capacity = state;
    (void)now_ns;
    search_result(&capacity->search, estimate);
    if (capacity->search.answers == 0)
        return;
    estimate->kind = ESTIMATE_NONE;
    estimate->reason = ESTIMATE_SURE;
    double gap_ns = mode_ns(capacity);
    if (capacity->gap_count >= PACKETS && gap_ns > 0)
        estimate->capacity_bps = (uint64_t)(capacity->search.goal.wire_bytes * 8 * 1e9 / gap_ns + 0.5);
}

const struct estimator_kind estimator_capacity = {.name = "capacity",
                                                  .bytes = sizeof(struct capacity),
                                                  .start = start,
                                                  .next = next,
                                                  .take = take,
                                                  .result = result};
