#include "probe/known.h"

#include <math.h>

#include "base/units.h"

#define PORT_FULL 0.99
/* No interval is taken for narrower than this share of what it is about: nothing is known forever. */
#define LEAST_SHARE 1e-4

static double seconds(uint64_t from_ns, uint64_t to_ns)
{
    return (double)elapsed_ns(to_ns, from_ns) / (double)NS_PER_S;
}

static double drift_of(const struct known *known)
{
    double whole_bps =
        known->newest.capacity_bps != 0 ? (double)known->newest.capacity_bps : known->avail_bps;
    return known->drift_bps > 0 ? known->drift_bps : KNOWN_DRIFT * whole_bps;
}

static double variance_at(const struct known *known, uint64_t now_ns)
{
    double drift_bps = drift_of(known);
    return known->variance + drift_bps * drift_bps * seconds(known->at_ns, now_ns);
}

static double variance_of(const struct estimate *estimate)
{
    double deviation = (double)(estimate->high_bps - estimate->low_bps) / (2 * KNOWN_SIGMAS);
    deviation = MAX(deviation, LEAST_SHARE * (double)estimate->avail_bps + 1);
    return deviation * deviation;
}

/* All before it does not count. */
static void begin(struct known *known, const struct estimate *estimate, uint64_t at_ns)
{
    known->open = estimate->kind == ESTIMATE_AT_LEAST;
    known->avail_bps = (double)estimate->avail_bps;
    known->variance = known->open ? 0 : variance_of(estimate);
    known->at_ns = at_ns;
}

static bool take_value(struct known *known, const struct estimate *estimate, uint64_t at_ns)
{
    double before = variance_at(known, at_ns), own = variance_of(estimate);
    double innovation = (double)estimate->avail_bps - known->avail_bps;
    bool far = innovation * innovation > KNOWN_CHANGE_SIGMAS * KNOWN_CHANGE_SIGMAS * (before + own);
    bool new_path = (estimate->flags & ESTIMATE_CHANGED) != 0 || (!known->open && far);
    if (known->open || new_path) {
        known->changes += new_path;
        begin(known, estimate, at_ns);
        return true;
    }
    double gain = before / (before + own);
    known->avail_bps += gain * innovation;
    known->variance = before * (1 - gain);
    /* Windows that overlap saw the same: together they are no surer than one. */
    if (estimate->from_ns < known->newest.until_ns)
        known->variance = MAX(known->variance, own);
    known->at_ns = at_ns;
    return true;
}

/* No less than so much. Where that much is known anyway nothing is new. */
static bool take_at_least(struct known *known, const struct estimate *estimate, uint64_t at_ns)
{
    double deviation = sqrt(variance_at(known, at_ns)), least_bps = (double)estimate->avail_bps;
    bool changed = (estimate->flags & ESTIMATE_CHANGED) != 0;
    bool far = !known->open && least_bps > known->avail_bps + KNOWN_CHANGE_SIGMAS * deviation;
    bool holds_more = known->open && least_bps >= known->avail_bps - KNOWN_SIGMAS * deviation;
    known->changes += changed || far;
    if (changed || far || holds_more) {
        begin(known, estimate, at_ns);
        return true;
    }
    if (known->open || least_bps <= known->avail_bps)
        return false;
    known->avail_bps = least_bps;
    return true;
}

bool known_take(struct known *known, const struct estimate *estimate, uint64_t at_ns)
{
    bool value = estimate->kind == ESTIMATE_VALUE, least = estimate->kind == ESTIMATE_AT_LEAST;
    bool first = known->newest.kind == ESTIMATE_NONE;
    if ((!value && !least) || (!first && at_ns < known->at_ns))
        return false;
    if (first)
        begin(known, estimate, at_ns);
    else if (!(value ? take_value(known, estimate, at_ns) : take_at_least(known, estimate, at_ns)))
        return false;
    uint64_t capacity_bps = known->newest.capacity_bps;
    known->newest = *estimate;
    if (estimate->capacity_bps == 0)
        known->newest.capacity_bps = capacity_bps;
    known->taken++;
    return true;
}

struct estimate known_at(const struct known *known, uint64_t now_ns)
{
    struct estimate estimate = known->newest;
    if (estimate.kind == ESTIMATE_NONE)
        return estimate;
    double half_bps = KNOWN_SIGMAS * sqrt(variance_at(known, now_ns));
    double low_bps = MAX(known->avail_bps - half_bps, 0.0), high_bps = known->avail_bps + half_bps;
    if (estimate.capacity_bps != 0)
        high_bps = MIN(high_bps, MAX((double)estimate.capacity_bps, known->avail_bps));
    estimate.avail_bps = (uint64_t)known->avail_bps;
    estimate.low_bps = (uint64_t)low_bps;
    estimate.high_bps = (uint64_t)high_bps;
    estimate.kind = ESTIMATE_VALUE;
    if (known->open) { /* a bound that was true then; by now so much less of it holds */
        estimate.kind = ESTIMATE_AT_LEAST;
        estimate.avail_bps = estimate.low_bps;
        estimate.high_bps = 0;
    }
    return estimate;
}

bool known_wants_train(const struct known *known, uint64_t half_bps, uint64_t port_bps, uint64_t now_ns)
{
    struct estimate now = known_at(known, now_ns);
    switch ((enum estimate_kind)now.kind) {
    case ESTIMATE_VALUE:
        return now.avail_bps - now.low_bps > half_bps || now.high_bps - now.avail_bps > half_bps;
    case ESTIMATE_AT_LEAST:
        return (double)now.avail_bps + (double)half_bps < PORT_FULL * (double)port_bps;
    case ESTIMATE_NONE:
    case ESTIMATE_REFUSED:
        break;
    }
    return true;
}

bool known_data_tells(const struct known *known, uint64_t half_bps, uint64_t port_bps, uint64_t now_ns)
{
    uint64_t enough_bps = MAX(half_bps, (uint64_t)(KNOWN_DATA_SHARE * known->avail_bps));
    bool of_data = known->newest.kind != ESTIMATE_NONE && (known->newest.flags & ESTIMATE_IN_BAND) != 0;
    return of_data && !known_wants_train(known, enough_bps, port_bps, now_ns);
}
