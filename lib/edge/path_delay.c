/* See path_delay.h. */
#include "edge/path_delay.h"

#include "base/units.h"

#define DELAY_NONE INT64_MAX

void path_delay_init(struct path_delay *delay, uint64_t now_ns)
{
    *delay = (struct path_delay){.base_ns = DELAY_NONE,
                                 .floor_ns = DELAY_NONE,
                                 .base_seen_ns = now_ns,
                                 .packets_min = PATH_DELAY_PACKETS_MIN,
                                 .bucket_start_ns = now_ns,
                                 .jump_start_ns = now_ns};
    for (unsigned bucket = 0; bucket < PATH_DELAY_BUCKETS; bucket++)
        delay->buckets[bucket].least_ns = DELAY_NONE;
}

static int64_t least_now(const struct path_delay *delay)
{
    int64_t least_ns = DELAY_NONE;
    uint32_t packets = 0;
    for (uint32_t back = 0; back < PATH_DELAY_BUCKETS && packets < delay->packets_min; back++) {
        uint32_t index = (delay->bucket - back) % PATH_DELAY_BUCKETS;
        least_ns = MIN(least_ns, delay->buckets[index].least_ns);
        packets += delay->buckets[index].packets;
    }
    return least_ns;
}

void path_delay_on_sample(struct path_delay *delay, int64_t owd_ns, uint64_t packets, uint64_t rtt_ns,
                          uint64_t tolerance_ns, uint64_t now_ns)
{
    delay->known = true;
    if (elapsed_ns(now_ns, delay->bucket_start_ns) >= rtt_ns / 8) {
        delay->bucket++;
        delay->buckets[delay->bucket % PATH_DELAY_BUCKETS].least_ns = DELAY_NONE;
        delay->buckets[delay->bucket % PATH_DELAY_BUCKETS].packets = 0;
        delay->bucket_start_ns = now_ns;
    }
    uint32_t index = delay->bucket % PATH_DELAY_BUCKETS;
    delay->buckets[index].packets += (uint32_t)MIN(packets, (uint64_t)UINT16_MAX);
    delay->buckets[index].least_ns = MIN(delay->buckets[index].least_ns, owd_ns);
    delay->base_ns = MIN(delay->base_ns, owd_ns);
    delay->floor_ns = MIN(delay->floor_ns, owd_ns);
    if (owd_ns - path_delay_empty_ns(delay) <= (int64_t)tolerance_ns)
        delay->base_seen_ns = now_ns;
}

void path_delay_on_jump(struct path_delay *delay, uint64_t jump_ns, uint64_t now_ns)
{
    if (elapsed_ns(now_ns, delay->jump_start_ns) >= PATH_DELAY_JITTER_HOLD_NS) {
        delay->jump_before_ns = delay->jump_ns;
        delay->jump_ns = 0;
        delay->jump_start_ns = now_ns;
    }
    delay->jump_ns = MAX(delay->jump_ns, jump_ns);
}

void path_delay_on_late(struct path_delay *delay, uint64_t late_ns)
{
    delay->late_ns = late_ns;
}

void path_delay_shift_base(struct path_delay *delay, uint64_t up_ns_max)
{
    int64_t least_ns = least_now(delay);
    if (least_ns == DELAY_NONE)
        return;
    delay->base_ns = up_ns_max == TIME_NEVER ? least_ns : MIN(least_ns, delay->floor_ns + (int64_t)up_ns_max);
    delay->nearer_ns = 0;
}

void path_delay_raise_base(struct path_delay *delay, int64_t base_ns, uint64_t up_ns_max)
{
    int64_t most_ns = delay->floor_ns + (int64_t)up_ns_max;
    base_ns = MIN(base_ns, most_ns);
    if (base_ns <= delay->base_ns)
        return;
    delay->base_ns = base_ns;
    delay->nearer_ns = 0;
}

void path_delay_renew_base(struct path_delay *delay, int64_t base_ns, uint64_t now_ns)
{
    delay->base_ns = base_ns;
    delay->floor_ns = base_ns;
    delay->nearer_ns = 0;
    delay->base_seen_ns = now_ns;
}

void path_delay_forget_jump(struct path_delay *delay, uint64_t jitter_ns)
{
    delay->jump_ns = MIN(delay->jump_ns, jitter_ns);
    delay->jump_before_ns = MIN(delay->jump_before_ns, jitter_ns);
}

int64_t path_delay_empty_ns(const struct path_delay *delay)
{
    return delay->base_ns == DELAY_NONE ? DELAY_NONE : delay->base_ns + (int64_t)delay->nearer_ns;
}

uint64_t path_delay_queue_ns(const struct path_delay *delay)
{
    int64_t least_ns = least_now(delay), empty_ns = path_delay_empty_ns(delay);
    return least_ns == DELAY_NONE || least_ns < empty_ns ? 0 : (uint64_t)(least_ns - empty_ns);
}

uint64_t path_delay_jitter_ns(const struct path_delay *delay)
{
    return MAX(delay->jump_ns, delay->jump_before_ns);
}

bool path_delay_keeps_order(const struct path_delay *delay)
{
    return delay->late_ns * 4 <= path_delay_jitter_ns(delay);
}
