/* Random times in integers: the same on every machine. A draw is off its exact value by less than 3 parts
 * in 10^6. */
#pragma once

#include <stdint.h>

#include "base/rng.h"

/* No time that is drawn is longer: 52 days. */
#define NETEM_DRAW_NS_MAX (1ULL << 52)

/* log2(1 + index / 256), in 2^-32; 257 of them. */
extern const uint64_t netem_log2_table[];

/* -log2 of a number that is uniform in (0, 1], in 2^-32; at most 64. */
static inline uint64_t netem_draw_log2(struct rng *rng)
{
    uint64_t number = rng_next(rng) | 1;
    unsigned zeros = (unsigned)__builtin_clzll(number);
    number <<= zeros;
    const uint64_t *entry = &netem_log2_table[number >> 55 & 255];
    uint64_t log2 = entry[0] + ((entry[1] - entry[0]) * (number >> 23 & UINT32_MAX) >> 32);
    return ((uint64_t)(zeros + 1) << 32) - log2;
}

/* Exponential with mean 1, in 2^-32. */
static inline uint64_t netem_draw_exponential(struct rng *rng)
{
    const uint64_t ln2 = 0xb17217f8; /* in 2^-32 */
    return (uint64_t)((unsigned __int128)netem_draw_log2(rng) * ln2 >> 32);
}

/* Pareto: scale_ns * u^(-1000 / exponent_milli); scale_ns < 2^44, exponent_milli > 0. */
uint64_t netem_draw_pareto_ns(struct rng *rng, uint64_t scale_ns, uint32_t exponent_milli);
/* Normal with mean 0: the sum of twelve uniform numbers (so never beyond six deviations). deviation_ns <
 * 2^31. */
int64_t netem_draw_normal_ns(struct rng *rng, uint64_t deviation_ns);
