#include "node/flow/causes.h"

#include <string.h>

uint64_t causes_total_ns(const struct causes *causes, enum edge_limit cause, uint64_t now_ns)
{
    uint64_t running_ns = cause == causes->holds ? elapsed_ns(now_ns, causes->since_ns) : 0;
    return causes->total_ns[cause] + running_ns;
}

void causes_lost(struct causes *causes, enum edge_limit cause, uint64_t lost_ns, uint64_t now_ns)
{
    lost_ns = MIN(lost_ns, elapsed_ns(now_ns, causes->since_ns));
    causes->total_ns[cause] += lost_ns;
    causes->since_ns += lost_ns;
}

uint32_t causes_share_ppm(const struct causes *causes, enum edge_limit cause, uint64_t now_ns)
{
    uint64_t sum_ns = 0;
    for (unsigned other = EDGE_LIMIT_none + 1; other < EDGE_LIMIT_COUNT; other++)
        sum_ns += causes_total_ns(causes, (enum edge_limit)other, now_ns);
    if (sum_ns == 0 || cause == EDGE_LIMIT_none)
        return 0;
    return (uint32_t)muldiv64(causes_total_ns(causes, cause, now_ns), 1000000, sum_ns);
}

void causes_mark(struct causes *causes, uint64_t now_ns)
{
    memcpy(causes->mark_ns, causes->next_ns, sizeof(causes->mark_ns));
    memcpy(causes->next_ns, causes->total_ns, sizeof(causes->next_ns));
    causes->marked_ns = now_ns;
}

/* The longest since the totals were `from_ns`. */
static enum edge_limit longest_since(const struct causes *causes, const uint64_t from_ns[EDGE_LIMIT_COUNT],
                                     uint64_t now_ns)
{
    enum edge_limit longest = EDGE_LIMIT_none;
    uint64_t longest_ns = 0;
    for (unsigned cause = EDGE_LIMIT_none + 1; cause < EDGE_LIMIT_COUNT; cause++) {
        uint64_t this_ns = causes_total_ns(causes, (enum edge_limit)cause, now_ns) - from_ns[cause];
        if (this_ns <= longest_ns)
            continue;
        longest_ns = this_ns;
        longest = (enum edge_limit)cause;
    }
    return longest;
}

enum edge_limit causes_dominant(const struct causes *causes, uint64_t now_ns)
{
    static const uint64_t from_ns[EDGE_LIMIT_COUNT] = {0};
    return longest_since(causes, from_ns, now_ns);
}

enum edge_limit causes_recent(const struct causes *causes, uint64_t now_ns)
{
    return longest_since(causes, causes->mark_ns, now_ns);
}
