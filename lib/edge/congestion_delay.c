/* Simple delay- and loss-aware rate control: one decision per round trip.
 *
 * A round lasts one base RTT and at least ROUND_BYTES_MIN of verdicts. At its end
 *   q = least RTT sample of the round - least RTT of the last 30 s     standing queue; jitter only adds to
 * RTT p = lost / (acked + lost) of the round,   p0 = random loss as learnt,   D = delivery rate (receiver's
 * clock) C = D / (1 - p0)                                                   what the path takes, random loss
 * included target = max(5 ms, base RTT / 8) excess loss: p > p0 + 2 % + 3 sqrt(p0' (1 - p0') / n),  p0' =
 * max(p, p0), n packets of 1500 bytes
 *
 * and the first rule that holds is taken:
 *   limited by application, credit, port …    nothing changes: the samples say nothing about the path
 *   q > target                                rate = C (1 - q / 2 RTT), 0.5 C … 0.97 C (never upwards)
 *   parked, and p did not fall by a quarter   the loss is random: p0 = p, back to before parking
 *   excess loss                               park: rate = 0.98 C for 8 rounds (never upwards)
 *   parked, q > target/2, or under a cap      rate stays
 *   calm, the first time after a queue        rate = 0.98 C as measured while there was one
 *   calm                                      rate *= 1 + g,  g = 1/40, 1/20, 1/10, 1/5, then 2/5 by calm
 *                                             rounds in succession; 1/2 while starting with an unknown rate
 * p0 falls to p at once whenever p < p0. After a change one smoothed RTT is skipped (its samples stem
 * from before it), except for growth while starting. Each tail probe that stays unanswered halves the rate
 * (not below an eighth); the first ack after it restores three quarters. Bounds: 100 kbit/s … 1 Tbit/s. In
 * flight: twice the rate times (smoothed RTT + 50 ms).
 *
 * What the gains were tuned against (tests/edge/transfer_test.c, virtual time): 1 Gbit/s, 100 ms, 1 % loss,
 * with 0 and 10 ms of reordering jitter, buffers from 20 ms to 1 BDP. A rate q / 2 RTT below C drains the
 * queue in the two round trips that pass until the next decision; 0.98 C then neither builds nor wastes; and
 * the growth from there fills target = RTT/8 within three steps, so the queue is empty only briefly. Designed
 * for jitter whose minimum over a round (8 samples or more) is below the target; order-kept jitter looks like
 * a longer base RTT and is not read as queue. Not designed for fairness against loss-driven flows.
 */
#include "base/units.h"
#include "edge/congestion.h"
#include "edge/roots.h"

#define PPM              1000000ULL
#define RATE_MIN_BPS     100000ULL
#define RATE_MAX_BPS     1000000000000ULL
#define ROUND_BYTES_MIN  (32 * 1500ULL)
#define TARGET_MIN_NS    (5 * NS_PER_MS)
#define TARGET_DIVISOR   8
#define EXCESS_LOSS_PPM  20000
#define PARKED_ROUNDS    8
#define ACK_ALLOWANCE_NS (50 * NS_PER_MS)
#define DRAIN_MIN_PPM    30000ULL
#define DRAIN_MAX_PPM    500000ULL
#define PARK_GAIN_PPM    980000ULL
#define START_GAIN_PPM   500000ULL
#define PACKET_BYTES     1500
#define TIMEOUT_FALL_MAX 8

struct delay {
    uint64_t rate_bps;
    uint64_t round_start_ns;   /* decisions are made once per round trip */
    uint64_t round_rtt_min_ns; /* least RTT sample within the round: jitter cannot lower it */
    uint64_t round_acked_bytes;
    uint64_t round_lost_bytes;
    uint64_t delivery_rate_bps; /* newest within the round */
    uint32_t base_loss_ppm;     /* random loss as learnt: no reason to slow down */
    uint32_t parked_loss_ppm;   /* loss of the round that led to parking */
    uint32_t parked_rounds;     /* left before the rate may grow again */
    uint64_t unparked_bps;      /* rate before parking, restored when that did not help */
    uint64_t drained_bps;       /* rate to go back to once the queue is gone; 0: none */
    uint32_t calm_rounds;
    uint64_t timeout_bps; /* rate before the path went silent; 0: it has not */
    bool starting;
    bool settling;        /* the samples of this round stem from before the newest change */
    bool parked_starting; /* parked while starting: goes on when the loss was random */
    bool round_limited;   /* the round was limited by something else: estimates stay */
    bool round_capped;    /* … by the cap of plan or job: the rate does not grow */
};

_Static_assert(sizeof(struct delay) <= CONGESTION_STATE_BYTES, "the state fits its room");

static struct delay *delay_of(struct congestion *congestion)
{
    return (struct delay *)(void *)congestion->state;
}

