/* BBR version 1 (draft-cardwell-iccrg-bbr-congestion-control-00): pacing at gain x the largest delivery rate
 * of ten rounds, window of two bandwidth-delay products, least RTT of ten seconds, four packets in flight for
 * 200 ms when that was not seen again. What is sent at once is the draft's send quantum (1 ms, at most 64
 * KB). Left out, as in the draft: the token-bucket (policer) model and extra_acked of later Linux
 * versions. */
#include "base/units.h"
#include "sim/competitor.h"

#define GAIN_HIGH         2885 /* 2 / ln 2, in 1/1000 */
#define GAIN_DRAIN        347  /* its inverse */
#define GAIN_WINDOW       2000
#define PEAK_ROUNDS       10
#define RTT_MIN_NS        (10 * NS_PER_S)
#define PROBE_RTT_NS      (200 * NS_PER_MS)
#define PROBE_RTT_PACKETS 4
#define FULL_ROUNDS       3
#define CYCLE_PHASES      8
#define QUANTUM_NS        (1 * NS_PER_MS)
#define QUANTUM_BYTES     65536
#define QUANTUM_SLOW_BPS  1200000
#define QUANTUM_TWO_BPS   24000000
#define RTT_UNKNOWN_NS    (1 * NS_PER_MS)

static const uint16_t cycle_gains[CYCLE_PHASES] = {1250, 750, 1000, 1000, 1000, 1000, 1000, 1000};

/* ---- the model ---- */

/* Running maximum over PEAK_ROUNDS with three candidates (Kathleen Nichols, as in Linux win_minmax). */
static void note_peak(struct bbr *bbr, uint64_t bps)
{
    struct bbr_peak *peaks = bbr->peaks, sample = {bbr->round, bps};
    if (bps >= peaks[0].bps || bbr->round - peaks[2].round > PEAK_ROUNDS) {
        peaks[0] = peaks[1] = peaks[2] = sample;
        return;
    }
    if (bps >= peaks[1].bps)
        peaks[1] = peaks[2] = sample;
    else if (bps >= peaks[2].bps)
        peaks[2] = sample;
    uint64_t age = bbr->round - peaks[0].round;
    if (age > PEAK_ROUNDS) {
        peaks[0] = peaks[1];
        peaks[1] = peaks[2];
        peaks[2] = sample;
        if (bbr->round - peaks[0].round > PEAK_ROUNDS) {
            peaks[0] = peaks[1];
            peaks[1] = peaks[2];
        }
    } else if (peaks[1].round == peaks[0].round && age > PEAK_ROUNDS / 4) {
        peaks[1] = peaks[2] = sample;
    } else if (peaks[2].round == peaks[1].round && age > PEAK_ROUNDS / 2) {
        peaks[2] = sample;
    }
}

static void update_rate(struct competitor *competitor, const struct competitor_sample *sample)
{
    struct bbr *bbr = &competitor->control.bbr;
    bbr->round_start = false;
    if (sample->interval_ns == 0)
        return;
    if (sample->prior_delivered >= bbr->next_round_delivered) {
        bbr->next_round_delivered = competitor->delivered;
        bbr->round++;
        bbr->round_start = true;
        bbr->conserve = false;
    }
    uint64_t bps =
        muldiv64(sample->delivered * competitor->flow->wire_bytes * 8, NS_PER_S, sample->interval_ns);
    if (!sample->app_limited || bps >= bbr->peaks[0].bps)
        note_peak(bbr, bps);
}

/* Packets in flight for the given share of the bandwidth-delay product. */
static uint64_t in_flight_for(const struct competitor *competitor, uint32_t gain)
{
    const struct bbr *bbr = &competitor->control.bbr;
    if (bbr->rtt_min_ns == TIME_NEVER)
        return COMPETITOR_WINDOW_FIRST;
    uint64_t packets = competitor_packets(competitor, bbr->peaks[0].bps * gain / 1000, bbr->rtt_min_ns);
    return packets + 1 + 3ULL * competitor->burst_packets;
}

/* ---- modes ---- */

static void enter_probe_bw(struct competitor *competitor, uint64_t now_ns)
{
    struct bbr *bbr = &competitor->control.bbr;
    bbr->mode = BBR_PROBE_BW;
    /* Any phase but the one that drains. */
    uint32_t phase = (uint32_t)rng_below(&competitor->flow->rng, CYCLE_PHASES - 1);
    bbr->cycle = phase == 0 ? 0 : phase + 1;
    bbr->cycle_ns = now_ns;
}

