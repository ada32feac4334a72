/* When a program that ended is started again.
 *
 * Guarantee: the first start comes at once; the next one RETRY_FIRST_NS after the program ended, and every further one
 * after twice that gap, RETRY_LAST_NS at most. One that had run for RETRY_STEADY_NS or longer counts as the first. What
 * could not be started counts as ended. */
#pragma once

#include <stdbool.h>

#include "base/units.h"

#define RETRY_FIRST_NS  NS_PER_S
#define RETRY_LAST_NS   (60 * NS_PER_S)
#define RETRY_STEADY_NS (60 * NS_PER_S)

/* Zero: nothing was started yet. */
struct retry {
    uint64_t gap_ns;     /* behind the newest end; 0: none */
    uint64_t started_ns; /* the newest start */
    uint64_t next_ns;    /* no start before */
};

static inline bool retry_due(const struct retry *retry, uint64_t now_ns)
{
    return now_ns >= retry->next_ns;
}

static inline void retry_started(struct retry *retry, uint64_t now_ns)
{
    retry->started_ns = now_ns;
}

/* How long it is left alone now. */
static inline uint64_t retry_ended(struct retry *retry, uint64_t now_ns)
{
    bool steady = elapsed_ns(now_ns, retry->started_ns) >= RETRY_STEADY_NS;
    retry->gap_ns = retry->gap_ns == 0 || steady ? RETRY_FIRST_NS : MIN(2 * retry->gap_ns, RETRY_LAST_NS);
    retry->next_ns = now_ns + retry->gap_ns;
    return retry->gap_ns;
}
