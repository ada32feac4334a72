#include "probe/sluice_verdict.h"

#include <math.h>

/* A second hop's queue: by so many deviations, of so many trains; what is then said to be there, of what was found. */
#define HOPS_DEVIATIONS 4.5
#define HOPS_TRAINS     2u
#define HOPS_TAIL_LEAST 0.1
#define HOPS_BOUND      0.9
/* No path has more left than it carries: what says so by more than this part was made by something else
 * than a queue. */
#define UNSTEADY_SHARE 0.1
/* Sudden waits that queues hardly explain, of the time. */
#define JUMPS_MOST 0.1
/* Of a shaper's rate: half of its interval. */
#define SHAPER_SHARE 0.02
/* What is available, of the port's rate, from which on no more can be told than that it is there. */
#define PORT_SHARE 0.985

/* Half-width of the interval at 95 %, bit/ns, and the part of it that stamps alone make. */
static double half_width(const struct sluice *sluice, const struct pool_view *view, double *stamps)
{
    double capacity = sluice->path.capacity;
    *stamps = 1.96 * sluice->noise_ns * sqrt(2 * view->edges) * capacity / view->sent_ns;
    double by_capacity = 1.96 * sluice->path.capacity_error * view->balance;
    return sqrt(view->error * view->error + *stamps * *stamps + by_capacity * by_capacity);
}

bool sluice_sure(const struct sluice *sluice)
{
    struct pool_view view;
    double stamps;
    pool_view(&sluice->pool, sluice->path.capacity, sluice->path.capacity_error, sluice->packet_bits,
              sluice->bursty, &view);
    return view.trains > 0 &&
           half_width(sluice, &view, &stamps) * 1e6 <= (double)sluice->goal.width_ppm * sluice->path.capacity;
}

static void refuse(const struct sluice *sluice, struct estimate *estimate)
{
    estimate->kind = ESTIMATE_REFUSED;
    estimate->reason = ESTIMATE_NO_ANSWER;
    if (sluice->spoiled > sluice->lost)
        estimate->reason = sluice->packets_lost > 0 ? ESTIMATE_LOSS : ESTIMATE_DEPARTURES;
    if (sluice->spoiled > sluice->lost && sluice->swallowed > sluice->late)
        estimate->reason = ESTIMATE_BATCHES;
    if (sluice->spoiled > sluice->lost && sluice->stepped > sluice->spoiled / 2)
        estimate->reason = ESTIMATE_CLOCKS;
    if (sluice->jitter > sluice->spoiled)
        estimate->reason = ESTIMATE_JITTER;
}

static void describe(const struct sluice *sluice, uint64_t now_ns, struct estimate *estimate)
{
    *estimate = (struct estimate){
        .stamp_kind = sluice->stamp_kind,
        .capacity_bps = bps_of(sluice->path.capacity),
        .bytes = sluice->budget.bytes,
        .trains = sluice->taken + sluice->idle,
        .discarded = sluice->spoiled + sluice->jitter + sluice->lost,
        .loss_ppm = sluice->packets > 0 ? sluice->packets_lost * 1000000 / sluice->packets : 0};
    if (sluice->packets_lost > 0)
        estimate->flags |= ESTIMATE_LOSSY;
    if (sluice->packets_late > 0)
        estimate->flags |= ESTIMATE_REORDERED;
    if (sluice->batched)
        estimate->flags |= ESTIMATE_BATCHED;
    if (sluice->changed_ns != TIME_NEVER && elapsed_ns(now_ns, sluice->changed_ns) < SLUICE_WINDOW_NS)
        estimate->flags |= ESTIMATE_CHANGED;
}

static void at_least(const struct sluice *sluice, double rate, struct estimate *estimate)
{
    estimate->kind = ESTIMATE_AT_LEAST;
    estimate->avail_bps = estimate->low_bps = bps_of(fmin(rate, bits_ns(sluice->goal.port_bps)));
    estimate->high_bps = 0;
}

/* Cross traffic that some part of what was sent found, against that of the pool: farther apart than the
 * law, the part's two ends, and what is not known of the capacity explain. */
static bool contradicts(const struct sluice *sluice, const struct pool_view *view,
                        const struct conserve_sums *sums, bool rank, double trains, double balance)
{
    double capacity = sluice->path.capacity, ns = sums->sent_ns;
    double law = view->cross * sluice->packet_bits / ns * fmax(view->spread, 1);
    double ends = sluice->packet_bits * sqrt(trains) / ns;
    double stamps = sluice->noise_ns * sqrt(2 * trains) * capacity / ns;
    double known = sluice->path.capacity_error * balance;
    double deviation = sqrt(fmax(law, 0) + ends * ends + stamps * stamps + known * known);
    double cross = conserve_cross_bits(sums, capacity, rank) / ns;
    return fabs(cross - view->cross) > HOPS_DEVIATIONS * deviation;
}

/* One queue tells one cross traffic, whatever is sent into it: the second halves of trains, when their
 * primes' queues are gone elsewhere, and one that was sent faster than what is available, agree with the
 * whole. */