static void enter_startup(struct bbr *bbr)
{
    bbr->mode = BBR_STARTUP;
}

static void update_cycle(struct competitor *competitor, const struct competitor_sample *sample)
{
    struct bbr *bbr = &competitor->control.bbr;
    if (bbr->mode != BBR_PROBE_BW)
        return;
    uint32_t gain = cycle_gains[bbr->cycle];
    bool over = sample->now_ns - bbr->cycle_ns > bbr->rtt_min_ns;
    if (gain > 1000)
        over = over && (sample->lost != 0 || sample->in_flight_before >= in_flight_for(competitor, gain));
    if (gain < 1000)
        over = over || sample->in_flight_before <= in_flight_for(competitor, 1000);
    if (!over)
        return;
    bbr->cycle = (bbr->cycle + 1) % CYCLE_PHASES;
    bbr->cycle_ns = sample->now_ns;
}

static void check_full(struct bbr *bbr, const struct competitor_sample *sample)
{
    if (bbr->full || !bbr->round_start || sample->app_limited)
        return;
    if (bbr->peaks[0].bps >= bbr->full_bps * 5 / 4) {
        bbr->full_bps = bbr->peaks[0].bps;
        bbr->full_rounds = 0;
        return;
    }
    bbr->full = ++bbr->full_rounds >= FULL_ROUNDS;
}

static void check_drain(struct competitor *competitor, const struct competitor_sample *sample)
{
    struct bbr *bbr = &competitor->control.bbr;
    if (bbr->mode == BBR_STARTUP && bbr->full)
        bbr->mode = BBR_DRAIN;
    if (bbr->mode == BBR_DRAIN && competitor->in_flight <= in_flight_for(competitor, 1000))
        enter_probe_bw(competitor, sample->now_ns);
}

static void save_window(struct competitor *competitor)
{
    struct bbr *bbr = &competitor->control.bbr;
    bool fresh = competitor->state == COMPETITOR_OPEN && bbr->mode != BBR_PROBE_RTT;
    bbr->prior_window = fresh ? competitor->window : MAX(bbr->prior_window, competitor->window);
}

static void probe_rtt(struct competitor *competitor, uint64_t now_ns)
{
    struct bbr *bbr = &competitor->control.bbr;
    competitor->app_limited_until = MAX(competitor->delivered + competitor->in_flight, 1ULL);
    if (bbr->probe_rtt_done_ns == 0) {
        if (competitor->in_flight > PROBE_RTT_PACKETS)
            return;
        bbr->probe_rtt_done_ns = now_ns + PROBE_RTT_NS;
        bbr->probe_rtt_round_done = false;
        bbr->next_round_delivered = competitor->delivered;
        return;
    }
    bbr->probe_rtt_round_done |= bbr->round_start;
    if (!bbr->probe_rtt_round_done || now_ns <= bbr->probe_rtt_done_ns)
        return;
    bbr->rtt_min_stamp_ns = now_ns;
    competitor->window = MAX(competitor->window, bbr->prior_window);
    if (bbr->full)
        enter_probe_bw(competitor, now_ns);
    else
        enter_startup(bbr);
}

static void update_rtt_min(struct competitor *competitor, const struct competitor_sample *sample)
{
    struct bbr *bbr = &competitor->control.bbr;
    bool expired = sample->now_ns > bbr->rtt_min_stamp_ns + RTT_MIN_NS;
    if (sample->rtt_ns != 0 && (sample->rtt_ns <= bbr->rtt_min_ns || expired)) {
        bbr->rtt_min_ns = sample->rtt_ns;
        bbr->rtt_min_stamp_ns = sample->now_ns;
    }
    if (expired && bbr->mode != BBR_PROBE_RTT) {
        save_window(competitor);
        bbr->mode = BBR_PROBE_RTT;
        bbr->probe_rtt_done_ns = 0;
    }
    if (bbr->mode == BBR_PROBE_RTT)
        probe_rtt(competitor, sample->now_ns);
}

static void set_gains(struct bbr *bbr)
{
    switch ((enum bbr_mode)bbr->mode) {
    case BBR_STARTUP:
        bbr->pacing_gain = bbr->window_gain = GAIN_HIGH;
        break;
    case BBR_DRAIN:
        bbr->pacing_gain = GAIN_DRAIN;
        bbr->window_gain = GAIN_HIGH;
        break;
    case BBR_PROBE_BW:
        bbr->pacing_gain = cycle_gains[bbr->cycle];
        bbr->window_gain = GAIN_WINDOW;
        break;
    case BBR_PROBE_RTT:
        bbr->pacing_gain = bbr->window_gain = 1000;
        break;
    }
}

