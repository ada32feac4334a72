/* The cheapest out-tree from a source that has every one of the hosts asked for, and no others
 * (Edmonds' theorem). Dense form after Gabow, Galil, Spencer and Tarjan (Combinatorica 1986): a
 * path grows backwards along cheapest edges, circles on it are merged as they close; O(count^2)
 * time and memory whatever the weights.
 *
 * Equal sums: what comes first by index when the hosts are looked at in order. Same answer at every
 * optimization level: it adds, subtracts and compares doubles only. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"

#define ARBORESCENCE_NO_EDGE 1e30 /* weights from here on: no such edge */

struct arborescence_task {
    uint16_t count, source;
    const double *weight; /* [from * count + to] */
    const bool *spanned;  /* [count]; the source counts as spanned */
};

size_t arborescence_bytes(uint16_t count); /* of arena */
/* parent[count]: UINT16_MAX of the source and of hosts that are not spanned. *cost: the sum of the weights.
 * False, and nothing said: some host can't be reached. The arena is as before on return. */
bool arborescence(const struct arborescence_task *task, struct arena *arena, uint16_t *parent, double *cost);
