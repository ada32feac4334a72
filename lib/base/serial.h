/* Serial arithmetic: a 64-bit counter of which only the low 32 bits travel. */
#pragma once

#include <stdint.h>

/* The 64-bit value with the given low half that lies nearest to `reference` (within +-2^31 of it).
 * Values that would lie below zero are taken one epoch up. */
static inline uint64_t serial_expand32(uint64_t reference, uint32_t low)
{
    int32_t distance = (int32_t)(low - (uint32_t)reference);
    if (distance < 0 && reference < (uint64_t)(-(int64_t)distance))
        return (uint64_t)low;
    return reference + (uint64_t)(int64_t)distance;
}

/* Signed distance from b to a for counters that wrap at 32 bits. */
static inline int32_t serial_distance32(uint32_t a, uint32_t b)
{
    return (int32_t)(a - b);
}
