#include "edge/bql/start.h"

#include "base/units.h"

#define CREEPING_PACKETS 64
#define START_RTT_MIN_NS (20 * NS_PER_MS)
#define SHORT_GAIN_PPM   1250000 /* where the path may be full */
#define LATE_PART        12      /* of the round trip */
#define LONG_RTT_NS      (200 * NS_PER_MS)
#define PAUSE_PART       2 /* of the proven rate: what a start that a pause ended goes on at, at least */
#define FIRST_TELLS      4 /* the peak of few packets' jumps, and of many: wait.h */

/* So few packets in a round trip that their losses tell nothing, nor harm others. */
static bool creeping(const struct bql_start *start, const struct bql_path *path)
{
    uint64_t rtt_ns = MAX(path->rtt_ns, START_RTT_MIN_NS);
    return start->tried_bps < start->train_bps / 10 * 9 &&
           bytes_within(start->tried_bps, rtt_ns) < CREEPING_PACKETS * path->packet_bytes;
}

/* Packets that overtake come so late that a trial takes two round trips: others double twice meanwhile. */
static bool comes_late(const struct bql_path *path)
{
    return path->delay.late_ns > 0 && path_delay_jitter_ns(&path->delay) > path->rtt_ns / LATE_PART &&
           bql_path_kept_jitter_ns(path) == 0;
}

/* Packets wait for their predecessors by so much that a trial takes more than a round trip and a half, and
 * that is long: a start of twenty trials takes seconds. On shorter paths care for others that start as well
 * is worth more. */
static bool waits_long(const struct bql_start *start, const struct bql_path *path)
{
    return start->long_trip && bql_path_kept_jitter_ns(path) > 0 &&
           path_delay_jitter_ns(&path->delay) > path->rtt_ns / LATE_PART;
}

/* Where the path may be full others grow as well; where trials take long they have doubled twice meanwhile,
 * or nearly: ten edges that start together at four times the rate lost 13 %. Packets that wait show that
 * only from the second judged trial on: of fifty edges that start together each would take that many times
 * its share. */
static uint64_t unsure_gain_ppm(const struct bql_start *start, const struct bql_path *path)
{
    bool first = start->before_bps == 0;
    if (start->fell_short)
        return SHORT_GAIN_PPM;
    if (comes_late(path))
        return 4 * BQL_PPM;
    return (!first && waits_long(start, path) ? 3 : 2) * BQL_PPM;
}

/* Jitter spreads a train more than a slow path does: then its dispersion is worth nothing. */
static uint64_t gain_ppm(const struct bql_start *start, const struct bql_path *path)
{
    uint64_t train_bps = start->train_bps;
    uint64_t unsure_ns = (bql_path_kept_jitter_ns(path) > 0 ? 16 : 4) * path_delay_jitter_ns(&path->delay);
    if (transmit_ns(BQL_TRAIN_PACKETS * path->packet_bytes, MAX(train_bps, 1ULL)) < unsure_ns)
        return unsure_gain_ppm(start, path);
    if (start->tried_bps < train_bps / 10 * 9) {
        uint64_t up_ppm = muldiv64(train_bps, 950000, start->tried_bps);
        return MIN(2 * BQL_PPM, up_ppm);
    }
    return start->tried_bps > train_bps / 10 * 12 ? 2 * BQL_PPM : 1100000;
}

/* So long a trial takes until it tells. Where packets wait long, closer ones of a higher rate jump less. */
static uint64_t telling_ns(const struct bql_start *start, const struct bql_path *path)
{
    uint64_t jitter_ns =
        waits_long(start, path) ? bql_path_kept_jitter_ns(path) : path_delay_jitter_ns(&path->delay);
    jitter_ns = MIN(4 * jitter_ns, path->rtt_ns / 2);
    if (creeping(start, path))
        return path->rtt_ns / 4 + jitter_ns;
    uint64_t packets_ns = transmit_ns(bql_path_telling_packets(path) * path->packet_bytes,
                                      MAX(start->tried_bps, BQL_RATE_MIN_BPS));
    return MAX(path->rtt_ns / 6 + jitter_ns, packets_ns);
}

