#include "probe/joint.h"

#include <math.h>

#include "base/check.h"
#include "base/units.h"

/* Two parts agree: to a tenth, as each saw other moments of the same queue. So much is half of an interval by one
 * alone. */
#define AGREE_SHARE 0.1
/* One of which so much was lost is known less well: nobody knows what was lost of the others'. */
#define ROUGH_LOST  0.05
#define FEW_SHARE   0.5
#define ROUGH_SHARE 0.25
/* A line that overflows shares itself out unevenly, never by such a factor: below it the part's own path lost it. */
#define ROUGH_TIMES 4
/* A plan needs no line narrower than that, either way. */
#define ENOUGH_SHARE 0.03
/* A path that carries alone by so much more than its share of the train did not hold that up. */
#define ALONE_SHARE 1.1

void joint_begin(struct joint *joint)
{
    joint->count = 0;
}

/* The path by itself carries so much more than so large a part of a train at that rate that it did not hold that up. */
static bool is_wide(const struct estimate *alone, double rate_bps, uint16_t turns)
{
    return (double)alone->avail_bps >= ALONE_SHARE * rate_bps / turns;
}

/* Bit/ns that passed at most where next to nothing did: one packet more than came, in the time of the train. A path
 * that holds few packets, and is far slower than its part of the train, shows no more. 0: none came, or an end
 * spoiled it. */
static double trickle(const struct train_record *record)
{
    double bits = (record->count + 1.0) * record_turns(record) * record->shape.wire_bytes * 8.0;
    uint64_t took_ns = train_duration_ns(&record->shape);
    bool tells =
        record->marks == 0 && record->count > 0 && record->count < FEW_SHARE * record->sent && took_ns > 0;
    return tells ? bits / (double)took_ns : 0;
}

static void span_take(struct joint_span *span, const struct train_record *record)
{
    const struct train_sample *samples = record->samples;
    uint32_t first = 0, last = 0;
    *span = (struct joint_span){.wire_bits = record->shape.wire_bytes * 8.0};
    for (uint32_t place = 0; place < record->count; place++) {
        span->came[samples[place].index / 64] |= UINT64_C(1) << samples[place].index % 64;
        first = samples[place].received_ns < samples[first].received_ns ? place : first;
        last = samples[place].received_ns >= samples[last].received_ns ? place : last;
    }
    span->first = samples[first].index;
    span->last = samples[last].index;
    span->took_ns = elapsed_ns(samples[last].received_ns, samples[first].received_ns);
}

/* Packets that came after the span's first one, up to its last. */
static unsigned came_within(const struct joint_span *came, const struct joint_span *span)
{
    unsigned count = 0;
    for (uint32_t index = MIN(span->first, span->last) + 1; index <= MAX(span->first, span->last); index++)
        count += came->came[index / 64] >> index % 64 & 1;
    return count;
}

void joint_take(struct joint *joint, uint16_t receiver, const struct estimate *alone,
                const struct train_record *record)
{
    struct reading_path path = {0};
    struct joint_part part = {
        .receiver = receiver, .turns = (uint16_t)record_turns(record), .beside = record->beside};
    CHECK(joint->count < JOINT_PARTS_MAX);
    switch (reading_take(&joint->reading, &joint->points, &path, record)) {
    case READING_GOOD:
        part.queued = true;
        part.rough = joint->points.lost > ROUGH_LOST * record->sent;
        part.most = path.capacity;
        part.rate = path.capacity - path.cross;
        break;
    case READING_IDLE:
        part.rate = joint->reading.passed;
        break;
    case READING_SPOILED:
        part.queued = part.rough = true;
        part.most = part.rate = reading_overrun(record);
        part.few = part.rate <= 0;
        if (part.few)
            part.most = part.rate = trickle(record);
        break;
    case READING_STEPPED:
    case READING_JITTER:
        break;
    }
    if (part.rate <= 0)
        return;
    part.wide = alone != NULL && is_wide(alone, part.rate * 1e9, part.turns);
    part.span = joint->count;
    span_take(&joint->spans[part.span], record);
    uint16_t place = joint->count++;
    for (; place > 0 && joint->parts[place - 1].rate < part.rate; place--)
        joint->parts[place] = joint->parts[place - 1];
    joint->parts[place] = part;
}

/* It saw so nearly what the first one did that it may be the same. */
static bool is_near(const struct joint *joint, const struct joint_part *part)
{
    const struct joint_part *first = &joint->parts[0];
    double share = part->rough || first->rough ? ROUGH_SHARE : AGREE_SHARE;
    return !part->few && part->rate >= (1 - share) * first->rate;
}

/* What they differ by is of their ends: neither's path holds up so much, and no path has become so much slower. */
static bool is_noise(const struct joint_part *first, const struct joint_part *second)
{
    return first->wide && second->wide && second->rate >= (1 - ROUGH_SHARE) * first->rate;
}

/* The one next to the first that may be held against it; NULL: there is none. */
static const struct joint_part *second_of(const struct joint *joint)
{
    for (uint16_t place = 1; place < joint->count; place++) {
        const struct joint_part *part = &joint->parts[place];
        if (!part->few && (!part->queued || !part->beside || is_near(joint, part)))
            return part;
    }
    return NULL;
}

