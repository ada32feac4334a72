/* When to say again what lasts: at once, then after 10 s, 20 s, 40 s … and at last once an hour, so that a log grows by some
 * ten lines for the first hour and 24 for a day. */
#pragma once

#include <stdbool.h>

#include "base/units.h"

#define GAPS_FIRST_NS (10 * NS_PER_S)
#define GAPS_LAST_NS  NS_PER_H

/* Zero: nothing was said. */
struct gaps {
    uint64_t gap_ns;  /* 0: it is not going on */
    uint64_t next_ns; /* it is not said before */
};

/* It goes on; true: and is to be said. */
static inline bool gaps_say(struct gaps *gaps, uint64_t now_ns)
{
    if (gaps->gap_ns != 0 && now_ns < gaps->next_ns)
        return false;
    gaps->gap_ns = gaps->gap_ns == 0 ? GAPS_FIRST_NS : MIN(2 * gaps->gap_ns, GAPS_LAST_NS);
    gaps->next_ns = now_ns + gaps->gap_ns;
    return true;
}

/* It is over: when it begins again, that is said at once. */
static inline void gaps_end(struct gaps *gaps)
{
    *gaps = (struct gaps){.gap_ns = 0};
}
