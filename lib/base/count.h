/* Numbers that one thread writes and any thread reads: counters, and what else a report shows.
 *
 * Guarantee: a reader gets a value that was written, maybe an older one than its neighbour's, never a torn one. Nothing
 * is ordered by it, and nothing locks a line: the loads and stores are those that a plain variable would have. */
#pragma once

#include <stdint.h>

/* The writer alone. */
static inline void count_set(uint64_t *count, uint64_t value)
{
    __atomic_store_n(count, value, __ATOMIC_RELAXED);
}

/* The writer alone. */
static inline void count_add(uint64_t *count, uint64_t more)
{
    count_set(count, *count + more);
}

/* Any thread. */
static inline uint64_t count_get(const uint64_t *count)
{
    return __atomic_load_n(count, __ATOMIC_RELAXED);
}
