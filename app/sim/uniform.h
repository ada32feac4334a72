/* What draws are made of. Each takes one value of the generator. */
#pragma once

#include <math.h>

#include "base/rng.h"

/* [0, 1). */
static inline double uniform(struct rng *rng)
{
    return (double)(rng_next(rng) >> 11) / 9007199254740992.0; /* 2^53 */
}

static inline double uniform_log(struct rng *rng, double least, double most)
{
    return exp(log(least) + uniform(rng) * (log(most) - log(least)));
}
