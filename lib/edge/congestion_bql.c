#include "edge/congestion.h"

#include "base/units.h"

#define PPM               1000000ULL
#define PACKET_BYTES      1538
#define RATE_MIN_BPS      50000ULL
#define RATE_MAX_BPS      1000000000000ULL
#define KNOWN_PPM         995000
#define TRAIN_BPS         40000000000ULL
#define TRAIN_PACKETS     20
#define TRAINS_LOST_MAX   2
#define TRAIN_SPAN_MIN_NS (40 * NS_PER_US)
#define TARGET_BASE_NS    (5 * NS_PER_MS / 2)
#define TARGET_JITTER_PPM 800000ULL
#define TARGET_ROOT_NS    (40 * NS_PER_MS)
#define GAIN_PPM          150000LL
#define CALM_PPM          400000ULL
#define PROBE_QUEUE_NS    (10 * NS_PER_MS)
#define GROWTH_MIN_PPM    25000ULL
#define GROWTH_UNSURE_PPM 200000
#define GROWTH_MAX_PPM    500000ULL
#define START_RTT_MIN_NS  (20 * NS_PER_MS)
#define START_LOSS_PPM    100000
#define PARK_PPM          985000ULL
#define PARK_ROUNDS       10
#define PARK_MAX_NS       (5 * NS_PER_S)
#define EXCESS_PPM        3000ULL
#define ROUND_PACKETS_MIN 200
#define REFRESH_NS        (10 * NS_PER_S)
#define REFRESH_LASTS_NS  (200 * NS_PER_MS)
#define REFRESH_RTTS      20
#define SHIFT_JITTERS     6
#define SHIFT_NS          (4 * NS_PER_MS)
#define BUFFER_HOLD_NS    (2 * NS_PER_S)
#define CONTEST_NS        (3 * NS_PER_S / 2)
#define CONTEST_QUEUE_NS  (20 * NS_PER_MS)
#define CONTEST_RTTS      15
#define OWN_PERCENT       85
#define OWN_HOLD_NS       (30 * NS_PER_S)
#define DEAF_FALL_PPM     950000
#define DEAF_RISE_PPM     1030000
#define DRAIN_NS          (10 * NS_PER_S)
#define DRAIN_RTTS        50
#define DRAIN_PPM         300000ULL
#define ACK_ALLOWANCE_NS  (50 * NS_PER_MS)

enum bql_phase { BQL_TRAIN, BQL_START, BQL_TRACK, BQL_CALM, BQL_PARK, BQL_REFRESH, BQL_COMPETE };
static const char *const phase_names[] = {"train", "start", "track", "calm", "park", "refresh", "compete"};

/* What this ack makes of the path. */
struct view {
    uint64_t now_ns;
    uint64_t rtt_ns;
    uint64_t capacity_bps; /* what the path takes from this edge, random loss included */
    uint64_t queue_ns;     /* as measured */
    uint64_t newest_ns;    /* as the newest packet tells, beyond jitter */
    uint64_t predicted_ns; /* when what is under way will have arrived */
    uint64_t target_ns;
    uint64_t newest_sent_ns;
};

/* The packets whose fate became known within a round trip. */
struct round {
    uint32_t loss_ppm;
    uint64_t delivered_bps;
};

static uint64_t square_root(uint64_t value)
{
    uint64_t root = 0;
    for (uint64_t bit = 1ULL << 31; bit != 0; bit >>= 1)
        if ((root + bit) * (root + bit) <= value)
            root += bit;
    return root;
}

static void set_rate(struct congestion_bql *bql, uint64_t rate_bps)
{
    rate_bps = MAX(rate_bps, RATE_MIN_BPS);
    bql->rate_bps = MIN(rate_bps, RATE_MAX_BPS);
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
        congestion->in_flight_max_bytes = TRAIN_PACKETS * PACKET_BYTES;
    if (bql->phase == BQL_COMPETE && bql->draining_ns == 0)
        congestion->in_flight_max_bytes = bql->window.bytes;
}

static void bql_init(struct congestion *congestion, uint64_t initial_bps, bool known, uint64_t rtt_ns,
                     uint64_t now_ns)
{
    struct congestion_bql *bql = &congestion->state.bql;
    *bql = (struct congestion_bql){.phase = known ? BQL_CALM : BQL_TRAIN,
                                   .rtt_ns = rtt_ns,
                                   .now_ns = now_ns,
                                   .busy_ns = now_ns,
                                   .raised_ns = now_ns,
                                   .growth_ppm = GROWTH_MIN_PPM,
                                   .target_max_ns = TIME_NEVER,
                                   .train_bps = known ? initial_bps : 0};
    delay_init(&bql->delay, now_ns);
    rate_init(&bql->rate);
    start_round(bql, now_ns);
    /* The plan's rate was measured with an error: rather a little less. */
    set_rate(bql, known ? muldiv64(initial_bps, KNOWN_PPM, PPM) : TRAIN_BPS);
    publish(congestion, rtt_ns);
}

