/* Seeded generator (splitmix64, Steele et al. 2014): one per node and per link, never global.
 * Same seed, same sequence, on every machine and optimisation level. */
#pragma once

#include <stdint.h>

#include "base/check.h"

struct rng {
    uint64_t state;
};

static inline void rng_init(struct rng *rng, uint64_t seed)
{
    rng->state = seed;
}

static inline uint64_t rng_next(struct rng *rng)
{
    uint64_t z = (rng->state += 0x9e3779b97f4a7c15ULL);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
}

/* Uniform in 0 … limit-1; limit > 0. Multiply-shift; its bias is below limit / 2^64. */
static inline uint64_t rng_below(struct rng *rng, uint64_t limit)
{
    CHECK(limit != 0);
    return (uint64_t)((unsigned __int128)rng_next(rng) * limit >> 64);
}

/* True with probability parts_per_billion / 10^9. Draws only when the outcome is open. */
static inline int rng_chance_ppb(struct rng *rng, uint64_t parts_per_billion)
{
    if (parts_per_billion == 0)
        return 0;
    if (parts_per_billion >= 1000000000ULL)
        return 1;
    return rng_below(rng, 1000000000ULL) < parts_per_billion;
}
