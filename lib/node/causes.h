/* How long each cause has kept an edge from sending more. At any time one cause holds; none: there is nothing
 * left to be sent to that peer. Times in ns of the node's clock. */
#pragma once

#include <stdint.h>

#include "base/units.h"
#include "edge/limit.h"

struct causes {
    uint64_t since_ns;
    uint64_t total_ns[EDGE_LIMIT_COUNT];
    enum edge_limit holds;
};

static inline void causes_set(struct causes *causes, enum edge_limit cause, uint64_t now_ns)
{
    if (cause == causes->holds)
        return;
    causes->total_ns[causes->holds] += elapsed_ns(now_ns, causes->since_ns);
    causes->holds = cause;
    causes->since_ns = now_ns;
}

/* Share of the time in which there was something left to be sent, in millionths; 0 while there was none. */
uint32_t causes_share_ppm(const struct causes *causes, enum edge_limit cause, uint64_t now_ns);
/* The one that held for the longest time; none: nothing was ever sent. */
enum edge_limit causes_dominant(const struct causes *causes, uint64_t now_ns);
