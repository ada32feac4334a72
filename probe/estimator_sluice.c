/* Estimator `sluice`: no search. A first train tells capacity and cross traffic at once (contact); what it
 * leaves open one train around the rate that it found settles (refine), or, of a measurement that has a
 * period, many short ones spread over it (spread). Every train's cross bits come from the conservation law
 * (conserve.h) and go into one pool, which says how sure it is. One that goes on for ever spreads, forgets
 * after a while, and begins anew when the path changes. */
#include <math.h>

#include "probe/estimators.h"
#include "probe/sluice_course.h"
#include "probe/sluice_verdict.h"

/* Trains of a first look, and of the one that refines it, until one of them is of use. */
#define CONTACT_TRIES 4u
#define RETRY_NS      NS_PER_S /* then one that goes on tries again; each time later, up to … */
#define RETRY_DOUBLES 3u /* … 8 s: what its trains are of a path of which nothing is known may be much */
/* So many trains more, that far apart, while an end of the path spoils them: it was away, and will be there again. */
#define AGAIN_TRIES 20u
#define AGAIN_MOST  80u /* … and so many where the load permits it */
#define AGAIN_NS    (10 * NS_PER_MS)
/* Of a train, packets with one stamp that say that the receiver was away. */
#define SWALLOWED 0.25
/* Trains of the spread phase without a report yet. */
#define UNDER_WAY_MAX 12u
/* Trains differ by more than so many times the law's variance: cross traffic changes too much to follow. */
#define BURSTY_TRAINS 6u
#define BURSTY_SPREAD 4.0
/* … of a measurement that can pay for few: none is to be thrown away, and unequal ones are weighed alike in time. */
#define BURSTY_FEW_TRAINS 4u
#define BURSTY_FEW_SPREAD 2.0
/* A train's capacity, and its value, are no better than this part of it, for what is judged a change. */
#define CHANGE_SHARE 0.003
/* Random walk of what is available that is no change: of the capacity, over a second. */
#define WALK_SHARE 0.02
/* Between trains that look for a bucket: it is full again. */
#define FULL_BUCKET_NS (20 * NS_PER_MS)
/* A bucket that was found is gone after so many trains without it; it is the same one within such a part of
 * its rate. */
#define SHAPER_MISSES 2u
#define SHAPER_AGREE  0.1
/* Trains of one that has no period and is not sure yet. */
#define TRAINS_MOST 100u

static void start(void *state, const struct estimator_goal *goal, uint64_t now_ns)
{
    struct sluice *sluice = state;
    *sluice = (struct sluice){
        .goal = *goal,
        .profile = {goal->port_bps, goal->wire_bytes},
        .begin_ns = now_ns,
        .changed_ns = TIME_NEVER,
        .stamp_kind = MIN(goal->sender.stamp_kind, goal->receiver.stamp_kind),
        .end_ns = goal->continuous || goal->duration_ns == 0 ? TIME_NEVER : now_ns + goal->duration_ns,
        .packet_bits = goal->wire_bytes * 8.0,
        .noise_ns = hypot((double)goal->sender.noise_ns, (double)goal->receiver.noise_ns),
        .batch = goal->receiver.batch,
        .batched = goal->receiver.batch > 1};
    rng_init(&sluice->rng, now_ns ^ goal->port_bps);
    budget_init(&sluice->budget, goal->bytes_max, goal->load_ppm);
    sluice->hopeless = sluice_hopeless(sluice);
    if (sluice->hopeless != ESTIMATE_SURE)
        sluice->phase = OVER;
}

static bool may_send(struct sluice *sluice, uint64_t now_ns)
{
    if (sluice->phase != SPREAD)
        return sluice->under_way == 0 && sluice->at_ns <= now_ns;
    return sluice->under_way < UNDER_WAY_MAX && sluice->at_ns <= now_ns;
}

/* The last train of a period has left, or cannot be paid for. */
static bool spent(const struct sluice *sluice, uint64_t now_ns)
{
    if (sluice->phase != SPREAD || sluice->goal.continuous)
        return sluice->phase == OVER;
    uint64_t train_bytes = (uint64_t)sluice_spread_packets(sluice) * sluice->goal.wire_bytes;
    if (budget_left(&sluice->budget) < train_bytes)
        return true;
    if (sluice->end_ns == TIME_NEVER)
        return sluice->sent >= TRAINS_MOST;
    return now_ns + sluice->round_ns >= sluice->end_ns || sluice->at_ns + sluice->round_ns >= sluice->end_ns;
}