static void set_rate(struct congestion *congestion, uint64_t rate_bps)
{
    struct delay *delay = delay_of(congestion);
    rate_bps = MAX(rate_bps, RATE_MIN_BPS);
    delay->rate_bps = MIN(rate_bps, RATE_MAX_BPS);
    congestion->rate_bps = delay->rate_bps;
}

static void start_round(struct delay *delay, uint64_t now_ns)
{
    delay->round_start_ns = now_ns;
    delay->round_rtt_min_ns = TIME_NEVER;
    delay->round_acked_bytes = 0;
    delay->round_lost_bytes = 0;
    delay->round_limited = false;
    delay->round_capped = false;
}

static void strategy_init(struct congestion *congestion, uint64_t initial_bps, bool known, uint64_t rtt_ns,
                          uint64_t now_ns)
{
    struct delay *delay = delay_of(congestion);
    *delay = (struct delay){.starting = !known};
    start_round(delay, now_ns);
    set_rate(congestion, initial_bps);
    congestion->in_flight_max_bytes = 2 * bytes_within(congestion->rate_bps, rtt_ns + ACK_ALLOWANCE_NS);
}

static uint32_t loss_ppm(const struct delay *delay)
{
    uint64_t bytes = delay->round_acked_bytes + delay->round_lost_bytes;
    return bytes == 0 ? 0 : (uint32_t)muldiv64(delay->round_lost_bytes, PPM, bytes);
}

/* The loss that chance alone may show in this round, given the base loss. */
static uint32_t loss_bound_ppm(const struct delay *delay, uint32_t now_ppm)
{
    uint64_t ppm = MAX(now_ppm, delay->base_loss_ppm);
    uint64_t bytes = delay->round_acked_bytes + delay->round_lost_bytes;
    uint64_t packets = MAX(bytes / PACKET_BYTES, (uint64_t)1);
    uint64_t deviation_ppm = square_root(ppm * (PPM - ppm) / packets);
    return delay->base_loss_ppm + EXCESS_LOSS_PPM + (uint32_t)(3 * deviation_ppm);
}

/* What the path takes at the sender's end: deliveries plus the random loss that is no congestion. */
static uint64_t capacity_bps(const struct delay *delay, uint32_t random_loss_ppm)
{
    return muldiv64(delay->delivery_rate_bps, PPM, PPM - MIN(random_loss_ppm, (uint32_t)PPM / 2));
}

static void reduce(struct congestion *congestion, uint64_t to_bps)
{
    struct delay *delay = delay_of(congestion);
    if (delay->delivery_rate_bps > 0)
        set_rate(congestion, MIN(to_bps, delay->rate_bps));
    delay->starting = false;
    delay->calm_rounds = 0;
    delay->settling = true;
}

static void drain(struct congestion *congestion, uint64_t queue_ns, uint64_t rtt_ns, uint32_t loss)
{
    struct delay *delay = delay_of(congestion);
    uint64_t fall_ppm = muldiv64(queue_ns, PPM, 2 * rtt_ns);
    fall_ppm = MAX(fall_ppm, DRAIN_MIN_PPM);
    fall_ppm = MIN(fall_ppm, DRAIN_MAX_PPM);
    bool random = loss <= loss_bound_ppm(delay, loss);
    uint64_t capacity = capacity_bps(delay, random ? loss : delay->base_loss_ppm);
    delay->parked_rounds = 0;
    delay->drained_bps = muldiv64(capacity, PARK_GAIN_PPM, PPM);
    reduce(congestion, muldiv64(capacity, PPM - fall_ppm, PPM));
}

static void grow(struct congestion *congestion)
{
    struct delay *delay = delay_of(congestion);
    uint64_t drained_bps = delay->drained_bps;
    delay->drained_bps = 0;
    if (drained_bps > delay->rate_bps) {
        set_rate(congestion, drained_bps);
        delay->settling = true;
        return;
    }
    delay->calm_rounds++;
    uint64_t gain_ppm = START_GAIN_PPM;
    if (!delay->starting) {
        gain_ppm = PPM / 40 << MIN(delay->calm_rounds - 1, 4U);
        delay->settling = true;
    }
    set_rate(congestion, delay->rate_bps + muldiv64(delay->rate_bps, gain_ppm, PPM));
}

/* Returns true when parking is over because the loss turned out to be random. */
static bool learn_random_loss(struct congestion *congestion, uint32_t loss)
{
    struct delay *delay = delay_of(congestion);
    if (loss < delay->base_loss_ppm)
        delay->base_loss_ppm = loss;
    if (delay->parked_rounds == 0 || loss < delay->parked_loss_ppm - delay->parked_loss_ppm / 4)
        return false;
    delay->base_loss_ppm = loss;
    delay->parked_rounds = 0;
    delay->settling = true;
    delay->starting = delay->parked_starting;
    set_rate(congestion, delay->unparked_bps);
    return true;
}