/* The higher rate is only tried: longer than it takes to tell, but no whole round trip. */
static uint64_t trial_ns(const struct bql_start *start, const struct bql_path *path)
{
    return telling_ns(start, path) + path->rtt_ns / 8 + NS_PER_MS;
}

/* A queue as long as this may be packets that wait for their predecessors. The few of the first trial tell
 * a part of how far they may wait: TRACK would stand where q* of that low rate is what they wait, and no
 * refresh, which sees the same at half the rate, would end that. But more than half of what the train told
 * may be too much for a slow path. */
static bool may_wait(const struct bql_start *start, const struct bql_path *path, uint64_t queue_ns)
{
    bool tells_part = start->before_bps == 0 && start->tried_bps <= start->train_bps / 2;
    return bql_path_may_wait(path, tells_part ? queue_ns / FIRST_TELLS : queue_ns);
}

static struct bql_move begin_trial(struct bql_start *start, const struct bql_path *path)
{
    start->raised_ns = path->now_ns;
    start->long_trip = path->rtt_ns > LONG_RTT_NS;
    start->tried_ns = trial_ns(start, path);
    start->grown = false;
    start->delivered_bps = 0;
    start->acked = 0;
    start->lost = 0;
    return bql_at_rate(start->tried_bps);
}

static struct bql_move raise_rate(struct bql_start *start, const struct bql_path *path, uint64_t by_ppm,
                                  uint64_t delivered_bps)
{
    start->proven_bps = start->tried_bps;
    start->tried_bps = MIN(muldiv64(start->tried_bps, by_ppm, BQL_PPM), BQL_RATE_MAX_BPS);
    start->before_bps = delivered_bps;
    return begin_trial(start, path);
}

struct bql_move bql_start_begin(struct bql_start *start, const struct bql_path *path,
                                struct bql_train_verdict verdict)
{
    /* As much as other transports start with does no harm, but to a path that is known to be slower. */
    uint64_t least_bps = muldiv64(10 * path->packet_bytes, 8 * NS_PER_S, MAX(path->rtt_ns, START_RTT_MIN_NS));
    if (verdict.tells && verdict.slow)
        least_bps = MIN(least_bps, verdict.spread_bps);
    *start = (struct bql_start){.train_bps = verdict.tells ? verdict.spread_bps : BQL_TRAIN_BPS,
                                .tried_bps = MAX(MIN(verdict.spread_bps / 2, verdict.share_bps), least_bps),
                                .short_ns = path->now_ns};
    return raise_rate(start, path, BQL_PPM, 0);
}

void bql_start_resume(struct bql_start *start, uint64_t rate_bps, uint64_t delivered_bps, uint64_t now_ns)
{
    start->tried_bps = rate_bps;
    start->proven_bps = rate_bps;
    start->before_bps = delivered_bps / 2;
    start->acked = 0;
    start->lost = 0;
    start->raised_ns = now_ns;
}

void bql_start_on_sample(struct bql_start *start, const struct bql_path *path,
                         const struct congestion_sample *sample)
{
    if (path->newest_sent_ns <= path->train_end_ns + path->rtt_ns / 4)
        return;
    start->acked += sample->acked_packets;
    start->lost += sample->lost_packets;
}

/* Either the rate is too high or the path loses many packets by chance: a lower rate will tell. */
static struct bql_move park(struct bql_move move, const struct bql_path *path, uint32_t loss_ppm,
                            uint64_t packets)
{
    move.enters = true;
    move.phase = BQL_PARK;
    move.loss = (struct bql_loss){loss_ppm, path_rate_over(&path->rate, path->rtt_ns / 2, 0), packets};
    return move;
}

/* Chance takes the same share at any rate. What gets lost beyond that, the higher rate loses: it may deliver
 * more all the same, while it fills a buffer or is more than the path takes by a part of itself only. */
