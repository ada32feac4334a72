/* bql: a small standing queue at the bottleneck, whatever the round trip, loss and jitter.
 *
 * What it measures, per ack:
 *     q    least one-way delay over the newest RTT/8 (at least 32 packets) above the base, the least
 *          delay ever
 *     J    peak of delay jumps between neighbouring packets, held 60 s; Jo = J where packets keep
 *          their order, J/8 where they overtake (the least delay then is that of the queue)
 *     p0   loss by chance, and how much it swings (s): learnt while the path is not full
 *     C    what the path takes from this edge: deliveries over one RTT on the receiver's clock / (1 -
 *          p0) while a queue stands, or over as long as it has stood, at least RTT/4; a lower bound
 *          without a queue
 *     q'   q + (bytes sent after the newest acked packet) / C - its age: the queue to come
 *     q*   min(40 ms, (2.5 ms + 0.8 Jo) sqrt(1 Gbit/s / rate)) + 0.8 Jo, at most half of what the
 *          buffer holds. It falls with the rate: among edges that share a queue the fair share is the
 *          only balance.
 * Packets are counted by their size: the port's full one at first, then the mean of what is acked.
 *
 * What it does (phases):
 *     TRAIN    20 packets at once; their spread at the receiver bounds the first jump (bql_start.c)
 *     START    doubles the rate, or takes 0.95 of what the train told; a higher rate is tried for
 *              about 0.3 RTT, and kept where deliveries grew with it. Loss of over 10 % in the first
 *              round: PARK tells. A queue of up to 32 Jo that is still there when what was sent at
 *              the rate before has come may as well be packets that wait for their predecessors:
 *              where deliveries grew it becomes part of the base; where they did not, TRACK falls by
 *              15 % until deliveries are below 92 % of their most, and what stays then does.
 *     TRACK    rate = C (1 + clamp((q* - q')/RTT, +-15 %)), falling up to 1/2 by (q* - q')/2.5 RTT
 *     CALM     a whole RTT with q < 0.4 q*: the rate grows by 2.5 % (at most 10 ms of queue), then
 *              2.5 times as much each 1.125 RTT, at most 50 %
 *     PARK     loss above p0 + 3 sigma + 2 s + 0.3 % that came without a long queue: 0.985 C, and 0.9 of the
 *              rate while loss stays. A round without: 0.985 of what was delivered is the rate, for 10
 *              rounds, twice as many each time it turns out to be the same again (a policer), up to 5 s.
 *              Loss that stays is chance when deliveries fell as much as the rate; loss that goes was
 *              the buffer's: from then on q* is at most half of the queue at which it came. p0 does not
 *              rise while the rate grows from there (CALM), nor in START by what only the higher rate lost.
 *              Where rounds swing more than chance does (bursts), it takes two in a row that lose so much.
 *     REFRESH  base unseen for max(10 s, 20 RTT): half the rate for max(RTT, 200 ms) or until it is
 *              seen; edges that see the queue fall join when half of their time is up, so that
 *              together they run it dry
 *     COMPETE  q > 2.5 q* for max(1.5 s, 15 RTT) without falling, and the receiver's edges have < 85
 *              % of the most they had of late: CUBIC's window until a drain test shows that the
 *              others are gone (bql_compete.c)
 *
 * Time limited by the application, port, uplink share or disk freezes C and the rate; a full window
 * does not where a queue shows that it was the rate that filled it.
 *
 * What the gains were tuned against (tests/edge/lab and scripts/bench transport): one RTT, not half
 * of it, as the time to settle in TRACK: with half, the loop of several edges swings without end. 15
 * %: ten edges at 20-200 ms. 2.5 RTT: a step from 1 Gbit/s to 200 Mbit/s at 5 BDP. Growth: the step
 * back within 10 RTT, and less than 10 ms of queue at a plan rate 10 % too low. 0.985 and the parked
 * rounds: policers of 20 KB to 2 MB, 0.02 BDP of buffer.
 *
 * Designed for jitter up to RTT/2 where packets overtake and up to 10 ms where order is kept; beyond
 * that shares are less sure: the wait for predecessors moves by more than q*. */
#include "edge/bql.h"

#define KNOWN_PPM         995000
#define TARGET_BASE_NS    (5 * NS_PER_MS / 2)
#define TARGET_JITTER_PPM 800000ULL
#define TARGET_ROOT_NS    (40 * NS_PER_MS)
#define GAIN_PPM          150000LL
#define CALM_PPM          400000ULL
#define PROBE_QUEUE_NS    (10 * NS_PER_MS)
#define GROWTH_MIN_PPM    25000ULL
#define GROWTH_MAX_PPM    500000ULL
#define PARK_ROUNDS       10
#define PARK_MAX_NS       (5 * NS_PER_S)
#define PARKED_RTTS       20
#define EXCESS_PPM        3000ULL
#define ROUND_PACKETS_MIN 200
#define REFRESH_NS        (10 * NS_PER_S)
#define REFRESH_LASTS_NS  (200 * NS_PER_MS)
#define REFRESH_RTTS      20
#define SHIFT_JITTERS     6
#define SHIFT_NS          (4 * NS_PER_MS)
#define WAIT_JITTERS      32
#define PLATEAU_PPM       920000ULL
#define BUFFER_HOLD_NS    (2 * NS_PER_S)
#define ACK_ALLOWANCE_NS  (50 * NS_PER_MS)