/* Jitter that the least delay shows, because packets wait for their predecessors instead of overtaking. */
static uint64_t order_kept_jitter_ns(const struct congestion_bql *bql)
{
    uint64_t jitter_ns = delay_jitter_ns(&bql->delay);
    return bql->late_ns * 4 > jitter_ns ? 0 : jitter_ns;
}

/* How long packets wait for their predecessors on an idle path, at most: more than they jump where they are
 * close together. */
static uint64_t waiting_ns(const struct congestion_bql *bql)
{
    uint64_t jitter_ns = order_kept_jitter_ns(bql);
    return MIN(SHIFT_JITTERS * jitter_ns, jitter_ns + SHIFT_NS);
}

/* q*: falls with the rate, so that among edges that share a queue the only balance is the fair one. */
static uint64_t target_ns(const struct congestion_bql *bql, uint64_t rate_bps)
{
    uint64_t jitter_ns = muldiv64(delay_jitter_ns(&bql->delay), TARGET_JITTER_PPM, PPM);
    if (bql->late_ns * 4 > delay_jitter_ns(&bql->delay))
        jitter_ns /= 8; /* packets overtake: the least delay is that of the queue */
    uint64_t root_millis = square_root(muldiv64(NS_PER_S, PPM, MAX(rate_bps, RATE_MIN_BPS)));
    uint64_t root_ns = muldiv64(TARGET_BASE_NS + jitter_ns, root_millis, 1000);
    uint64_t target = MIN(root_ns, TARGET_ROOT_NS) + jitter_ns;
    return MIN(target, bql->target_max_ns);
}

static uint64_t with_losses_bps(const struct congestion_bql *bql, uint64_t delivered_bps)
{
    return muldiv64(delivered_bps, PPM, PPM - MIN(bql->base_loss_ppm, (uint32_t)(PPM / 2)));
}

/* Limited by something else the rate says nothing of the path, nor do deliveries; but what is limited by a
 * window only, or delivers what it is to all the same, may have itself to blame. */
static bool held(const struct congestion_bql *bql, uint64_t now_ns)
{
    uint64_t delivered_bps = rate_over(&bql->rate, bql->rtt_ns, DELAY_PACKETS_MIN * PACKET_BYTES);
    return now_ns < bql->held_until_ns && !bql->window_limited &&
           with_losses_bps(bql, delivered_bps) < bql->rate_bps / 10 * 8;
}

/* Deliveries measure what the path takes only while there is a queue; else they are a lower bound. */
static void observe_capacity(struct congestion_bql *bql, const struct congestion_sample *sample)
{
    uint64_t rtt_ns = bql->rtt_ns, least_bytes = DELAY_PACKETS_MIN * PACKET_BYTES;
    uint64_t small_ns = MAX(target_ns(bql, bql->rate_bps) / 8, delay_jitter_ns(&bql->delay) / 16);
    small_ns += order_kept_jitter_ns(bql);
    if (held(bql, sample->now_ns) || bql->phase == BQL_TRAIN)
        return;
    if (delay_queue_ns(&bql->delay) <= small_ns) {
        bql->standing_ns = 0;
        uint64_t bound_bps = rate_over(&bql->rate, rtt_ns, least_bytes);
        bql->capacity_bps = MAX(bql->capacity_bps, with_losses_bps(bql, bound_bps));
        return;
    }
    if (bql->standing_ns == 0)
        bql->standing_ns = sample->delivered_ns;
    uint64_t stood_ns = elapsed_ns(sample->delivered_ns, bql->standing_ns);
    if (stood_ns < rtt_ns / 4)
        return;
    bql->capacity_bps = with_losses_bps(bql, rate_over(&bql->rate, MIN(stood_ns, rtt_ns), least_bytes));
}

static struct view look(const struct congestion_bql *bql, const struct congestion_sample *sample)
{
    struct view view = {
        .now_ns = sample->now_ns, .rtt_ns = bql->rtt_ns, .newest_sent_ns = sample->newest_sent_ns};
    view.capacity_bps = bql->capacity_bps;
    view.queue_ns = delay_queue_ns(&bql->delay);
    view.target_ns = target_ns(bql, view.capacity_bps > 0 ? view.capacity_bps : bql->rate_bps);
    view.newest_ns = view.queue_ns + elapsed_ns(sample->spread_ns, 2 * delay_jitter_ns(&bql->delay));
    view.predicted_ns = view.queue_ns;
    if (view.capacity_bps > 0 && bql->phase == BQL_TRACK) {
        uint64_t coming_ns = view.queue_ns + transmit_ns(sample->after_bytes, view.capacity_bps);
        view.predicted_ns = elapsed_ns(coming_ns, elapsed_ns(sample->now_ns, sample->newest_sent_ns));
    }
    return view;
}

static void enter(struct congestion_bql *bql, enum bql_phase phase)
{
    bql->phase = phase;
    bql->entered_ns = bql->now_ns;
    bql->busy_ns = bql->now_ns;
    bql->growth_ppm = (uint32_t)MIN(GROWTH_MIN_PPM, muldiv64(PROBE_QUEUE_NS, PPM, MAX(bql->rtt_ns, 1ULL)));
}

/* ---- start ---- */

