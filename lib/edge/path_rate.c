/* See path_rate.h. */
#include "edge/path_rate.h"

#include "base/units.h"

#define POINTS_PER_RTT 32
#define SURE_NS        (200 * NS_PER_US) /* hosts that sleep between their turns look that often */
#define UNSURE_TIMES   4
/* So much less is the rate that a standstill leaves: one told again and again hides no path that takes less. */
#define FORGIVEN_LESS_PART 32
#define UNSURE_NS_MAX      (250 * NS_PER_MS) /* a host that never catches up, or says so */
#define STANDS_TIMES       8 /* longer than what points of this host usually wait: it stood still */

void path_rate_init(struct path_rate *rate)
{
    *rate = (struct path_rate){.count = 0};
}

void path_rate_skip(struct path_rate *rate, uint64_t bytes, uint64_t time_ns, uint64_t hole_ns,
                    uint64_t usual_bps)
{
    uint64_t took_ns = elapsed_ns(elapsed_ns(time_ns, rate->skipped_ns), rate->time_ns);
    uint64_t needs_ns = usual_bps == 0 ? 0 : transmit_ns(bytes - MIN(bytes, rate->bytes), usual_bps);
    if (rate->count > 0)
        rate->skipped_ns += MIN(elapsed_ns(took_ns, needs_ns), hole_ns);
}

void path_rate_restart(struct path_rate *rate)
{
    rate->count = 0;
}

void path_rate_on_wait(struct path_rate *rate, uint64_t wait_ns)
{
    if (wait_ns > STANDS_TIMES * MAX(rate->wait_ns, SURE_NS))
        rate->stood_ns = MAX(rate->stood_ns, wait_ns);
}

bool path_rate_on_delivered(struct path_rate *rate, uint64_t bytes, uint64_t time_ns, uint64_t wait_ns,
                            uint64_t rtt_ns, uint64_t usual_bps)
{
    uint64_t told_ns = time_ns;
    time_ns = elapsed_ns(time_ns, rate->skipped_ns);
    if (rate->count > 0 && (time_ns <= rate->time_ns || bytes < rate->bytes))
        return false;
    path_rate_on_wait(rate, wait_ns);
    if (rate->count > 0 && wait_ns > MAX(rtt_ns / POINTS_PER_RTT, SURE_NS) &&
        time_ns - rate->time_ns < MAX(rtt_ns / 2, MIN(UNSURE_TIMES * wait_ns, UNSURE_NS_MAX)))
        return false;
    rate->wait_ns = (7 * rate->wait_ns + wait_ns) / 8;
    if (rate->stood_ns > 0 && usual_bps > 0) {
        path_rate_skip(rate, bytes, told_ns, rate->stood_ns, usual_bps - usual_bps / FORGIVEN_LESS_PART);
        time_ns = elapsed_ns(told_ns, rate->skipped_ns);
    }
    rate->stood_ns = 0;
    rate->time_ns = time_ns;
    rate->bytes = bytes;
    if (rate->count > 0 &&
        time_ns - rate->points[(rate->count - 1) % PATH_RATE_POINTS].time_ns < rtt_ns / POINTS_PER_RTT)
        return true;
    rate->points[rate->count % PATH_RATE_POINTS].time_ns = time_ns;
    rate->points[rate->count % PATH_RATE_POINTS].bytes = bytes;
    rate->count++;
    return true;
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

bool path_rate_holds(const struct path_rate *rate, uint64_t bytes)
{
    uint32_t oldest = rate->count > PATH_RATE_POINTS ? rate->count - PATH_RATE_POINTS : 0;
    return rate->count > 0 && rate->bytes - rate->points[oldest % PATH_RATE_POINTS].bytes >= bytes;
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