static const char *const phase_names[] = {"train", "start", "track", "calm", "park", "refresh", "compete"};

static uint64_t square_root(uint64_t value)
{
    uint64_t root = 0;
    for (uint64_t bit = 1ULL << 31; bit != 0; bit >>= 1)
        if ((root + bit) * (root + bit) <= value)
            root += bit;
    return root;
}

void bql_set_rate(struct congestion_bql *bql, uint64_t rate_bps)
{
    rate_bps = MAX(rate_bps, BQL_RATE_MIN_BPS);
    bql->rate_bps = MIN(rate_bps, BQL_RATE_MAX_BPS);
}

static void start_round(struct congestion_bql *bql, uint64_t now_ns)
{
    bql->round_start_ns = now_ns;
    bql->round_acked = 0;
    bql->round_lost = 0;
    bql->round_delivered_ns = bql->delivered_ns;
    bql->round_delivered_bytes = bql->rate.bytes;
    bql->frozen = false;
    bql->queue_peak_before_ns = bql->queue_peak_ns;
    bql->queue_peak_ns = 0;
}

static void publish(struct congestion *congestion, uint64_t rtt_ns)
{
    struct congestion_bql *bql = &congestion->state.bql;
    congestion->rate_bps = bql->rate_bps;
    congestion->in_flight_max_bytes = 2 * bytes_within(bql->rate_bps, rtt_ns + ACK_ALLOWANCE_NS);
    if (bql->phase == BQL_TRAIN)
        congestion->in_flight_max_bytes = BQL_TRAIN_PACKETS * bql->packet_bytes;
    if (bql->phase == BQL_COMPETE && bql->draining_ns == 0)
        congestion->in_flight_max_bytes = bql->window.bytes;
}

static void bql_init(struct congestion *congestion, uint64_t initial_bps, bool known, uint64_t rtt_ns,
                     uint64_t now_ns)
{
    struct congestion_bql *bql = &congestion->state.bql;
    *bql = (struct congestion_bql){.phase = known ? BQL_CALM : BQL_TRAIN,
                                   .rtt_ns = rtt_ns,
                                   .packet_bytes = congestion->packet_bytes,
                                   .now_ns = now_ns,
                                   .busy_ns = now_ns,
                                   .raised_ns = now_ns,
                                   .growth_ppm = GROWTH_MIN_PPM,
                                   .park_rounds = PARK_ROUNDS,
                                   .target_max_ns = TIME_NEVER,
                                   .train_bps = known ? initial_bps : 0};
    delay_init(&bql->delay, now_ns);
    rate_init(&bql->rate);
    start_round(bql, now_ns);
    /* The plan's rate was measured with an error: rather a little less. */
    bql_set_rate(bql, known ? muldiv64(initial_bps, KNOWN_PPM, BQL_PPM) : BQL_TRAIN_BPS);
    publish(congestion, rtt_ns);
}

/* Jitter that the least delay shows, because packets wait for their predecessors instead of overtaking. */
uint64_t bql_order_kept_jitter_ns(const struct congestion_bql *bql)
{
    uint64_t jitter_ns = delay_jitter_ns(&bql->delay);
    return bql->late_ns * 4 > jitter_ns ? 0 : jitter_ns;
}

/* How long packets wait for their predecessors on an idle path, at most: more than they jump where they are
 * close together. */
uint64_t bql_waiting_ns(const struct congestion_bql *bql)
{
    uint64_t jitter_ns = bql_order_kept_jitter_ns(bql);
    return MIN(SHIFT_JITTERS * jitter_ns, jitter_ns + SHIFT_NS);
}

/* Neighbours jump by much less than they wait: the more of them, the sooner one that is late holds up all. */
bool bql_may_wait(const struct congestion_bql *bql, uint64_t queue_ns)
{
    return queue_ns <= WAIT_JITTERS * bql_order_kept_jitter_ns(bql);
}

/* q*: falls with the rate, so that among edges that share a queue the only balance is the fair one. */
uint64_t bql_target_ns(const struct congestion_bql *bql, uint64_t rate_bps)
{
    uint64_t jitter_ns = muldiv64(delay_jitter_ns(&bql->delay), TARGET_JITTER_PPM, BQL_PPM);
    if (bql->late_ns * 4 > delay_jitter_ns(&bql->delay))
        jitter_ns /= 8; /* packets overtake: the least delay is that of the queue */
    uint64_t root_millis = square_root(muldiv64(NS_PER_S, BQL_PPM, MAX(rate_bps, BQL_RATE_MIN_BPS)));
    uint64_t root_ns = muldiv64(TARGET_BASE_NS + jitter_ns, root_millis, 1000);
    uint64_t target = MIN(root_ns, TARGET_ROOT_NS) + jitter_ns;
    return MIN(target, bql->target_max_ns);
}