/* Jitter spreads a train more than a slow path does: then its dispersion is worth nothing. */
static uint64_t start_gain_ppm(const struct congestion_bql *bql)
{
    uint64_t train_bps = bql->train_bps;
    if (transmit_ns(TRAIN_PACKETS * PACKET_BYTES, MAX(train_bps, 1ULL)) < 4 * delay_jitter_ns(&bql->delay))
        return 2 * PPM;
    if (bql->tried_bps < train_bps / 10 * 9) {
        uint64_t up_ppm = muldiv64(train_bps, 950000, bql->tried_bps);
        return MIN(2 * PPM, up_ppm);
    }
    return bql->tried_bps > train_bps / 10 * 12 ? 2 * PPM : 1100000;
}

/* The higher rate is only tried: longer than it takes to tell, but no whole round trip. */
static void raise(struct congestion_bql *bql, uint64_t gain_ppm, uint64_t delivered_bps, uint64_t now_ns)
{
    bql->start_bps = bql->tried_bps;
    bql->tried_bps = MIN(muldiv64(bql->tried_bps, gain_ppm, PPM), RATE_MAX_BPS);
    set_rate(bql, bql->tried_bps);
    bql->raised_from_bps = delivered_bps;
    bql->raised_ns = now_ns;
    bql->raised_acked = 0;
    bql->raised_lost = 0;
}

/* So few packets in a round trip that their losses tell nothing, nor harm others. */
static bool creeping(const struct congestion_bql *bql)
{
    uint64_t rtt_ns = MAX(bql->rtt_ns, START_RTT_MIN_NS);
    return bql->tried_bps < bql->train_bps / 10 * 9 &&
           bytes_within(bql->tried_bps, rtt_ns) < DELAY_PACKETS_MIN * PACKET_BYTES;
}

static uint64_t look_ns(const struct congestion_bql *bql)
{
    uint64_t jitter_ns = MIN(4 * delay_jitter_ns(&bql->delay), bql->rtt_ns / 2);
    if (creeping(bql))
        return bql->rtt_ns / 4 + jitter_ns;
    uint64_t packets_ns = transmit_ns(DELAY_PACKETS_MIN * PACKET_BYTES, MAX(bql->tried_bps, RATE_MIN_BPS));
    return MAX(bql->rtt_ns / 6 + jitter_ns, packets_ns);
}

static uint64_t try_ns(const struct congestion_bql *bql)
{
    return look_ns(bql) + bql->rtt_ns / 8 + NS_PER_MS;
}

/* The path spreads a train to the rate that it takes: between two acks on the receiver's clock, or in one
 * ack, where all came between two looks of the receiver at its port or an ack was lost, by how much longer
 * the last packet was under way. Shorter than a look takes it measures only that the path is fast. */
static void train(struct congestion_bql *bql, const struct congestion_sample *sample)
{
    uint64_t bytes = sample->delivered_bytes - MIN(bql->train_bytes, sample->delivered_bytes);
    bool first = bql->train_ns == 0;
    uint64_t span_ns = first ? 0 : elapsed_ns(sample->delivered_ns, bql->train_ns);
    if (bytes == 0)
        return;
    if (bytes < (first ? 8 : 3) * PACKET_BYTES) {
        bql->train_ns = first ? sample->delivered_ns : bql->train_ns;
        bql->train_bytes = first ? sample->delivered_bytes : bql->train_bytes;
        return;
    }
    if (first)
        span_ns = sample->spread_ns;
    /* The ack in between was lost: the next train may tell. */
    if (span_ns > bql->rtt_ns / 2 && bql->trains_lost < TRAINS_LOST_MAX) {
        bql->trains_lost++;
        bql->train_ns = 0;
        bql->train_bytes = sample->delivered_bytes;
        return;
    }
    uint64_t train_bps = muldiv64(bytes, 8 * NS_PER_S, MAX(span_ns, TRAIN_SPAN_MIN_NS));
    train_bps = MIN(train_bps, TRAIN_BPS);
    bool tells = span_ns > TRAIN_SPAN_MIN_NS && span_ns <= bql->rtt_ns / 2;
    bql->train_bps = tells ? train_bps : TRAIN_BPS;
    bql->train_end_ns = sample->now_ns;
    bql->phase = BQL_START;
    rate_restart(&bql->rate);
    /* As much as other transports start with does no harm. */
    uint64_t least_bps = muldiv64(10 * PACKET_BYTES, 8 * NS_PER_S, MAX(bql->rtt_ns, START_RTT_MIN_NS));
    bql->tried_bps = MAX(train_bps / 2, least_bps);
    raise(bql, PPM, 0, sample->now_ns);
}

/* ---- the law ---- */

