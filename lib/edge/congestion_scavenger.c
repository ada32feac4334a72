/* scavenger: takes what is left over and yields to everything else, `bql` included.
 *
 * Once per round trip, from the least one-way delay of late above its base (q), the delivered rate D and the
 * loss of the round:
 *
 *     others present (see below)            rate = D (0.97 - min(q / (2 RTT), 0.3)), then half
 *     q > q*, or marks after the rate grew  rate = 0.97 D
 *     q < half of q*, for two rounds        rate = 1.25 rate, then 1.5 rate; 1.02 rate near the D at which a
 *                                           queue came up last, half of q* a round trip from there to 1.05 of it
 *
 * Where jitter keeps the order, what packets wait longer for their predecessors than when the base took its value
 * (path_wait.h) is taken off q. Where neighbours differ by more than 0.75 ms besides, the rate rises to 1.25 D at most
 * beyond 1.05 of the D at which a queue came up last, and by 2 % where it has stayed for four rounds, with no marks
 * and less than 1 % of usual loss.
 *
 *     q* = max(0.75 ms, 2.5 packets' time at the rate) + 0.8 order-kept jitter, of packets as far apart as at the
 *          rate (0.1 of jitter where packets overtake); 0.2 ms instead of 0.75 within 10 s of a mark, because bql
 *          keeps that much less of a queue there
 *
 * Others are present where q > 2 q*: a scavenger alone keeps it below; where the receiver's other edges into the
 * same port carry more than a tenth of D and of its rate (what it tells is up to 200 ms old: where that alone
 * speaks for others so soon after a fall, the rate stays); where loss is twice what was usual, plus 1 %; and where
 * any packet is marked (CE) although the rate has not grown of late, unless most still are when next to nothing is
 * sent (path_marks.h). 0.75 ms is less than a third of what bql keeps up to 1.2 Gbit/s, so the queue of one bql
 * edge is enough to yield to.
 *
 * A queue that stood when the edge began is not seen until it falls, so every 10 s (20 RTT) without a sight of the base
 * the edge keeps still, as LEDBAT++ does (draft-irtf-iccrg-ledbat-plus-plus), until what leaves behind its own queue
 * has come; bql edges and BBR run the queue dry about as often. Where three in a row find the same level above the base
 * the path has become longer, and that is the base: others' queue moves in half a minute, but for a buffer that they
 * keep full, so a still that loses more than 2 % starts the count over. A path that becomes longer all at once
 * (path_step.h) asks for one at once, which is enough by itself and brings back the rate of before.
 *
 * Halving was tuned against CUBIC, BBRv1 and bql at 50 ms: slower ones keep more than a tenth beside bql. */
#include "edge/congestion.h"

#include "base/units.h"
#include "edge/path_delay.h"
#include "edge/path_marks.h"
#include "edge/path_rate.h"
#include "edge/path_step.h"
#include "edge/path_wait.h"

#define PPM              1000000ULL
#define RATE_MIN_BPS     50000ULL
#define RATE_MAX_BPS     1000000000000ULL
#define FLOOR_PACKETS    8 /* a round trip */
#define TARGET_NS        (750 * NS_PER_US)
#define TARGET_MARKED_NS (200 * NS_PER_US)
#define MARKS_NS         (10 * NS_PER_S)
#define JITTER_PPM       800000ULL
#define RISE_PPM         250000ULL
#define RISE_FAST_PPM    500000ULL
#define FALL_PPM         970000ULL
#define SUDDEN_PPM       300000ULL
#define RISE_NEAR_PPM    20000ULL
#define BEYOND_ROUNDS    3 /* until the rate rises by twice as much */
#define NEAR_PERCENT     93
#define AHEAD_PPM        1250000ULL /* of what comes, at most, well beyond full_bps */
#define LOSS_PPM         10000
#define DWELL_ROUNDS     4 /* at one rate, until more is tried */
#define STILL_NS         (10 * NS_PER_S)
#define STILL_RTTS       20
#define STILL_LASTS_RTTS 3  /* what leaves once its own queue has gone is told of by then */
#define STEP_PART        4  /* of q* and of jitter: what acks differ by */
#define STILL_LEVELS     3  /* CUBIC keeps a queue at a level from one to the next */
#define STILL_LOSS_PART  50 /* where so much gets lost a buffer is full */
#define OVERDUE_TIMES    2
#define TRIAL_RTTS       3
#define STEADY_ROUNDS    2                 /* until what a higher rate did is known */
#define OWN_RATE_NS      (200 * NS_PER_MS) /* so old the receiver's own rate may be: node/peer/port.c */