uint64_t bql_with_losses_bps(const struct congestion_bql *bql, uint64_t delivered_bps)
{
    return muldiv64(delivered_bps, BQL_PPM, BQL_PPM - MIN(bql->base_loss_ppm, (uint32_t)(BQL_PPM / 2)));
}

/* Limited by something else the rate says nothing of the path, nor do deliveries; but what is limited by a
 * window only, or delivers what it is to all the same, may have itself to blame. */
static bool held(const struct congestion_bql *bql, uint64_t now_ns)
{
    uint64_t delivered_bps = rate_over(&bql->rate, bql->rtt_ns, DELAY_PACKETS_MIN * bql->packet_bytes);
    return now_ns < bql->held_until_ns && !bql->window_limited &&
           bql_with_losses_bps(bql, delivered_bps) < bql->rate_bps / 10 * 8;
}

/* Deliveries measure what the path takes only while there is a queue; else they are a lower bound. */
static void observe_capacity(struct congestion_bql *bql, const struct congestion_sample *sample)
{
    uint64_t rtt_ns = bql->rtt_ns, least_bytes = DELAY_PACKETS_MIN * bql->packet_bytes;
    uint64_t small_ns = MAX(bql_target_ns(bql, bql->rate_bps) / 8, delay_jitter_ns(&bql->delay) / 16);
    small_ns += bql_order_kept_jitter_ns(bql);
    if (held(bql, sample->now_ns) || bql->phase == BQL_TRAIN)
        return;
    if (delay_queue_ns(&bql->delay) <= small_ns) {
        bql->standing_ns = 0;
        uint64_t bound_bps = rate_over(&bql->rate, rtt_ns, least_bytes);
        bql->capacity_bps = MAX(bql->capacity_bps, bql_with_losses_bps(bql, bound_bps));
        return;
    }
    if (bql->standing_ns == 0)
        bql->standing_ns = sample->delivered_ns;
    uint64_t stood_ns = elapsed_ns(sample->delivered_ns, bql->standing_ns);
    if (stood_ns < rtt_ns / 4)
        return;
    bql->capacity_bps = bql_with_losses_bps(bql, rate_over(&bql->rate, MIN(stood_ns, rtt_ns), least_bytes));
}

static struct bql_path look(const struct congestion_bql *bql, const struct congestion_sample *sample)
{
    struct bql_path view = {
        .now_ns = sample->now_ns, .rtt_ns = bql->rtt_ns, .newest_sent_ns = sample->newest_sent_ns};
    view.capacity_bps = bql->capacity_bps;
    view.queue_ns = delay_queue_ns(&bql->delay);
    view.target_ns = bql_target_ns(bql, view.capacity_bps > 0 ? view.capacity_bps : bql->rate_bps);
    view.newest_ns = view.queue_ns + elapsed_ns(sample->spread_ns, 2 * delay_jitter_ns(&bql->delay));
    view.predicted_ns = view.queue_ns;
    if (view.capacity_bps > 0 && bql->phase == BQL_TRACK) {
        uint64_t coming_ns = view.queue_ns + transmit_ns(sample->after_bytes, view.capacity_bps);
        view.predicted_ns = elapsed_ns(coming_ns, elapsed_ns(sample->now_ns, sample->newest_sent_ns));
    }
    return view;
}

void bql_enter(struct congestion_bql *bql, enum bql_phase phase)
{
    bql->phase = phase;
    bql->entered_ns = bql->now_ns;
    bql->busy_ns = bql->now_ns;
    bql->growth_ppm =
        (uint32_t)MIN(GROWTH_MIN_PPM, muldiv64(PROBE_QUEUE_NS, BQL_PPM, MAX(bql->rtt_ns, 1ULL)));
}

/* ---- the law ---- */

/* After the start: a queue that stays although the path delivers less than it can is no queue. */
static bool settling(struct congestion_bql *bql, const struct bql_path *path)
{
    if (bql->plateau_bps == 0 || path->predicted_ns <= path->target_ns || !bql_may_wait(bql, path->queue_ns))
        return false;
    bql->plateau_bps = MAX(bql->plateau_bps, path->capacity_bps);
    if (path->capacity_bps > muldiv64(bql->plateau_bps, PLATEAU_PPM, BQL_PPM))
        return true;
    delay_shift(&bql->delay, TIME_NEVER);
    bql->plateau_bps = 0;
    bql_enter(bql, BQL_TRACK);
    return false;
}

