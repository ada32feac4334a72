/* What held a key, and is not needed any more: zeroed in a way that no compiler leaves out. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline void wipe(void *data, size_t length)
{
    explicit_bzero(data, length);
}

/* Equal or not, in a time that does not tell where they differ. */
static inline bool equal_in_constant_time(const uint8_t *one, const uint8_t *other, size_t length)
{
    volatile uint8_t difference = 0;
    for (size_t index = 0; index < length; index++)
        difference = (uint8_t)(difference | (one[index] ^ other[index]));
    return difference == 0;
}
