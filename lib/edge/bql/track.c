#include "edge/bql/track.h"

#include "base/units.h"

#define GAIN_PPM    150000LL
#define PLATEAU_PPM 920000ULL

void bql_track_begin(struct bql_track *track, bool settled, uint64_t now_ns)
{
    track->busy_ns = now_ns;
    track->idle_ns = now_ns;
    if (!settled)
        track->plateau_bps = 1;
}

/* After the start: a queue that stays although the path delivers less than it can is no queue. True: the rate
 * is to fall until that shows. */
static bool settles(struct bql_track *track, struct bql_path *path, const struct bql_view *view,
                    struct bql_move *move)
{
    if (track->plateau_bps == 0)
        return false;
    track->plateau_bps = MAX(track->plateau_bps, view->capacity_bps);
    /* Of the rate that it began at: a lower one wants more, and would stop where that is what stays. */
    uint64_t target_ns = bql_path_target_ns(path, track->plateau_bps);
    if (view->predicted_ns <= target_ns || !bql_path_may_wait(path, view->queue_ns))
        return false;
    if (view->capacity_bps > muldiv64(track->plateau_bps, PLATEAU_PPM, BQL_PPM))
        return true;
    bql_path_suppose_wait(path);
    track->plateau_bps = 0;
    *move = bql_to_phase(BQL_TRACK);
    return false;
}

/* How much above C the rate that brings the queue to q* is, in ppm. */
static int64_t change_ppm(const struct bql_path *path, const struct bql_view *view)
{
    int64_t off_ns = (int64_t)view->target_ns - (int64_t)view->predicted_ns;
    /* A long queue, which has to go, is no reason to take longer. */
    uint64_t standing_ns = MIN(view->queue_ns, view->target_ns);
    int64_t settle_ns = (int64_t)MAX(path->loop_ns + standing_ns, NS_PER_MS);
    off_ns = MAX(off_ns, -2 * settle_ns); /* the rate falls by a half at most */
    int64_t rise_ppm = (int64_t)BQL_PPM * off_ns / settle_ns;
    int64_t fall_ppm = MAX(rise_ppm * 2 / 5, -(int64_t)BQL_PPM / 2);
    fall_ppm = MIN(fall_ppm, -GAIN_PPM);
    rise_ppm = MIN(rise_ppm, GAIN_PPM);
    return MAX(rise_ppm, fall_ppm);
}

/* A queue that is there for a whole RTT is one. */
static void note_queue(struct bql_track *track, const struct bql_view *view)
{
    if (view->queue_ns >= view->little_ns)
        track->busy_ns = view->now_ns;
    else
        track->idle_ns = view->now_ns;
    if (elapsed_ns(view->now_ns, track->idle_ns) > view->rtt_ns)
        track->growth_ppm = 0;
}

struct bql_move bql_track_step(struct bql_track *track, struct bql_path *path, const struct bql_view *view,
                               uint64_t rate_bps)
{
    note_queue(track, view);
    if (elapsed_ns(view->now_ns, track->busy_ns) > view->rtt_ns) {
        track->plateau_bps = 0;
        return bql_to_phase(BQL_CALM);
    }
    if (view->capacity_bps == 0 || bql_path_says_nothing(path, rate_bps))
        return bql_stay();
    struct bql_move move = bql_stay();
    int64_t by_ppm = change_ppm(path, view);
    if (settles(track, path, view, &move))
        by_ppm = MIN(by_ppm, -GAIN_PPM);
    uint64_t next_bps = muldiv64(view->capacity_bps, (uint64_t)((int64_t)BQL_PPM + by_ppm), BQL_PPM);
    if (view->now_ns < path->limited_until_ns)
        next_bps = MIN(next_bps, rate_bps);
    move.rate_bps = MAX(next_bps, BQL_RATE_MIN_BPS);
    return move;
}
