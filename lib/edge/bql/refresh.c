#include "edge/bql/refresh.h"

#include "base/units.h"

#define REFRESH_NS       (10 * NS_PER_S)
#define REFRESH_LASTS_NS (200 * NS_PER_MS)
#define REFRESH_RTTS     20
#define REFRESH_PACKETS  8

bool bql_refresh_due(struct bql_refresh *refresh, const struct bql_path *path,
                     const struct bql_rounds *rounds, const struct bql_view *view, uint64_t rate_bps)
{
    if (path->delay.base_seen_ns == view->now_ns)
        refresh->seen_bps = rate_bps;
    if (rate_bps >= refresh->seen_bps / 2 || view->queue_ns <= view->target_ns)
        refresh->fed_ns = view->now_ns;
    uint64_t due_ns = MAX(REFRESH_NS, REFRESH_RTTS * view->rtt_ns);
    uint64_t since_ns = elapsed_ns(view->now_ns, MAX(path->delay.base_seen_ns, refresh->end_ns));
    bool falls =
        view->queue_ns + view->target_ns / 4 + bql_path_waiting_ns(path) < bql_rounds_queue_peak_ns(rounds);
    /* A rate that falls and falls under a queue that stays: perhaps the way is longer now. */
    uint64_t starving_ns = elapsed_ns(view->now_ns, MAX(refresh->fed_ns, refresh->end_ns));
    bool doubtful = bql_doubt_due(&refresh->doubt, path, view);
    return doubtful || since_ns >= due_ns || (falls && since_ns >= due_ns / 2) || starving_ns >= due_ns / 5 ||
           bql_heed_doubts(&path->heed, view->now_ns);
}

/* On a slow path a queue is a few packets, which take longer. */
static uint64_t lasts_ns(const struct bql_path *path)
{
    uint64_t usual_ns = MAX(path->rtt_ns, REFRESH_LASTS_NS);
    if (path->capacity_bps == 0)
        return usual_ns;
    return MAX(usual_ns, transmit_ns(REFRESH_PACKETS * path->packet_bytes, path->capacity_bps));
}

uint64_t bql_refresh_begin(struct bql_refresh *refresh, struct bql_path *path, const struct bql_view *view,
                           uint64_t rate_bps)
{
    bql_doubt_begin(&refresh->doubt, path, view);
    refresh->start_ns = path->now_ns;
    refresh->end_ns = path->now_ns + lasts_ns(path);
    refresh->before_owd_ns = path->delay.base_ns + (int64_t)path_delay_queue_ns(&path->delay);
    refresh->least_owd_ns = INT64_MAX;
    refresh->before_bps = rate_bps;
    refresh->whole = bql_heed_doubts(&path->heed, path->now_ns);
    if (refresh->whole)
        bql_heed_try(&path->heed, path->now_ns, refresh->end_ns);
    return rate_bps / 2;
}

struct bql_move bql_refresh_step(struct bql_refresh *refresh, const struct bql_path *path,
                                 const struct bql_view *view)
{
    bool seen = path->delay.base_seen_ns == view->now_ns;
    if (!refresh->whole && view->now_ns < refresh->end_ns && seen &&
        bql_doubt_allows_end(&refresh->doubt, path))
        refresh->end_ns = view->now_ns;
    return view->now_ns < refresh->end_ns ? bql_stay() : bql_to_phase_at(BQL_TRACK, refresh->before_bps);
}

/* Others may have kept a queue meanwhile, but none above the target for long. One that half the rate makes
 * shorter by a quarter of the time is the edge's own, too long to be gone by then. */
void bql_refresh_judge(struct bql_refresh *refresh, struct bql_path *path, const struct bql_view *view,
                       const struct congestion_sample *sample, bool lasts)
{
    if (refresh->start_ns == 0)
        return;
    if (sample->owd_known && view->newest_sent_ns >= refresh->start_ns)
        refresh->least_owd_ns = MIN(refresh->least_owd_ns, sample->owd_ns);
    if (lasts || view->newest_sent_ns < refresh->end_ns)
        return;
    bql_doubt_end(&refresh->doubt, path);
    bool seen = refresh->least_owd_ns != INT64_MAX;
    bool above = seen && refresh->least_owd_ns - path->delay.base_ns > (int64_t)view->target_ns;
    int64_t lasted_ns = (int64_t)elapsed_ns(refresh->end_ns, refresh->start_ns);
    above = above && refresh->before_owd_ns - refresh->least_owd_ns < lasted_ns / 4;
    refresh->above = above ? refresh->above + 1 : 0;
    if (refresh->above >= 2)
        path_delay_renew_base(&path->delay, refresh->least_owd_ns, view->now_ns);
    refresh->start_ns = 0;
}