static void track(struct congestion_bql *bql, const struct view *view)
{
    if (view->queue_ns >= muldiv64(view->target_ns, CALM_PPM, PPM))
        bql->busy_ns = view->now_ns;
    if (elapsed_ns(view->now_ns, bql->busy_ns) > view->rtt_ns) {
        enter(bql, BQL_CALM);
        bql->raised_ns = 0;
        return;
    }
    if (view->capacity_bps == 0 || held(bql, view->now_ns))
        return;
    int64_t off_ns = (int64_t)view->target_ns - (int64_t)view->predicted_ns;
    int64_t settle_ns = (int64_t)MAX(view->rtt_ns, NS_PER_MS);
    int64_t change_ppm = (int64_t)PPM * off_ns / settle_ns;
    int64_t fall_ppm = MAX(change_ppm * 2 / 5, -(int64_t)PPM / 2);
    fall_ppm = MIN(fall_ppm, -GAIN_PPM);
    change_ppm = MIN(change_ppm, GAIN_PPM);
    change_ppm = MAX(change_ppm, fall_ppm);
    uint64_t rate_bps = muldiv64(view->capacity_bps, (uint64_t)((int64_t)PPM + change_ppm), PPM);
    set_rate(bql, view->now_ns < bql->held_until_ns ? MIN(rate_bps, bql->rate_bps) : rate_bps);
}

static void calm(struct congestion_bql *bql, const struct view *view)
{
    if (view->newest_ns >= muldiv64(view->target_ns, CALM_PPM, PPM)) {
        enter(bql, BQL_TRACK);
        return;
    }
    if (view->newest_sent_ns < bql->raised_ns + view->rtt_ns / 8 || view->now_ns < bql->held_until_ns)
        return;
    if (bql->cautious_rounds > 0)
        return;
    /* Near what the path took when it last lost packets it may take more for a while. */
    bool near = bql->rate_bps < bql->parked_bps + bql->parked_bps / 8;
    bql->cautious_rounds = near ? 2 : 0;
    set_rate(bql, bql->rate_bps + muldiv64(bql->rate_bps, bql->growth_ppm, PPM));
    if (!near)
        bql->growth_ppm = (uint32_t)MIN(5ULL * bql->growth_ppm / 2, GROWTH_MAX_PPM);
    bql->raised_ns = view->now_ns;
}

static void parked(struct congestion_bql *bql, const struct view *view)
{
    if (view->predicted_ns > 2 * view->target_ns)
        enter(bql, BQL_TRACK);
    else if (bql->parked_rounds >= bql->park_rounds) {
        enter(bql, BQL_CALM);
        bql->parked_starting = false;
        bql->raised_ns = 0;
    }
}

/* ---- loss ---- */

/* Chance rarely takes more than this of so many packets. */
static uint32_t likely_ppm(const struct congestion_bql *bql, uint64_t packets)
{
    uint64_t usual_ppm = MAX(bql->base_loss_ppm, (uint32_t)(PPM / packets));
    return bql->base_loss_ppm + 3 * (uint32_t)square_root(usual_ppm * (PPM - usual_ppm) / packets);
}

/* Where the path turns out to take the same again, the next try waits twice as long. */
static void park(struct congestion_bql *bql, const struct round *round)
{
    bool similar =
        bql->parked_delivered_bps > 0 && round->loss_ppm >= bql->parked_loss_ppm - bql->parked_loss_ppm / 4;
    uint64_t delivered_bps = round->delivered_bps;
    if (bql->phase != BQL_PARK)
        delivered_bps =
            MAX(delivered_bps, rate_over(&bql->rate, bql->rtt_ns, DELAY_PACKETS_MIN * PACKET_BYTES));
    uint64_t capacity_bps = bql->phase == BQL_TRACK && bql->capacity_bps > 0
                                ? bql->capacity_bps
                                : with_losses_bps(bql, delivered_bps);
    bool again = bql->phase == BQL_PARK;
    if (!again) {
        bool same = capacity_bps - MIN(capacity_bps, bql->parked_bps) < capacity_bps / 16 &&
                    bql->parked_bps - MIN(capacity_bps, bql->parked_bps) < capacity_bps / 16;
        uint64_t rounds_max = PARK_MAX_NS / MAX(bql->rtt_ns, NS_PER_MS);
        rounds_max = MAX(rounds_max, 2ULL * PARK_ROUNDS);
        bql->park_rounds = same ? (uint32_t)MIN(2ULL * bql->park_rounds, rounds_max) : PARK_ROUNDS;
        bql->unparked_bps = bql->rate_bps;
        bql->parked_delivered_bps = 0;
    } else if (!similar) {
        bql->parked_loss_ppm = round->loss_ppm;
        bql->parked_delivered_bps = round->delivered_bps;
    }
    bql->phase = BQL_PARK;
    bql->entered_ns = bql->now_ns;
    bql->parked_rounds = 0;
    bql->parked_bps = capacity_bps;
    bql->capacity_bps = capacity_bps;
    uint64_t rate_bps = muldiv64(capacity_bps, PARK_PPM, PPM);
    set_rate(bql, again ? MIN(rate_bps, bql->rate_bps / 10 * 9) : rate_bps);
}

/* Loss by chance takes its share of whatever is sent: deliveries fall as much as the rate. A policer lets
 * pass what it lets pass. */
