#include "edge/bql/calm.h"

#include "base/units.h"

#define GROWTH_MIN_PPM    25000ULL
#define GROWTH_UNSURE_PPM 200000
#define FOLLOWED_TIMES    3 /* what comes follows the rate by two raises */
#define PROBE_QUEUE_NS    (10 * NS_PER_MS)
#define PROBE_TARGETS     2

void bql_calm_begin(struct bql_calm *calm, uint64_t raised_ns, bool unsure, uint64_t rtt_ns,
                    uint64_t target_ns)
{
    uint64_t queue_ns =
        target_ns < PROBE_QUEUE_NS / PROBE_TARGETS ? PROBE_TARGETS * target_ns : PROBE_QUEUE_NS;
    uint64_t growth_ppm = MIN(GROWTH_MIN_PPM, muldiv64(queue_ns, BQL_PPM, MAX(rtt_ns, 1ULL)));
    *calm = (struct bql_calm){.raised_ns = raised_ns,
                              .growth_ppm = unsure ? GROWTH_UNSURE_PPM : (uint32_t)growth_ppm};
}

/* What left so long after the raise tells of it: where packets are few, as many as delays are told by. */
static uint64_t telling_ns(const struct bql_path *path, const struct bql_view *view, uint64_t rate_bps)
{
    uint64_t packets = bql_path_is_sparse(path) ? bql_path_telling_packets(path) : 0;
    uint64_t packets_ns = transmit_ns(packets * path->packet_bytes, rate_bps);
    return MAX(view->rtt_ns / 8, packets_ns);
}

void bql_calm_resume(struct bql_calm *calm, uint32_t growth_ppm)
{
    calm->growth_ppm = MAX(calm->growth_ppm, growth_ppm / 5 * 2);
}

bool bql_calm_overshoots(const struct bql_path *path, uint64_t rate_bps)
{
    return path->delivered_bps > 0 &&
           rate_bps > FOLLOWED_TIMES * bql_chance_sent_bps(&path->chance, path->delivered_bps);
}

/* What was there at half the rate as well is no queue of the edge's own. */
static void settle_base(struct bql_calm *calm, struct bql_path *path, uint64_t rate_bps)
{
    if (calm->settled_bps == 0)
        calm->settled_bps = rate_bps;
    if (path->delivered_bps < 2 * calm->settled_bps)
        return;
    calm->settled_bps = path->delivered_bps;
    if (bql_path_kept_jitter_ns(path) > 0)
        path_delay_shift_base(&path->delay, bql_path_waiting_ns(path));
}

struct bql_move bql_calm_step(struct bql_calm *calm, const struct bql_ceiling *ceiling,
                              struct bql_rounds *rounds, struct bql_path *path, const struct bql_view *view,
                              uint64_t rate_bps)
{
    if (view->newest_ns >= view->little_ns)
        return bql_to_phase(BQL_TRACK);
    settle_base(calm, path, rate_bps);
    if (view->newest_sent_ns < calm->raised_ns + telling_ns(path, view, rate_bps) ||
        view->now_ns < path->limited_until_ns || rounds->cautious > 0)
        return bql_stay();
    if (bql_calm_overshoots(path, rate_bps))
        return bql_stay();
    bool near = bql_ceiling_near(ceiling, view, rate_bps);
    rounds->cautious = !near ? 0 : bql_path_is_sparse(path) ? 1 : 2; /* rounds of few packets take 8 RTT */
    uint64_t raised_bps = rate_bps + muldiv64(rate_bps, calm->growth_ppm, BQL_PPM);
    if (!near)
        calm->growth_ppm = (uint32_t)MIN(5ULL * calm->growth_ppm / 2, BQL_GROWTH_MAX_PPM);
    calm->raised_ns = view->now_ns;
    return bql_at_rate(raised_bps);
}