/* A first look goes at once: nothing is known of what may be sent. */
static uint64_t allowed_at(const struct sluice *sluice, uint64_t bytes, uint64_t now_ns)
{
    double capacity = sluice->path.capacity;
    if (sluice->phase != SPREAD && sluice->phase != FINGERPRINT)
        return now_ns;
    if (sluice->phase == FINGERPRINT && sluice->shapers > 0)
        capacity = sluice->shaper.rate;
    return budget_when(&sluice->budget, bytes, capacity * 1e9, now_ns);
}

static enum estimator_step next(void *state, uint64_t now_ns, struct train_shape *shape, uint64_t *at_ns)
{
    struct sluice *sluice = state;
    *at_ns = TIME_NEVER;
    if (spent(sluice, now_ns))
        return sluice->under_way == 0 ? ESTIMATOR_DONE : ESTIMATOR_WAIT;
    if (!may_send(sluice, now_ns)) {
        bool room = sluice->phase == SPREAD ? sluice->under_way < UNDER_WAY_MAX : sluice->under_way == 0;
        if (room)
            *at_ns = sluice->at_ns;
        return ESTIMATOR_WAIT;
    }
    sluice_shape(sluice, shape);
    bool payable = train_shape_valid(shape) && train_bytes(shape) <= budget_left(&sluice->budget);
    uint64_t when_ns = payable ? allowed_at(sluice, train_bytes(shape), now_ns) : TIME_NEVER;
    if (when_ns == TIME_NEVER) {
        if (!sluice->goal.continuous)
            sluice->phase = OVER;
        /* One that never sent any is not to be followed by the next at once. */
        if (sluice->phase == OVER && sluice->sent > 0)
            return sluice->under_way == 0 ? ESTIMATOR_DONE : ESTIMATOR_WAIT;
        when_ns = now_ns + RETRY_NS;
    }
    if (when_ns > now_ns) {
        /* The period would pass without any. */
        if (sluice->phase == FINGERPRINT && when_ns >= sluice->end_ns) {
            sluice_begin_spread(sluice, now_ns);
            when_ns = sluice->at_ns;
        }
        *at_ns = MAX(MIN(when_ns, sluice->end_ns), now_ns + 1);
        return ESTIMATOR_WAIT;
    }
    budget_spend(&sluice->budget, train_bytes(shape), now_ns);
    sluice->under_way++;
    sluice->sent++;
    sluice->sent_ns = *at_ns = now_ns;
    if (sluice->phase == SPREAD)
        sluice_next_slot(sluice);
    return ESTIMATOR_TRAIN;
}

static void begin_fingerprint(struct sluice *sluice, uint64_t now_ns)
{
    sluice->phase = FINGERPRINT;
    sluice->at_ns = now_ns + FULL_BUCKET_NS;
    sluice->shapers = sluice->shaper_misses = 0;
}

/* One that was seen is looked at again, once or, where it goes on, for ever; otherwise to work. */
static void after_fingerprint(struct sluice *sluice, uint64_t now_ns)
{
    sluice->at_ns = now_ns + FULL_BUCKET_NS;
    if (sluice->shapers == 0 || !sluice_can_fingerprint(sluice)) {
        sluice_begin_spread(sluice, now_ns);
    } else if (sluice->shapers >= SLUICE_SHAPERS_SURE && sluice->shaper_misses < SHAPER_MISSES) {
        sluice->at_ns = now_ns + NS_PER_S;
        if (!sluice->goal.continuous)
            sluice->phase = OVER;
    }
}

