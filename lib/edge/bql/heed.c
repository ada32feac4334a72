#include "edge/bql/heed.h"

#include "base/units.h"
#include "edge/bql/move.h"
#include "edge/roots.h"

#define CUT_PPM        200000ULL /* RFC 8511: to 0.8 */
#define CUT_ALL_PPM    300000ULL /* … and by so much more where all are marked */
#define CUT_MAX_PPM    600000ULL
#define GROWTH_PPM     20000ULL
#define GROWTH_MAX_PPM 100000ULL
#define STUCK_NS       (1 * NS_PER_S)
#define DOUBTS_MAX     4

void bql_heed_init(struct bql_heed *heed, uint64_t now_ns)
{
    *heed = (struct bql_heed){.stuck_from_ns = TIME_NEVER};
    path_marks_init(&heed->marks, now_ns);
}

static uint64_t cap_ns(const struct bql_heed *heed, uint64_t rate_bps)
{
    uint64_t once_ns = muldiv64(heed->level_ns, heed->level_bps, MAX(rate_bps, BQL_RATE_MIN_BPS));
    if (once_ns > NS_PER_S)
        return once_ns;
    return muldiv64(once_ns, heed->level_bps, MAX(rate_bps, BQL_RATE_MIN_BPS));
}

uint64_t bql_heed_target_ns(const struct bql_heed *heed, uint64_t rate_bps, const struct bql_heed_span *span)
{
    if (heed->level_ns == 0)
        return span->most_ns;
    return MIN(MAX(cap_ns(heed, rate_bps), span->least_ns), span->most_ns);
}

static uint64_t growth_ppm(uint64_t rate_bps, uint64_t duration_ns)
{
    uint64_t root_millis = square_root(muldiv64(NS_PER_S, BQL_PPM, MAX(rate_bps, BQL_RATE_MIN_BPS)));
    uint64_t growth_ppm = muldiv64(GROWTH_PPM * root_millis / 1000, duration_ns, BQL_HEED_ROUND_NS);
    return MIN(growth_ppm, GROWTH_MAX_PPM);
}

static uint64_t cut_ppm(const struct path_marks_round *round)
{
    uint64_t cut_ppm = CUT_PPM + muldiv64(CUT_ALL_PPM, round->share_ppm, BQL_PPM);
    return MIN(muldiv64(cut_ppm, round->duration_ns, BQL_HEED_ROUND_NS), CUT_MAX_PPM);
}

static void note_stuck(struct bql_heed *heed, bool stuck, uint64_t now_ns)
{
    heed->stuck_from_ns = stuck ? MIN(heed->stuck_from_ns, now_ns) : TIME_NEVER;
    if (!stuck)
        heed->doubts = 0;
}

void bql_heed_on_round(struct bql_heed *heed, const struct path_marks_round *round, uint64_t rate_bps,
                       const struct bql_heed_span *span, uint64_t now_ns)
{
    uint64_t level_ns = bql_heed_target_ns(heed, rate_bps, span);
    bool capped = heed->level_ns > 0;
    heed->marked = round->share_ppm > 0;
    note_stuck(heed, capped && level_ns <= span->least_ns && round->share_ppm > BQL_PPM / 2, now_ns);
    if (path_marks_idle(&heed->marks))
        heed->level_ns = 0;
    if (heed->level_ns == 0 && !heed->marked)
        return;
    if (heed->marked)
        level_ns -= muldiv64(level_ns, cut_ppm(round), BQL_PPM);
    else
        level_ns += muldiv64(level_ns, growth_ppm(rate_bps, round->duration_ns), BQL_PPM);
    heed->level_ns = MAX(level_ns, 1ULL);
    heed->level_bps = rate_bps;
}

bool bql_heed_doubts(const struct bql_heed *heed, uint64_t now_ns)
{
    return elapsed_ns(now_ns, heed->stuck_from_ns) > STUCK_NS << heed->doubts;
}

void bql_heed_try(struct bql_heed *heed, uint64_t now_ns, uint64_t until_ns)
{
    heed->stuck_from_ns = now_ns;
    heed->doubts = MIN(heed->doubts + 1, (uint32_t)DOUBTS_MAX);
    path_marks_try(&heed->marks, now_ns + (until_ns - now_ns) / 2, until_ns);
}
