/* How long each cause has kept an edge from sending more. At any time one cause holds; none: there is nothing
 * left to be sent to that peer. Times in ns of the node's clock. */
#pragma once

#include <stdint.h>

#include "base/units.h"
#include "edge/limit.h"

#define CAUSES_MARK_NS NS_PER_S

struct causes {
    uint64_t since_ns;
    uint64_t total_ns[EDGE_LIMIT_COUNT];
    uint64_t mark_ns[EDGE_LIMIT_COUNT]; /* totals as they were one to two intervals ago … */
    uint64_t next_ns[EDGE_LIMIT_COUNT]; /* … and less than one ago, at marked_ns */
    uint64_t marked_ns;
    enum edge_limit holds;
};

void causes_mark(struct causes *causes, uint64_t now_ns);
/* How long it has held the edge so far. */
uint64_t causes_total_ns(const struct causes *causes, enum edge_limit cause, uint64_t now_ns);

static inline void causes_set(struct causes *causes, enum edge_limit cause, uint64_t now_ns)
{
    if (cause == causes->holds)
        return;
    causes->total_ns[causes->holds] += elapsed_ns(now_ns, causes->since_ns);
    causes->holds = cause;
    causes->since_ns = now_ns;
    if (elapsed_ns(now_ns, causes->marked_ns) >= CAUSES_MARK_NS)
        causes_mark(causes, now_ns);
}

/* Of the time since the present cause began, lost_ns were in truth lost to another one. */
void causes_lost(struct causes *causes, enum edge_limit cause, uint64_t lost_ns, uint64_t now_ns);
/* Share of the time in which there was something left to be sent, in millionths; 0 while there was none. */
uint32_t causes_share_ppm(const struct causes *causes, enum edge_limit cause, uint64_t now_ns);
/* The one that held for the longest time; none: nothing was ever sent. */
enum edge_limit causes_dominant(const struct causes *causes, uint64_t now_ns);
/* The one that held longest of late, within about two seconds; none: there was nothing left to be sent. */
enum edge_limit causes_recent(const struct causes *causes, uint64_t now_ns);
