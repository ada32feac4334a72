/* A file's time as one number: ns since 1970, modulo 2^64. The topmost 2^31 s stand for the time before: all that filesystems keep,
 * from December 1901 to 2486, has a number, and one of 1970 or later is what it says. What lies outside is moved to the nearer end. */
#pragma once

#include <stdbool.h>

#include "base/units.h"

#define FILE_TIME_BEFORE_S (INT64_C(1) << 31)
#define FILE_TIME_END_NS   (UINT64_MAX - (uint64_t)FILE_TIME_BEFORE_S * NS_PER_S)

static inline uint64_t file_time_of(int64_t seconds, uint32_t ns)
{
    if (seconds < -FILE_TIME_BEFORE_S)
        return FILE_TIME_END_NS + 1;
    if (seconds >= 0 && (uint64_t)seconds >= FILE_TIME_END_NS / NS_PER_S)
        return FILE_TIME_END_NS / NS_PER_S * NS_PER_S;
    return (uint64_t)seconds * NS_PER_S + ns;
}

static inline bool file_time_is_before_1970(uint64_t time)
{
    return time > FILE_TIME_END_NS;
}

/* Rounded down, also before 1970: as a timespec has it. */
static inline int64_t file_time_seconds(uint64_t time)
{
    if (!file_time_is_before_1970(time))
        return (int64_t)(time / NS_PER_S);
    return -(int64_t)((UINT64_MAX - time) / NS_PER_S) - 1;
}

static inline uint32_t file_time_ns(uint64_t time)
{
    return (uint32_t)(time - (uint64_t)file_time_seconds(time) * NS_PER_S);
}
