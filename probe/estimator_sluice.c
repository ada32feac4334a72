/* Estimator `sluice`: no search. A first train tells capacity and cross traffic at once (contact); what it leaves open one
 * train around the rate that it found settles (refine), or, of a measurement that has a period, many short ones spread
 * over it (spread). Every train's cross bits come from the conservation law (conserve.h) and go into one pool, which
 * says how sure it is. One that goes on for ever spreads, forgets after a while, and begins anew when the path changes. */
#include <math.h>

#include "base/rng.h"
#include "base/units.h"
#include "probe/budget.h"
#include "probe/estimators.h"
#include "probe/pool.h"
#include "probe/profile.h"
#include "probe/reading.h"
#include "probe/tracker.h"

/* Trains of the first look; where packets come in batches, longer by as much as it takes to see a rate. */
#define CONTACT_PRIME         32u
#define CONTACT_PACKETS       200u
#define CONTACT_BATCH_PRIME   128u
#define CONTACT_BATCH_PACKETS 384u
#define CONTACT_TRIES         3u
#define REFINE_PRIME          24u
#define REFINE_BATCH_PRIME    96u
#define REFINE_LEAST          200u
#define REFINE_MOST           670u
#define REFINE_BATCH_MOST     1100u
#define REFINE_NS             (2500 * NS_PER_US)
#define REFINE_BATCH_NS       (8 * NS_PER_MS)
/* All of a spread train may stand in the queue when the cross traffic wants it so. */
#define SPREAD_QUEUE_BYTES  249000u
#define SPREAD_BATCHES      16u /* that a train has at least */
#define SPREAD_LEAST        40u
#define SPREAD_TRAINS       100u
#define SPREAD_TRAINS_LEAST 25u
#define SPREAD_TRAINS_MOST  400u
#define UNDER_WAY_MAX       12u
/* One that goes on: what it looks back on, and between two trains. */
#define WINDOW_NS       (10 * NS_PER_S)
#define INTERVAL_NS     (100 * NS_PER_MS)
#define INTERVAL_MAX_NS NS_PER_S
#define LOAD_SHARE      0.8 /* of the load allowed, that its trains take */
/* A prime's queue stands above the stamps' noise by so much. */
#define NOISE_DEVIATIONS   20
#define NOISE_PACKETS_MOST 128
/* Least rate around which a train is sent, of the capacity: it comes to an end. */
#define RATE_LEAST 0.08
/* What is available, of the port's rate, from which on no more can be told than that it is there. */
#define PORT_SHARE 0.985
/* Trains differ by more than so many times the law's variance: cross traffic changes too much to follow. */
#define BURSTY_TRAINS 6u
#define BURSTY_SPREAD 4.0
/* A train's capacity, and its value, are no better than this part of it, for what is judged a change. */
#define CHANGE_SHARE 0.003
/* Random walk of what is available that is no change: of the capacity, over a second. */
#define WALK_SHARE 0.02

enum phase { CONTACT, REFINE, SPREAD, OVER };

struct sluice {
    struct estimator_goal goal;
    struct profile profile;
    struct rng rng;
    struct budget budget;
    enum phase phase;
    uint64_t begin_ns, end_ns; /* TIME_NEVER: none is asked for */
    uint64_t slot_begin_ns, slot_ns,
        at_ns;                  /* of spread: the running slot, its length, when its train leaves */
    uint64_t sent_ns, round_ns; /* the last train; from a train to its report */
    uint64_t changed_ns;        /* TIME_NEVER: never */
    uint64_t first_ns, last_ns; /* of trains that found nothing queued */
    uint32_t sent, under_way, tries, lost, spoiled, jitter, idle, taken;
    uint64_t packets, packets_lost, packets_late;
    bool bursty, batched, sized;
    struct reading_path path;
    double packet_bits, noise_ns, passed; /* the greatest rate that queued nowhere */
    struct tracker avail, capacity;
    struct pool pool;
    struct reading reading;
    struct probe_points points;
};

static double bits_ns(uint64_t bps)
{
    return (double)bps / 1e9;
}

