#include "edge/bql/refresh.h"

#include "base/units.h"

#define REFRESH_NS       (10 * NS_PER_S)
#define REFRESH_LASTS_NS (200 * NS_PER_MS)
#define REFRESH_RTTS     20
#define REFRESH_PACKETS  8
#define FIRST_PART       40 /* of the time: the first gap among others; each next one is twice as long */
#define FIRST_GAPS       6  /* by then a gap is the usual time */
#define ALONE_PART       10 /* of the time: alone for long */
#define SETTLED_LOOPS    2
#define JOIN_PART        4
#define SUPPOSED_PART    10 /* of the time: after a queue was taken for packets that wait */
#define STARVING_PART    5  /* of the time: a rate that is far too low */
#define SHARES_PERCENT   90
#define STEP_PART        4 /* of q*: a step that is no less */
#define STEP_STEADY_PART 5 /* of the time: C was steady for that before a step, or it is of others */
#define STEP_RESTS       20 /* times as long as a try took: one in vain is no more than a fortieth of the rate */
#define CROWDS_PERCENT   75
#define JITTERS_PART     8  /* of q*: jitter by which C moves */
#define MOVES_PART       32 /* of q*: a queue of others does in any refresh */

/* How long after the base was seen it is looked for by itself. */
static uint64_t late_ns_of(const struct bql_path *path)
{
    return MAX(REFRESH_NS, REFRESH_RTTS * path->rtt_ns);
}

/* C moved as it does where others come and go. What a longer path does to C looks alike: a step that opens while C was
 * steady keeps that from counting, any other is of others. */
static void note_crowd(struct bql_refresh *refresh, struct bql_path *path)
{
    uint64_t since_ns = path->step.since_ns;
    bool steady = refresh->crowd_ns == 0 ||
                  elapsed_ns(since_ns, refresh->crowd_ns) > late_ns_of(path) / STEP_STEADY_PART;
    if (since_ns > 0 && steady)
        return;
    if (since_ns > 0)
        path_step_rest(&path->step, path->step.rests_ns);
    refresh->crowd_ns = path->now_ns;
}

/* Enough for C to move by itself. */
static bool jitters(const struct bql_path *path)
{
    uint64_t target_ns = bql_path_usual_target_ns(path, path->capacity_bps);
    return path_delay_jitter_ns(&path->delay) > target_ns / JITTERS_PART;
}

/* An edge that has the path for its own finds that it takes the same all the time. */
static bool shares(struct bql_refresh *refresh, struct bql_path *path)
{
    /* Where few packets come, chance changes it. */
    if (bql_path_telling_packets(path) < PATH_DELAY_PACKETS_MIN)
        return false;
    if (path->delay.base_seen_ns == path->now_ns) {
        refresh->least_bps = 0;
        refresh->most_bps = 0;
    }
    uint64_t stood_ns = path->standing_ns > 0 ? elapsed_ns(path->delivered_ns, path->standing_ns) : 0;
    if (stood_ns > 2 * path->loop_ns) {
        refresh->most_bps = MAX(refresh->most_bps, path->capacity_bps);
        refresh->least_bps =
            MIN(refresh->least_bps > 0 ? refresh->least_bps : TIME_NEVER, path->capacity_bps);
    }
    if (refresh->begun_ns == 0)
        refresh->begun_ns = path->now_ns;
    if (refresh->least_bps < refresh->most_bps / 100 * (jitters(path) ? CROWDS_PERCENT : SHARES_PERCENT))
        note_crowd(refresh, path);
    return refresh->least_bps < refresh->most_bps / 100 * SHARES_PERCENT;
}

/* Where an edge was alone for long and C falls, the path may as well have become slower: the rate is soon far off then,
 * and must follow it. */