static bool several_hops(const struct sluice *sluice, const struct pool_view *view)
{
    if (sluice->bursty || sluice->batched || view->trains < HOPS_TRAINS)
        return false;
    const struct conserve_sums *overload = &sluice->overload.all;
    bool rank = sluice->overload.evidence > sluice->overload.evidence_weight / 2; /* its own losses */
    if (sluice->overload.steps > 0 &&
        contradicts(sluice, view, overload, rank, 1, fabs(1 - overload->received_ns / overload->sent_ns)))
        return true;
    return view->tail.sent_ns > HOPS_TAIL_LEAST * view->sent_ns &&
           contradicts(sluice, view, &view->tail, view->rank, view->trains, view->balance);
}

static void from_pool(const struct sluice *sluice, struct estimate *estimate)
{
    struct pool_view view;
    double capacity = sluice->path.capacity, port = bits_ns(sluice->goal.port_bps), stamps;
    pool_view(&sluice->pool, capacity, sluice->path.capacity_error, sluice->packet_bits, sluice->bursty,
              &view);
    double avail = capacity - view.cross, half = half_width(sluice, &view, &stamps);
    estimate->from_ns = view.from_ns;
    estimate->until_ns = view.until_ns;
    estimate->busy_ns = (uint64_t)view.sent_ns;
    if (avail - half > (1 + UNSTEADY_SHARE) * capacity + 3 * sluice->path.capacity_error) {
        estimate->kind = ESTIMATE_REFUSED;
        estimate->reason = ESTIMATE_UNSTEADY;
        return;
    }
    if (avail >= PORT_SHARE * port) {
        at_least(sluice, avail - half, estimate);
        return;
    }
    estimate->kind = ESTIMATE_VALUE;
    estimate->avail_bps = bps_of(avail);
    estimate->low_bps = bps_of(avail - half);
    estimate->high_bps = bps_of(avail + half + view.jumps);
    /* What is available is known better than the capacity, and may come out as more. */
    estimate->capacity_bps = MAX(estimate->capacity_bps, estimate->avail_bps);
    if (several_hops(sluice, &view)) {
        double tail_bits = conserve_cross_bits(&view.tail, capacity, view.rank);
        double tail = view.tail.sent_ns > 0 ? capacity - tail_bits / view.tail.sent_ns : avail;
        estimate->high_bps = bps_of(fmax(avail, tail) + half);
        avail = fmin(avail, tail);
        estimate->flags |= ESTIMATE_MULTI_HOP;
        estimate->avail_bps = bps_of(avail);
        estimate->low_bps = bps_of(HOPS_BOUND * avail);
    }
    double asked = (double)sluice->goal.width_ppm / 1e6 * capacity;
    if (asked > 0 && stamps > asked && stamps > view.error) {
        estimate->kind = ESTIMATE_REFUSED;
        estimate->reason = ESTIMATE_NOISE;
    }
    if (view.jumps > JUMPS_MOST * capacity) {
        estimate->kind = ESTIMATE_REFUSED;
        estimate->reason = ESTIMATE_JITTER;
    }
}

static void from_shaper(const struct sluice *sluice, struct estimate *estimate)
{
    const struct shaper *shaper = &sluice->shaper;
    double avail = shaper->rate - shaper->cross, half = SHAPER_SHARE * shaper->rate;
    estimate->kind = ESTIMATE_VALUE;
    estimate->flags |= shaper->drops ? ESTIMATE_POLICER : ESTIMATE_SHAPER;
    estimate->avail_bps = bps_of(avail);
    estimate->low_bps = bps_of(avail - half);
    estimate->high_bps = bps_of(avail + half);
    estimate->capacity_bps = bps_of(shaper->rate);
    estimate->depth_bytes = (uint64_t)(shaper->depth_bits / 8);
    estimate->from_ns = sluice->first_ns;
    estimate->until_ns = sluice->last_ns;
    estimate->trains += sluice->shapers;
}

void sluice_tell(const struct sluice *sluice, uint64_t now_ns, struct estimate *estimate)
{
    describe(sluice, now_ns, estimate);
    uint32_t useless = sluice->spoiled + sluice->jitter + sluice->lost;
    if (sluice->hopeless != ESTIMATE_SURE) {
        estimate->kind = ESTIMATE_REFUSED;
        estimate->reason = (uint8_t)sluice->hopeless;
        return;
    }
    if (sluice->shapers >= SLUICE_SHAPERS_SURE)
        from_shaper(sluice, estimate);
    else if (sluice->pool.count > 0 && sluice->jitter <= sluice->taken)
        from_pool(sluice, estimate);
    else if (sluice->passed > 0 && sluice->jitter == 0) {
        estimate->from_ns = sluice->first_ns;
        estimate->until_ns = sluice->last_ns;
        at_least(sluice, sluice->passed, estimate);
    } else if (useless > 0)
        refuse(sluice, estimate);
}
