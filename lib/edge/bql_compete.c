/* bql beside senders that fill the buffer. See congestion_bql.c. */
#include "edge/bql.h"

#define CONTEST_NS       (3 * NS_PER_S / 2)
#define CONTEST_QUEUE_NS (20 * NS_PER_MS)
#define CONTEST_RTTS     15
#define OWN_PERCENT      85
#define OWN_HOLD_NS      (30 * NS_PER_S)
#define DEAF_FALL_PPM    950000
#define DEAF_RISE_PPM    1030000
#define DRAIN_NS         (10 * NS_PER_S)
#define DRAIN_RTTS       50
#define DRAIN_PPM        300000ULL

/* The queue stays although this edge keeps giving way, and the receiver's other edges don't have the rest. */
static bool contested(struct congestion_bql *bql, const struct bql_path *path)
{
    /* A rate that has given way already has a long target. */
    uint64_t long_ns = MAX(bql_target_ns(bql, bql->own_most_bps) * 5 / 2, path->target_ns * 5 / 2);
    long_ns = MIN(long_ns, CONTEST_QUEUE_NS + 2 * delay_jitter_ns(&bql->delay));
    bool lasts = path->queue_ns > long_ns && path->queue_ns > bql->contest_queue_ns / 100 * 85 &&
                 bql->contest_queue_ns > 0;
    if (!lasts) {
        bql->contest_ns = path->now_ns;
        bql->contest_queue_ns = path->queue_ns;
    }
    uint64_t wait_ns = MAX(CONTEST_NS, CONTEST_RTTS * path->rtt_ns);
    return elapsed_ns(path->now_ns, bql->contest_ns) > wait_ns &&
           bql->own_bps < bql->own_most_bps / 100 * OWN_PERCENT;
}

void bql_compete_when_contested(struct congestion_bql *bql, const struct bql_path *path)
{
    bool yields = bql->phase == BQL_TRACK || bql->phase == BQL_PARK || bql->phase == BQL_REFRESH;
    if (!contested(bql, path) || !yields)
        return;
    uint64_t rate_bps = MAX(bql->rate_bps, bql->own_most_bps / 2);
    bql_enter(bql, BQL_COMPETE);
    cubic_init(&bql->window, bytes_within(rate_bps, path->rtt_ns + path->queue_ns), path->now_ns);
    bql->drain_due_ns = path->now_ns + MAX(DRAIN_NS, DRAIN_RTTS * path->rtt_ns);
    bql->draining_ns = 0;
    bql->deaf_events = 0;
    bql->deaf_from_ns = 0;
}

/* Now and then it gives way for two round trips: where the queue falls as if the edge had it for its own, the
 * others are gone. */
static void drain(struct congestion_bql *bql, const struct bql_path *path)
{
    uint64_t lasts_ns = 2 * path->rtt_ns;
    bql->drain_least_ns = MIN(bql->drain_least_ns, path->queue_ns);
    if (path->newest_sent_ns < bql->draining_ns + lasts_ns)
        return;
    uint64_t hoped_ns = MIN(muldiv64(lasts_ns, DRAIN_PPM, BQL_PPM), bql->drain_queue_ns);
    bool alone = elapsed_ns(bql->drain_queue_ns, bql->drain_least_ns) > hoped_ns / 10 * 7;
    bql->draining_ns = 0;
    bql->drain_due_ns = path->now_ns + MAX(DRAIN_NS, DRAIN_RTTS * path->rtt_ns);
    if (!alone)
        return;
    bql_enter(bql, BQL_TRACK);
    bql->contest_queue_ns = 0;
}

void bql_compete(struct congestion_bql *bql, const struct bql_path *path,
                 const struct congestion_sample *sample)
{
    bql->competitive_ns += elapsed_ns(path->now_ns, bql->competed_ns);
    if (bql->draining_ns > 0) {
        drain(bql, path);
        return;
    }
    uint64_t rtt_ns = path->rtt_ns + path->queue_ns;
    bql->deaf_least_ns = MIN(bql->deaf_least_ns, path->queue_ns);
    cubic_on_acked(&bql->window, sample->acked_bytes, rtt_ns, path->now_ns);
    bql_set_rate(bql, muldiv64(bql->window.bytes, 8 * NS_PER_S / 5 * 6, rtt_ns));
    if (path->now_ns < bql->drain_due_ns)
        return;
    bql->draining_ns = path->now_ns;
    bql->drain_queue_ns = path->queue_ns;
    bql->drain_least_ns = path->queue_ns;
    uint64_t delivered_bps = rate_over(&bql->rate, path->rtt_ns, DELAY_PACKETS_MIN * bql->packet_bytes);
    bql_set_rate(bql, muldiv64(bql_with_losses_bps(bql, delivered_bps), BQL_PPM - DRAIN_PPM, BQL_PPM));
}

/* Where the queue stays full after losses the others don't care for them (BBR): then neither does the edge,
 * much. */
void bql_compete_round(struct congestion_bql *bql, const struct bql_path *path, bool lossy)
{
    uint64_t rtt_ns = path->rtt_ns + path->queue_ns;
    bool judged = bql->deaf_from_ns > 0 && elapsed_ns(path->now_ns, bql->deaf_from_ns) > 3 * rtt_ns;
    if (judged) {
        bool stays = bql->deaf_least_ns > bql->deaf_queue_ns / 100 * 55;
        bql->deaf_events = stays ? MIN(bql->deaf_events + 1, 4U) : 0;
        bql->deaf_from_ns = 0;
    }
    bool deaf = bql->deaf_events >= 2;
    if (lossy && bql->deaf_from_ns == 0) {
        bql->deaf_from_ns = path->now_ns;
        bql->deaf_queue_ns = path->queue_ns;
        bql->deaf_least_ns = path->queue_ns;
    }
    if (lossy && !deaf)
        cubic_on_loss(&bql->window, rtt_ns, path->now_ns);
    else if (deaf)
        cubic_init(&bql->window, muldiv64(bql->window.bytes, lossy ? DEAF_FALL_PPM : DEAF_RISE_PPM, BQL_PPM),
                   path->now_ns);
}

/* What all edges into the receiver's port have, and the most they had of late. */
void bql_take_own(struct congestion_bql *bql, const struct congestion_sample *sample)
{
    uint64_t delivered_bps = rate_over(&bql->rate, bql->rtt_ns, DELAY_PACKETS_MIN * bql->packet_bytes);
    bql->own_bps = MAX(sample->own_rate_bps, delivered_bps);
    if (elapsed_ns(sample->now_ns, bql->own_most_from_ns) > OWN_HOLD_NS) {
        bql->own_most_before_bps = bql->own_most_now_bps;
        bql->own_most_now_bps = 0;
        bql->own_most_from_ns = sample->now_ns;
    }
    bql->own_most_now_bps = MAX(bql->own_most_now_bps, bql->own_bps);
    bql->own_most_bps = MAX(bql->own_most_now_bps, bql->own_most_before_bps);
}