static void advance(struct sluice *sluice, bool useful, uint64_t now_ns)
{
    switch (sluice->phase) {
    case CONTACT:
        if (useful)
            sluice->failures = 0;
        if (!useful && ++sluice->tries < CONTACT_TRIES)
            return;
        if (!useful && sluice->goal.continuous) {
            sluice->tries = 0;
            sluice->drowned = 0;
            sluice->at_ns = now_ns + (RETRY_NS << MIN(sluice->failures++, RETRY_DOUBLES));
        } else if (!useful) {
            sluice->phase = OVER;
        } else if (sluice->end_ns == TIME_NEVER && !sluice->goal.continuous) {
            sluice->phase = REFINE;
        } else if (sluice_can_fingerprint(sluice)) {
            begin_fingerprint(sluice, now_ns);
        } else {
            sluice_begin_spread(sluice, now_ns);
        }
        return;
    case FINGERPRINT:
        after_fingerprint(sluice, now_ns);
        return;
    case REFINE:
        if (!useful && ++sluice->tries < CONTACT_TRIES)
            return;
        if (!useful || sluice_sure(sluice) || sluice->pool.count == 0)
            sluice->phase = OVER;
        else
            sluice_begin_spread(sluice, now_ns);
        return;
    case SPREAD:
        if (sluice->end_ns == TIME_NEVER && !sluice->goal.continuous && sluice_sure(sluice))
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
    sluice->passed = sluice->drowned = 0;
    sluice->batch = sluice->goal.receiver.batch;
    sluice->batched = sluice->batch > 1;
    sluice->shapers = 0;
    sluice->overload.steps = 0;
    pool_clear(&sluice->pool);
    sluice->phase = CONTACT;
    sluice->at_ns = now_ns;
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
    pool_view(&sluice->pool, capacity, sluice->path.capacity_error, sluice->packet_bits, sluice->bursty,
              &view);
    if (view.trains < BURSTY_TRAINS || fit->all.sent_ns <= 0)
        return TRACKER_TAKEN;
    double cross = conserve_cross_bits(&fit->all, capacity, view.rank) / fit->all.sent_ns;
    double law = fmax(cross, view.cross) * sluice->packet_bits / fit->all.sent_ns * fmax(view.spread, 1);
    double packet = sluice->packet_bits / fit->all.sent_ns;
    double stamps = sluice->noise_ns * capacity / fit->all.sent_ns;
    double walk = WALK_SHARE * capacity * WALK_SHARE * capacity / (double)NS_PER_S;
    return tracker_take(&sluice->avail, capacity - cross,
                        law + packet * packet + share * share + stamps * stamps, walk, now_ns);
}

/* Whether a train of that phase shows a bucket, and the one that was seen before. */
static bool take_fingerprint(struct sluice *sluice, const struct train_record *record)
{
    struct shaper found, *known = &sluice->shaper;
    if (sluice->points.count == 0)
        return false;
    double rate = bits_ns(record->shape.pieces[record->shape.piece_count - 1].rate_bps);
    shaper_find(&found, &sluice->points, sluice->path.capacity, rate);
    bool same =
        sluice->shapers > 0 && found.found && fabs(found.rate - known->rate) <= SHAPER_AGREE * known->rate;
    if (same) {
        sluice->shapers++;
        sluice->shaper_misses = 0;
    } else if (sluice->shapers >= SLUICE_SHAPERS_SURE && ++sluice->shaper_misses < SHAPER_MISSES) {
        return true;
    } else {
        sluice->shapers = found.found;
    }
    *known = found;
    sluice->first_ns = sluice->shapers <= 1 ? record->start_ns : sluice->first_ns;
    sluice->last_ns = record->start_ns + train_duration_ns(&record->shape);
    return found.found;
}

static void judge_bursty(struct sluice *sluice)
{
    struct pool_view view;
    bool few = sluice_few_trains(sluice);
    if (sluice->bursty || sluice->phase != SPREAD ||
        sluice->pool.count < (few ? BURSTY_FEW_TRAINS : BURSTY_TRAINS))
        return;
    pool_view(&sluice->pool, sluice->path.capacity, sluice->path.capacity_error, sluice->packet_bits, false,
              &view);
    if (view.spread < (few ? BURSTY_FEW_SPREAD : BURSTY_SPREAD) && !pool_divided(&sluice->pool))
        return;
    sluice->bursty = true;
    if (!sluice->goal.continuous && !few)
        pool_clear(&sluice->pool); /* its trains saw unlike parts of what differs so much */
}

static void note(struct sluice *sluice, const struct train_record *record)
{
    sluice->packets += record->sent;
    sluice->packets_lost += sluice->points.lost;
    sluice->packets_late += sluice->points.late;
    sluice->stamp_kind = MIN(record->sender.stamp_kind, record->receiver.stamp_kind);
    sluice->batched = sluice->batched || sluice->points.batch > 1;
    sluice->batch = MAX(sluice->batch, sluice->points.batch);
    sluice->noise_ns = fmax(sluice->noise_ns, sluice->points.noise_ns);
}

/* The next train asks about such rates; one that was spoiled by its ends leaves them as they are. */
static void note_drowned(struct sluice *sluice, const struct train_record *record)
{
    double rate = reading_overrun(record);
    sluice->drowned = rate > 0 ? rate : sluice->drowned;
}

static bool take_good(struct sluice *sluice, const struct train_record *record,
                      const struct reading_path *before, uint64_t now_ns)
{
    if (sluice->phase == FINGERPRINT) {
        sluice->overload = sluice->reading.fit;
        return true;
    }
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
        pool_forget(&sluice->pool, now_ns - MIN(now_ns, SLUICE_WINDOW_NS));
    return true;
}

/* Spoiled trains are the rule where processes share a CPU: two that run for a fifth of the time each let
 * one of 25 pass. */
static bool load_permits(const struct sluice *sluice, uint64_t bytes, uint64_t now_ns)
{
    const struct estimator_goal *goal = &sluice->goal;
    uint64_t top_bps = goal->receiver_bps > 0 ? MIN(goal->receiver_bps, goal->port_bps) : goal->port_bps;
    return sluice->spoiled <= AGAIN_MOST &&
           budget_when(&sluice->budget, bytes, (double)top_bps, now_ns) <= now_ns + AGAIN_NS;
}

/* So much came with one stamp that the receiver was away: no batch that others will come in. */
static bool was_swallowed(const struct train_record *record)
{
    return record->receiver.batch > SWALLOWED * record->count;
}

/* A train that says nothing. Another one like it is sent where that is an end's doing, and there is time and money. */
static bool again(struct sluice *sluice, const struct train_record *record, bool stepped, uint64_t now_ns)
{
    bool swallowed = record->marks == 0 && was_swallowed(record);
    bool late = (record->marks & ~(uint32_t)TRAIN_STOOD_STILL) != 0;
    sluice->spoiled++;
    sluice->late += late;
    sluice->stepped += stepped;
    sluice->swallowed += !late && !stepped && (swallowed || record->marks != 0);
    if ((sluice->phase != CONTACT && sluice->phase != REFINE) || sluice->goal.continuous)
        return false;
    uint64_t bytes = train_bytes(&record->shape);
    bool affordable = budget_left(&sluice->budget) >= bytes;
    if (!affordable)
        sluice->tries = CONTACT_TRIES;
    if (!affordable || (record->marks == 0 && !swallowed && !stepped) ||
        (sluice->spoiled > AGAIN_TRIES && !load_permits(sluice, bytes, now_ns)) ||
        now_ns + AGAIN_NS >= sluice->end_ns)
        return false;
    sluice->at_ns = now_ns + AGAIN_NS;
    return true;
}

static void take(void *state, const struct train_record *record, uint64_t now_ns)
{
    struct sluice *sluice = state;
    sluice->under_way -= sluice->under_way > 0;
    if (record == NULL) {
        sluice->lost++;
        sluice->drowned = 0;
        advance(sluice, false, now_ns);
        return;
    }
    if (record->sent > 0)
        sluice->round_ns = elapsed_ns(now_ns, record->start_ns);
    uint32_t packets = train_packets(&record->shape);
    uint32_t left = record->sent * record_turns(record);
    if ((record->marks & TRAIN_CUT) != 0 && left < packets)
        budget_return(&sluice->budget, (uint64_t)(packets - left) * record->shape.wire_bytes,
                      record->start_ns);
    struct reading_path before = sluice->path;
    enum reading_verdict verdict = reading_take(&sluice->reading, &sluice->points, &sluice->path, record);
    bool spoiled = verdict == READING_SPOILED || verdict == READING_STEPPED;
    if (!spoiled || (sluice->points.count > 0 && !was_swallowed(record)))
        note(sluice, record);
    if (sluice->phase == FINGERPRINT && take_fingerprint(sluice, record)) {
        sluice->path = before;
        advance(sluice, true, now_ns);
        return;
    }
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
    case READING_STEPPED:
        note_drowned(sluice, record);
        if (again(sluice, record, verdict == READING_STEPPED, now_ns))
            return;
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

static void result(const void *state, uint64_t now_ns, struct estimate *estimate)
{
    sluice_tell(state, now_ns, estimate);
}

const struct estimator_kind estimator_sluice = {.name = "sluice",
                                                .bytes = sizeof(struct sluice),
                                                .floors = true,
                                                .start = start,
                                                .next = next,
                                                .take = take,
                                                .result = result};