static void park(struct congestion *congestion, uint32_t loss)
{
    struct delay *delay = delay_of(congestion);
    if (delay->parked_rounds == 0) {
        delay->unparked_bps = delay->rate_bps;
        delay->parked_starting = delay->starting;
    }
    delay->parked_loss_ppm = loss;
    delay->parked_rounds = PARKED_ROUNDS;
    reduce(congestion, muldiv64(capacity_bps(delay, delay->base_loss_ppm), PARK_GAIN_PPM, PPM));
}

static void decide(struct congestion *congestion, const struct congestion_sample *sample)
{
    struct delay *delay = delay_of(congestion);
    if (delay->round_limited)
        return;
    uint64_t queue_ns = 0;
    if (delay->round_rtt_min_ns != TIME_NEVER)
        queue_ns = elapsed_ns(delay->round_rtt_min_ns, sample->rtt_min_ns);
    uint64_t target_ns = MAX(TARGET_MIN_NS, sample->rtt_min_ns / TARGET_DIVISOR);
    uint32_t loss = loss_ppm(delay);
    if (queue_ns > target_ns) {
        drain(congestion, queue_ns, sample->rtt_min_ns, loss);
    } else if (learn_random_loss(congestion, loss)) {
        return;
    } else if (loss > loss_bound_ppm(delay, loss)) {
        park(congestion, loss);
    } else if (delay->parked_rounds > 0) {
        delay->parked_rounds--;
    } else if (queue_ns <= target_ns / 2 && !delay->round_capped) {
        grow(congestion);
    } else {
        delay->calm_rounds = 0;
    }
}

static void after_silence(struct congestion *congestion)
{
    struct delay *delay = delay_of(congestion);
    set_rate(congestion, delay->timeout_bps / 4 * 3);
    delay->timeout_bps = 0;
    delay->settling = true;
}

/* After a change one round trip, queue included, passes unheeded: its samples stem from before. */
static void end_round(struct congestion *congestion, const struct congestion_sample *sample)
{
    struct delay *delay = delay_of(congestion);
    uint64_t round_ns = delay->settling ? sample->rtt_smoothed_ns : sample->rtt_min_ns;
    if (elapsed_ns(sample->now_ns, delay->round_start_ns) < round_ns ||
        delay->round_acked_bytes + delay->round_lost_bytes < ROUND_BYTES_MIN)
        return;
    if (delay->settling)
        delay->settling = false;
    else
        decide(congestion, sample);
    start_round(delay, sample->now_ns);
}

static void delay_on_ack(struct congestion *congestion, const struct congestion_sample *sample)
{
    struct delay *delay = delay_of(congestion);
    if (delay->timeout_bps > 0)
        after_silence(congestion);
    if (sample->rtt_ns > 0)
        delay->round_rtt_min_ns = MIN(delay->round_rtt_min_ns, sample->rtt_ns);
    delay->round_acked_bytes += sample->acked_bytes;
    delay->round_lost_bytes += sample->lost_bytes;
    if (sample->delivery_rate_bps > 0)
        delay->delivery_rate_bps = sample->delivery_rate_bps;
    if (sample->limited == EDGE_LIMIT_cap)
        delay->round_capped = true;
    else if (sample->limited != EDGE_LIMIT_congestion)
        delay->round_limited = true;
    end_round(congestion, sample);
    congestion->in_flight_max_bytes =
        2 * bytes_within(delay->rate_bps, sample->rtt_smoothed_ns + ACK_ALLOWANCE_NS);
}

static void delay_on_timeout(struct congestion *congestion, uint64_t now_ns)
{
    struct delay *delay = delay_of(congestion);
    (void)now_ns;
    if (delay->timeout_bps == 0)
        delay->timeout_bps = delay->rate_bps;
    set_rate(congestion, MAX(delay->rate_bps / 2, delay->timeout_bps / TIMEOUT_FALL_MAX));
    delay->round_limited = true;
}

/* Nothing is known of the path while it is silent, so what was known before holds again after it. */
static void delay_on_silence(struct congestion *congestion, bool silent, uint64_t now_ns)
{
    struct delay *delay = delay_of(congestion);
    if (silent)
        return;
    if (delay->timeout_bps > 0)
        set_rate(congestion, delay->timeout_bps);
    delay->timeout_bps = 0;
    delay->settling = true;
    start_round(delay, now_ns);
}

static void delay_view(const struct congestion *congestion, struct congestion_view *view)
{
    const struct delay *delay = (const struct delay *)(const void *)congestion->state;
    *view = (struct congestion_view){.phase = delay->parked_rounds > 0 ? "park" : "delay",
                                     .buffer_ns = TIME_NEVER,
                                     .base_loss_ppm = delay->base_loss_ppm};
}

const struct congestion_type congestion_delay_type = {.name = "delay",
                                                      .init = strategy_init,
                                                      .on_ack = delay_on_ack,
                                                      .on_timeout = delay_on_timeout,
                                                      .on_silence = delay_on_silence,
                                                      .view = delay_view};
