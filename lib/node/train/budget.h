/* What trains may take, of those that come in (in.h) and of those that others ask for (asked.h): bytes on the wire, refilled as
 * time passes, never more than `most` at a time; so no more than twice that in any TRAIN_BUDGET_NS. Times are the caller's. */
#pragma once

#include "base/units.h"

#define TRAIN_BUDGET_NS (10 * NS_PER_S)

struct train_budget {
    uint64_t bytes, filled_ns; /* what may be taken, as of then */
};

/* Full. */
static inline void train_budget_init(struct train_budget *budget, uint64_t most, uint64_t now_ns)
{
    *budget = (struct train_budget){most, now_ns};
}

static inline void train_budget_refill(struct train_budget *budget, uint64_t most, uint64_t now_ns)
{
    uint64_t passed_ns = MIN(elapsed_ns(now_ns, budget->filled_ns), TRAIN_BUDGET_NS);
    uint64_t bytes = muldiv64(most, passed_ns, TRAIN_BUDGET_NS);
    if (bytes == 0)
        return;
    budget->bytes = MIN(budget->bytes + bytes, most);
    budget->filled_ns = now_ns;
}