static void track(struct congestion_bql *bql, const struct bql_path *path)
{
    if (path->queue_ns >= muldiv64(path->target_ns, CALM_PPM, BQL_PPM))
        bql->busy_ns = path->now_ns;
    if (elapsed_ns(path->now_ns, bql->busy_ns) > path->rtt_ns) {
        bql_enter(bql, BQL_CALM);
        bql->raised_ns = 0;
        bql->plateau_bps = 0;
        return;
    }
    if (path->capacity_bps == 0 || held(bql, path->now_ns))
        return;
    int64_t off_ns = (int64_t)path->target_ns - (int64_t)path->predicted_ns;
    int64_t settle_ns = (int64_t)MAX(path->rtt_ns, NS_PER_MS);
    int64_t change_ppm = (int64_t)BQL_PPM * off_ns / settle_ns;
    int64_t fall_ppm = MAX(change_ppm * 2 / 5, -(int64_t)BQL_PPM / 2);
    fall_ppm = MIN(fall_ppm, -GAIN_PPM);
    change_ppm = MIN(change_ppm, GAIN_PPM);
    change_ppm = MAX(change_ppm, fall_ppm);
    if (settling(bql, path))
        change_ppm = MIN(change_ppm, -GAIN_PPM);
    uint64_t rate_bps = muldiv64(path->capacity_bps, (uint64_t)((int64_t)BQL_PPM + change_ppm), BQL_PPM);
    bql_set_rate(bql, path->now_ns < bql->held_until_ns ? MIN(rate_bps, bql->rate_bps) : rate_bps);
}

static void calm(struct congestion_bql *bql, const struct bql_path *path)
{
    if (path->newest_ns >= muldiv64(path->target_ns, CALM_PPM, BQL_PPM)) {
        bql_enter(bql, BQL_TRACK);
        return;
    }
    if (path->newest_sent_ns < bql->raised_ns + path->rtt_ns / 8 || path->now_ns < bql->held_until_ns)
        return;
    if (bql->cautious_rounds > 0)
        return;
    /* Near what the path took when it last lost packets it may take more for a while, and longer where it was
     * the same before. */
    bool same = bql->park_rounds > PARK_ROUNDS;
    bool long_ago = path->now_ns > bql->parked_ns + PARK_MAX_NS + PARKED_RTTS * path->rtt_ns;
    bool near = !long_ago && bql->rate_bps < bql->parked_bps + bql->parked_bps / (same ? 2 : 8);
    bql->cautious_rounds = near ? 2 : 0;
    bql_set_rate(bql, bql->rate_bps + muldiv64(bql->rate_bps, bql->growth_ppm, BQL_PPM));
    if (!near)
        bql->growth_ppm = (uint32_t)MIN(5ULL * bql->growth_ppm / 2, GROWTH_MAX_PPM);
    bql->raised_ns = path->now_ns;
}

static void parked(struct congestion_bql *bql, const struct bql_path *path)
{
    if (path->predicted_ns > 2 * path->target_ns)
        bql_enter(bql, BQL_TRACK);
    else if (bql->parked_rounds >= bql->park_rounds) {
        bql_enter(bql, BQL_CALM);
        bql->parked_starting = false;
        bql->raised_ns = 0;
    }
}

/* ---- loss ---- */

static uint32_t sigma_ppm(const struct congestion_bql *bql, uint64_t packets)
{
    uint64_t usual_ppm = MAX(bql->base_loss_ppm, (uint32_t)(BQL_PPM / packets));
    return (uint32_t)square_root(usual_ppm * (BQL_PPM - usual_ppm) / packets);
}

/* Chance rarely takes more than this of so many packets. */
uint32_t bql_likely_ppm(const struct congestion_bql *bql, uint64_t packets)
{
    return bql->base_loss_ppm + 3 * sigma_ppm(bql, packets) + 2 * bql->loss_swing_ppm;
}

/* At least three quarters of what the parked round lost that others are compared with. */
static bool similar_loss(const struct congestion_bql *bql, const struct bql_round *round)
{
    return bql->parked_delivered_bps > 0 &&
           round->loss_ppm >= bql->parked_loss_ppm - bql->parked_loss_ppm / 4;
}