struct scavenger {
    struct path_delay delay;
    struct path_rate rate;
    struct path_marks marks;
    struct path_step step;
    struct path_wait wait;
    int64_t base_ns;   /* as it was last; a new one was seen … */
    uint64_t base_bps; /* … at this rate of deliveries */
    uint64_t rate_bps;
    uint64_t rtt_ns;
    uint64_t packet_bytes;   /* on the wire: of a full packet, then the mean of late */
    uint64_t told_bytes;     /* delivered, as told last */
    uint64_t changed_ns;     /* beginning of the round */
    uint64_t acked, lost;    /* packets of the round */
    uint32_t loss_ppm;       /* usual */
    uint64_t full_bps;       /* deliveries when a queue came up last */
    uint64_t most_bps;       /* the most of these of late */
    uint64_t marked_ns;      /* when packets were marked last; 0: never */
    bool marked;             /* packets were, of late */
    bool others;             /* were present in the round before */
    uint32_t calm_rounds;    /* in a row */
    uint32_t beyond_rounds;  /* … beyond full_bps */
    uint32_t steady_rounds;  /* since the rate grew */
    uint32_t dwell_rounds;   /* in a row: no others, not too much of a queue, and the rate stayed */
    uint64_t still_end_ns;   /* until then it keeps still to see the base */
    uint64_t stilled_bps;    /* rate to go back to; 0: it does not */
    uint64_t stilled_ns;     /* when it began */
    bool tries_step;         /* it does for a step of the path … */
    struct path_known known; /* … what was known before */
    int64_t still_owd_ns;    /* least delay of what left since then */
    int64_t level_owd_ns;    /* that of the first of … */
    uint32_t levels;         /* … so many that were alike, since the base was seen */
    bool least;              /* the rate is as low as it gets */
    bool renewed;            /* the path is longer, as just found */
    bool limited;            /* the round was limited by something else */
    uint64_t fell_ns;        /* when the rate fell last */
};
_Static_assert(sizeof(struct scavenger) <= CONGESTION_STATE_BYTES, "the state fits its room");

static struct scavenger *scavenger_of(struct congestion *congestion)
{
    return (struct scavenger *)(void *)congestion->state;
}

static void set_rate(struct scavenger *scavenger, uint64_t rate_bps)
{
    uint64_t floor_bps = muldiv64(FLOOR_PACKETS * scavenger->packet_bytes, 8 * NS_PER_S,
                                  MAX(scavenger->rtt_ns, 10 * NS_PER_MS));
    floor_bps = MAX(floor_bps, RATE_MIN_BPS);
    rate_bps = MAX(rate_bps, floor_bps);
    scavenger->rate_bps = MIN(rate_bps, RATE_MAX_BPS);
    scavenger->least = scavenger->rate_bps == floor_bps;
}

static void publish_rate(struct congestion *congestion)
{
    struct scavenger *scavenger = scavenger_of(congestion);
    congestion->rate_bps = scavenger->rate_bps;
    congestion->path_renewed = scavenger->renewed;
    congestion->in_flight_max_bytes = congestion_in_flight_bytes(scavenger->rate_bps, scavenger->rtt_ns);
}

static void start_round(struct scavenger *scavenger, uint64_t now_ns)
{
    scavenger->changed_ns = now_ns;
    scavenger->acked = 0;
    scavenger->lost = 0;
    scavenger->limited = false;
}

static void scavenger_init(struct congestion *congestion, uint64_t initial_bps, bool known, uint64_t rtt_ns,
                           uint64_t now_ns)
{
    struct scavenger *scavenger = scavenger_of(congestion);
    *scavenger = (struct scavenger){
        .rtt_ns = rtt_ns, .packet_bytes = congestion->packet_bytes, .still_end_ns = now_ns};
    path_delay_init(&scavenger->delay, now_ns);
    path_rate_init(&scavenger->rate);
    path_marks_init(&scavenger->marks, now_ns);
    start_round(scavenger, now_ns);
    set_rate(scavenger, known ? initial_bps / 16 : 0);
    publish_rate(congestion);
}