static void note_sharing(struct bql_refresh *refresh, const struct bql_path *path, bool sharing,
                         uint64_t long_ns)
{
    if (refresh->shared_ns == 0)
        refresh->shared_ns = path->now_ns;
    bool long_alone = elapsed_ns(path->now_ns, refresh->shared_ns) > long_ns;
    if (sharing && long_alone)
        refresh->early_from_ns = path->now_ns + SETTLED_LOOPS * path->loop_ns;
    if (sharing)
        refresh->shared_ns = path->now_ns;
}

/* How long after the base was seen it is time by itself. Among others soon, and then ever less often: what the
 * edges that came took for a part of the way has to show before they fill the buffer, and does so once. */
static uint64_t gap_ns(const struct bql_refresh *refresh, bool sharing, uint64_t now_ns, uint64_t late_ns)
{
    if (!sharing || now_ns < refresh->early_from_ns || refresh->count >= FIRST_GAPS)
        return late_ns;
    return MIN(late_ns, late_ns / FIRST_PART << refresh->count);
}

/* On a slow path it takes longer than it is worth. */
static bool tests_chance(const struct bql_refresh *refresh, const struct bql_path *path, uint64_t after_ns,
                         uint64_t rate_bps)
{
    uint64_t since_ns = elapsed_ns(path->now_ns, MAX(refresh->end_ns, path->train_end_ns));
    return bql_retest_lasts_ns(path, rate_bps) <= MAX(path->rtt_ns, REFRESH_LASTS_NS) &&
           bql_retest_due(&refresh->retest, &path->chance, after_ns, since_ns);
}

bool bql_refresh_alone(const struct bql_refresh *refresh, const struct bql_path *path)
{
    return elapsed_ns(path->now_ns, refresh->shared_ns) > late_ns_of(path);
}

bool bql_refresh_is_uncrowded(const struct bql_refresh *refresh, const struct bql_path *path)
{
    return elapsed_ns(path->now_ns, MAX(refresh->crowd_ns, refresh->begun_ns)) > late_ns_of(path) &&
           refresh->begun_ns > 0;
}

bool bql_refresh_is_overdue(const struct bql_path *path)
{
    return elapsed_ns(path->now_ns, path->delay.base_seen_ns) > 2 * late_ns_of(path);
}

void bql_refresh_on_contest(struct bql_refresh *refresh, struct bql_path *path)
{
    if (refresh->why == BQL_REFRESH_STEP)
        refresh->start_ns = 0;
    path_step_rest(&path->step, path->step.rests_ns);
}

bool bql_refresh_due(struct bql_refresh *refresh, struct bql_path *path, const struct bql_rounds *rounds,
                     const struct bql_view *view, uint64_t rate_bps)
{
    if (path->delay.base_seen_ns == view->now_ns)
        refresh->seen_bps = rate_bps;
    if (rate_bps >= refresh->seen_bps / 2 || view->queue_ns <= view->target_ns)
        refresh->fed_ns = view->now_ns;
    uint64_t late_ns = MAX(REFRESH_NS, REFRESH_RTTS * view->rtt_ns);
    /* Not while the rate is far off: it must follow the path. */
    bool sharing = shares(refresh, path) && rate_bps >= refresh->seen_bps / 2;
    note_sharing(refresh, path, sharing, late_ns / ALONE_PART);
    uint64_t due_ns = gap_ns(refresh, sharing, view->now_ns, late_ns);
    /* Those that fill the buffer are none to join: what falls there is what they lost, and it soon is back. */
    uint64_t peak_ns = MAX(view->predicted_ns, bql_rounds_queue_peak_ns(rounds));
    bool joins = sharing && peak_ns <= 3 * view->usual_target_ns / 2;
    uint64_t join_ns = joins ? MIN(due_ns, late_ns / JOIN_PART) : late_ns / 2;
    uint64_t since_ns = elapsed_ns(view->now_ns, MAX(path->delay.base_seen_ns, refresh->end_ns));
    uint64_t low_ns = view->queue_ns + view->target_ns / 4 + bql_path_kept_jitter_ns(path);
    bool falls = low_ns < bql_rounds_queue_peak_ns(rounds);
    /* A rate that falls and falls under a queue that stays: perhaps the way is longer now. */
    uint64_t starving_ns = elapsed_ns(view->now_ns, MAX(refresh->fed_ns, refresh->end_ns));
    bool doubtful = bql_doubt_due(&refresh->doubt, path, view);
    bool supposed =
        path->supposed_ns > 0 && elapsed_ns(view->now_ns, path->supposed_ns) >= late_ns / SUPPOSED_PART;
    if (path->step.stepped && refresh->start_ns == 0 && bql_refresh_is_uncrowded(refresh, path))
        refresh->next = BQL_REFRESH_STEP;
    else if (bql_heed_doubts(&path->heed, view->now_ns) || starving_ns >= late_ns / STARVING_PART || supposed)
        refresh->next = BQL_REFRESH_NEEDED;
    else if (since_ns >= due_ns || (falls && since_ns >= join_ns))
        refresh->next = since_ns < late_ns / 2 ? BQL_REFRESH_EARLY : BQL_REFRESH_NEEDED;
    else if (doubtful)
        refresh->next = BQL_REFRESH_DOUBT;
    else
        refresh->next = tests_chance(refresh, path, falls ? late_ns / 2 : late_ns, rate_bps)
                            ? BQL_REFRESH_CHANCE
                            : BQL_REFRESH_NONE;
    return refresh->next != BQL_REFRESH_NONE;
}