static uint64_t bps_of(double bits)
{
    return bits > 0 ? (uint64_t)(bits * 1e9 + 0.5) : 0;
}

static void start(void *state, const struct estimator_goal *goal, uint64_t now_ns)
{
    struct sluice *sluice = state;
    *sluice = (struct sluice){
        .goal = *goal,
        .profile = {goal->port_bps, goal->wire_bytes},
        .begin_ns = now_ns,
        .changed_ns = TIME_NEVER,
        .end_ns = goal->continuous || goal->duration_ns == 0 ? TIME_NEVER : now_ns + goal->duration_ns,
        .packet_bits = goal->wire_bytes * 8.0,
        .batched = goal->receiver.batch > 1};
    rng_init(&sluice->rng, now_ns ^ goal->port_bps);
    budget_init(&sluice->budget, goal->bytes_max, goal->load_ppm);
}

/* Bit/ns that are available, as far as is known. */
static double available(const struct sluice *sluice)
{
    struct pool_view view;
    double port = bits_ns(sluice->goal.port_bps);
    if (sluice->path.capacity <= 0)
        return port;
    if (sluice->pool.count == 0)
        return fmin(port,
                    fmax(sluice->path.capacity - sluice->path.cross, RATE_LEAST * sluice->path.capacity));
    pool_view(&sluice->pool, sluice->path.capacity, sluice->packet_bits, sluice->bursty, &view);
    return fmin(port, fmax(sluice->path.capacity - view.cross, RATE_LEAST * sluice->path.capacity));
}

/* More packets of a prime, so that noise of stamps does not hide its queue. */
static uint32_t noise_packets(const struct sluice *sluice)
{
    double bits = NOISE_DEVIATIONS * sluice->noise_ns * bits_ns(sluice->goal.port_bps);
    if (sluice->path.capacity > 0)
        bits = NOISE_DEVIATIONS * sluice->noise_ns * sluice->path.capacity;
    return (uint32_t)fmin(bits / sluice->packet_bits, NOISE_PACKETS_MOST);
}

static void contact_shape(const struct sluice *sluice, struct train_shape *shape)
{
    uint64_t top_bps = sluice->goal.receiver_bps > 0 ? sluice->goal.receiver_bps : sluice->goal.port_bps;
    bool batched = sluice->batched;
    uint32_t prime = batched ? CONTACT_BATCH_PRIME : CONTACT_PRIME + noise_packets(sluice);
    profile_contact(&sluice->profile, top_bps, prime, batched ? CONTACT_BATCH_PACKETS : CONTACT_PACKETS,
                    shape);
}

static uint32_t affordable(const struct sluice *sluice, uint32_t packets)
{
    return (uint32_t)MIN((uint64_t)packets, budget_left(&sluice->budget) / sluice->goal.wire_bytes);
}

static void refine_shape(const struct sluice *sluice, struct train_shape *shape)
{
    double rate = available(sluice), most_ns = sluice->batched ? REFINE_BATCH_NS : REFINE_NS;
    uint32_t prime = sluice->batched ? REFINE_BATCH_PRIME : REFINE_PRIME + noise_packets(sluice);
    double fitting = most_ns * rate / sluice->packet_bits;
    double most = sluice->batched ? REFINE_BATCH_MOST : REFINE_MOST;
    uint32_t packets = affordable(sluice, prime + (uint32_t)fmin(fmax(fitting, REFINE_LEAST), most));
    prime = MIN(prime, packets / 4);
    profile_around(&sluice->profile, bps_of(rate), prime, packets - prime, shape);
}

/* A prime that makes a queue of two deviations of the cross traffic over the rest of the train. */
static uint32_t prime_of(const struct sluice *sluice, double rate, uint32_t packets)
{
    double cross_packets = fmax(sluice->path.cross, 0) * packets / rate;
    double queue = 2 * sqrt(cross_packets) + 4 + noise_packets(sluice);
    double kept = fmax(1 - rate / bits_ns(sluice->goal.port_bps), 0.05);
    return (uint32_t)fmin(fmax(queue / kept, 8), packets / 2);
}

