/* CUBIC (RFC 9438) as Linux runs it: C = 0.4, beta = 0.7, fast convergence, Reno-friendly region; slow start
 * is left early by classic HyStart (ack train and delay increase, windows from 16 packets on), which is what
 * Linux has in the place of HyStart++. No pacing. */
#include "base/units.h"
#include "sim/competitor.h"

#define UNIT                1024ULL /* of windows */
#define BETA_PERMILLE       700
#define HYSTART_WINDOW      16
#define HYSTART_SAMPLES     8
#define HYSTART_GAP_NS      (2 * NS_PER_MS)
#define HYSTART_DELAY_LEAST (4 * NS_PER_MS)
#define HYSTART_DELAY_MOST  (16 * NS_PER_MS)

static void hystart_reset(struct competitor *competitor, uint64_t now_ns)
{
    struct cubic *cubic = &competitor->control.cubic;
    cubic->round_start_ns = cubic->round_last_ns = now_ns;
    cubic->round_end = competitor->next;
    cubic->round_rtt_ns = TIME_NEVER;
    cubic->round_samples = 0;
}

static void init(struct competitor *competitor, uint64_t now_ns)
{
    struct cubic *cubic = &competitor->control.cubic;
    cubic->window = competitor->window * UNIT;
    cubic->delay_min_ns = TIME_NEVER;
    hystart_reset(competitor, now_ns);
}

static void on_loss(struct competitor *competitor, bool timeout, uint64_t now_ns)
{
    struct cubic *cubic = &competitor->control.cubic;
    (void)now_ns;
    (void)timeout;
    uint64_t window = competitor->window * UNIT;
    bool falls = window < cubic->window_max; /* fast convergence */
    cubic->window_max = falls ? window * (1000 + BETA_PERMILLE) / 2000 : window;
    cubic->window_prior = window;
    cubic->window = MAX(window * BETA_PERMILLE / 1000, 2 * UNIT);
    competitor->slow_start_end = cubic->window / UNIT;
    cubic->epoch_ns = 0;
    cubic->hystart_found = false;
}

/* ---- slow start ---- */

static void hystart(struct competitor *competitor, const struct competitor_sample *sample)
{
    struct cubic *cubic = &competitor->control.cubic;
    uint64_t now_ns = sample->now_ns;
    if (competitor->settled > cubic->round_end)
        hystart_reset(competitor, now_ns);
    if (cubic->hystart_found || competitor->window < HYSTART_WINDOW)
        return;
    if (now_ns - cubic->round_last_ns <= HYSTART_GAP_NS) {
        cubic->round_last_ns = now_ns;
        /* A train of acks half an RTT long: the window fills the path one way (no pacing). */
        if (now_ns - cubic->round_start_ns > cubic->delay_min_ns / 2)
            cubic->hystart_found = true;
    }
    if (sample->rtt_ns != 0 && cubic->round_samples < HYSTART_SAMPLES) {
        cubic->round_rtt_ns = MIN(cubic->round_rtt_ns, sample->rtt_ns);
        cubic->round_samples++;
    } else if (cubic->round_samples >= HYSTART_SAMPLES) {
        uint64_t rise_ns = MIN(MAX(cubic->delay_min_ns / 8, HYSTART_DELAY_LEAST), HYSTART_DELAY_MOST);
        if (cubic->round_rtt_ns > cubic->delay_min_ns + rise_ns)
            cubic->hystart_found = true;
    }
    if (cubic->hystart_found)
        competitor->slow_start_end = competitor->window;
}

/* ---- congestion avoidance ---- */

/* The largest x with x^3 <= value. */
static uint64_t cube_root(unsigned __int128 value)
{
    uint64_t root = 0;
    for (int bit = 41; bit >= 0; bit--) {
        uint64_t next = root | 1ULL << bit;
        if ((unsigned __int128)next * next * next <= value)
            root = next;
    }
    return root;
}

static void begin_epoch(struct cubic *cubic, uint64_t now_ns)
{
    cubic->epoch_ns = now_ns;
    cubic->reno_window = cubic->window;
    cubic->window_max = MAX(cubic->window_max, cubic->window);
    /* K = cbrt((W_max - W) / 0.4) s: with the windows in 1/1024 and K in ms, K^3 = 1e9 / 409.6 of that. */
    cubic->k_ms = cube_root((unsigned __int128)(cubic->window_max - cubic->window) * 10000000000ULL / 4096);
}

/* W(t) = 0.4 (t - K)^3 + W_max; t in ms, so that 0.4 * 1024 / 1e9 = 4096 / 1e10. */
static uint64_t cubic_at(const struct cubic *cubic, uint64_t at_ns)
{
    uint64_t t_ms = (at_ns - cubic->epoch_ns) / NS_PER_MS;
    uint64_t distance = t_ms > cubic->k_ms ? t_ms - cubic->k_ms : cubic->k_ms - t_ms;
    distance = MIN(distance, 1ULL << 20);
    uint64_t difference = distance * distance * distance / 10000 * 4096 / 1000000;
    if (t_ms > cubic->k_ms)
        return cubic->window_max + difference;
    return cubic->window_max - MIN(difference, cubic->window_max);
}

static void avoid(struct competitor *competitor, uint64_t acked, uint64_t now_ns)
{
    struct cubic *cubic = &competitor->control.cubic;
    if (cubic->epoch_ns == 0)
        begin_epoch(cubic, now_ns);
    uint64_t target = cubic_at(cubic, now_ns + competitor->rtt_smoothed_ns);
    target = MIN(MAX(target, cubic->window), cubic->window * 3 / 2);
    /* alpha = 3 (1 - beta) / (1 + beta) until the window before the loss is reached again, then 1. */
    uint64_t alpha = cubic->reno_window < cubic->window_prior ? UNIT * 9 / 17 : UNIT;
    cubic->reno_window += alpha * acked * UNIT / cubic->window;
    uint64_t growth = (target - cubic->window) * acked * UNIT / cubic->window;
    cubic->window = MAX(cubic->window + growth, cubic->reno_window);
    competitor->window = MAX(cubic->window / UNIT, 2ULL);
}

static void on_ack(struct competitor *competitor, const struct competitor_sample *sample)
{
    struct cubic *cubic = &competitor->control.cubic;
    if (sample->rtt_ns != 0)
        cubic->delay_min_ns = MIN(cubic->delay_min_ns, sample->rtt_ns);
    if (!sample->window_used)
        return;
    if (competitor->window >= competitor->slow_start_end) {
        cubic->window = MAX(cubic->window, competitor->window * UNIT);
        avoid(competitor, sample->acked, sample->now_ns);
        return;
    }
    hystart(competitor, sample);
    competitor->window = MIN(competitor->window + sample->acked, competitor->slow_start_end);
    cubic->window = competitor->window * UNIT;
}

const struct competitor_type competitor_cubic_type = {
    .name = "cubic", .init = init, .on_loss = on_loss, .on_ack = on_ack};