/* Packets were marked not long ago. */
static bool minds_marks(const struct scavenger *scavenger)
{
    return scavenger->marked_ns > 0 && elapsed_ns(scavenger->changed_ns, scavenger->marked_ns) < MARKS_NS;
}

static uint64_t gap_at(const struct scavenger *scavenger, uint64_t rate_bps)
{
    return transmit_ns(scavenger->packet_bytes, MAX(rate_bps, RATE_MIN_BPS));
}

static uint64_t target_of_ns(const struct scavenger *scavenger, uint64_t rate_bps, uint64_t jitter_ns)
{
    if (!path_delay_keeps_order(&scavenger->delay))
        jitter_ns /= 8; /* packets overtake: the least delay is that of the queue */
    uint64_t least_ns = minds_marks(scavenger) ? TARGET_MARKED_NS : TARGET_NS;
    uint64_t packets_ns = transmit_ns(5 * scavenger->packet_bytes / 2, rate_bps);
    return MAX(least_ns, packets_ns) + muldiv64(jitter_ns, JITTER_PPM, PPM);
}

static uint64_t target_at_ns(const struct scavenger *scavenger, uint64_t rate_bps)
{
    uint64_t jitter_ns = path_delay_jitter_ns(&scavenger->delay);
    if (path_delay_keeps_order(&scavenger->delay))
        jitter_ns = MIN(jitter_ns, path_wait_jump_ns(&scavenger->wait, gap_at(scavenger, rate_bps)));
    return target_of_ns(scavenger, rate_bps, jitter_ns);
}

static uint64_t target_ns(const struct scavenger *scavenger)
{
    return target_at_ns(scavenger, scavenger->rate_bps);
}

/* Time without a sight of the base, after which it is looked for. */
static uint64_t due_ns(const struct scavenger *scavenger)
{
    return MAX(STILL_NS, STILL_RTTS * scavenger->rtt_ns);
}

/* What the least of an ack differs by from the next one's. */
static uint64_t noise_at_ns(const struct scavenger *scavenger, uint64_t rate_bps)
{
    uint64_t jitter_ns = path_delay_jitter_ns(&scavenger->delay);
    return (target_of_ns(scavenger, rate_bps, jitter_ns) + jitter_ns) / STEP_PART;
}

/* Where packets wait for their predecessors: as they come closer together they wait longer, which is no queue. */
static void note_wait(struct scavenger *scavenger, const struct congestion_sample *sample)
{
    uint64_t delivered_bps = path_rate_over(&scavenger->rate, scavenger->rtt_ns, 0);
    uint64_t newest_bps = path_rate_over(&scavenger->rate, scavenger->rtt_ns / 4, 0);
    if (MIN(newest_bps, delivered_bps) > 0 && !scavenger->step.paused)
        path_wait_on_jump(&scavenger->wait, sample->jump_ns,
                          gap_at(scavenger, MIN(newest_bps, delivered_bps)), sample->now_ns);
    if (scavenger->delay.base_ns != scavenger->base_ns)
        scavenger->base_bps = delivered_bps;
    scavenger->base_ns = scavenger->delay.base_ns;
    scavenger->delay.nearer_ns = 0;
    if (path_delay_keeps_order(&scavenger->delay))
        scavenger->delay.nearer_ns =
            path_wait_longer_ns(&scavenger->wait, gap_at(scavenger, scavenger->base_bps),
                                gap_at(scavenger, delivered_bps), path_delay_jitter_ns(&scavenger->delay));
}

static void note_step(struct scavenger *scavenger, const struct congestion_sample *sample)
{
    uint64_t jitter_ns = path_delay_jitter_ns(&scavenger->delay);
    const struct path_step_look look = {.empty_ns = scavenger->delay.base_ns,
                                        .noise_ns = noise_at_ns(scavenger, scavenger->rate_bps),
                                        .rtt_ns = scavenger->rtt_ns,
                                        .delivered_bps =
                                            path_rate_over(&scavenger->rate, scavenger->rtt_ns, 0),
                                        .known = {.rate_bps = scavenger->rate_bps, .jitter_ns = jitter_ns}};
    /* As slow as it gets there are others. */
    if (scavenger->least && scavenger->step.since_ns == 0)
        path_step_rest(&scavenger->step, scavenger->step.rests_ns);
    path_step_on_sample(&scavenger->step, sample, &look);
}

