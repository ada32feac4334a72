#include "app/probe/stamps.h"

#include <math.h>

#include "base/units.h"

struct train_floor stamps_floor(const struct stamps_config *config)
{
    bool exact = config->noise_ns == 0 && config->granularity_ns <= 1 && config->batch <= 1;
    return (struct train_floor){.noise_ns = config->noise_ns,
                                .granularity_ns = config->granularity_ns,
                                .gap_ns = config->batch > 1 ? config->batch_ns : 0,
                                .batch = config->batch,
                                .stamp_kind = exact ? STAMP_VIRTUAL : STAMP_SOFTWARE};
}

void stamps_begin(struct stamps *stamps, const struct stamps_config *config, uint64_t seed)
{
    stamps->config = config;
    rng_init(&stamps->rng, seed);
}

static double uniform(struct rng *rng)
{
    return ((double)(rng_next(rng) >> 11) + 0.5) / (double)(1ULL << 53);
}

/* Box and Muller 1958. */
static double gaussian(struct rng *rng)
{
    double radius = sqrt(-2 * log(uniform(rng)));
    return radius * cos(2 * M_PI * uniform(rng));
}

uint64_t stamps_take(struct stamps *stamps, uint64_t at_ns)
{
    const struct stamps_config *config = stamps->config;
    __int128 drift_ns = (__int128)at_ns * config->skew_ppb / (int64_t)NS_PER_S;
    int64_t stamp_ns = (int64_t)(at_ns + config->offset_ns) + (int64_t)drift_ns;
    if (config->noise_ns != 0)
        stamp_ns += (int64_t)lround(gaussian(&stamps->rng) * (double)config->noise_ns);
    stamp_ns = MAX(stamp_ns, (int64_t)0);
    if (config->granularity_ns > 1)
        stamp_ns -= stamp_ns % (int64_t)config->granularity_ns;
    return (uint64_t)stamp_ns;
}

void stamps_batch(const struct stamps_config *config, uint64_t *arrivals_ns, uint32_t count)
{
    if (config->batch <= 1)
        return;
    for (uint32_t first = 0, end; first < count; first = end) {
        uint64_t latest_ns = later_ns(arrivals_ns[first], config->batch_ns);
        for (end = first; end < count && end - first < config->batch && arrivals_ns[end] <= latest_ns;)
            end++;
        uint64_t seen_ns = end - first == config->batch ? arrivals_ns[end - 1] : latest_ns;
        for (uint32_t i = first; i < end; i++)
            arrivals_ns[i] = seen_ns;
    }
}
