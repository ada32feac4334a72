/* Out-trees that need not have every host: the cheapest one that heuristics find,
 * and a cost that none is below. */
#pragma once

#include "planner/lp/arborescence.h"

struct steiner_task {
    uint16_t count, source;
    const double *weight; /* [from * count + to] >= 0; ARBORESCENCE_NO_EDGE */
    const bool *wanted;   /* [count]: receivers, and the source */
};

size_t steiner_bytes(uint16_t count); /* of arena, given back on return */
/* A tree with all that are wanted and no leaf that is not. False: some can't be
 * reached. `thorough`: looks longer. */
bool steiner_tree(const struct steiner_task *task, bool thorough, struct arena *arena, uint16_t *parent,
                  double *cost);
/* Wong's dual ascent (Math. Programming 28, 1984): no tree costs less.
 * ARBORESCENCE_NO_EDGE where some can't be reached. */
double steiner_least(const struct steiner_task *task, struct arena *arena);