static void note_sample(struct scavenger *scavenger, const struct congestion_sample *sample)
{
    if (sample->rtt_min_ns > 0)
        scavenger->rtt_ns = sample->rtt_min_ns;
    if (sample->acked_packets > 0)
        scavenger->packet_bytes =
            (7 * scavenger->packet_bytes + sample->acked_bytes / sample->acked_packets) / 8;
    /* Not since the newest point of the rate: unsure ones are not taken there. */
    uint64_t bytes = sample->delivered_bytes - MIN(sample->delivered_bytes, scavenger->told_bytes);
    uint64_t packets = bytes / scavenger->packet_bytes;
    scavenger->told_bytes = sample->delivered_bytes;
    note_step(scavenger, sample);
    /* However slow the edge is, the base is seen no farther away than at full_bps. */
    uint64_t near_ns = target_at_ns(scavenger, MAX(scavenger->rate_bps, scavenger->full_bps)) / 4;
    if (sample->owd_known)
        path_delay_on_sample(&scavenger->delay, sample->owd_ns, packets, scavenger->rtt_ns, near_ns,
                             sample->now_ns);
    if (scavenger->delay.base_seen_ns == sample->now_ns)
        scavenger->levels = 0;
    /* What an outage held back is no jitter. */
    if (!scavenger->step.paused)
        path_delay_on_jump(&scavenger->delay, sample->jump_ns, sample->now_ns);
    path_marks_on_sample(&scavenger->marks,
                         path_marks_packets(&scavenger->marks, bytes, scavenger->packet_bytes),
                         sample->ce_count, sample->newest_sent_ns);
    uint64_t usual_bps = path_rate_over(&scavenger->rate, scavenger->rtt_ns, 0);
    if (sample->hole_ns > 0)
        path_rate_skip(&scavenger->rate, sample->delivered_bytes, sample->delivered_ns, sample->hole_ns,
                       usual_bps);
    if (sample->before_hole && sample->hole_ns == 0)
        path_rate_on_wait(&scavenger->rate, sample->wait_ns);
    else
        path_rate_on_delivered(&scavenger->rate, sample->delivered_bytes, sample->delivered_ns,
                               sample->wait_ns, scavenger->rtt_ns, usual_bps);
    path_delay_on_late(&scavenger->delay, sample->late_ns);
    note_wait(scavenger, sample);
    scavenger->acked += sample->acked_packets;
    scavenger->lost += sample->lost_packets;
    scavenger->limited |= sample->limited != EDGE_LIMIT_congestion;
}

/* The usual loss is chance: learnt slowly, and only from rounds that are not far above it. */
static bool lossy(struct scavenger *scavenger)
{
    uint64_t packets = MAX(scavenger->acked + scavenger->lost, 1ULL);
    uint32_t loss_ppm = (uint32_t)muldiv64(scavenger->lost, PPM, packets);
    bool above = scavenger->lost > 4 && loss_ppm > 2 * scavenger->loss_ppm + LOSS_PPM;
    int64_t off_ppm = (int64_t)loss_ppm - (int64_t)scavenger->loss_ppm;
    scavenger->loss_ppm = (uint32_t)((int64_t)scavenger->loss_ppm + off_ppm / (above ? 16 : 4));
    return above;
}

/* Packets are marked of late. When the rate is as low as it gets, marks are put on trial. */
static bool marked(struct scavenger *scavenger, uint64_t now_ns)
{
    struct path_marks *marks = &scavenger->marks;
    struct path_marks_round round;
    if (path_marks_round(marks, scavenger->rtt_ns, now_ns, &round))
        scavenger->marked = round.share_ppm > 0;
    if (scavenger->marked)
        scavenger->marked_ns = now_ns;
    if (path_marks_idle(marks))
        scavenger->marked_ns = 0;
    if (scavenger->marked && scavenger->least && marks->trial_until_ns == 0)
        path_marks_try(marks, now_ns, now_ns + TRIAL_RTTS * MAX(scavenger->rtt_ns, 10 * NS_PER_MS));
    return scavenger->marked;
}

