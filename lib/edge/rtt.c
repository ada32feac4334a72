#include "edge/rtt.h"

#include "base/units.h"

#define BUCKETS        3
#define BUCKET_NS      (RTT_MIN_WINDOW_NS / BUCKETS)
#define TIMEOUT_MIN_NS NS_PER_MS

void rtt_init(struct rtt *rtt, uint64_t now_ns)
{
    *rtt = (struct rtt){.smoothed_ns = RTT_INITIAL_NS, .variation_ns = RTT_INITIAL_NS / 2};
    rtt->bucket_start_ns = now_ns;
    for (int index = 0; index < BUCKETS; index++)
        rtt->bucket_min_ns[index] = TIME_NEVER;
}

/* Bucket 0 is the current one; older ones move up and fall out at the end. */
static void turn_buckets(struct rtt *rtt, uint64_t now_ns)
{
    for (int turn = 0; turn < BUCKETS && elapsed_ns(now_ns, rtt->bucket_start_ns) >= BUCKET_NS; turn++) {
        rtt->bucket_min_ns[2] = rtt->bucket_min_ns[1];
        rtt->bucket_min_ns[1] = rtt->bucket_min_ns[0];
        rtt->bucket_min_ns[0] = TIME_NEVER;
        rtt->bucket_start_ns += BUCKET_NS;
    }
    if (elapsed_ns(now_ns, rtt->bucket_start_ns) >= BUCKET_NS)
        rtt->bucket_start_ns = now_ns; /* after a long silence */
}

void rtt_on_sample(struct rtt *rtt, uint64_t sample_ns, uint64_t now_ns)
{
    turn_buckets(rtt, now_ns);
    rtt->bucket_min_ns[0] = MIN(rtt->bucket_min_ns[0], sample_ns);
    rtt->latest_ns = sample_ns;
    if (!rtt->sampled) {
        rtt->sampled = true;
        rtt->smoothed_ns = sample_ns;
        rtt->variation_ns = sample_ns / 2;
        return;
    }
    uint64_t distance_ns =
        sample_ns > rtt->smoothed_ns ? sample_ns - rtt->smoothed_ns : rtt->smoothed_ns - sample_ns;
    rtt->variation_ns = rtt->variation_ns - rtt->variation_ns / 4 + distance_ns / 4;
    rtt->smoothed_ns = rtt->smoothed_ns - rtt->smoothed_ns / 8 + sample_ns / 8;
}

void rtt_forget_least(struct rtt *rtt)
{
    for (int index = 0; index < BUCKETS; index++)
        rtt->bucket_min_ns[index] = TIME_NEVER;
}

uint64_t rtt_min_ns(const struct rtt *rtt)
{
    if (!rtt->sampled)
        return RTT_INITIAL_NS;
    uint64_t least_ns = TIME_NEVER;
    for (int index = 0; index < BUCKETS; index++)
        least_ns = MIN(least_ns, rtt->bucket_min_ns[index]);
    return least_ns == TIME_NEVER ? rtt->smoothed_ns : least_ns;
}

uint64_t rtt_timeout_ns(const struct rtt *rtt)
{
    return MAX(rtt->smoothed_ns + 4 * rtt->variation_ns, TIMEOUT_MIN_NS);
}