static bool by_chance(const struct congestion_bql *bql, const struct round *round)
{
    if (bql->parked_delivered_bps == 0 || round->loss_ppm < bql->parked_loss_ppm - bql->parked_loss_ppm / 4)
        return false;
    uint64_t sent_bps = muldiv64(round->delivered_bps, PPM, PPM - MIN((uint64_t)round->loss_ppm, PPM / 2));
    uint64_t before_bps =
        muldiv64(bql->parked_delivered_bps, PPM, PPM - MIN((uint64_t)bql->parked_loss_ppm, PPM / 2));
    uint64_t if_chance_bps = muldiv64(bql->parked_delivered_bps, sent_bps, MAX(before_bps, 1ULL));
    return sent_bps < before_bps / 100 * 93 &&
           round->delivered_bps < (bql->parked_delivered_bps + if_chance_bps) / 2;
}

static void excess_loss(struct congestion_bql *bql, const struct view *view, const struct round *round)
{
    if (bql->phase == BQL_PARK && by_chance(bql, round)) {
        bql->base_loss_ppm = round->loss_ppm;
        bql->parked_bps = 0;
        delay_shift(&bql->delay, waiting_ns(bql));
        set_rate(bql, MAX(bql->rate_bps, bql->unparked_bps));
        enter(bql, bql->parked_starting ? BQL_START : BQL_CALM);
        bql->tried_bps = bql->rate_bps;
        bql->start_bps = bql->rate_bps;
        bql->raised_from_bps = bql->parked_delivered_bps / 2;
        bql->raised_acked = 0;
        bql->raised_lost = 0;
        bql->parked_starting = false;
        bql->raised_ns = view->now_ns;
        return;
    }
    bql->parked_queue_ns = MAX(bql->queue_peak_ns, bql->queue_peak_before_ns);
    park(bql, round);
}

/* ---- more of the start, where losses may end it ---- */

/* Either the rate is too high or the path loses many packets by chance: a lower rate will tell. */
static void park_start(struct congestion_bql *bql, const struct view *view, uint32_t loss_ppm)
{
    const struct round round = {loss_ppm, rate_over(&bql->rate, view->rtt_ns / 2, 0)};
    park(bql, &round);
    bql->parked_loss_ppm = loss_ppm;
    bql->parked_delivered_bps = round.delivered_bps;
    bql->parked_starting = bql->raised_from_bps == 0;
}

/* Packets sent since the last raise have come. Where deliveries grew with the rate, what got lost was lost by
 * chance. */
static void start(struct congestion_bql *bql, const struct view *view)
{
    if (view->now_ns >= bql->raised_ns + try_ns(bql))
        set_rate(bql, bql->start_bps);
    if (view->newest_sent_ns < bql->raised_ns)
        return;
    uint64_t since_ns = view->newest_sent_ns - bql->raised_ns;
    uint64_t delivered_bps = rate_within(&bql->rate, since_ns);
    if (view->queue_ns > view->target_ns) {
        enter(bql, BQL_TRACK);
        return;
    }
    if (since_ns >= look_ns(bql) && creeping(bql) && bql->raised_acked > 0) {
        raise(bql, start_gain_ppm(bql), delivered_bps, view->now_ns);
        return;
    }
    if (since_ns < look_ns(bql) || bql->raised_acked < DELAY_PACKETS_MIN)
        return;
    uint64_t packets = bql->raised_acked + bql->raised_lost;
    uint32_t loss_ppm = (uint32_t)muldiv64(bql->raised_lost, PPM, packets);
    uint32_t high_ppm = likely_ppm(bql, packets) + START_LOSS_PPM;
    uint64_t tried_ns = MIN(since_ns, try_ns(bql));
    uint64_t sent_bps = muldiv64(bql->tried_bps, tried_ns, since_ns) +
                        muldiv64(bql->start_bps, since_ns - tried_ns, since_ns);
    uint64_t passed_bps = muldiv64(sent_bps, PPM - loss_ppm, PPM);
    uint64_t hoped_bps = muldiv64(sent_bps, PPM - bql->base_loss_ppm, PPM);
    bool grew = delivered_bps > (bql->raised_from_bps + hoped_bps) / 2;
    if (view->queue_ns > view->target_ns / 4 + MAX(waiting_ns(bql), delay_jitter_ns(&bql->delay))) {
        enter(bql, BQL_TRACK);
    } else if (bql->raised_from_bps == 0 && loss_ppm > high_ppm) {
        if (since_ns > view->rtt_ns)
            park_start(bql, view, loss_ppm);
    } else if (grew && delivered_bps > passed_bps / 10 * 9) {
        bql->base_loss_ppm = loss_ppm;
        raise(bql, start_gain_ppm(bql), delivered_bps, view->now_ns);
        /* Packets closer together wait longer for their predecessors: delays from before don't compare. */
        delay_shift(&bql->delay, waiting_ns(bql));
    } else if (since_ns > view->rtt_ns && loss_ppm > high_ppm) {
        park_start(bql, view, loss_ppm);
    } else if (since_ns > view->rtt_ns) {
        set_rate(bql, muldiv64(with_losses_bps(bql, delivered_bps), PARK_PPM, PPM));
        enter(bql, BQL_CALM);
        bql->growth_ppm = GROWTH_UNSURE_PPM;
    }
}