void bql_park(struct congestion_bql *bql, const struct bql_round *round)
{
    bool similar = similar_loss(bql, round);
    uint64_t delivered_bps = round->delivered_bps;
    if (bql->phase != BQL_PARK)
        delivered_bps =
            MAX(delivered_bps, rate_over(&bql->rate, bql->rtt_ns, DELAY_PACKETS_MIN * bql->packet_bytes));
    uint64_t capacity_bps = bql->phase == BQL_TRACK && bql->capacity_bps > 0
                                ? bql->capacity_bps
                                : bql_with_losses_bps(bql, delivered_bps);
    bool again = bql->phase == BQL_PARK;
    if (!again) {
        bql->unparked_bps = bql->rate_bps;
        bql->unparked_loss_ppm = round->loss_ppm;
        bql->parked_delivered_bps = 0;
        bql->parked_most_bps = 0;
    } else if (!similar) {
        bql->parked_loss_ppm = round->loss_ppm;
        bql->parked_delivered_bps = round->delivered_bps;
    }
    if (again && bql->parked_most_bps == 0)
        bql->parked_most_bps = round->delivered_bps;
    bql->phase = BQL_PARK;
    bql->entered_ns = bql->now_ns;
    bql->parked_ns = bql->now_ns;
    bql->parked_rounds = 0;
    bql->parked_bps = capacity_bps;
    bql->capacity_bps = capacity_bps;
    uint64_t rate_bps = muldiv64(capacity_bps, BQL_PARK_PPM, BQL_PPM);
    bql_set_rate(bql, again ? MIN(rate_bps, bql->rate_bps / 10 * 9) : rate_bps);
}

/* Loss by chance takes its share of whatever is sent: deliveries fall as much as the rate. A policer lets
 * pass what it lets pass. */
static bool by_chance(const struct congestion_bql *bql, const struct bql_round *round)
{
    if (!similar_loss(bql, round))
        return false;
    uint64_t sent_bps =
        muldiv64(round->delivered_bps, BQL_PPM, BQL_PPM - MIN((uint64_t)round->loss_ppm, BQL_PPM / 2));
    uint64_t before_bps = muldiv64(bql->parked_delivered_bps, BQL_PPM,
                                   BQL_PPM - MIN((uint64_t)bql->parked_loss_ppm, BQL_PPM / 2));
    uint64_t if_chance_bps = muldiv64(bql->parked_delivered_bps, sent_bps, MAX(before_bps, 1ULL));
    return sent_bps < before_bps / 100 * 93 &&
           round->delivered_bps < (bql->parked_delivered_bps + if_chance_bps) / 2;
}

static void excess_loss(struct congestion_bql *bql, const struct bql_path *path,
                        const struct bql_round *round)
{
    if (bql->phase == BQL_PARK && by_chance(bql, round)) {
        uint32_t swing_ppm = (uint32_t)elapsed_ns(round->loss_ppm, bql->base_loss_ppm) / 2;
        bql->loss_swing_ppm = MAX(bql->loss_swing_ppm, swing_ppm);
        bql->base_loss_ppm = round->loss_ppm;
        bql->parked_bps = 0;
        delay_shift(&bql->delay, bql_waiting_ns(bql));
        /* Not all of what had been lost before was. */
        if (round->loss_ppm < bql->unparked_loss_ppm / 2) {
            bql->parked_starting = false;
            bql->parked_bps = bql_with_losses_bps(bql, bql->parked_most_bps);
            bql_set_rate(bql, MAX(bql->rate_bps, muldiv64(bql->parked_bps, BQL_PARK_PPM, BQL_PPM)));
            bql_enter(bql, BQL_CALM);
            return;
        }
        bql_set_rate(bql, MAX(bql->rate_bps, bql->unparked_bps));
        bql->unparked_ns = path->now_ns;
        bql_enter(bql, bql->parked_starting ? BQL_START : BQL_CALM);
        bql->tried_bps = bql->rate_bps;
        bql->start_bps = bql->rate_bps;
        bql->raised_from_bps = bql->parked_delivered_bps / 2;
        bql->raised_acked = 0;
        bql->raised_lost = 0;
        bql->parked_starting = false;
        bql->raised_ns = path->now_ns;
        return;
    }
    bql->parked_queue_ns = MAX(bql->queue_peak_ns, bql->queue_peak_before_ns);
    bql_park(bql, round);
}

static bool about(uint64_t a, uint64_t b)
{
    return elapsed_ns(a, b) < a / 16 && elapsed_ns(b, a) < a / 16;
}

/* A lower rate than what the path was thought to take loses nothing. That much it takes, then; where it is
 * the same again, the next try waits twice as long. */
static void settle(struct congestion_bql *bql)
{
    if (bql->parked_rounds != 1)
        return;
    bql_set_rate(bql, MAX(bql->rate_bps, muldiv64(bql->parked_bps, BQL_PARK_PPM, BQL_PPM)));
    uint64_t rounds_max = PARK_MAX_NS / MAX(bql->rtt_ns, NS_PER_MS);
    rounds_max = MAX(rounds_max, 2ULL * PARK_ROUNDS);
    bql->park_rounds = about(bql->parked_bps, bql->settled_bps)
                           ? (uint32_t)MIN(2ULL * bql->park_rounds, rounds_max)
                           : PARK_ROUNDS;
    bql->settled_bps = bql->parked_bps;
}

