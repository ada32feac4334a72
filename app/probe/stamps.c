#include "app/probe/stamps.h"

#include "base/units.h"

struct train_floor stamps_floor(const struct stamps_config *config)
{
    const struct netem_stamping *stamping = &config->stamping;
    return (struct train_floor){
        .noise_ns = stamping->noise_ns,
        .granularity_ns = stamping->granularity_ns,
        .gap_ns = stamping->batch > 1 ? stamping->batch_ns : 0,
        .batch = stamping->batch,
        .stamp_kind = netem_stamping_exact(stamping) ? STAMP_VIRTUAL : STAMP_SOFTWARE,
    };
}

uint64_t stamps_clock_ns(const struct stamps_config *config, uint64_t at_ns)
{
    __int128 drift_ns = (__int128)at_ns * config->skew_ppb / (int64_t)NS_PER_S;
    uint64_t steps = config->step_every_ns > 0 ? at_ns / config->step_every_ns : 0;
    return at_ns + config->offset_ns + (uint64_t)(int64_t)drift_ns + steps * (uint64_t)config->step_ns;
}