/* Below what the path takes nothing gets lost: the queue at which it did is more than the buffer holds. */
static void learn_buffer(struct congestion_bql *bql, const struct view *view)
{
    if (bql->parked_rounds != 3)
        return;
    /* What is seen of a queue now is jitter that waits for its predecessors. */
    uint64_t empty_ns = order_kept_jitter_ns(bql) > 0 ? view->queue_ns : 0;
    delay_shift(&bql->delay, waiting_ns(bql));
    uint64_t packets_ns = transmit_ns(16 * PACKET_BYTES, MAX(view->capacity_bps, RATE_MIN_BPS));
    uint64_t queue_ns = elapsed_ns(bql->parked_queue_ns, empty_ns);
    if (queue_ns < packets_ns + delay_jitter_ns(&bql->delay) || queue_ns > bql->target_max_ns)
        return;
    bql->target_max_ns = queue_ns / 2;
    bql->target_max_set_ns = view->now_ns;
    bql->target_max_hold_ns = MIN(MAX(2 * bql->target_max_hold_ns, BUFFER_HOLD_NS), 32 * BUFFER_HOLD_NS);
}

/* Where the queue stays full after losses the others don't care for them (BBR): then neither does the edge,
 * much. */
static void compete_round(struct congestion_bql *bql, const struct view *view, bool lossy)
{
    uint64_t rtt_ns = view->rtt_ns + view->queue_ns;
    bool judged = bql->deaf_from_ns > 0 && elapsed_ns(view->now_ns, bql->deaf_from_ns) > 3 * rtt_ns;
    if (judged) {
        bool stays = bql->deaf_least_ns > bql->deaf_queue_ns / 100 * 55;
        bql->deaf_events = stays ? MIN(bql->deaf_events + 1, 4U) : 0;
        bql->deaf_from_ns = 0;
    }
    bool deaf = bql->deaf_events >= 2;
    if (lossy && bql->deaf_from_ns == 0) {
        bql->deaf_from_ns = view->now_ns;
        bql->deaf_queue_ns = view->queue_ns;
        bql->deaf_least_ns = view->queue_ns;
    }
    if (lossy && !deaf)
        cubic_on_loss(&bql->window, rtt_ns, view->now_ns);
    else if (deaf)
        cubic_init(&bql->window, muldiv64(bql->window.bytes, lossy ? DEAF_FALL_PPM : DEAF_RISE_PPM, PPM),
                   view->now_ns);
}

static void end_round(struct congestion_bql *bql, const struct view *view)
{
    uint64_t packets = bql->round_acked + bql->round_lost;
    uint64_t lasted_ns = elapsed_ns(view->now_ns, bql->round_start_ns);
    if (lasted_ns < view->rtt_ns || packets < DELAY_PACKETS_MIN)
        return;
    uint32_t loss_ppm = (uint32_t)muldiv64(bql->round_lost, PPM, packets);
    bool unlikely = loss_ppm > likely_ppm(bql, packets);
    bool excess = loss_ppm > likely_ppm(bql, packets) + EXCESS_PPM;
    bool few = packets < ROUND_PACKETS_MIN;
    if (few && !excess && lasted_ns < 8 * view->rtt_ns)
        return;
    uint64_t took_ns = elapsed_ns(bql->delivered_ns, bql->round_delivered_ns);
    uint64_t bytes = bql->rate.bytes - MIN(bql->round_delivered_bytes, bql->rate.bytes);
    const struct round round = {loss_ppm, took_ns == 0 ? 0 : muldiv64(bytes, 8 * NS_PER_S, took_ns)};
    bool frozen = bql->frozen;
    uint64_t round_ns = bql->round_start_ns;
    start_round(bql, view->now_ns);
    if (bql->phase == BQL_START || bql->phase == BQL_TRAIN)
        return;
    if (bql->phase == BQL_COMPETE) {
        compete_round(bql, view, unlikely);
        return;
    }
    /* What was sent before the phase began has no say in it. */
    uint64_t rounds = bql->phase == BQL_TRACK ? 2 : 1;
    uint64_t seen_ns = bql->entered_ns + rounds * view->rtt_ns + bql->late_ns + bql->queue_peak_before_ns;
    if (frozen || (bql->phase != BQL_CALM && round_ns < seen_ns))
        return;
    bql->parked_rounds += bql->phase == BQL_PARK;
    bql->cautious_rounds -= bql->cautious_rounds > 0;
    if (!excess) {
        if (bql->phase == BQL_PARK)
            learn_buffer(bql, view);
        bool empty = bql->phase == BQL_PARK || bql->phase == BQL_CALM;
        if (loss_ppm < bql->base_loss_ppm || (empty && !few))
            bql->base_loss_ppm =
                (uint32_t)((int64_t)bql->base_loss_ppm + ((int64_t)loss_ppm - bql->base_loss_ppm) / 4);
        return;
    }
    if (view->now_ns >= bql->held_until_ns && bql->phase != BQL_REFRESH)
        excess_loss(bql, view, &round);
}

/* ---- refreshing the base ---- */