/* Below what the path takes nothing gets lost: the queue at which it did is more than the buffer holds. */
static void learn_buffer(struct congestion_bql *bql, const struct bql_path *path)
{
    if (bql->parked_rounds != 3)
        return;
    /* What is seen of a queue now is jitter that waits for its predecessors. */
    uint64_t empty_ns = bql_order_kept_jitter_ns(bql) > 0 ? path->queue_ns : 0;
    delay_shift(&bql->delay, bql_waiting_ns(bql));
    uint64_t packets_ns = transmit_ns(16 * bql->packet_bytes, MAX(path->capacity_bps, BQL_RATE_MIN_BPS));
    uint64_t queue_ns = elapsed_ns(bql->parked_queue_ns, empty_ns);
    if (queue_ns < packets_ns + delay_jitter_ns(&bql->delay) || queue_ns > bql->target_max_ns)
        return;
    bql->target_max_ns = queue_ns / 2;
    bql->target_max_set_ns = path->now_ns;
    bql->target_max_hold_ns = MIN(MAX(2 * bql->target_max_hold_ns, BUFFER_HOLD_NS), 32 * BUFFER_HOLD_NS);
}

/* Where the rate grows beyond what the path took and more gets lost, that is not by chance, little as it may
 * be. */
static void learn_chance(struct congestion_bql *bql, uint32_t loss_ppm, bool few)
{
    bool more = loss_ppm > bql->base_loss_ppm;
    bool near = bql->rate_bps > bql->parked_bps / 100 * 97 && bql->rate_bps < bql->parked_bps / 2 * 3;
    if (more && near && bql->phase == BQL_CALM)
        return;
    int32_t off_ppm = (int32_t)loss_ppm - (int32_t)bql->base_loss_ppm;
    uint32_t swing_ppm = (uint32_t)(more ? off_ppm : -off_ppm);
    bql->loss_swing_ppm += ((int32_t)swing_ppm - (int32_t)bql->loss_swing_ppm) / 8;
    bool empty = bql->phase == BQL_PARK || bql->phase == BQL_CALM;
    if (!more || (empty && !few))
        bql->base_loss_ppm = (uint32_t)((int32_t)bql->base_loss_ppm + off_ppm / 4);
}

/* What it parked for turns out to be what chance takes now and then, at this rate too. */
static void forgive(struct congestion_bql *bql, uint64_t packets)
{
    if (bql->phase != BQL_PARK || bql->unparked_loss_ppm > bql_likely_ppm(bql, packets))
        return;
    bql->park_rounds = bql->parked_rounds;
}

static void end_round(struct congestion_bql *bql, const struct bql_path *path)
{
    uint64_t packets = bql->round_acked + bql->round_lost;
    uint64_t lasted_ns = elapsed_ns(path->now_ns, bql->round_start_ns);
    if (lasted_ns < path->rtt_ns || packets < DELAY_PACKETS_MIN)
        return;
    uint32_t loss_ppm = (uint32_t)muldiv64(bql->round_lost, BQL_PPM, packets);
    bool unlikely = loss_ppm > bql_likely_ppm(bql, packets);
    bool excess = loss_ppm > bql_likely_ppm(bql, packets) + EXCESS_PPM;
    bool few = packets < ROUND_PACKETS_MIN;
    /* Looked at again and again, few packets show some excess too easily. */
    bool plain = loss_ppm > bql_likely_ppm(bql, packets) + BQL_PLAIN_LOSS_PPM;
    if (few && !plain && lasted_ns < 8 * path->rtt_ns)
        return;
    uint64_t took_ns = elapsed_ns(bql->delivered_ns, bql->round_delivered_ns);
    uint64_t bytes = bql->rate.bytes - MIN(bql->round_delivered_bytes, bql->rate.bytes);
    const struct bql_round round = {loss_ppm, took_ns == 0 ? 0 : muldiv64(bytes, 8 * NS_PER_S, took_ns)};
    bool frozen = bql->frozen;
    uint64_t round_ns = bql->round_start_ns;
    start_round(bql, path->now_ns);
    if (bql->phase == BQL_START || bql->phase == BQL_TRAIN)
        return;
    if (bql->phase == BQL_COMPETE) {
        bql_compete_round(bql, path, unlikely);
        return;
    }
    /* What was sent before the phase began has no say in it. */
    uint64_t rounds = bql->phase == BQL_TRACK ? 2 : 1;
    uint64_t seen_ns = bql->entered_ns + rounds * path->rtt_ns + bql->late_ns + bql->queue_peak_before_ns;
    if (frozen || (bql->phase != BQL_CALM && round_ns < seen_ns) ||
        round_ns < bql->unparked_ns + path->rtt_ns)
        return;
    bql->parked_rounds += bql->phase == BQL_PARK;
    bql->cautious_rounds -= bql->cautious_rounds > 0;
    /* Where chance strikes in bursts one round says little: a full buffer goes on losing. */
    bool bursty = bql->loss_swing_ppm > 3 * sigma_ppm(bql, packets);
    bool lasts = excess && (!bursty || plain || bql->excess_before);
    bql->excess_before = excess;
    if (excess && !lasts) /* no higher until the next one tells */
        bql->cautious_rounds = 2;
    if (!lasts) {
        if (bql->phase == BQL_PARK) {
            settle(bql);
            learn_buffer(bql, path);
        }
        learn_chance(bql, loss_ppm, few);
        forgive(bql, packets);
        return;
    }
    if (path->now_ns >= bql->held_until_ns && bql->phase != BQL_REFRESH)
        excess_loss(bql, path, &round);
}

