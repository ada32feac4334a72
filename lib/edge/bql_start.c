/* The start of bql: a short train bounds the first jump, then the rate doubles, each higher one being tried
 * for part of a round trip only. See congestion_bql.c. */
#include "edge/bql.h"

#define CREEPING_PACKETS  64
#define TRAINS_LOST_MAX   2
#define TRAIN_SPAN_MAX_NS (75 * NS_PER_MS)
#define TRAIN_SPAN_MIN_NS (40 * NS_PER_US)
#define START_RTT_MIN_NS  (20 * NS_PER_MS)

/* Jitter spreads a train more than a slow path does: then its dispersion is worth nothing. */
static uint64_t start_gain_ppm(const struct congestion_bql *bql)
{
    uint64_t train_bps = bql->train_bps;
    uint64_t unsure_ns = MAX(4 * delay_jitter_ns(&bql->delay), 16 * bql_order_kept_jitter_ns(bql));
    if (transmit_ns(BQL_TRAIN_PACKETS * bql->packet_bytes, MAX(train_bps, 1ULL)) < unsure_ns)
        return 2 * BQL_PPM;
    if (bql->tried_bps < train_bps / 10 * 9) {
        uint64_t up_ppm = muldiv64(train_bps, 950000, bql->tried_bps);
        return MIN(2 * BQL_PPM, up_ppm);
    }
    return bql->tried_bps > train_bps / 10 * 12 ? 2 * BQL_PPM : 1100000;
}

/* So few packets in a round trip that their losses tell nothing, nor harm others. */
static bool creeping(const struct congestion_bql *bql)
{
    uint64_t rtt_ns = MAX(bql->rtt_ns, START_RTT_MIN_NS);
    return bql->tried_bps < bql->train_bps / 10 * 9 &&
           bytes_within(bql->tried_bps, rtt_ns) < CREEPING_PACKETS * bql->packet_bytes;
}

static uint64_t look_ns(const struct congestion_bql *bql)
{
    uint64_t jitter_ns = MIN(4 * delay_jitter_ns(&bql->delay), bql->rtt_ns / 2);
    if (creeping(bql))
        return bql->rtt_ns / 4 + jitter_ns;
    uint64_t packets_ns =
        transmit_ns(DELAY_PACKETS_MIN * bql->packet_bytes, MAX(bql->tried_bps, BQL_RATE_MIN_BPS));
    return MAX(bql->rtt_ns / 6 + jitter_ns, packets_ns);
}

static uint64_t try_ns(const struct congestion_bql *bql)
{
    return look_ns(bql) + bql->rtt_ns / 8 + NS_PER_MS;
}

void bql_await_train(struct congestion_bql *bql, uint64_t delivered_bytes)
{
    bql->train_ns = 0;
    bql->train_bytes = delivered_bytes;
}

/* The higher rate is only tried: longer than it takes to tell, but no whole round trip. */
static void try_rate(struct congestion_bql *bql, uint64_t now_ns)
{
    bql_set_rate(bql, bql->tried_bps);
    bql->raised_ns = now_ns;
    bql->tried_ns = try_ns(bql);
    bql->grown = false;
    bql->tried_delivered_bps = 0;
    bql->raised_acked = 0;
    bql->raised_lost = 0;
}

static void raise(struct congestion_bql *bql, uint64_t gain_ppm, uint64_t delivered_bps, uint64_t now_ns)
{
    bql->start_bps = bql->tried_bps;
    bql->tried_bps = MIN(muldiv64(bql->tried_bps, gain_ppm, BQL_PPM), BQL_RATE_MAX_BPS);
    bql->raised_from_bps = delivered_bps;
    try_rate(bql, now_ns);
}

/* The path spreads a train to the rate that it takes: between two acks on the receiver's clock, or in one
 * ack, where all came between two looks of the receiver at its port or an ack was lost, by how much longer
 * the last packet was under way. Shorter than a look takes it measures only that the path is fast. */