static bool others_present(struct scavenger *scavenger, const struct congestion_sample *sample,
                           uint64_t queue_ns)
{
    bool loses = lossy(scavenger);
    bool meets = marked(scavenger, sample->now_ns) && scavenger->steady_rounds > STEADY_ROUNDS;
    return loses || meets || queue_ns > 2 * target_ns(scavenger);
}

/* The receiver's other edges into the same port carry something. */
static bool is_beside_own(const struct scavenger *scavenger, const struct congestion_sample *sample,
                          uint64_t delivered_bps)
{
    return sample->own_rate_bps > delivered_bps + delivered_bps / 10 + scavenger->rate_bps / 10;
}

/* What the path gave when a queue came up last; beside others it says nothing. */
static void learn_full(struct scavenger *scavenger, uint64_t delivered_bps)
{
    scavenger->most_bps = MAX(delivered_bps, scavenger->most_bps - scavenger->most_bps / 256);
    if (delivered_bps > scavenger->most_bps / 2)
        scavenger->full_bps = delivered_bps;
}

/* Packets wait for their predecessors, by more than what is no queue. */
static bool waits_for_order(const struct scavenger *scavenger)
{
    return path_delay_keeps_order(&scavenger->delay) && path_delay_jitter_ns(&scavenger->delay) > TARGET_NS;
}

static uint64_t risen_bps(struct scavenger *scavenger, uint64_t delivered_bps)
{
    uint64_t rate_bps = scavenger->rate_bps, full_bps = scavenger->full_bps;
    bool beyond = rate_bps >= full_bps + full_bps / 20 && !minds_marks(scavenger);
    uint64_t near_bps = rate_bps + muldiv64(rate_bps, RISE_NEAR_PPM, PPM);
    /* Beyond full_bps too much shows a round trip late and takes another to mend, so each rise adds half of q* at most,
     * doubled each third round without a queue. */
    uint64_t fills_ppm = muldiv64(target_ns(scavenger), PPM / 2, MAX(scavenger->rtt_ns, 1ULL));
    fills_ppm <<= MIN(scavenger->beyond_rounds / BEYOND_ROUNDS, 8U);
    uint64_t beyond_bps = rate_bps + muldiv64(rate_bps, fills_ppm, PPM);
    if (rate_bps > full_bps / 100 * NEAR_PERCENT && !beyond)
        return MIN(near_bps, MAX(full_bps, beyond_bps));
    uint64_t rise_ppm = scavenger->calm_rounds > 6 ? RISE_FAST_PPM : RISE_PPM;
    uint64_t next_bps = rate_bps + muldiv64(rate_bps, rise_ppm, PPM);
    if (rate_bps < full_bps)
        return MIN(next_bps, full_bps / 100 * (NEAR_PERCENT + 1));
    if (!waits_for_order(scavenger) || full_bps == 0)
        return next_bps;
    return MIN(next_bps, MAX(rate_bps, muldiv64(delivered_bps, AHEAD_PPM, PPM)));
}

/* The rate has stayed for long, since there is some queue, though not too much: where packets wait for their
 * predecessors it may be none. Marks and losses tell that it is one. */
static bool dwells(const struct scavenger *scavenger)
{
    return waits_for_order(scavenger) && scavenger->dwell_rounds >= DWELL_ROUNDS && !scavenger->limited &&
           !minds_marks(scavenger) && scavenger->loss_ppm < LOSS_PPM;
}

