/* An amount of bytes that all jobs of a disk share: what one has taken the others lack until it is given
 * back.
 *
 *   used_bytes <= limit_bytes, always
 *
 * Thread: any. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct budget {
    uint64_t limit_bytes;
    _Atomic uint64_t used_bytes;
};

/* False: so much is not left, and nothing was taken. */
static inline bool budget_take(struct budget *budget, uint64_t bytes)
{
    uint64_t used = atomic_load(&budget->used_bytes);
    do {
        if (bytes > budget->limit_bytes - used)
            return false;
    } while (!atomic_compare_exchange_weak(&budget->used_bytes, &used, used + bytes));
    return true;
}

static inline void budget_give_back(struct budget *budget, uint64_t bytes)
{
    atomic_fetch_sub(&budget->used_bytes, bytes);
}
