/* yaz (Sommers, Barford, Willinger 2006): streams of one rate, from above. A stream is congested when the
 * mean gap of what came differs from the mean gap of what left by more than a tolerance; the next one's gap
 * is then larger by half of the difference. The first rate within the tolerance is the estimate, and the
 * search begins anew at the fastest rate. It ends there by design: biased upwards by up to the tolerance.
 *
 * The original's tolerance is 1 us, 81 % of a gap at 10 Gbit/s; here it is what was asked for as the
 * interval's half-width, applied to the gap. Pauses are exponential, 50 ms between streams and 500 ms
 * between estimates, as there. */
#include <math.h>

#include "base/rng.h"
#include "base/units.h"
#include "probe/estimators.h"
#include "probe/search.h"

#define PACKETS       50
#define LOST_MAX      1
#define STREAM_NS     (50 * NS_PER_MS)
#define ESTIMATE_NS   (500 * NS_PER_MS)
#define NEWEST        0.3 /* share of the newest estimate in what is told */
#define SLOWEST_SHARE 0.01
#define STEP_LEAST    1.002 /* a search that would not move */

struct yaz {
    struct search search;
    struct rng rng;
    double gap_ns;    /* of the next stream */
    double avail_bps; /* 0: no search has ended */
    bool at_least;
};

static double fastest_gap_ns(const struct estimator_goal *goal)
{
    return goal->wire_bytes * 8 * 1e9 / (double)search_rate_max(goal);
}

static uint64_t pause_ns(struct yaz *yaz, uint64_t mean_ns)
{
    double uniform = ((double)(rng_next(&yaz->rng) >> 11) + 0.5) / (double)(1ULL << 53);
    return (uint64_t)(-log(uniform) * (double)mean_ns);
}

static void start(void *state, const struct estimator_goal *goal, uint64_t now_ns)
{
    struct yaz *yaz = state;
    *yaz = (struct yaz){.gap_ns = fastest_gap_ns(goal)};
    rng_init(&yaz->rng, now_ns);
    search_start(&yaz->search, goal, now_ns);
}

static enum estimator_step next(void *state, uint64_t now_ns, struct train_shape *shape, uint64_t *at_ns)
{
    struct yaz *yaz = state;
    const struct estimator_goal *goal = &yaz->search.goal;
    *shape = (struct train_shape){.wire_bytes = goal->wire_bytes};
    uint64_t rate_bps = (uint64_t)(goal->wire_bytes * 8 * 1e9 / yaz->gap_ns);
    train_add(shape, PACKETS, MIN(rate_bps, goal->port_bps));
    return search_next(&yaz->search, shape, 1, now_ns, at_ns);
}

static void found(struct yaz *yaz, double sent_ns, bool at_least, uint64_t now_ns)
{
    double told_bps = yaz->search.goal.wire_bytes * 8 * 1e9 / sent_ns;
    double rate_bps = fmin(told_bps, (double)search_rate_max(&yaz->search.goal));
    yaz->avail_bps = yaz->avail_bps == 0 ? rate_bps : yaz->avail_bps + NEWEST * (rate_bps - yaz->avail_bps);
    yaz->at_least = at_least;
    yaz->gap_ns = fastest_gap_ns(&yaz->search.goal);
    yaz->search.due_ns = now_ns + pause_ns(yaz, ESTIMATE_NS);
    yaz->search.over = search_time_is_up(&yaz->search, now_ns);
}

static void take(void *state, const struct train_record *record, uint64_t now_ns)
{
    struct yaz *yaz = state;
    struct search *search = &yaz->search;
    double sent_ns, received_ns, width = (double)search->goal.width_ppm / 1e6;
    double fastest_ns = fastest_gap_ns(&search->goal);
    search->due_ns = now_ns + pause_ns(yaz, STREAM_NS);
    if (!search_take(search, record, PACKETS / 2) || !search_gaps(record, &sent_ns, &received_ns))
        return;
    double more_ns = fabs(received_ns - sent_ns);
    if (more_ns <= width * sent_ns && record->sent - record->count <= LOST_MAX) {
        found(yaz, sent_ns, yaz->gap_ns <= fastest_ns, now_ns);
        return;
    }
    double least_ns = sent_ns * STEP_LEAST;
    yaz->gap_ns = fmax(sent_ns + more_ns / 2, least_ns);
    if (yaz->gap_ns * SLOWEST_SHARE > fastest_ns) {
        yaz->gap_ns = fastest_ns;
        search->over = search_time_is_up(search, now_ns);
    }
}

static void result(const void *state, uint64_t now_ns, struct estimate *estimate)
{
    const struct yaz *yaz = state;
    double width = (double)yaz->search.goal.width_ppm / 1e6;
    (void)now_ns;
    search_result(&yaz->search, estimate);
    if (yaz->avail_bps == 0)
        return;
    search_value(&yaz->search, estimate, yaz->avail_bps * (1 - width), yaz->avail_bps,
                 yaz->avail_bps * (1 + width));
    if (yaz->at_least)
        estimate->kind = ESTIMATE_AT_LEAST;
}

const struct estimator_kind estimator_yaz = {
    .name = "yaz", .bytes = sizeof(struct yaz), .start = start, .next = next, .take = take, .result = result};