static uint32_t spread_packets(const struct sluice *sluice)
{
    uint64_t queue = sluice->goal.queue_bytes_max > 0 ? sluice->goal.queue_bytes_max : SPREAD_QUEUE_BYTES;
    uint64_t bytes = MIN(queue, (uint64_t)SPREAD_QUEUE_BYTES);
    if (sluice->goal.bytes_max > 0)
        bytes = MIN(
            bytes, MAX(sluice->goal.bytes_max / SPREAD_TRAINS_LEAST, SPREAD_LEAST * sluice->goal.wire_bytes));
    uint32_t batches = sluice->batched ? SPREAD_BATCHES * MIN(sluice->goal.receiver.batch, 32u) : 0;
    return MAX((uint32_t)(bytes / sluice->goal.wire_bytes), batches);
}

static void spread_shape(const struct sluice *sluice, struct train_shape *shape)
{
    uint32_t packets = spread_packets(sluice);
    double rate = available(sluice);
    if (sluice->bursty && sluice->path.capacity > 0) {
        profile_flat(&sluice->profile, bps_of(sluice->path.capacity), packets, shape);
        return;
    }
    uint32_t prime = prime_of(sluice, rate, packets);
    profile_around(&sluice->profile, bps_of(rate), prime, packets - prime, shape);
}

static void shape_of(const struct sluice *sluice, struct train_shape *shape)
{
    switch (sluice->phase) {
    case CONTACT:
        contact_shape(sluice, shape);
        break;
    case REFINE:
        refine_shape(sluice, shape);
        break;
    case SPREAD:
    case OVER:
        spread_shape(sluice, shape);
        break;
    }
}

/* Where the next slot's train leaves: anywhere in it, so that nothing periodic can keep in step. */
static void next_slot(struct sluice *sluice)
{
    uint64_t train_ns = NS_PER_MS;
    sluice->slot_begin_ns += sluice->slot_ns;
    uint64_t room_ns = sluice->slot_ns > 2 * train_ns ? sluice->slot_ns - train_ns : sluice->slot_ns / 2;
    sluice->at_ns = sluice->slot_begin_ns + rng_below(&sluice->rng, room_ns + 1);
}

/* Time from one train's begin to the next one's. */
static uint64_t slot_length(const struct sluice *sluice, uint64_t now_ns)
{
    uint64_t train_bytes = (uint64_t)spread_packets(sluice) * sluice->goal.wire_bytes;
    double capacity = sluice->path.capacity > 0 ? sluice->path.capacity : bits_ns(sluice->goal.port_bps);
    double load = LOAD_SHARE * sluice->goal.load_ppm / 1e6 * capacity;
    uint64_t least_ns = load > 0 ? (uint64_t)((double)train_bytes * 8 / load) : 0;
    if (sluice->goal.continuous)
        return MIN(MAX(least_ns, INTERVAL_NS), MAX(INTERVAL_MAX_NS, least_ns));
    if (sluice->end_ns == TIME_NEVER)
        return MAX((uint64_t)(4 * train_bytes * 8 / available(sluice)), 2 * NS_PER_MS);
    uint64_t left_ns = elapsed_ns(sluice->end_ns, now_ns + sluice->round_ns);
    uint64_t trains = sluice->goal.bytes_max > 0 ? budget_left(&sluice->budget) / train_bytes : SPREAD_TRAINS;
    trains = MIN(MAX(trains, (uint64_t)1), (uint64_t)SPREAD_TRAINS_MOST);
    return MAX(left_ns / trains, 2 * NS_PER_MS);
}

static void begin_spread(struct sluice *sluice, uint64_t now_ns)
{
    sluice->phase = SPREAD;
    sluice->slot_ns = slot_length(sluice, now_ns);
    sluice->slot_begin_ns = now_ns - MIN(now_ns, sluice->slot_ns);
    next_slot(sluice);
}

static bool may_send(struct sluice *sluice, uint64_t now_ns)
{
    if (sluice->phase == CONTACT || sluice->phase == REFINE)
        return sluice->under_way == 0;
    return sluice->phase == SPREAD && sluice->under_way < UNDER_WAY_MAX && sluice->at_ns <= now_ns;
}