void bql_train(struct congestion_bql *bql, const struct congestion_sample *sample)
{
    uint64_t bytes = sample->delivered_bytes - MIN(bql->train_bytes, sample->delivered_bytes);
    bool first = bql->train_ns == 0;
    uint64_t span_ns = first ? 0 : elapsed_ns(sample->delivered_ns, bql->train_ns);
    if (bytes == 0)
        return;
    if (bytes < (first ? 8 : 3) * bql->packet_bytes) {
        bql->train_ns = first ? sample->delivered_ns : bql->train_ns;
        bql->train_bytes = first ? sample->delivered_bytes : bql->train_bytes;
        return;
    }
    if (first)
        span_ns = sample->spread_ns;
    /* The ack in between was lost: the next train may tell. */
    uint64_t told_ns = MAX(bql->rtt_ns / 2, TRAIN_SPAN_MAX_NS);
    if (span_ns > told_ns && bql->trains_lost < TRAINS_LOST_MAX) {
        bql->trains_lost++;
        bql_await_train(bql, sample->delivered_bytes);
        return;
    }
    uint64_t train_bps = muldiv64(bytes, 8 * NS_PER_S, MAX(span_ns, TRAIN_SPAN_MIN_NS));
    train_bps = MIN(train_bps, BQL_TRAIN_BPS);
    bool tells = span_ns > TRAIN_SPAN_MIN_NS && span_ns <= told_ns;
    bql->train_bps = tells ? train_bps : BQL_TRAIN_BPS;
    bql->train_end_ns = sample->now_ns;
    bql->phase = BQL_START;
    rate_restart(&bql->rate);
    /* As much as other transports start with does no harm. */
    uint64_t least_bps = muldiv64(10 * bql->packet_bytes, 8 * NS_PER_S, MAX(bql->rtt_ns, START_RTT_MIN_NS));
    bql->tried_bps = MAX(train_bps / 2, least_bps);
    raise(bql, BQL_PPM, 0, sample->now_ns);
}

/* Either the rate is too high or the path loses many packets by chance: a lower rate will tell. */
static void park_start(struct congestion_bql *bql, const struct bql_path *path, uint32_t loss_ppm)
{
    const struct bql_round round = {loss_ppm, rate_over(&bql->rate, path->rtt_ns / 2, 0)};
    bql_park(bql, &round);
    bql->parked_loss_ppm = loss_ppm;
    bql->parked_delivered_bps = round.delivered_bps;
    bql->parked_starting = bql->raised_from_bps == 0;
}

/* Chance takes the same share at any rate. What gets lost beyond that, the higher rate loses: it may deliver
 * more all the same, while it fills a buffer or is more than the path takes by a part of itself only. */
static void learn_chance(struct congestion_bql *bql, uint64_t packets, uint32_t loss_ppm)
{
    uint64_t before = bql->started_packets, all = before + packets;
    uint64_t mean_ppm = (before * bql->base_loss_ppm + packets * loss_ppm) / all;
    uint64_t variance = muldiv64(mean_ppm * (BQL_PPM - mean_ppm), all, MAX(before * packets, 1ULL));
    uint64_t off_ppm = elapsed_ns(loss_ppm, bql->base_loss_ppm);
    if (before > 0 && off_ppm * off_ppm > 9 * variance)
        return;
    bql->base_loss_ppm = (uint32_t)mean_ppm;
    bql->started_packets = all;
}

/* How deliveries compare with what was sent since the raise. Where jitter hides a small queue only while they
 * are of packets on trial: what was too much for the path comes later, all of it. */