static void learn_chance(struct bql_start *start, struct bql_chance *chance, uint64_t packets,
                         uint32_t loss_ppm)
{
    uint64_t before = start->chance_packets, all = before + packets;
    uint64_t mean_ppm = (before * chance->base_ppm + packets * loss_ppm) / all;
    uint64_t variance = muldiv64(mean_ppm * (BQL_PPM - mean_ppm), all, MAX(before * packets, 1ULL));
    uint64_t off_ppm = excess_of(loss_ppm, chance->base_ppm);
    if (before > 0 && off_ppm * off_ppm > 9 * variance)
        return;
    chance->base_ppm = MIN((uint32_t)mean_ppm, BQL_CHANCE_MAX_PPM);
    start->chance_packets = all;
}

/* How deliveries compare with what was sent since the raise. Where jitter hides a small queue only while they
 * are of packets on trial: what was too much for the path comes later, all of it. */
static void judge_trial(struct bql_start *start, const struct bql_path *path, uint64_t since_ns,
                        uint32_t loss_ppm)
{
    bool over = since_ns > start->tried_ns + path->rtt_ns / 8 && start->proven_bps < start->tried_bps;
    bool known = start->delivered_bps > 0;
    if (over && known && bql_path_kept_jitter_ns(path) > 0)
        return;
    /* All that leaves at a rate comes at that rate only once the late ones come as well. */
    uint64_t told_ns = MAX(elapsed_ns(since_ns, path->delay.late_ns), since_ns / 4);
    uint64_t delivered_bps = path_rate_within(&path->rate, told_ns);
    uint64_t tried_ns = elapsed_ns(MIN(since_ns, start->tried_ns), since_ns - told_ns);
    uint64_t sent_bps = muldiv64(start->tried_bps, tried_ns, told_ns) +
                        muldiv64(start->proven_bps, told_ns - tried_ns, told_ns);
    uint64_t passed_bps = muldiv64(sent_bps, BQL_PPM - loss_ppm, BQL_PPM);
    uint64_t hoped_bps = muldiv64(sent_bps, BQL_PPM - path->chance.base_ppm, BQL_PPM);
    if (!over || !known)
        start->delivered_bps = delivered_bps;
    start->grown = start->grown || (delivered_bps > (start->before_bps + hoped_bps) / 2 &&
                                    delivered_bps > passed_bps / 10 * 9);
    start->fell_short = delivered_bps < passed_bps / 100 * 95;
}

static struct bql_move end_start(struct bql_move move, enum bql_phase phase)
{
    move.enters = true;
    move.phase = phase;
    move.unsure = true;
    return move;
}

/* Enough of the trial is known. Where deliveries grew with the rate, what got lost was lost by chance.
 * move: what is to be done anyway. */
