/* kite2: a probe-rate model LIKE Kite 2 (Future Internet 2019, 11(8), 179, and what its authors say of it).
 * Its internals are not published; this is what the family does, and no measurement of Kite 2 itself.
 *
 * A train of one rate is congested when its packets come further apart, on average, than they left. Halving
 * between the fastest rate that was not and the slowest that was ends when they are as close as was asked
 * for (at 10 Gbit/s it is said to reach 100 Mbit/s); the middle is the estimate. One that goes on begins
 * the next search 10 % around the last result, so it walks after a path that changes. */
#include "base/units.h"
#include "probe/estimators.h"
#include "probe/search.h"

#define PACKETS       200
#define PACKETS_LEAST 100
#define LOST_MAX      0.1 /* share; more is the answer of a full queue */
#define AROUND        0.1 /* of the fastest rate: where the next search begins */
#define NEWEST        0.3 /* share of the newest search in the estimate */

struct kite2 {
    struct search search;
    double max_bps, low_bps, high_bps; /* the bracket */
    bool low_seen, high_seen;          /* a train said so; else it is where the search began */
    double avail_bps;                  /* of the searches that ended; 0: none */
    double half_bps;
    bool at_least;
};

static void begin_search(struct kite2 *kite, double low_bps, double high_bps)
{
    kite->low_bps = low_bps > 0 ? low_bps : 0;
    kite->high_bps = high_bps < kite->max_bps ? high_bps : kite->max_bps;
    kite->low_seen = kite->high_seen = false;
}

static void start(void *state, const struct estimator_goal *goal, uint64_t now_ns)
{
    struct kite2 *kite = state;
    *kite = (struct kite2){.max_bps = (double)search_rate_max(goal)};
    search_start(&kite->search, goal, now_ns);
    begin_search(kite, 0, kite->max_bps);
}

/* The first train of all is as fast as can be: an idle path ends the search there. */
static double rate(const struct kite2 *kite)
{
    bool first = kite->avail_bps == 0 && !kite->high_seen;
    return first ? kite->max_bps : (kite->low_bps + kite->high_bps) / 2;
}

static enum estimator_step next(void *state, uint64_t now_ns, struct train_shape *shape, uint64_t *at_ns)
{
    struct kite2 *kite = state;
    *shape = (struct train_shape){.wire_bytes = kite->search.goal.wire_bytes};
    train_add(shape, PACKETS,
              (uint64_t)rate(kite) + 1 < kite->search.goal.port_bps ? (uint64_t)rate(kite) + 1
                                                                    : kite->search.goal.port_bps);
    return search_next(&kite->search, shape, 1, now_ns, at_ns);
}

static void end_search(struct kite2 *kite, double avail_bps, bool at_least, uint64_t now_ns)
{
    kite->half_bps = (kite->high_bps - kite->low_bps) / 2;
    kite->at_least = at_least;
    bool jumped = !kite->low_seen || !kite->high_seen; /* out of the bracket: older ones don't count */
    kite->avail_bps =
        kite->avail_bps == 0 || jumped ? avail_bps : kite->avail_bps + NEWEST * (avail_bps - kite->avail_bps);
    kite->search.over = search_time_is_up(&kite->search, now_ns);
    begin_search(kite, avail_bps - AROUND * kite->max_bps, avail_bps + AROUND * kite->max_bps);
}

static void take(void *state, const struct train_record *record, uint64_t now_ns)
{
    struct kite2 *kite = state;
    double sent_ns, received_ns, width = (double)kite->search.goal.width_ppm / 1e6;
    if (!search_take(&kite->search, record, PACKETS_LEAST) || !search_gaps(record, &sent_ns, &received_ns))
        return;
    double lost = 1 - (double)record->count / record->sent, tried_bps = rate(kite);
    bool congested = received_ns > sent_ns * (1 + width / 2) || lost > LOST_MAX;
    if (!congested && tried_bps >= kite->max_bps) {
        kite->low_bps = kite->high_bps = kite->max_bps;
        end_search(kite, kite->max_bps, true, now_ns);
        return;
    }
    if (congested) {
        kite->high_bps = tried_bps;
        kite->high_seen = true;
    } else {
        kite->low_bps = tried_bps;
        kite->low_seen = true;
    }
    if (kite->high_bps - kite->low_bps <= 2 * width * kite->max_bps)
        end_search(kite, (kite->low_bps + kite->high_bps) / 2, false, now_ns);
}

static void result(const void *state, uint64_t now_ns, struct estimate *estimate)
{
    const struct kite2 *kite = state;
    (void)now_ns;
    search_result(&kite->search, estimate);
    if (kite->avail_bps == 0)
        return;
    search_value(&kite->search, estimate, kite->avail_bps - kite->half_bps, kite->avail_bps,
                 kite->avail_bps + kite->half_bps);
    if (kite->at_least)
        estimate->kind = ESTIMATE_AT_LEAST;
}

const struct estimator_kind estimator_kite2 = {.name = "kite2",
                                               .bytes = sizeof(struct kite2),
                                               .start = start,
                                               .next = next,
                                               .take = take,
                                               .result = result};
