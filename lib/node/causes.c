#include "node/causes.h"

static uint64_t total_ns(const struct causes *causes, enum edge_limit cause, uint64_t now_ns)
{
    uint64_t running_ns = cause == causes->holds ? elapsed_ns(now_ns, causes->since_ns) : 0;
    return causes->total_ns[cause] + running_ns;
}

uint32_t causes_share_ppm(const struct causes *causes, enum edge_limit cause, uint64_t now_ns)
{
    uint64_t sum_ns = 0;
    for (unsigned other = EDGE_LIMIT_none + 1; other < EDGE_LIMIT_COUNT; other++)
        sum_ns += total_ns(causes, (enum edge_limit)other, now_ns);
    if (sum_ns == 0 || cause == EDGE_LIMIT_none)
        return 0;
    return (uint32_t)muldiv64(total_ns(causes, cause, now_ns), 1000000, sum_ns);
}

enum edge_limit causes_dominant(const struct causes *causes, uint64_t now_ns)
{
    enum edge_limit longest = EDGE_LIMIT_none;
    uint64_t longest_ns = 0;
    for (unsigned cause = EDGE_LIMIT_none + 1; cause < EDGE_LIMIT_COUNT; cause++) {
        uint64_t this_ns = total_ns(causes, (enum edge_limit)cause, now_ns);
        if (this_ns <= longest_ns)
            continue;
        longest_ns = this_ns;
        longest = (enum edge_limit)cause;
    }
    return longest;
}
