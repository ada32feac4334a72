#include "edge/bql/park.h"

#include "base/units.h"

#define PARK_ROUNDS     10
#define PARK_ROUNDS_MIN 2
#define PARK_MAX_NS     (5 * NS_PER_S)
#define PARKED_RTTS     20
#define OLD_NS          (10 * NS_PER_S)
#define LOWER_PERCENT   93                 /* of the rate: lower tells what is chance … */
#define DEEP_PERCENT    50                 /* … or so much, where it is not plausible … */
#define DEEP_NS         (9 * NS_PER_S / 2) /* … for so long */
#define DEEP_RTTS       45
#define DEEP_SHORT_RTTS 75    /* … or, of a short path, so long */
#define DEPTH_PACKETS   16ULL /* of a round trip, at least */
#define DEEPEST_PART    16
#define NEAR_PART       4 /* below that of it a rate is not near */

void bql_ceiling_init(struct bql_ceiling *ceiling)
{
    *ceiling = (struct bql_ceiling){.rounds = PARK_ROUNDS};
}

bool bql_ceiling_near(const struct bql_ceiling *ceiling, const struct bql_view *view, uint64_t rate_bps)
{
    bool same = ceiling->rounds > PARK_ROUNDS;
    bool long_ago = view->now_ns > ceiling->parked_ns + PARK_MAX_NS + PARKED_RTTS * view->rtt_ns;
    return !long_ago && rate_bps >= ceiling->bps / NEAR_PART &&
           rate_bps < ceiling->bps + ceiling->bps / (same ? 2 : 8);
}

bool bql_ceiling_reached(const struct bql_ceiling *ceiling, uint64_t rate_bps)
{
    return rate_bps > ceiling->bps / 100 * 97 && rate_bps < ceiling->bps / 2 * 3;
}

bool bql_ceiling_is_old(const struct bql_ceiling *ceiling, const struct bql_path *path)
{
    return elapsed_ns(path->now_ns, ceiling->parked_ns) > MAX(OLD_NS, PARKED_RTTS * path->rtt_ns);
}

/* What the path takes, and the rate to park at. */
static uint64_t set_ceiling(struct bql_park *park, struct bql_ceiling *ceiling, struct bql_path *path,
                            uint64_t capacity_bps)
{
    park->rounds = 0;
    ceiling->parked_ns = path->now_ns;
    ceiling->bps = capacity_bps;
    path->capacity_bps = capacity_bps;
    return muldiv64(capacity_bps, BQL_PARK_PPM, BQL_PPM);
}

uint64_t bql_park_begin(struct bql_park *park, struct bql_ceiling *ceiling, struct bql_path *path,
                        const struct bql_loss *loss, uint64_t capacity_bps, const struct bql_start *start,
                        uint64_t rate_bps)
{
    *park = (struct bql_park){.began_ns = path->now_ns,
                              .before_bps = rate_bps,
                              .first_loss_ppm = loss->loss_ppm,
                              .first_packets = loss->packets};
    if (start != NULL) {
        park->compared = *loss;
        park->starting = start->before_bps == 0;
        park->start = *start;
    }
    if (capacity_bps == 0)
        capacity_bps = bql_chance_sent_bps(&path->chance, MAX(loss->delivered_bps, path->delivered_bps));
    return set_ceiling(park, ceiling, path, capacity_bps);
}

/* At least three quarters of what the round lost that others are compared with. */
static bool similar_loss(const struct bql_park *park, const struct bql_loss *loss)
{
    return park->compared.delivered_bps > 0 &&
           loss->loss_ppm >= park->compared.loss_ppm - park->compared.loss_ppm / 4;
}

/* Long enough for all of a crowd to have gone lower. */
static bool lasted(const struct bql_park *park, const struct bql_path *path)
{
    return elapsed_ns(path->now_ns, park->began_ns) >=
           MAX(MIN(DEEP_NS, DEEP_SHORT_RTTS * path->rtt_ns), DEEP_RTTS * path->rtt_ns);
}