/* The last train of a period has left, or cannot be paid for. */
static bool spent(const struct sluice *sluice, uint64_t now_ns)
{
    if (sluice->phase != SPREAD || sluice->goal.continuous)
        return sluice->phase == OVER;
    uint64_t train_bytes = (uint64_t)spread_packets(sluice) * sluice->goal.wire_bytes;
    if (budget_left(&sluice->budget) < train_bytes)
        return true;
    if (sluice->end_ns == TIME_NEVER)
        return sluice->sent >= SPREAD_TRAINS;
    return now_ns + sluice->round_ns >= sluice->end_ns || sluice->at_ns + sluice->round_ns >= sluice->end_ns;
}

static enum estimator_step next(void *state, uint64_t now_ns, struct train_shape *shape, uint64_t *at_ns)
{
    struct sluice *sluice = state;
    *at_ns = TIME_NEVER;
    if (spent(sluice, now_ns))
        return sluice->under_way == 0 ? ESTIMATOR_DONE : ESTIMATOR_WAIT;
    if (!may_send(sluice, now_ns)) {
        if (sluice->phase == SPREAD && sluice->under_way < UNDER_WAY_MAX)
            *at_ns = sluice->at_ns;
        return ESTIMATOR_WAIT;
    }
    shape_of(sluice, shape);
    uint64_t when_ns = now_ns;
    if (sluice->phase == SPREAD)
        when_ns = budget_when(&sluice->budget, train_bytes(shape), sluice->path.capacity * 1e9, now_ns);
    if (when_ns > now_ns) {
        *at_ns = when_ns;
        return ESTIMATOR_WAIT;
    }
    budget_spend(&sluice->budget, train_bytes(shape), now_ns);
    sluice->under_way++;
    sluice->sent++;
    sluice->sent_ns = *at_ns = now_ns;
    if (sluice->phase == SPREAD)
        next_slot(sluice);
    return ESTIMATOR_TRAIN;
}

/* Half-width of the interval at 95 %, bit/ns, and the part of it that stamps alone make. */
static double half_width(const struct sluice *sluice, const struct pool_view *view, double *stamps)
{
    double capacity = sluice->path.capacity;
    *stamps = 1.96 * sluice->noise_ns * sqrt(2 * view->edges) * capacity / view->sent_ns;
    double by_capacity = 1.96 * sluice->path.capacity_error * view->balance;
    return sqrt(view->error * view->error + *stamps * *stamps + by_capacity * by_capacity);
}

static bool sure_enough(const struct sluice *sluice)
{
    struct pool_view view;
    double stamps;
    pool_view(&sluice->pool, sluice->path.capacity, sluice->packet_bits, sluice->bursty, &view);
    return view.trains > 0 &&
           half_width(sluice, &view, &stamps) * 1e6 <= (double)sluice->goal.width_ppm * sluice->path.capacity;
}

static void advance(struct sluice *sluice, bool useful, uint64_t now_ns)
{
    switch (sluice->phase) {
    case CONTACT:
        if (!useful && ++sluice->tries < CONTACT_TRIES)
            return;
        if (!useful && !sluice->goal.continuous)
            sluice->phase = OVER;
        else if (useful && sluice->end_ns == TIME_NEVER && !sluice->goal.continuous)
            sluice->phase = REFINE;
        else
            begin_spread(sluice, now_ns);
        return;
    case REFINE:
        if (!useful && ++sluice->tries < CONTACT_TRIES)
            return;
        if (!useful || sure_enough(sluice) || sluice->pool.count == 0)
            sluice->phase = OVER;
        else
            begin_spread(sluice, now_ns);
        return;
    case SPREAD:
        if (sluice->end_ns == TIME_NEVER && !sluice->goal.continuous && sure_enough(sluice))
            sluice->phase = OVER;
        return;
    case OVER:
        return;
    }
}