/* ---- refreshing the base ---- */

/* Edges that share a queue see it fall when one of them refreshes, and join: together they run it dry. */
static bool refresh_due(const struct congestion_bql *bql, const struct bql_path *path)
{
    uint64_t due_ns = MAX(REFRESH_NS, REFRESH_RTTS * path->rtt_ns);
    uint64_t since_ns = elapsed_ns(path->now_ns, MAX(bql->delay.base_seen_ns, bql->refresh_end_ns));
    uint64_t peak_ns = MAX(bql->queue_peak_ns, bql->queue_peak_before_ns);
    bool falls = path->queue_ns + path->target_ns / 4 + bql_waiting_ns(bql) < peak_ns;
    /* A rate that falls and falls under a queue that stays: perhaps the way is longer now. */
    uint64_t starving_ns = elapsed_ns(path->now_ns, MAX(bql->fed_ns, bql->refresh_end_ns));
    return since_ns >= due_ns || (falls && since_ns >= due_ns / 2) || starving_ns >= due_ns / 5;
}

static void refresh_when_due(struct congestion_bql *bql, const struct bql_path *path)
{
    if (bql->delay.base_seen_ns == path->now_ns)
        bql->base_seen_bps = bql->rate_bps;
    if (bql->rate_bps >= bql->base_seen_bps / 2 || path->queue_ns <= path->target_ns)
        bql->fed_ns = path->now_ns;
    if (bql->phase == BQL_START || bql->phase == BQL_TRAIN || bql->phase == BQL_REFRESH ||
        bql->phase == BQL_COMPETE || !refresh_due(bql, path))
        return;
    bql->phase = BQL_REFRESH;
    bql->refresh_start_ns = path->now_ns;
    bql->refresh_end_ns = path->now_ns + MAX(path->rtt_ns, REFRESH_LASTS_NS);
    bql->refresh_owd_ns = INT64_MAX;
    bql->refreshed_bps = bql->rate_bps;
    bql_set_rate(bql, bql->rate_bps / 2);
}

static void refreshing(struct congestion_bql *bql, const struct bql_path *path)
{
    if (path->now_ns < bql->refresh_end_ns && bql->delay.base_seen_ns == path->now_ns)
        bql->refresh_end_ns = path->now_ns;
    if (path->now_ns < bql->refresh_end_ns)
        return;
    bql_set_rate(bql, bql->refreshed_bps);
    bql_enter(bql, BQL_TRACK);
}

/* What was sent while the base was refreshed has come. Others may have kept a queue meanwhile, but none above
 * the target for long. */
static void judge_refresh(struct congestion_bql *bql, const struct bql_path *path,
                          const struct congestion_sample *sample)
{
    if (bql->refresh_start_ns == 0)
        return;
    if (sample->owd_known && path->newest_sent_ns >= bql->refresh_start_ns)
        bql->refresh_owd_ns = MIN(bql->refresh_owd_ns, sample->owd_ns);
    if (bql->phase == BQL_REFRESH || path->newest_sent_ns < bql->refresh_end_ns)
        return;
    bool seen = bql->refresh_owd_ns != INT64_MAX;
    bool above = seen && bql->refresh_owd_ns - bql->delay.base_ns > (int64_t)path->target_ns;
    bql->refreshes_above = above ? bql->refreshes_above + 1 : 0;
    if (bql->refreshes_above >= 2)
        delay_refresh(&bql->delay, bql->refresh_owd_ns, path->now_ns);
    bql->refresh_start_ns = 0;
}

/* ---- hooks ---- */