/* Edges that share a queue see it fall when one of them refreshes, and join: together they run it dry. */
static bool refresh_due(const struct congestion_bql *bql, const struct view *view)
{
    uint64_t due_ns = MAX(REFRESH_NS, REFRESH_RTTS * view->rtt_ns);
    uint64_t since_ns = elapsed_ns(view->now_ns, MAX(bql->delay.base_seen_ns, bql->refresh_end_ns));
    uint64_t peak_ns = MAX(bql->queue_peak_ns, bql->queue_peak_before_ns);
    bool falls = view->queue_ns + view->target_ns / 4 < peak_ns;
    /* A rate that falls and falls under a queue that stays: perhaps the way is longer now. */
    uint64_t starving_ns = elapsed_ns(view->now_ns, MAX(bql->fed_ns, bql->refresh_end_ns));
    return since_ns >= due_ns || (falls && since_ns >= due_ns / 2) || starving_ns >= due_ns / 5;
}

static void refresh_when_due(struct congestion_bql *bql, const struct view *view)
{
    if (bql->delay.base_seen_ns == view->now_ns)
        bql->base_seen_bps = bql->rate_bps;
    if (bql->rate_bps >= bql->base_seen_bps / 2 || view->queue_ns <= view->target_ns)
        bql->fed_ns = view->now_ns;
    if (bql->phase == BQL_START || bql->phase == BQL_TRAIN || bql->phase == BQL_REFRESH ||
        bql->phase == BQL_COMPETE || !refresh_due(bql, view))
        return;
    bql->phase = BQL_REFRESH;
    bql->refresh_start_ns = view->now_ns;
    bql->refresh_end_ns = view->now_ns + MAX(view->rtt_ns, REFRESH_LASTS_NS);
    bql->refresh_owd_ns = INT64_MAX;
    bql->refreshed_bps = bql->rate_bps;
    set_rate(bql, bql->rate_bps / 2);
}

static void refreshing(struct congestion_bql *bql, const struct view *view)
{
    if (view->now_ns < bql->refresh_end_ns && bql->delay.base_seen_ns == view->now_ns)
        bql->refresh_end_ns = view->now_ns;
    if (view->now_ns < bql->refresh_end_ns)
        return;
    set_rate(bql, bql->refreshed_bps);
    enter(bql, BQL_TRACK);
}

/* What was sent while the base was refreshed has come. Others may have kept a queue meanwhile, but none above
 * the target for long. */
static void judge_refresh(struct congestion_bql *bql, const struct view *view,
                          const struct congestion_sample *sample)
{
    if (bql->refresh_start_ns == 0)
        return;
    if (sample->owd_known && view->newest_sent_ns >= bql->refresh_start_ns)
        bql->refresh_owd_ns = MIN(bql->refresh_owd_ns, sample->owd_ns);
    if (bql->phase == BQL_REFRESH || view->newest_sent_ns < bql->refresh_end_ns)
        return;
    bool seen = bql->refresh_owd_ns != INT64_MAX;
    bool above = seen && bql->refresh_owd_ns - bql->delay.base_ns > (int64_t)view->target_ns;
    bql->refreshes_above = above ? bql->refreshes_above + 1 : 0;
    if (bql->refreshes_above >= 2)
        delay_refresh(&bql->delay, bql->refresh_owd_ns, view->now_ns);
    bql->refresh_start_ns = 0;
}

/* ---- beside senders that fill the buffer ---- */

/* The queue stays although this edge keeps giving way, and the receiver's other edges don't have the rest. */
static bool contested(struct congestion_bql *bql, const struct view *view)
{
    /* A rate that has given way already has a long target. */
    uint64_t long_ns = MAX(target_ns(bql, bql->own_most_bps) * 5 / 2, view->target_ns * 5 / 2);
    long_ns = MIN(long_ns, CONTEST_QUEUE_NS + 2 * delay_jitter_ns(&bql->delay));
    bool lasts = view->queue_ns > long_ns && view->queue_ns > bql->contest_queue_ns / 100 * 85 &&
                 bql->contest_queue_ns > 0;
    if (!lasts) {
        bql->contest_ns = view->now_ns;
        bql->contest_queue_ns = view->queue_ns;
    }
    uint64_t wait_ns = MAX(CONTEST_NS, CONTEST_RTTS * view->rtt_ns);
    return elapsed_ns(view->now_ns, bql->contest_ns) > wait_ns &&
           bql->own_bps < bql->own_most_bps / 100 * OWN_PERCENT;
}

static void compete_when_contested(struct congestion_bql *bql, const struct view *view)
{
    bool yields = bql->phase == BQL_TRACK || bql->phase == BQL_PARK || bql->phase == BQL_REFRESH;
    if (!contested(bql, view) || !yields)
        return;
    uint64_t rate_bps = MAX(bql->rate_bps, bql->own_most_bps / 2);
    enter(bql, BQL_COMPETE);
    cubic_init(&bql->window, bytes_within(rate_bps, view->rtt_ns + view->queue_ns), view->now_ns);
    bql->drain_due_ns = view->now_ns + MAX(DRAIN_NS, DRAIN_RTTS * view->rtt_ns);
    bql->draining_ns = 0;
    bql->deaf_events = 0;
    bql->deaf_from_ns = 0;
}