static void choose_rate(struct scavenger *scavenger, const struct congestion_sample *sample)
{
    uint64_t queue_ns = path_delay_queue_ns(&scavenger->delay), target = target_ns(scavenger);
    uint64_t delivered_bps = path_rate_over(&scavenger->rate, scavenger->rtt_ns, 0);
    bool others = others_present(scavenger, sample, queue_ns);
    bool beside = is_beside_own(scavenger, sample, delivered_bps);
    /* What the receiver told last may be of before the rate fell, and thus the edge's own. */
    bool fell = scavenger->fell_ns > 0 && elapsed_ns(sample->now_ns, scavenger->fell_ns) < OWN_RATE_NS;
    if (!others && beside && fell)
        return;
    others |= beside;
    bool sudden = others && !scavenger->others;
    uint64_t rate_bps = scavenger->rate_bps;
    if (sudden && delivered_bps > 0) {
        learn_full(scavenger, delivered_bps);
        uint64_t fall_ppm = muldiv64(queue_ns, PPM / 2, scavenger->rtt_ns);
        fall_ppm = MIN(fall_ppm, SUDDEN_PPM);
        rate_bps = MIN(rate_bps, muldiv64(delivered_bps, FALL_PPM - fall_ppm, PPM));
    } else if (others) {
        rate_bps /= 2;
    } else if (queue_ns > target || scavenger->marked) {
        learn_full(scavenger, delivered_bps);
        rate_bps = MIN(rate_bps, muldiv64(delivered_bps, FALL_PPM, PPM));
    } else if (queue_ns < target / 2 && scavenger->calm_rounds >= 2 && !scavenger->limited) {
        rate_bps = risen_bps(scavenger, delivered_bps);
    } else if (dwells(scavenger)) {
        rate_bps += muldiv64(rate_bps, RISE_NEAR_PPM, PPM);
    }
    bool stays = !others && !scavenger->marked && queue_ns <= target && rate_bps == scavenger->rate_bps;
    scavenger->dwell_rounds = stays ? scavenger->dwell_rounds + 1 : 0;
    bool calm = queue_ns < target / 2 && !scavenger->marked;
    scavenger->calm_rounds = calm ? scavenger->calm_rounds + 1 : 0;
    scavenger->beyond_rounds = calm && rate_bps > scavenger->full_bps ? scavenger->beyond_rounds + 1 : 0;
    scavenger->steady_rounds = rate_bps > scavenger->rate_bps ? 0 : scavenger->steady_rounds + 1;
    scavenger->others = others;
    scavenger->fell_ns = rate_bps < scavenger->rate_bps ? sample->now_ns : scavenger->fell_ns;
    set_rate(scavenger, rate_bps);
}

static void begin_still(struct scavenger *scavenger, uint64_t lasts_ns, uint64_t rate_bps, uint64_t now_ns)
{
    scavenger->stilled_bps = rate_bps;
    scavenger->stilled_ns = now_ns;
    scavenger->still_end_ns = now_ns + lasts_ns;
    scavenger->still_owd_ns = INT64_MAX;
    start_round(scavenger, now_ns);
    set_rate(scavenger, 0);
}

/* What stays of a step while the edge keeps still is the path's: at the rate of before. */
static void judge_step(struct scavenger *scavenger, uint64_t now_ns)
{
    scavenger->tries_step = false;
    int64_t least_ns =
        scavenger->delay.base_ns + (int64_t)target_at_ns(scavenger, scavenger->known.rate_bps) / STEP_PART;
    bool longer = scavenger->still_owd_ns != INT64_MAX && scavenger->still_owd_ns > least_ns;
    path_step_rest(&scavenger->step, now_ns + (longer ? 0 : due_ns(scavenger)));
    if (!longer)
        return;
    path_delay_forget_jump(&scavenger->delay, scavenger->known.jitter_ns);
    scavenger->wait = (struct path_wait){.start_ns = now_ns};
    path_delay_renew_base(&scavenger->delay, scavenger->still_owd_ns, now_ns);
    scavenger->stilled_bps = scavenger->known.rate_bps;
    scavenger->renewed = true;
}

/* What several in a row leave alike is the path's, unless it was a buffer that others keep full. */
static void judge_still(struct scavenger *scavenger, uint64_t now_ns)
{
    int64_t level_ns = scavenger->still_owd_ns, before_ns = scavenger->level_owd_ns;
    int64_t noise_ns = (int64_t)noise_at_ns(scavenger, MAX(scavenger->stilled_bps, scavenger->full_bps));
    bool full = scavenger->lost * STILL_LOSS_PART > scavenger->acked;
    if (level_ns == INT64_MAX || level_ns - scavenger->delay.base_ns <= noise_ns || full) {
        scavenger->levels = 0;
        return;
    }
    bool alike = level_ns - before_ns <= noise_ns && before_ns - level_ns <= noise_ns;
    scavenger->levels = scavenger->levels > 0 && alike ? scavenger->levels + 1 : 1;
    if (scavenger->levels == 1)
        scavenger->level_owd_ns = level_ns;
    if (scavenger->levels < STILL_LEVELS)
        return;
    path_delay_renew_base(&scavenger->delay, level_ns, now_ns);
    scavenger->levels = 0;
    scavenger->renewed = true;
}