/* On a slow path a queue is a few packets, which take longer. */
static uint64_t lasts_ns(const struct bql_path *path)
{
    uint64_t usual_ns = MAX(path->rtt_ns, REFRESH_LASTS_NS);
    if (path->capacity_bps == 0)
        return usual_ns;
    return MAX(usual_ns, transmit_ns(REFRESH_PACKETS * path->packet_bytes, path->capacity_bps));
}

/* Begins a brief one, at the rate returned; 0: it would win nothing. Half the rate takes twice as long as
 * the queue is; as nothing shows before a round trip is over, half of that may pass as well, lest the time
 * between two acks counts. */
static uint64_t begin_brief(struct bql_refresh *refresh, const struct bql_path *path,
                            const struct bql_view *view, uint64_t rate_bps)
{
    uint64_t drains_ns = bql_doubt_most_ns(&refresh->doubt, path, view) + view->target_ns / 4;
    uint64_t takes_ns = MAX(2 * drains_ns, path->rtt_ns / 2);
    bool brief = refresh->why == BQL_REFRESH_DOUBT && takes_ns < path->rtt_ns;
    refresh->brief_ns = brief ? path->now_ns + takes_ns : 0;
    refresh->halves = !brief;
    return brief ? rate_bps - muldiv64(rate_bps, drains_ns, takes_ns) : 0;
}

uint64_t bql_refresh_begin(struct bql_refresh *refresh, struct bql_path *path, const struct bql_view *view,
                           uint64_t rate_bps)
{
    bql_doubt_begin(&refresh->doubt, path, view);
    refresh->why = refresh->next;
    refresh->known = path->step.known;
    refresh->count += refresh->why == BQL_REFRESH_NEEDED || refresh->why == BQL_REFRESH_EARLY;
    uint64_t brief_bps = begin_brief(refresh, path, view, rate_bps);
    bql_retest_begin(&refresh->retest);
    uint64_t tests_ns = bql_retest_lasts_ns(path, rate_bps);
    refresh->start_ns = path->now_ns;
    refresh->end_ns = path->now_ns + (refresh->why == BQL_REFRESH_CHANCE ? tests_ns : lasts_ns(path));
    refresh->before_owd_ns = path_delay_empty_ns(&path->delay) + (int64_t)path_delay_queue_ns(&path->delay);
    refresh->least_owd_ns = INT64_MAX;
    refresh->before_bps = rate_bps;
    refresh->least_bps = 0;
    refresh->most_bps = 0;
    refresh->queue_ns = path_delay_queue_ns(&path->delay);
    bool heeds = bql_heed_doubts(&path->heed, path->now_ns);
    refresh->whole = heeds || path->supposed_ns > 0 || refresh->why == BQL_REFRESH_STEP;
    path->supposed_ns = 0;
    if (heeds)
        bql_heed_try(&path->heed, path->now_ns, refresh->end_ns);
    return brief_bps > 0 ? brief_bps : rate_bps / 2;
}