enum joint_word joint_choose(const struct joint *joint, uint32_t liked_mask, const struct joint_part **part)
{
    const struct joint_part *first = &joint->parts[0];
    const struct joint_part *second = joint->count > 0 && !first->few ? second_of(joint) : NULL;
    if (second == NULL)
        return JOINT_SILENT;
    uint16_t few = first->turns, many = first->turns;
    *part = second;
    if (first->queued != second->queued ||
        (first->queued && !is_near(joint, second) && !is_noise(first, second)))
        return JOINT_APART;
    if (!first->queued)
        return JOINT_AGREED;
    for (uint16_t place = joint->count; place-- > 0;) {
        const struct joint_part *other = &joint->parts[place];
        if (!other->queued || !is_near(joint, other))
            continue;
        few = MIN(few, other->turns);
        many = MAX(many, other->turns);
        if ((liked_mask >> other->receiver & 1) != 0)
            *part = other;
    }
    return many >= JOINT_UNLIKE * few ? JOINT_AGREED : JOINT_ALIKE;
}

/* `most`: what it may be at best, of which less was seen; `share` of that is half of the interval. */
static struct estimate estimate_of(double rate, double most, double share)
{
    return (struct estimate){.kind = ESTIMATE_VALUE,
                             .avail_bps = (uint64_t)(most * 1e9),
                             .low_bps = (uint64_t)((1 - share) * rate * 1e9),
                             .high_bps = (uint64_t)((1 + share) * most * 1e9),
                             .capacity_bps = (uint64_t)(most * 1e9),
                             .trains = 1};
}

/* What all parts together saw pass while one of them did, by that one's clock. *most: if parts of which little came
 * lost the rest on paths of their own, and those of which more came stand for them; chance does the same. */
static double rate_within(const struct joint *joint, const struct joint_part *part, double *most)
{
    const struct joint_span *span = &joint->spans[part->span];
    double count = 0, good = 0, whole = 0;
    for (uint16_t place = 0; place < joint->count; place++) {
        const struct joint_part *other = &joint->parts[place];
        unsigned came = came_within(&joint->spans[other->span], span);
        bool little = other->few || ROUGH_TIMES * other->rate <= joint->parts[0].rate;
        count += came;
        good += little ? 0 : came;
        whole += little ? 0 : 1.0 / other->turns;
    }
    double rate = span->wire_bits / (double)span->took_ns;
    *most = fmax(good / whole, count) * rate;
    return count * rate;
}

/* A line that overflows lets more through for one receiver than for another: each part that lost much tells how fast
 * all came. *share: by how much they differ from each other; one alone may err as any does. */
static double rough_rate(const struct joint *joint, double *share)
{
    double low = 0, high = 0, most = 0;
    unsigned count = 0;
    for (uint16_t place = 0; place < joint->count; place++) {
        const struct joint_part *part = &joint->parts[place];
        if (!part->rough || !is_near(joint, part))
            continue;
        double rate = rate_within(joint, part, &most);
        low = count == 0 ? rate : fmin(low, rate);
        high = fmax(high, most);
        count++;
    }
    *share = fmax((high - low) / (high + low), count < 2 ? AGREE_SHARE : ENOUGH_SHARE);
    return (low + high) / 2;
}

bool joint_line(const struct joint *joint, struct estimate *estimate)
{
    const struct joint_part *first = &joint->parts[0];
    if (joint->count == 0 || !first->queued || first->few)
        return false;
    double share = AGREE_SHARE, rate = first->rough ? rough_rate(joint, &share) : first->rate;
    *estimate = estimate_of(rate, rate, share);
    estimate->capacity_bps = (uint64_t)(fmax(first->most, rate) * 1e9);
    return true;
}

/* Two parts at least went by, so what held up others was not what all of them crossed. */
static bool line_is_free(const struct joint *joint)
{
    unsigned count = 0;
    for (uint16_t place = 0; place < joint->count; place++)
        count += !joint->parts[place].queued;
    return count >= 2;
}

/* It was held up at so much less than the line let through that its own path did that. */
static bool is_slower(const struct joint *joint, const struct joint_part *part)
{
    const struct joint_part *first = &joint->parts[0];
    return part->rough ? !first->rough && ROUGH_TIMES * part->rate <= first->rate : !is_near(joint, part);
}

bool joint_path(const struct joint *joint, uint16_t place, struct estimate *estimate)
{
    struct joint_part own = joint->parts[place];
    own.rate = own.beside ? own.most : own.rate;
    if (!own.queued || (!line_is_free(joint) && !is_slower(joint, &own)))
        return false;
    double turns = own.turns, rate = joint->parts[place].rate / turns;
    double most = own.beside ? fmax(own.most / turns, rate) : rate;
    *estimate = estimate_of(rate, most, own.rough ? ROUGH_SHARE : AGREE_SHARE);
    return true;
}

bool joint_enough(const struct estimate *estimate)
{
    double half_bps = (double)excess_of(estimate->high_bps, estimate->low_bps) / 2;
    return estimate->kind == ESTIMATE_AT_LEAST ||
           (estimate->kind == ESTIMATE_VALUE && half_bps <= ENOUGH_SHARE * (double)estimate->avail_bps);
}

void joint_at_least(struct estimate *estimate)
{
    if (estimate->kind != ESTIMATE_VALUE)
        return;
    estimate->kind = ESTIMATE_AT_LEAST;
    estimate->avail_bps = estimate->low_bps;
    estimate->high_bps = 0;
}

void joint_judge(struct estimate *estimate, uint16_t turns, const struct estimate *alone)
{
    if (alone == NULL) {
        estimate->kind = ESTIMATE_REFUSED;
        estimate->reason = ESTIMATE_NO_END;
    } else if (!is_wide(alone, (double)estimate->avail_bps, turns))
        joint_at_least(estimate);
}