/* Keeps still when the base was not seen for long, or the path seems to have become longer. True while it does. */
static bool keep_still(struct scavenger *scavenger, const struct congestion_sample *sample)
{
    uint64_t now_ns = sample->now_ns;
    if (sample->owd_known && sample->newest_sent_ns >= scavenger->stilled_ns + scavenger->rtt_ns / 8)
        scavenger->still_owd_ns = MIN(scavenger->still_owd_ns, sample->owd_ns);
    if (now_ns < scavenger->still_end_ns)
        return true;
    if (scavenger->stilled_bps > 0) {
        if (scavenger->tries_step)
            judge_step(scavenger, now_ns);
        else
            judge_still(scavenger, now_ns);
        set_rate(scavenger, scavenger->stilled_bps);
        scavenger->stilled_bps = 0;
        start_round(scavenger, now_ns);
        /* That it kept still is no outage. */
        path_step_rest(&scavenger->step, MAX(scavenger->step.rests_ns, now_ns + 2 * scavenger->rtt_ns));
    }
    scavenger->tries_step = scavenger->step.stepped;
    if (scavenger->tries_step) {
        scavenger->known = scavenger->step.known;
        begin_still(scavenger, STILL_LASTS_RTTS * sample->rtt_smoothed_ns, scavenger->rate_bps, now_ns);
        return true;
    }
    uint64_t seen_ns = MAX(scavenger->delay.base_seen_ns, scavenger->still_end_ns);
    if (elapsed_ns(now_ns, seen_ns) < due_ns(scavenger))
        return false;
    begin_still(scavenger, STILL_LASTS_RTTS * sample->rtt_smoothed_ns, scavenger->rate_bps, now_ns);
    return true;
}

static void scavenger_on_ack(struct congestion *congestion, const struct congestion_sample *sample)
{
    struct scavenger *scavenger = scavenger_of(congestion);
    scavenger->renewed = false;
    note_sample(scavenger, sample);
    if (!keep_still(scavenger, sample) && sample->newest_sent_ns >= scavenger->changed_ns &&
        scavenger->acked + scavenger->lost > 0) {
        choose_rate(scavenger, sample);
        start_round(scavenger, sample->now_ns);
    }
    publish_rate(congestion);
}

static void scavenger_on_timeout(struct congestion *congestion, uint64_t now_ns)
{
    struct scavenger *scavenger = scavenger_of(congestion);
    set_rate(scavenger, scavenger->rate_bps / 2);
    path_rate_restart(&scavenger->rate);
    start_round(scavenger, now_ns);
    publish_rate(congestion);
}

static bool is_overdue(const struct scavenger *scavenger)
{
    return elapsed_ns(scavenger->changed_ns, scavenger->delay.base_seen_ns) >
           OVERDUE_TIMES * due_ns(scavenger);
}

static void scavenger_view(const struct congestion *congestion, struct congestion_view *view)
{
    const struct scavenger *scavenger = (const struct scavenger *)(const void *)congestion->state;
    *view = (struct congestion_view){.phase = scavenger->stilled_bps > 0 ? "still" : "scavenge",
                                     /* It gives way to everybody, but not for ever to what may be nobody. */
                                     .duty = is_overdue(scavenger) ? CONGESTION_OWES_RATE
                                                                   : CONGESTION_OWES_NOTHING,
                                     .queue_ns = path_delay_queue_ns(&scavenger->delay),
                                     .target_ns = target_ns(scavenger),
                                     .base_old = is_overdue(scavenger),
                                     .jitter_ns = path_delay_jitter_ns(&scavenger->delay),
                                     .buffer_ns = TIME_NEVER,
                                     .base_loss_ppm = scavenger->loss_ppm};
}

const struct congestion_type congestion_scavenger_type = {.name = "scavenger",
                                                          .init = scavenger_init,
                                                          .on_ack = scavenger_on_ack,
                                                          .on_timeout = scavenger_on_timeout,
                                                          .view = scavenger_view};