/* What may be chance leads no further down than is needed to show it. */
static uint64_t least_bps(const struct bql_park *park, const struct bql_path *path,
                          const struct bql_loss *loss)
{
    bool may_be = bql_chance_may_take(loss->loss_ppm, MAX(loss->packets, 1ULL));
    return may_be && !lasted(park, path) ? park->before_bps / DEEPEST_PART : 0;
}

uint64_t bql_park_lower(struct bql_park *park, struct bql_ceiling *ceiling, struct bql_path *path,
                        const struct bql_loss *loss, uint64_t rate_bps)
{
    if (!similar_loss(park, loss))
        park->compared = *loss;
    if (park->first_bps == 0)
        park->first_bps = loss->delivered_bps;
    uint64_t capacity_bps = bql_chance_sent_bps(&path->chance, loss->delivered_bps);
    uint64_t lower_bps = MIN(set_ceiling(park, ceiling, path, capacity_bps), rate_bps / 10 * 9);
    return MAX(lower_bps, MIN(rate_bps, least_bps(park, path, loss)));
}

struct bql_move bql_park_step(struct bql_park *park, const struct bql_ceiling *ceiling,
                              const struct bql_path *path, const struct bql_view *view)
{
    if (view->predicted_ns > 2 * view->target_ns)
        return bql_to_phase(BQL_TRACK);
    /* Rounds of few packets take many times as long as an RTT. */
    uint64_t parked_ns = elapsed_ns(view->now_ns, ceiling->parked_ns);
    bool long_enough = bql_path_is_sparse(path) && park->rounds >= PARK_ROUNDS_MIN &&
                       parked_ns > 3 * ceiling->rounds * view->rtt_ns / 2;
    return park->rounds >= ceiling->rounds || long_enough ? bql_to_phase(BQL_CALM) : bql_stay();
}

static bool nearly_same(uint64_t a, uint64_t b)
{
    return excess_of(a, b) < a / 16 && excess_of(b, a) < a / 16;
}

/* A lower rate than what the path was thought to take loses nothing. That much it takes, then; where it is
 * the same again, the next try waits twice as long. */
static struct bql_move settle_rate(struct bql_ceiling *ceiling, const struct bql_view *view,
                                   uint64_t rate_bps)
{
    uint64_t rounds_max = PARK_MAX_NS / MAX(view->rtt_ns, NS_PER_MS);
    rounds_max = MAX(rounds_max, 2ULL * PARK_ROUNDS);
    ceiling->rounds = nearly_same(ceiling->bps, ceiling->settled_bps)
                          ? (uint32_t)MIN(2ULL * ceiling->rounds, rounds_max)
                          : PARK_ROUNDS;
    ceiling->settled_bps = ceiling->bps;
    return bql_at_rate(MAX(rate_bps, muldiv64(ceiling->bps, BQL_PARK_PPM, BQL_PPM)));
}

/* Below what the path takes nothing gets lost: the queue at which it did is more than the buffer holds. */
static void learn_buffer(const struct bql_park *park, struct bql_path *path, const struct bql_view *view)
{
    /* What is seen of a queue now is jitter that waits for its predecessors. */
    uint64_t empty_ns = bql_path_kept_jitter_ns(path) > 0 ? view->queue_ns : 0;
    path_delay_shift_base(&path->delay, bql_path_waiting_ns(path));
    bql_path_learn_buffer(path, elapsed_ns(park->queue_ns, empty_ns));
}

struct bql_move bql_park_on_quiet_round(struct bql_park *park, struct bql_ceiling *ceiling,
                                        struct bql_path *path, const struct bql_view *view, uint64_t rate_bps)
{
    if (park->rounds == 1)
        return settle_rate(ceiling, view, rate_bps);
    if (park->rounds == 3)
        learn_buffer(park, path, view);
    return bql_stay();
}

void bql_park_forgive(const struct bql_park *park, struct bql_ceiling *ceiling,
                      const struct bql_chance *chance, uint64_t packets)
{
    if (park->first_loss_ppm <= bql_chance_likely_ppm(chance, packets))
        ceiling->rounds = park->rounds;
}