/* The path is another one: everything about it is learned anew. */
static void forget(struct sluice *sluice, uint64_t now_ns)
{
    sluice->changed_ns = now_ns;
    sluice->path = (struct reading_path){0};
    sluice->avail = sluice->capacity = (struct tracker){0};
    sluice->bursty = false;
    sluice->idle = sluice->tries = 0;
    sluice->passed = 0;
    pool_clear(&sluice->pool);
    sluice->phase = CONTACT;
}

/* Of one that goes on: whether this train is of the path that the others were of. */
static enum tracker_verdict same_path(struct sluice *sluice, uint64_t now_ns)
{
    const struct conserve *fit = &sluice->reading.fit;
    double capacity = sluice->path.capacity, share = CHANGE_SHARE * capacity;
    const struct fingerprint *spacing = &sluice->reading.spacing;
    if (spacing->capacity > 0) {
        double error = spacing->error * spacing->error + share * share;
        enum tracker_verdict verdict = tracker_take(&sluice->capacity, spacing->capacity, error, 0, now_ns);
        if (verdict != TRACKER_TAKEN)
            return verdict;
    }
    struct pool_view view;
    pool_view(&sluice->pool, capacity, sluice->packet_bits, sluice->bursty, &view);
    if (view.trains < BURSTY_TRAINS || fit->sent_ns <= 0)
        return TRACKER_TAKEN;
    double cross = conserve_cross_bits(fit, capacity, view.rank) / fit->sent_ns;
    double law = fmax(cross, view.cross) * sluice->packet_bits / fit->sent_ns * fmax(view.spread, 1);
    double packet = sluice->packet_bits / fit->sent_ns;
    double stamps = sluice->noise_ns * capacity / fit->sent_ns;
    double walk = WALK_SHARE * capacity * WALK_SHARE * capacity / (double)NS_PER_S;
    return tracker_take(&sluice->avail, capacity - cross,
                        law + packet * packet + share * share + stamps * stamps, walk, now_ns);
}

static void judge_bursty(struct sluice *sluice)
{
    struct pool_view view;
    if (sluice->bursty || sluice->phase != SPREAD || sluice->pool.count < BURSTY_TRAINS)
        return;
    pool_view(&sluice->pool, sluice->path.capacity, sluice->packet_bits, false, &view);
    if (view.spread < BURSTY_SPREAD)
        return;
    sluice->bursty = true;
    if (!sluice->goal.continuous)
        pool_clear(&sluice->pool); /* its trains saw unlike parts of what differs so much */
}

static void note(struct sluice *sluice, const struct train_record *record)
{
    sluice->packets += record->sent;
    sluice->packets_lost += sluice->points.lost;
    sluice->packets_late += sluice->points.late;
    sluice->batched = sluice->batched || sluice->points.batch > 1;
    sluice->noise_ns = fmax(sluice->noise_ns, sluice->points.noise_ns);
}

static bool take_good(struct sluice *sluice, const struct train_record *record,
                      const struct reading_path *before, uint64_t now_ns)
{
    enum tracker_verdict verdict = sluice->goal.continuous ? same_path(sluice, now_ns) : TRACKER_TAKEN;
    if (verdict == TRACKER_CHANGED) {
        forget(sluice, now_ns);
        return false;
    }
    if (verdict == TRACKER_TAKEN) {
        sluice->taken++;
        pool_add(&sluice->pool, &sluice->reading.fit, (uint32_t)train_bytes(&record->shape));
        judge_bursty(sluice);
    } else if (verdict == TRACKER_HELD) {
        sluice->path = *before;
    }
    if (sluice->goal.continuous)
        pool_forget(&sluice->pool, now_ns - MIN(now_ns, WINDOW_NS));
    return true;
}