/* Now and then it gives way for two round trips: where the queue falls as if the edge had it for its own, the
 * others are gone. */
static void drain(struct congestion_bql *bql, const struct view *view)
{
    uint64_t lasts_ns = 2 * view->rtt_ns;
    bql->drain_least_ns = MIN(bql->drain_least_ns, view->queue_ns);
    if (view->newest_sent_ns < bql->draining_ns + lasts_ns)
        return;
    uint64_t hoped_ns = MIN(muldiv64(lasts_ns, DRAIN_PPM, PPM), bql->drain_queue_ns);
    bool alone = elapsed_ns(bql->drain_queue_ns, bql->drain_least_ns) > hoped_ns / 10 * 7;
    bql->draining_ns = 0;
    bql->drain_due_ns = view->now_ns + MAX(DRAIN_NS, DRAIN_RTTS * view->rtt_ns);
    if (!alone)
        return;
    enter(bql, BQL_TRACK);
    bql->contest_queue_ns = 0;
}

static void compete(struct congestion_bql *bql, const struct view *view,
                    const struct congestion_sample *sample)
{
    bql->competitive_ns += elapsed_ns(view->now_ns, bql->competed_ns);
    if (bql->draining_ns > 0) {
        drain(bql, view);
        return;
    }
    uint64_t rtt_ns = view->rtt_ns + view->queue_ns;
    bql->deaf_least_ns = MIN(bql->deaf_least_ns, view->queue_ns);
    cubic_on_acked(&bql->window, sample->acked_bytes, rtt_ns, view->now_ns);
    set_rate(bql, muldiv64(bql->window.bytes, 8 * NS_PER_S / 5 * 6, rtt_ns));
    if (view->now_ns < bql->drain_due_ns)
        return;
    bql->draining_ns = view->now_ns;
    bql->drain_queue_ns = view->queue_ns;
    bql->drain_least_ns = view->queue_ns;
    uint64_t delivered_bps = rate_over(&bql->rate, view->rtt_ns, DELAY_PACKETS_MIN * PACKET_BYTES);
    set_rate(bql, muldiv64(with_losses_bps(bql, delivered_bps), PPM - DRAIN_PPM, PPM));
}

/* ---- hooks ---- */

/* What all edges into the receiver's port have, and the most they had of late. */
static void take_own(struct congestion_bql *bql, const struct congestion_sample *sample)
{
    uint64_t delivered_bps = rate_over(&bql->rate, bql->rtt_ns, DELAY_PACKETS_MIN * PACKET_BYTES);
    bql->own_bps = MAX(sample->own_rate_bps, delivered_bps);
    if (elapsed_ns(sample->now_ns, bql->own_most_from_ns) > OWN_HOLD_NS) {
        bql->own_most_before_bps = bql->own_most_now_bps;
        bql->own_most_now_bps = 0;
        bql->own_most_from_ns = sample->now_ns;
    }
    bql->own_most_now_bps = MAX(bql->own_most_now_bps, bql->own_bps);
    bql->own_most_bps = MAX(bql->own_most_now_bps, bql->own_most_before_bps);
}

static void take(struct congestion_bql *bql, const struct congestion_sample *sample)
{
    bql->competed_ns = bql->now_ns;
    bql->now_ns = sample->now_ns;
    if (sample->rtt_min_ns > 0)
        bql->rtt_ns = sample->rtt_min_ns;
    /* Not the acked ones: an ack in several messages tells the delay in the first, most of the numbers later.
     */
    uint64_t packets =
        (sample->delivered_bytes - MIN(sample->delivered_bytes, bql->rate.bytes)) / PACKET_BYTES;
    if (sample->owd_known)
        delay_on_sample(&bql->delay, sample->owd_ns, packets, bql->rtt_ns, target_ns(bql, bql->rate_bps) / 8,
                        sample->now_ns);
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
    take_own(bql, sample);
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
    struct view view = look(bql, sample);
    end_round(bql, &view);
    judge_refresh(bql, &view, sample);
    refresh_when_due(bql, &view);
    compete_when_contested(bql, &view);
    switch ((enum bql_phase)bql->phase) {
    case BQL_TRAIN:
        train(bql, sample);
        break;
    case BQL_START:
        start(bql, &view);
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
        compete(bql, &view, sample);
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
    set_rate(bql, bql->silenced_bps);
    rate_restart(&bql->rate);
    start_round(bql, now_ns);
    bql->held_until_ns = now_ns + 2 * bql->rtt_ns;
    enter(bql, BQL_TRACK);
    publish(congestion, bql->rtt_ns);
}

static void bql_view(const struct congestion *congestion, struct congestion_view *view)
{
    const struct congestion_bql *bql = &congestion->state.bql;
    *view = (struct congestion_view){.phase = phase_names[bql->phase],
                                     .capacity_bps = bql->capacity_bps,
                                     .queue_ns = delay_queue_ns(&bql->delay),
                                     .target_ns = target_ns(bql, bql->rate_bps),
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