/* Ends where what it did has shown, or goes on as any other. */
static struct bql_move brief_step(struct bql_refresh *refresh, const struct bql_path *path,
                                  const struct bql_view *view)
{
    if (view->now_ns < refresh->brief_ns)
        return bql_stay();
    if (view->newest_sent_ns < refresh->brief_ns + view->rtt_ns / 8)
        return bql_at_rate(refresh->before_bps);
    refresh->brief_ns = 0;
    bool settled = bql_doubt_settles(&refresh->doubt, path);
    refresh->end_ns = settled ? view->now_ns : view->now_ns + lasts_ns(path);
    refresh->halves = !settled;
    if (!settled)
        bql_retest_begin(&refresh->retest);
    return settled ? bql_to_phase_at(BQL_TRACK, refresh->before_bps) : bql_at_rate(refresh->before_bps / 2);
}

struct bql_move bql_refresh_step(struct bql_refresh *refresh, const struct bql_path *path,
                                 const struct bql_view *view)
{
    if (refresh->brief_ns > 0)
        return brief_step(refresh, path, view);
    /* The path may have become slower just then, which is what asked for it: half of what it takes now. */
    bool before = view->newest_sent_ns < refresh->start_ns && view->capacity_bps > 0 &&
                  refresh->why != BQL_REFRESH_STEP;
    if (before)
        refresh->before_bps = MIN(refresh->before_bps, view->capacity_bps);
    bool seen = path->delay.base_seen_ns == view->now_ns;
    bool tests = refresh->why == BQL_REFRESH_CHANCE && !bql_retest_told(&refresh->retest);
    if (!refresh->whole && !tests && view->now_ns < refresh->end_ns && seen &&
        bql_doubt_allows_end(&refresh->doubt, path))
        refresh->end_ns = view->now_ns;
    if (view->now_ns >= refresh->end_ns)
        return bql_to_phase_at(BQL_TRACK, refresh->before_bps);
    return before ? bql_at_rate(refresh->before_bps / 2) : bql_stay();
}

/* Where most of the queue went, what is left of it is packets that wait for their predecessors, but for what
 * they may wait. Where it did not, so much of it is that as the jitter has grown since the last look, if half the rate
 * was to show the base: others would keep a queue all the same. */
static void raise_base(const struct bql_refresh *refresh, struct bql_path *path)
{
    int64_t empty_ns = path_delay_empty_ns(&path->delay);
    bool looks = refresh->halves && refresh->why != BQL_REFRESH_EARLY;
    int64_t grown_ns = looks ? (int64_t)path_wait_grown_ns(&path->wait) : 0;
    bool went = refresh->least_owd_ns - empty_ns < (int64_t)(refresh->queue_ns / 2);
    int64_t base_ns = went ? refresh->least_owd_ns : MIN(refresh->least_owd_ns, empty_ns + grown_ns);
    if (bql_path_kept_jitter_ns(path) > 0 && (went || grown_ns > 0))
        path_delay_raise_base(&path->delay, base_ns, bql_path_waiting_ns(path));
    if (looks)
        path_wait_on_look(&path->wait);
}

/* A rate that has given way has a long target, of its own making: where the way has become longer it would fall to
 * where that is what it takes for the queue. But a queue of others moves. */