static void take(void *state, const struct train_record *record, uint64_t now_ns)
{
    struct sluice *sluice = state;
    sluice->under_way -= sluice->under_way > 0;
    if (record == NULL) {
        sluice->lost++;
        advance(sluice, false, now_ns);
        return;
    }
    sluice->round_ns = elapsed_ns(now_ns, record->start_ns);
    struct reading_path before = sluice->path;
    enum reading_verdict verdict = reading_take(&sluice->reading, &sluice->points, &sluice->path, record);
    if (verdict != READING_SPOILED)
        note(sluice, record);
    bool useful = true;
    switch (verdict) {
    case READING_GOOD:
        useful = take_good(sluice, record, &before, now_ns);
        break;
    case READING_IDLE:
        sluice->passed = fmax(sluice->passed, sluice->reading.passed);
        sluice->first_ns = sluice->idle++ == 0 ? record->start_ns : sluice->first_ns;
        sluice->last_ns = record->start_ns + train_duration_ns(&record->shape);
        break;
    case READING_SPOILED:
        sluice->spoiled++;
        useful = false;
        break;
    case READING_JITTER:
        sluice->jitter++;
        useful = false;
        break;
    }
    if (verdict != READING_GOOD || useful)
        advance(sluice, useful, now_ns);
}

static void refuse(const struct sluice *sluice, struct estimate *estimate)
{
    estimate->kind = ESTIMATE_REFUSED;
    estimate->reason = ESTIMATE_NO_ANSWER;
    if (sluice->spoiled > sluice->lost)
        estimate->reason = sluice->packets_lost > 0 ? ESTIMATE_LOSS : ESTIMATE_DEPARTURES;
    if (sluice->jitter > sluice->spoiled)
        estimate->reason = ESTIMATE_JITTER;
}

static void describe(const struct sluice *sluice, uint64_t now_ns, struct estimate *estimate)
{
    *estimate = (struct estimate){
        .stamp_kind = MIN(sluice->goal.sender.stamp_kind, sluice->goal.receiver.stamp_kind),
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
    if (sluice->changed_ns != TIME_NEVER && elapsed_ns(now_ns, sluice->changed_ns) < WINDOW_NS)
        estimate->flags |= ESTIMATE_CHANGED;
}

static void at_least(const struct sluice *sluice, double rate, struct estimate *estimate)
{
    estimate->kind = ESTIMATE_AT_LEAST;
    estimate->avail_bps = estimate->low_bps = bps_of(fmin(rate, bits_ns(sluice->goal.port_bps)));
    estimate->high_bps = 0;
}

static void from_pool(const struct sluice *sluice, struct estimate *estimate)
{
    struct pool_view view;
    double capacity = sluice->path.capacity, port = bits_ns(sluice->goal.port_bps), stamps;
    double most = capacity + 3 * sluice->path.capacity_error;
    pool_view(&sluice->pool, capacity, sluice->packet_bits, sluice->bursty, &view);
    double avail = capacity - view.cross, half = half_width(sluice, &view, &stamps);
    estimate->from_ns = view.from_ns;
    estimate->until_ns = view.until_ns;
    estimate->busy_ns = (uint64_t)view.sent_ns;
    if (avail >= PORT_SHARE * port) {
        at_least(sluice, avail - half, estimate);
        return;
    }
    estimate->kind = ESTIMATE_VALUE;
    estimate->avail_bps = bps_of(fmin(avail, capacity));
    estimate->low_bps = bps_of(avail - half);
    estimate->high_bps = bps_of(fmin(avail + half, most));
    double asked = (double)sluice->goal.width_ppm / 1e6 * capacity;
    if (asked > 0 && stamps > asked && stamps > view.error) {
        estimate->kind = ESTIMATE_REFUSED;
        estimate->reason = ESTIMATE_NOISE;
    }
}

static void result(const void *state, uint64_t now_ns, struct estimate *estimate)
{
    const struct sluice *sluice = state;
    describe(sluice, now_ns, estimate);
    uint32_t useless = sluice->spoiled + sluice->jitter + sluice->lost;
    if (sluice->pool.count > 0 && sluice->jitter <= sluice->taken)
        from_pool(sluice, estimate);
    else if (sluice->passed > 0 && sluice->jitter == 0) {
        estimate->from_ns = sluice->first_ns;
        estimate->until_ns = sluice->last_ns;
        at_least(sluice, sluice->passed, estimate);
    } else if (useless > 0)
        refuse(sluice, estimate);
}

const struct estimator_kind estimator_sluice = {"sluice", sizeof(struct sluice), start, next, take, result};