static void take(struct congestion_bql *bql, const struct congestion_sample *sample)
{
    bql->competed_ns = bql->now_ns;
    bql->now_ns = sample->now_ns;
    if (sample->rtt_min_ns > 0)
        bql->rtt_ns = sample->rtt_min_ns;
    if (sample->acked_packets > 0)
        bql->packet_bytes = (7 * bql->packet_bytes + sample->acked_bytes / sample->acked_packets) / 8;
    /* Not the acked ones: an ack in several messages tells the delay in the first, most of the numbers later.
     */
    uint64_t packets =
        (sample->delivered_bytes - MIN(sample->delivered_bytes, bql->rate.bytes)) / bql->packet_bytes;
    if (sample->owd_known)
        delay_on_sample(&bql->delay, sample->owd_ns, packets, bql->rtt_ns,
                        bql_target_ns(bql, bql->rate_bps) / 8, sample->now_ns);
    /* Neighbours in a train jump by the queue that they are. */
    if (bql->phase != BQL_TRAIN && bql->newest_sent_ns > bql->train_end_ns)
        delay_on_jump(&bql->delay, sample->jump_ns, sample->now_ns);
    bql->newest_sent_ns = sample->newest_sent_ns;
    rate_on_delivered(&bql->rate, sample->delivered_bytes, sample->delivered_ns, bql->rtt_ns);
    bql->delivered_ns = sample->delivered_ns;
    bql->round_acked += sample->acked_packets;
    bql->round_lost += sample->lost_packets;
    if (bql->newest_sent_ns > bql->train_end_ns + bql->rtt_ns / 4) {
        bql->raised_acked += sample->acked_packets;
        bql->raised_lost += sample->lost_packets;
    }
    bql->late_ns = sample->late_ns;
    bql_take_own(bql, sample);
    bql->queue_peak_ns = MAX(bql->queue_peak_ns, delay_queue_ns(&bql->delay));
    if (sample->limited != EDGE_LIMIT_congestion && sample->limited != EDGE_LIMIT_cap) {
        bql->frozen = true;
        bql->held_until_ns = sample->now_ns + 2 * bql->rtt_ns;
        bql->window_limited = sample->limited == EDGE_LIMIT_window || sample->limited == EDGE_LIMIT_credit;
    }
    if (elapsed_ns(sample->now_ns, bql->target_max_set_ns) > bql->target_max_hold_ns &&
        bql->target_max_ns != TIME_NEVER) {
        bql->target_max_ns += bql->target_max_ns / 4;
        bql->target_max_set_ns = sample->now_ns;
    }
}

static void bql_on_ack(struct congestion *congestion, const struct congestion_sample *sample)
{
    struct congestion_bql *bql = &congestion->state.bql;
    take(bql, sample);
    observe_capacity(bql, sample);
    struct bql_path view = look(bql, sample);
    end_round(bql, &view);
    judge_refresh(bql, &view, sample);
    refresh_when_due(bql, &view);
    bql_compete_when_contested(bql, &view);
    switch ((enum bql_phase)bql->phase) {
    case BQL_TRAIN:
        bql_train(bql, sample);
        break;
    case BQL_START:
        bql_start(bql, &view);
        break;
    case BQL_TRACK:
        track(bql, &view);
        break;
    case BQL_CALM:
        calm(bql, &view);
        if (bql->phase == BQL_TRACK) {
            view = look(bql, sample);
            track(bql, &view);
        }
        break;
    case BQL_PARK:
        parked(bql, &view);
        break;
    case BQL_REFRESH:
        refreshing(bql, &view);
        break;
    case BQL_COMPETE:
        bql_compete(bql, &view, sample);
        break;
    }
    publish(congestion, sample->rtt_smoothed_ns);
}

static void bql_on_timeout(struct congestion *congestion, uint64_t now_ns)
{
    struct congestion_bql *bql = &congestion->state.bql;
    bql->held_until_ns = now_ns + 2 * bql->rtt_ns;
    bql->frozen = true;
    rate_restart(&bql->rate);
}

/* Nothing is known of the path while it is silent, so what was known before holds again after it. */
static void bql_on_silence(struct congestion *congestion, bool silent, uint64_t now_ns)
{
    struct congestion_bql *bql = &congestion->state.bql;
    if (silent) {
        bql->silenced_bps = bql->phase == BQL_REFRESH ? bql->refreshed_bps : bql->rate_bps;
        return;
    }
    bql->now_ns = now_ns;
    bql_set_rate(bql, bql->silenced_bps);
    rate_restart(&bql->rate);
    start_round(bql, now_ns);
    bql->held_until_ns = now_ns + 2 * bql->rtt_ns;
    if (bql->phase == BQL_TRAIN)
        bql_await_train(bql, bql->rate.bytes);
    else
        bql_enter(bql, BQL_TRACK);
    publish(congestion, bql->rtt_ns);
}

static void bql_view(const struct congestion *congestion, struct congestion_view *view)
{
    const struct congestion_bql *bql = &congestion->state.bql;
    *view = (struct congestion_view){.phase = phase_names[bql->phase],
                                     .capacity_bps = bql->capacity_bps,
                                     .queue_ns = delay_queue_ns(&bql->delay),
                                     .target_ns = bql_target_ns(bql, bql->rate_bps),
                                     .jitter_ns = delay_jitter_ns(&bql->delay),
                                     .buffer_ns = bql->target_max_ns,
                                     .competitive_ns = bql->competitive_ns,
                                     .base_loss_ppm = bql->base_loss_ppm};
}

const struct congestion_type congestion_bql_type = {.name = "bql",
                                                    .init = bql_init,
                                                    .on_ack = bql_on_ack,
                                                    .on_timeout = bql_on_timeout,
                                                    .on_silence = bql_on_silence,
                                                    .view = bql_view};