/* ---- what comes of it ---- */

static void set_pacing(struct competitor *competitor)
{
    struct bbr *bbr = &competitor->control.bbr;
    if (!bbr->rtt_seen && competitor->rtt_smoothed_ns != 0) {
        bbr->rtt_seen = true;
        competitor->pacing_bps =
            muldiv64(competitor->window * competitor->flow->wire_bytes * 8 * GAIN_HIGH / 1000, NS_PER_S,
                     competitor->rtt_smoothed_ns);
    }
    uint64_t bps = bbr->peaks[0].bps * bbr->pacing_gain / 1000;
    if (bps != 0 && (bbr->full || bps > competitor->pacing_bps))
        competitor->pacing_bps = bps;
    uint64_t quantum = MIN(competitor_packets(competitor, competitor->pacing_bps, QUANTUM_NS),
                           (uint64_t)QUANTUM_BYTES / competitor->flow->packet_bytes);
    if (competitor->pacing_bps < QUANTUM_SLOW_BPS)
        quantum = 1;
    else if (competitor->pacing_bps < QUANTUM_TWO_BPS)
        quantum = 2;
    competitor->burst_packets = (uint32_t)MAX(quantum, 1ULL);
}

/* The first round of a recovery sends what is delivered. True: this decides the window. */
static bool conserve(struct competitor *competitor, const struct competitor_sample *sample)
{
    struct bbr *bbr = &competitor->control.bbr;
    competitor->window -= MIN(competitor->window - 1, (uint64_t)sample->lost);
    if (competitor->state == COMPETITOR_RECOVERY && bbr->prior_state != COMPETITOR_RECOVERY) {
        bbr->conserve = true;
        bbr->next_round_delivered = competitor->delivered;
        competitor->window = competitor->in_flight + MAX(sample->acked, 1u);
    } else if (competitor->state == COMPETITOR_OPEN && bbr->prior_state != COMPETITOR_OPEN) {
        competitor->window = MAX(competitor->window, bbr->prior_window);
        bbr->conserve = false;
    }
    bbr->prior_state = competitor->state;
    if (bbr->conserve)
        competitor->window = MAX(competitor->window, competitor->in_flight + sample->acked);
    return bbr->conserve;
}

static void set_window(struct competitor *competitor, const struct competitor_sample *sample)
{
    struct bbr *bbr = &competitor->control.bbr;
    if (!conserve(competitor, sample)) {
        uint64_t target = in_flight_for(competitor, bbr->window_gain);
        if (bbr->full)
            competitor->window = MIN(competitor->window + sample->acked, target);
        else if (competitor->window < target || competitor->delivered < COMPETITOR_WINDOW_FIRST)
            competitor->window += sample->acked;
    }
    competitor->window = MAX(competitor->window, (uint64_t)PROBE_RTT_PACKETS);
    if (bbr->mode == BBR_PROBE_RTT)
        competitor->window = PROBE_RTT_PACKETS;
}

/* ---- hooks ---- */

static void init(struct competitor *competitor, uint64_t now_ns)
{
    struct bbr *bbr = &competitor->control.bbr;
    bbr->rtt_min_ns = TIME_NEVER;
    bbr->rtt_min_stamp_ns = now_ns;
    enter_startup(bbr);
    set_gains(bbr);
    competitor->pacing_bps = muldiv64(
        competitor->window * competitor->flow->wire_bytes * 8 * GAIN_HIGH / 1000, NS_PER_S, RTT_UNKNOWN_NS);
}

static void on_loss(struct competitor *competitor, bool timeout, uint64_t now_ns)
{
    struct bbr *bbr = &competitor->control.bbr;
    (void)now_ns;
    save_window(competitor);
    if (!timeout)
        return;
    bbr->prior_state = COMPETITOR_TIMEOUT;
    bbr->full_bps = 0;
}

static void on_ack(struct competitor *competitor, const struct competitor_sample *sample)
{
    update_rate(competitor, sample);
    update_cycle(competitor, sample);
    check_full(&competitor->control.bbr, sample);
    check_drain(competitor, sample);
    update_rtt_min(competitor, sample);
    set_gains(&competitor->control.bbr);
    set_pacing(competitor);
    set_window(competitor, sample);
}

const struct competitor_type competitor_bbr1_type = {
    .name = "bbr1", .sets_window = true, .init = init, .on_loss = on_loss, .on_ack = on_ack};
