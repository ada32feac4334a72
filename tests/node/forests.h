/* Trees that cross each other, for tests over the small world, and what these look at. */
#pragma once

#include "check.h"
#include "node/job/job.h"

/* Each of two sites feeds the other; three chains that are turned; four trees with weights that differ. */
static const struct world_forest crossed = {2, {{1, 2, {{0, 1}, {1, 2}}}, {1, 2, {{0, 2}, {2, 1}}}}};
static const struct world_forest rings = {
    3,
    {{1, 3, {{0, 1}, {1, 2}, {2, 3}}}, {1, 3, {{0, 2}, {2, 3}, {3, 1}}}, {1, 3, {{0, 3}, {3, 1}, {1, 2}}}}};
static const struct world_forest weighted = {4,
                                             {{8, 4, {{0, 1}, {1, 2}, {2, 3}, {3, 4}}},
                                              {4, 4, {{0, 4}, {4, 3}, {3, 2}, {2, 1}}},
                                              {2, 4, {{0, 3}, {3, 1}, {3, 2}, {2, 4}}},
                                              {1, 4, {{0, 1}, {0, 2}, {0, 3}, {0, 4}}}}};

/* The first job of a node; a counter over all nodes that are alive. */
static inline struct job *job_at(uint16_t node)
{
    return &world.nodes[node].node->jobs[0];
}

static inline uint64_t sum_of(const char *counter)
{
    uint64_t sum = 0;
    for (uint16_t node = 0; node < world.count; node++)
        sum += world.nodes[node].alive ? world_counter(&world, node, counter) : 0;
    return sum;
}
