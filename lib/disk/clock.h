/* Clocks of the disk's threads, in ns. */
#pragma once

#include <stdint.h>
#include <time.h>

#include "base/units.h"

/* 0: there is no such clock, or none any more. */
static inline uint64_t clock_ns(clockid_t clock)
{
    struct timespec time = {0};
    (void)clock_gettime(clock, &time);
    return (uint64_t)time.tv_sec * NS_PER_S + (uint64_t)time.tv_nsec;
}
