/* When a host stands still: its process does nothing, whatever comes or falls due, as on a machine whose core is
 * taken away.
 *
 * Stalls begin `every_ns` apart, more or less by a uniform draw up to spread_ns, and last for_ns each; the first one
 * begins within `every_ns` of time 0. Asked at times that do not fall; what it says depends on the seed alone. A stall
 * ends before the next one begins: for_ns + spread_ns < every_ns. */
#pragma once

#include <stdint.h>

#include "base/rng.h"

struct sim_stall_config {
    uint64_t every_ns; /* 0: never */
    uint64_t for_ns, spread_ns;
};

struct sim_stall {
    struct sim_stall_config config;
    struct rng rng;
    uint64_t from_ns, until_ns;   /* the stall at that time or the next one; TIME_NEVER: none */
    uint64_t before_ns, ended_ns; /* the one before: its beginning and end; 0: none yet */
};

void sim_stall_init(struct sim_stall *stall, const struct sim_stall_config *config, uint64_t seed);
/* Time has come to now_ns. */
void sim_stall_look(struct sim_stall *stall, uint64_t now_ns);
/* When what would happen at at_ns, now or soon, does: then, or at the end of the stall that it falls into. */
uint64_t sim_stall_awake_ns(const struct sim_stall *stall, uint64_t at_ns);
