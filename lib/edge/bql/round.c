#include "edge/bql/round.h"

#include "base/units.h"
#include "edge/bql/move.h"

#define EXCESS_PPM        3000ULL
#define ROUND_PACKETS_MIN 200
#define UNMEASURED_RTTS                                                                                      \
    8 /* so long a round waits for a count that is sure enough; then what was known before holds */
#define UNMEASURED_NS (NS_PER_S / 2)

void bql_rounds_start(struct bql_rounds *rounds, const struct bql_path *path, uint64_t now_ns)
{
    rounds->start_ns = now_ns;
    rounds->acked = 0;
    rounds->lost = 0;
    rounds->delivered_ns = path->delivered_ns;
    rounds->delivered_bytes = path->rate.bytes;
    rounds->limited = false;
    rounds->queue_peak_before_ns = rounds->queue_peak_ns;
    rounds->queue_peak_ns = 0;
}

void bql_rounds_on_sample(struct bql_rounds *rounds, const struct bql_path *path,
                          const struct congestion_sample *sample)
{
    rounds->acked += sample->acked_packets;
    rounds->lost += sample->lost_packets;
    rounds->queue_peak_ns = MAX(rounds->queue_peak_ns, path_delay_queue_ns(&path->delay));
    rounds->limited |= sample->limited != EDGE_LIMIT_congestion && sample->limited != EDGE_LIMIT_cap;
}

bool bql_rounds_end(struct bql_rounds *rounds, const struct bql_path *path, struct bql_round *round)
{
    uint64_t packets = rounds->acked + rounds->lost;
    uint64_t lasted_ns = elapsed_ns(path->now_ns, rounds->start_ns);
    uint64_t took_ns = elapsed_ns(path->delivered_ns, rounds->delivered_ns);
    if (lasted_ns < path->rtt_ns || packets < PATH_DELAY_PACKETS_MIN)
        return false;
    if (took_ns == 0 && lasted_ns < MAX(UNMEASURED_RTTS * path->rtt_ns, UNMEASURED_NS))
        return false;
    uint32_t loss_ppm = (uint32_t)muldiv64(rounds->lost, BQL_PPM, packets);
    uint32_t likely_ppm = bql_chance_likely_ppm(&path->chance, packets);
    *round = (struct bql_round){.start_ns = rounds->start_ns,
                                .packets = packets,
                                .loss = {.loss_ppm = loss_ppm, .packets = packets},
                                .limited = rounds->limited,
                                .few = (packets < ROUND_PACKETS_MIN),
                                .unlikely = (loss_ppm > likely_ppm),
                                .excess = loss_ppm > likely_ppm + EXCESS_PPM,
                                .plain = loss_ppm > likely_ppm + BQL_PLAIN_LOSS_PPM};
    /* Looked at again and again, few packets show some excess too easily. */
    if (round->few && !round->plain && lasted_ns < 8 * path->rtt_ns)
        return false;
    uint64_t bytes = path->rate.bytes - MIN(rounds->delivered_bytes, path->rate.bytes);
    round->loss.delivered_bps = took_ns == 0 ? path->delivered_bps : muldiv64(bytes, 8 * NS_PER_S, took_ns);
    bql_rounds_start(rounds, path, path->now_ns);
    return true;
}

uint64_t bql_rounds_queue_peak_ns(const struct bql_rounds *rounds)
{
    return MAX(rounds->queue_peak_ns, rounds->queue_peak_before_ns);
}

bool bql_rounds_excess_lasts(struct bql_rounds *rounds, const struct bql_path *path,
                             const struct bql_round *round)
{
    bool bursty = path->chance.swing_ppm > 3 * bql_chance_sigma_ppm(&path->chance, round->packets);
    bool lasts = round->excess && (!bursty || round->plain || rounds->excess_before);
    rounds->excess_before = round->excess;
    if (round->excess && !lasts)
        rounds->cautious = 2;
    return lasts;
}
