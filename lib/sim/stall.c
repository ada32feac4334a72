#include "sim/stall.h"

#include "base/check.h"
#include "base/units.h"

static uint64_t draw_below(struct sim_stall *stall, uint64_t limit_ns)
{
    return limit_ns == 0 ? 0 : rng_below(&stall->rng, limit_ns);
}

void sim_stall_init(struct sim_stall *stall, const struct sim_stall_config *config, uint64_t seed)
{
    *stall = (struct sim_stall){.config = *config, .from_ns = TIME_NEVER, .until_ns = TIME_NEVER};
    rng_init(&stall->rng, seed);
    if (config->every_ns == 0)
        return;
    CHECK(config->for_ns + config->spread_ns < config->every_ns);
    stall->from_ns = draw_below(stall, config->every_ns);
    stall->until_ns = stall->from_ns + config->for_ns;
}

void sim_stall_look(struct sim_stall *stall, uint64_t now_ns)
{
    const struct sim_stall_config *config = &stall->config;
    while (stall->until_ns <= now_ns) {
        uint64_t distance_ns =
            config->every_ns - config->spread_ns + draw_below(stall, 2 * config->spread_ns + 1);
        stall->before_ns = stall->from_ns;
        stall->ended_ns = stall->until_ns;
        stall->from_ns += distance_ns;
        stall->until_ns = stall->from_ns + config->for_ns;
    }
}

uint64_t sim_stall_awake_ns(const struct sim_stall *stall, uint64_t at_ns)
{
    return at_ns >= stall->from_ns && at_ns < stall->until_ns ? stall->until_ns : at_ns;
}