static struct bql_move conclude_trial(struct bql_start *start, struct bql_path *path,
                                      const struct bql_view *view, struct bql_move move)
{
    uint64_t since_ns = view->newest_sent_ns - start->raised_ns;
    uint64_t packets = start->acked + start->lost;
    uint32_t loss_ppm = (uint32_t)muldiv64(start->lost, BQL_PPM, packets);
    bool plain_loss = loss_ppm > bql_chance_likely_ppm(&path->chance, packets) + BQL_PLAIN_LOSS_PPM;
    bool over = since_ns > view->rtt_ns;
    bool waits = may_wait(start, path, view->queue_ns);
    uint64_t hidden_ns = MAX(bql_path_waiting_ns(path), path_delay_jitter_ns(&path->delay));
    bool queue = view->queue_ns > view->target_ns / 4 + hidden_ns;
    /* Before one of them has jumped the first packets tell nothing of how far they may wait. */
    bool first = start->before_bps == 0;
    queue = queue && !(first && waits);
    if (queue && first && path_delay_jitter_ns(&path->delay) == 0 && view->queue_ns <= view->target_ns &&
        since_ns < 2 * start->tried_ns)
        return move;
    judge_trial(start, path, since_ns, loss_ppm);
    start->fell_short = start->fell_short && view->queue_ns > view->target_ns / 2;
    if (start->delivered_bps == 0)
        return move;
    /* The queue of a rate slightly too high is gone when what was sent at the rate before has come. */
    if (queue && waits && since_ns < (start->grown ? 2 : 1) * start->tried_ns)
        return move;
    if (queue && !(start->grown && waits))
        return end_start(move, BQL_TRACK);
    bool no_chance = !bql_chance_may_take(loss_ppm, packets);
    if (no_chance || (plain_loss && (first || comes_late(path))))
        return over ? park(move, path, loss_ppm, packets) : move;
    if (start->grown) {
        learn_chance(start, &path->chance, packets, loss_ppm);
        move = raise_rate(start, path, gain_ppm(start, path), start->delivered_bps);
        /* Packets closer together wait longer for their predecessors: delays from before don't compare. */
        if (queue)
            bql_path_suppose_wait(path);
        else
            path_delay_shift_base(&path->delay, bql_path_waiting_ns(path));
        return move;
    }
    if (!over)
        return move;
    if (plain_loss)
        return park(move, path, loss_ppm, packets);
    if (trial_ns(start, path) > start->tried_ns + start->tried_ns / 4)
        return begin_trial(start, path); /* too short a trial for the jitter that was seen meanwhile */
    uint64_t sent_bps = bql_chance_sent_bps(&path->chance, start->delivered_bps);
    /* As where a relay had nothing to send meanwhile; but what was proven is of before. */
    if (bql_path_is_limited(path))
        sent_bps = MAX(sent_bps, start->proven_bps / PAUSE_PART);
    /* A queue that may be a wait, under deliveries that did not grow: TRACK finds out, CALM would take it
     * for the way. */
    bool finds_out = waits_long(start, path) && view->queue_ns > view->target_ns;
    return end_start(bql_at_rate(muldiv64(sent_bps, BQL_PARK_PPM, BQL_PPM)),
                     finds_out ? BQL_TRACK : BQL_CALM);
}

/* A queue that is no jitter. Of what comes just after a trial most are its late ones, and few packets at a time look
 * like a queue now and then: where packets overtake it has to stay. */
static bool queue_is_long(struct bql_start *start, const struct bql_path *path, const struct bql_view *view)
{
    uint64_t late_ns = path->delay.late_ns;
    uint64_t tried_ns = start->raised_ns + start->tried_ns;
    bool fades = view->newest_sent_ns >= tried_ns && view->newest_sent_ns < tried_ns + late_ns &&
                 start->proven_bps < start->tried_bps;
    if (view->queue_ns <= view->target_ns || may_wait(start, path, view->queue_ns) || fades)
        start->short_ns = view->now_ns;
    else
        return view->now_ns >= start->short_ns + MIN(late_ns, path->rtt_ns / 4);
    return false;
}

struct bql_move bql_start_step(struct bql_start *start, struct bql_path *path, const struct bql_view *view)
{
    bool tried = view->now_ns >= start->raised_ns + start->tried_ns;
    struct bql_move move = tried ? bql_at_rate(start->proven_bps) : bql_stay();
    if (view->newest_sent_ns < start->raised_ns)
        return move;
    uint64_t since_ns = view->newest_sent_ns - start->raised_ns;
    bool long_enough = since_ns >= telling_ns(start, path);
    bool unknown = start->before_bps == 0 && !long_enough; /* perhaps no jump was told yet */
    if (!unknown && queue_is_long(start, path, view))
        return end_start(move, BQL_TRACK);
    if (long_enough && creeping(start, path) && start->acked > 0)
        return raise_rate(start, path, MIN(gain_ppm(start, path), 2 * BQL_PPM), 0);
    if (!long_enough || start->acked < bql_path_telling_packets(path))
        return move;
    return conclude_trial(start, path, view, move);
}