static int64_t allowed_ns(const struct bql_refresh *refresh, const struct bql_path *path,
                          const struct bql_view *view)
{
    int64_t least_ns = (int64_t)(view->target_ns / MOVES_PART);
    int64_t fell_ns = refresh->before_owd_ns - refresh->least_owd_ns;
    if (fell_ns > least_ns || fell_ns < -least_ns)
        return (int64_t)view->target_ns;
    return (int64_t)MIN(view->target_ns, bql_path_usual_target_ns(path, refresh->seen_bps) / 2 * 3);
}

/* What half the rate leaves of a step is the path's, unless more went than the edge keeps in a queue. */
static struct bql_move judge_step(struct bql_refresh *refresh, struct bql_path *path,
                                  const struct bql_view *view)
{
    struct path_known known = refresh->known;
    uint64_t known_bps = known.capacity_bps > 0 ? known.capacity_bps : known.rate_bps;
    uint64_t target_ns = bql_path_target_ns(path, known_bps);
    int64_t most_ns = (int64_t)(target_ns + path_delay_jitter_ns(&path->delay) / STEP_PART);
    bool seen = refresh->least_owd_ns != INT64_MAX;
    bool above =
        seen && refresh->least_owd_ns - path_delay_empty_ns(&path->delay) > (int64_t)(target_ns / STEP_PART);
    int64_t fell_ns = refresh->before_owd_ns - refresh->least_owd_ns;
    bool stays = seen && fell_ns < most_ns;
    uint64_t lasted_ns = elapsed_ns(refresh->end_ns, refresh->start_ns);
    refresh->start_ns = 0;
    path_step_rest(&path->step, view->now_ns + (above && stays ? 0 : STEP_RESTS * lasted_ns));
    if (!above || !stays)
        return bql_stay();
    path_delay_renew_base(&path->delay, refresh->least_owd_ns, view->now_ns);
    path_delay_forget_jump(&path->delay, known.jitter_ns);
    bql_path_interrupt(path, view->now_ns);
    path->capacity_bps = known.capacity_bps;
    path->renewed = true;
    return bql_to_phase_at(BQL_TRACK, known.rate_bps);
}

/* Others may have kept a queue meanwhile, but none above the target for long. One that half the rate makes
 * shorter by a quarter of the time is the edge's own, too long to be gone by then. */
struct bql_move bql_refresh_judge(struct bql_refresh *refresh, struct bql_path *path,
                                  const struct bql_view *view, const struct congestion_sample *sample,
                                  bool lasts)
{
    if (refresh->start_ns == 0)
        return bql_stay();
    if (sample->owd_known && view->newest_sent_ns >= refresh->start_ns)
        refresh->least_owd_ns = MIN(refresh->least_owd_ns, sample->owd_ns);
    if (view->newest_sent_ns >= refresh->start_ns)
        bql_retest_on_sample(&refresh->retest, sample);
    if (lasts || view->newest_sent_ns < refresh->end_ns)
        return bql_stay();
    if (refresh->halves)
        bql_retest_end(&refresh->retest, &path->chance);
    bql_doubt_end(&refresh->doubt, path);
    if (refresh->why == BQL_REFRESH_STEP)
        return judge_step(refresh, path, view);
    bool seen = refresh->least_owd_ns != INT64_MAX;
    bool above =
        seen && refresh->least_owd_ns - path_delay_empty_ns(&path->delay) > allowed_ns(refresh, path, view);
    int64_t lasted_ns = (int64_t)elapsed_ns(refresh->end_ns, refresh->start_ns);
    above = above && refresh->before_owd_ns - refresh->least_owd_ns < lasted_ns / 4;
    if (seen)
        raise_base(refresh, path);
    bool early = refresh->why == BQL_REFRESH_EARLY;
    refresh->above = above ? refresh->above + !early : 0;
    if (refresh->above >= 2 && !early)
        path_delay_renew_base(&path->delay, refresh->least_owd_ns, view->now_ns);
    refresh->start_ns = 0;
    return bql_stay();
}
