/* See path_rate.h. */
#include "edge/path_rate.h"

#include "base/units.h"

#define POINTS_PER_RTT 32

void path_rate_init(struct path_rate *rate)
{
    *rate = (struct path_rate){.count = 0};
}

void path_rate_restart(struct path_rate *rate)
{
    rate->count = 0;
}

void path_rate_on_delivered(struct path_rate *rate, uint64_t bytes, uint64_t time_ns, uint64_t rtt_ns)
{
    if (rate->count > 0 && (time_ns <= rate->time_ns || bytes < rate->bytes))
        return;
    rate->time_ns = time_ns;
    rate->bytes = bytes;
    if (rate->count > 0 &&
        time_ns - rate->points[(rate->count - 1) % PATH_RATE_POINTS].time_ns < rtt_ns / POINTS_PER_RTT)
        return;
    rate->points[rate->count % PATH_RATE_POINTS].time_ns = time_ns;
    rate->points[rate->count % PATH_RATE_POINTS].bytes = bytes;
    rate->count++;
}

uint64_t path_rate_over(const struct path_rate *rate, uint64_t span_ns, uint64_t bytes_min)
{
    uint64_t span = 0, bytes = 0;
    for (uint32_t back = 1; back <= MIN(rate->count, PATH_RATE_POINTS); back++) {
        uint32_t index = (rate->count - back) % PATH_RATE_POINTS;
        span = rate->time_ns - rate->points[index].time_ns;
        bytes = rate->bytes - rate->points[index].bytes;
        if (span >= span_ns && bytes >= bytes_min)
            break;
    }
    return span == 0 ? 0 : muldiv64(bytes, 8 * NS_PER_S, span);
}

uint64_t path_rate_within(const struct path_rate *rate, uint64_t span_ns)
{
    uint64_t span = 0, bytes = 0;
    for (uint32_t back = 1; back <= MIN(rate->count, PATH_RATE_POINTS); back++) {
        uint32_t index = (rate->count - back) % PATH_RATE_POINTS;
        if (rate->time_ns - rate->points[index].time_ns > span_ns)
            break;
        span = rate->time_ns - rate->points[index].time_ns;
        bytes = rate->bytes - rate->points[index].bytes;
    }
    return span == 0 ? 0 : muldiv64(bytes, 8 * NS_PER_S, span);
}