static void judge_trial(struct congestion_bql *bql, uint64_t since_ns, uint32_t loss_ppm)
{
    bool over = since_ns > bql->tried_ns + bql->rtt_ns / 8 && bql->start_bps < bql->tried_bps;
    bool known = bql->tried_delivered_bps > 0;
    if (over && known && bql_order_kept_jitter_ns(bql) > 0)
        return;
    uint64_t delivered_bps = rate_within(&bql->rate, since_ns);
    uint64_t tried_ns = MIN(since_ns, bql->tried_ns);
    uint64_t sent_bps = muldiv64(bql->tried_bps, tried_ns, since_ns) +
                        muldiv64(bql->start_bps, since_ns - tried_ns, since_ns);
    uint64_t passed_bps = muldiv64(sent_bps, BQL_PPM - loss_ppm, BQL_PPM);
    uint64_t hoped_bps = muldiv64(sent_bps, BQL_PPM - bql->base_loss_ppm, BQL_PPM);
    if (!over || !known)
        bql->tried_delivered_bps = delivered_bps;
    bql->grown = bql->grown || (delivered_bps > (bql->raised_from_bps + hoped_bps) / 2 &&
                                delivered_bps > passed_bps / 10 * 9);
}

static void end_start(struct congestion_bql *bql)
{
    bql_enter(bql, BQL_TRACK);
    bql->plateau_bps = 1;
}

/* Where deliveries grew with the rate, what got lost was lost by chance. */
void bql_start(struct congestion_bql *bql, const struct bql_path *path)
{
    if (path->now_ns >= bql->raised_ns + bql->tried_ns)
        bql_set_rate(bql, bql->start_bps);
    if (path->newest_sent_ns < bql->raised_ns)
        return;
    uint64_t since_ns = path->newest_sent_ns - bql->raised_ns;
    bool may_wait = bql_may_wait(bql, path->queue_ns);
    bool long_enough = since_ns >= look_ns(bql);
    bool unknown = bql->raised_from_bps == 0 && !long_enough; /* perhaps no jump was told yet */
    if (path->queue_ns > path->target_ns && !may_wait && !unknown) {
        end_start(bql);
        return;
    }
    if (long_enough && creeping(bql) && bql->raised_acked > 0) {
        raise(bql, start_gain_ppm(bql), 0, path->now_ns);
        return;
    }
    if (!long_enough || bql->raised_acked < DELAY_PACKETS_MIN)
        return;
    uint64_t packets = bql->raised_acked + bql->raised_lost;
    uint32_t loss_ppm = (uint32_t)muldiv64(bql->raised_lost, BQL_PPM, packets);
    bool plain_loss = loss_ppm > bql_likely_ppm(bql, packets) + BQL_PLAIN_LOSS_PPM;
    bool queue =
        path->queue_ns > path->target_ns / 4 + MAX(bql_waiting_ns(bql), delay_jitter_ns(&bql->delay));
    judge_trial(bql, since_ns, loss_ppm);
    uint64_t delivered_bps = bql->tried_delivered_bps;
    if (delivered_bps == 0)
        return;
    /* The queue of a rate slightly too high is gone when what was sent at the rate before has come. */
    if (queue && may_wait && since_ns < (bql->grown ? 2 : 1) * bql->tried_ns)
        return;
    if (queue && !(bql->grown && may_wait)) {
        end_start(bql);
    } else if (bql->raised_from_bps == 0 && plain_loss) {
        if (since_ns > path->rtt_ns)
            park_start(bql, path, loss_ppm);
    } else if (bql->grown) {
        learn_chance(bql, packets, loss_ppm);
        raise(bql, start_gain_ppm(bql), delivered_bps, path->now_ns);
        /* Packets closer together wait longer for their predecessors: delays from before don't compare. */
        delay_shift(&bql->delay, queue ? TIME_NEVER : bql_waiting_ns(bql));
    } else if (since_ns > path->rtt_ns && plain_loss) {
        park_start(bql, path, loss_ppm);
    } else if (since_ns > path->rtt_ns && try_ns(bql) > bql->tried_ns + bql->tried_ns / 4) {
        try_rate(bql, path->now_ns); /* too short a trial for the jitter that was seen meanwhile */
    } else if (since_ns > path->rtt_ns) {
        bql_set_rate(bql, muldiv64(bql_with_losses_bps(bql, delivered_bps), BQL_PARK_PPM, BQL_PPM));
        bql_enter(bql, BQL_CALM);
        bql->growth_ppm = BQL_GROWTH_UNSURE_PPM;
    }
}