/* More than anything has shown yet, and not the first that is seen of the path. Where a round trip has few packets
 * rounds swing by more than what is plausible; where the path was the edge's own any lower rate tells. */
static bool takes_depth(const struct bql_park *park, const struct bql_path *path, const struct bql_loss *loss)
{
    bool few = bytes_within(park->before_bps, path->rtt_ns) < DEPTH_PACKETS * path->packet_bytes;
    return !few && !park->alone && !park->starting &&
           !bql_chance_plausible(&path->chance, loss->loss_ppm, MAX(loss->packets, 1ULL));
}

/* Loss by chance takes its share of whatever is sent: deliveries fall as much as the rate. A policer lets
 * pass what it lets pass. */
static bool by_chance(const struct bql_park *park, const struct bql_loss *loss, uint64_t below_percent)
{
    if (!similar_loss(park, loss) || !bql_chance_may_take(loss->loss_ppm, MAX(loss->packets, 1ULL)))
        return false;
    uint64_t delivered_bps = park->compared.delivered_bps;
    uint64_t sent_bps =
        muldiv64(loss->delivered_bps, BQL_PPM, BQL_PPM - MIN((uint64_t)loss->loss_ppm, BQL_PPM / 2));
    uint64_t before_bps =
        muldiv64(delivered_bps, BQL_PPM, BQL_PPM - MIN((uint64_t)park->compared.loss_ppm, BQL_PPM / 2));
    uint64_t if_chance_bps = muldiv64(delivered_bps, sent_bps, MAX(before_bps, 1ULL));
    return sent_bps < before_bps / 100 * below_percent &&
           loss->delivered_bps < (delivered_bps + if_chance_bps) / 2;
}

/* What led here was nothing. */
static struct bql_move go_back(const struct bql_park *park, uint64_t rate_bps)
{
    struct bql_move back = bql_to_phase_at(park->starting ? BQL_START : BQL_CALM, rate_bps);
    back.waits = true;
    return back;
}

struct bql_move bql_park_on_loss(struct bql_park *park, struct bql_ceiling *ceiling, struct bql_path *path,
                                 const struct bql_loss *loss, uint64_t rate_bps)
{
    bool deep = takes_depth(park, path, loss);
    bool may_show = !deep || lasted(park, path);
    if (!may_show || !by_chance(park, loss, deep ? DEEP_PERCENT : LOWER_PERCENT)) {
        struct bql_move lower = bql_to_phase(BQL_PARK);
        lower.loss = *loss;
        return lower;
    }
    bql_chance_on_proof(&path->chance, loss->loss_ppm, loss->packets);
    if (deep || park->starting)
        bql_chance_on_shown(&path->chance);
    ceiling->bps = 0;
    path_delay_shift_base(&path->delay, bql_path_waiting_ns(path));
    if (deep)
        return go_back(park, MIN(2 * rate_bps, park->before_bps));
    /* Not all of what had been lost before was. */
    if (loss->loss_ppm < park->first_loss_ppm / 2) {
        ceiling->bps = bql_chance_sent_bps(&path->chance, park->first_bps);
        return bql_to_phase_at(BQL_CALM, MAX(rate_bps, muldiv64(ceiling->bps, BQL_PARK_PPM, BQL_PPM)));
    }
    return go_back(park, MAX(rate_bps, park->before_bps));
}

bool bql_park_was_chance(const struct bql_park *park, const struct bql_chance *chance)
{
    return chance->known >= BQL_TRIAL_PACKETS && park->first_packets > 0 &&
           park->first_loss_ppm <= bql_chance_likely_ppm(chance, park->first_packets);
}

struct bql_move bql_park_release(const struct bql_park *park, struct bql_ceiling *ceiling, uint64_t rate_bps)
{
    ceiling->bps = 0;
    return go_back(park, MAX(rate_bps, park->before_bps));
}
