#include "probe/joint.h"

#include <math.h>
#include <string.h>

#include "base/bitmap.h"
#include "base/check.h"
#include "base/units.h"

/* Two parts agree: to a tenth, as each saw other moments of the same queue. So much is half of an interval by one
 * alone. */
#define AGREE_SHARE 0.1
/* One of which so much was lost is known less well … */
#define ROUGH_LOST   0.05
#define ROUGH_SHARE  0.25 /* … to that; of few packets that passed a queue that overflowed it is chance … */
#define CHANCE_SHARE 0.6 /* … and at most so much */
/* Of which less than that came: a trickle. */
#define FEW_SHARE 0.5
/* Half of an interval by parts that were overrun, at least, however well they agree. */
#define CLOSE_SHARE 0.03
/* So much of a train is all of it: its parts are shares of small numbers. */
#define WHOLE_SHARE 0.999
/* Of a part's packets that lie between its first and its last. */
#define ORDER_SHARE 0.9
/* Next to nothing: less than that came in all; a rate takes so many packets of one receiver. */
#define TRICKLE_SHARE 0.25
#define TRICKLE_LEAST 4u
/* A line that overflows shares itself out unevenly, never by such a factor: below it the part's own path lost it. */
#define ROUGH_TIMES 4
/* Half of the interval of a path by its sprint. */
#define SPRINT_SHARE 0.06
/* Of a sprint that came by less, what came counts. */
#define SPRINT_CAME  (2.0 / 3)
#define SPRINT_LEAST 6u
/* By less than such a part of a packet nothing has held it up. */
#define SPRINT_PACKETS 0.5
/* A plan has no use for a narrower interval of a line than twice that. */
#define ENOUGH_SHARE 0.03
/* A path that carries alone by so much more than its share of the train did not hold that up. */
#define ALONE_SHARE 1.1

void joint_begin(struct joint *joint)
{
    joint->count = joint->came_count = 0;
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

static void came_take(struct joint_came *came, const struct train_record *record)
{
    const struct train_sample *samples = record->samples;
    uint32_t first = 0, last = 0;
    *came = (struct joint_came){.turns = (uint16_t)record_turns(record),
                                .sent = record->sent,
                                .count = record->count,
                                .wire_bits = record->shape.wire_bytes * 8.0};
    for (uint32_t place = 0; place < record->count; place++) {
        bitmap_set(came->bits, samples[place].index);
        first = samples[place].received_ns < samples[first].received_ns ? place : first;
        last = samples[place].received_ns >= samples[last].received_ns ? place : last;
    }
    if (record->count == 0)
        return;
    came->first = samples[first].index;
    came->last = samples[last].index;
    came->took_ns = elapsed_ns(samples[last].received_ns, samples[first].received_ns);
}

/* How many of the other receiver's packets came, by their indexes, behind this one's first, up to its last. */
static unsigned came_within(const struct joint_came *other, const struct joint_came *own)
{
    uint32_t low = MIN(own->first, own->last), high = MAX(own->first, own->last);
    return (unsigned)(bitmap_count(other->bits, high + 1) - bitmap_count(other->bits, low + 1));
}

void joint_take(struct joint *joint, uint16_t receiver, const struct estimate *alone,
                const struct train_record *record)
{
    struct reading_path path = {0};
    struct joint_part part = {
        .receiver = receiver, .turns = (uint16_t)record_turns(record), .beside = record->beside};
    CHECK(joint->came_count < JOINT_PARTS_MAX);
    part.came = joint->came_count++;
    came_take(&joint->came[part.came], record);
    switch (reading_take(&joint->reading, &joint->points, &path, record)) {
    case READING_GOOD:
        part.queued = true;
        part.rough = joint->points.lost > ROUGH_LOST * record->sent;
        part.most = path.capacity;
        part.rate = path.capacity - path.cross;
        part.overrun = part.rough && reading_overrun(record) > 0;
        if (part.overrun)
            part.most = part.rate = reading_overrun(record);
        break;
    case READING_IDLE:
        part.rate = joint->reading.passed;
        break;
    case READING_SPOILED:
        part.queued = part.rough = true;
        part.most = part.rate = reading_overrun(record);
        part.few = part.rate <= 0;
        part.overrun = !part.few;
        if (part.few)
            part.most = part.rate = trickle(record);
        break;
    case READING_STEPPED:
    case READING_JITTER:
        break;
    }
    if (part.rate <= 0)
        return;
    part.share = part.rough ? ROUGH_SHARE : AGREE_SHARE;
    if (part.overrun)
        part.share = fmin(ROUGH_SHARE + 1 / sqrt(record->count), CHANCE_SHARE);
    part.wide = alone != NULL && is_wide(alone, part.rate * 1e9, part.turns);
    uint16_t place = joint->count++;
    for (; place > 0 && joint->parts[place - 1].rate < part.rate; place--)
        joint->parts[place] = joint->parts[place - 1];
    joint->parts[place] = part;
}

/* It saw so nearly what the first one did that it may be the same. */
static bool is_near(const struct joint_part *first, const struct joint_part *part)
{
    return part->rate >= (1 - fmax(part->share, first->share)) * first->rate;
}

/* What they differ by is of their ends: neither's path holds up so much, and no path has become so much slower. */
static bool is_noise(const struct joint_part *first, const struct joint_part *second)
{
    return first->wide && second->wide && second->rate >= (1 - ROUGH_SHARE) * first->rate;
}

static bool has_near(const struct joint *joint, uint16_t place)
{
    for (uint16_t other = 0; other < joint->count; other++)
        if (other != place && !joint->parts[other].aside &&
            is_near(&joint->parts[MIN(place, other)], &joint->parts[MAX(place, other)]))
            return true;
    return false;
}

/* Two parts agree that are lower than that one. */
static bool agree_below(const struct joint *joint, uint16_t place)
{
    for (place++; place < joint->count; place++)
        if (!joint->parts[place].aside && has_near(joint, place))
            return true;
    return false;
}

/* What tells nothing of the line goes behind what may: next to nothing tells of its own path alone, and what came
 * beside trains of others may have come closer together than the line let it, where two others agree on less. */
static void settle(struct joint *joint)
{
    struct joint_part aside[JOINT_PARTS_MAX];
    uint16_t kept = 0, moved = 0;
    for (uint16_t place = 0; place < joint->count; place++)
        joint->parts[place].aside = joint->parts[place].few;
    for (uint16_t place = 0; place < joint->count; place++) {
        struct joint_part *part = &joint->parts[place];
        if (part->aside)
            continue;
        part->aside = part->queued && part->beside && !has_near(joint, place) && agree_below(joint, place);
        if (!part->aside)
            break;
    }
    for (uint16_t place = 0; place < joint->count; place++)
        if (joint->parts[place].aside)
            aside[moved++] = joint->parts[place];
        else
            joint->parts[kept++] = joint->parts[place];
    memcpy(&joint->parts[kept], aside, moved * sizeof(aside[0]));
}

/* The one next to the first that may be held against it; NULL: there is none. */
static const struct joint_part *second_of(const struct joint *joint)
{
    for (uint16_t place = 1; place < joint->count; place++) {
        const struct joint_part *part = &joint->parts[place];
        if (!part->aside && (!part->queued || !part->beside || is_near(&joint->parts[0], part)))
            return part;
    }
    return NULL;
}

enum joint_word joint_choose(struct joint *joint, uint32_t liked_mask, const struct joint_part **part)
{
    settle(joint);
    const struct joint_part *first = &joint->parts[0];
    const struct joint_part *second = joint->count > 0 && !first->aside ? second_of(joint) : NULL;
    if (second == NULL)
        return JOINT_SILENT;
    uint16_t few = first->turns, many = first->turns;
    *part = second;
    if (first->queued != second->queued ||
        (first->queued && !is_near(first, second) && !is_noise(first, second)))
        return JOINT_APART;
    if (!first->queued)
        return JOINT_AGREED;
    joint->near_count = 0;
    for (uint16_t place = joint->count; place-- > 0;) {
        const struct joint_part *other = &joint->parts[place];
        if (other->aside || !other->queued || !is_near(first, other))
            continue;
        joint->near_count++;
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

/* How much of the train went to receivers that have told of it. */
static double told_share(const struct joint *joint)
{
    double share = 0;
    for (uint16_t place = 0; place < joint->came_count; place++)
        share += 1.0 / joint->came[place].turns;
    return share;
}

/* The rate at which all packets came between this part's first and its last, by its receiver's clock. Of receivers
 * that told nothing as many as of the others. *upper: if parts that saw far less pass lost theirs on paths of their
 * own, and not to chance. */
static double rate_within(const struct joint *joint, const struct joint_part *part, double *upper)
{
    const struct joint_came *own = &joint->came[part->came];
    double count = 0, share = told_share(joint), count_near = 0, share_near = 0;
    for (uint16_t place = 0; place < joint->came_count; place++)
        count += came_within(&joint->came[place], own);
    for (uint16_t place = 0; place < joint->count; place++) {
        const struct joint_part *other = &joint->parts[place];
        if (other->aside || !is_near(&joint->parts[0], other))
            continue;
        count_near += came_within(&joint->came[other->came], own);
        share_near += 1.0 / other->turns;
    }
    double rate = own->wire_bits / (double)own->took_ns;
    *upper = fmax(count / share, count_near / share_near) * rate;
    return count / share * rate;
}

/* Its packets came in the order of their indexes, but for a few. Where a clock was set while they came, its first and
 * its last are not those of the train. */
static bool is_in_order(const struct joint_came *came)
{
    return came->took_ns > 0 && came_within(came, came) + 1 >= ORDER_SHARE * came->count;
}

/* A line that overflows lets more through for one receiver than for another: each part that it overran tells how fast
 * all came. *half: by how much they differ from each other, either way, as a share. */
static double rough_rate(const struct joint *joint, double *half)
{
    double low = joint->parts[0].rate, high = 0, upper = 0;
    unsigned count = 0;
    for (uint16_t place = 0; place < joint->count; place++) {
        const struct joint_part *part = &joint->parts[place];
        if (part->aside || !part->overrun || !is_near(&joint->parts[0], part) ||
            !is_in_order(&joint->came[part->came]))
            continue;
        double rate = rate_within(joint, part, &upper);
        low = count == 0 ? rate : fmin(low, rate);
        high = fmax(high, upper);
        count++;
    }
    high = fmax(high, low);
    bool all = count >= 2 && told_share(joint) >= WHOLE_SHARE;
    *half = fmax((high - low) / (high + low), all ? CLOSE_SHARE : AGREE_SHARE);
    return (low + high) / 2;
}

bool joint_line(const struct joint *joint, struct estimate *estimate)
{
    const struct joint_part *first = &joint->parts[0];
    if (joint->count == 0 || !first->queued || first->aside)
        return false;
    double half = AGREE_SHARE, rate = first->overrun ? rough_rate(joint, &half) : first->rate;
    *estimate = estimate_of(rate, rate, half);
    if (!first->overrun)
        estimate->capacity_bps = (uint64_t)(fmax(first->most, rate) * 1e9);
    return true;
}

bool joint_trickle(const struct joint *joint, struct estimate *estimate)
{
    const struct joint_came *most = NULL;
    uint32_t sent = 0, came = 0;
    unsigned within = 0;
    for (uint16_t place = 0; place < joint->came_count; place++) {
        const struct joint_came *own = &joint->came[place];
        sent += own->sent;
        came += own->count;
        if (own->count >= TRICKLE_LEAST && is_in_order(own) && (most == NULL || own->count > most->count))
            most = own;
    }
    if (most == NULL || joint->came_count < 3 || came >= TRICKLE_SHARE * sent)
        return false;
    for (uint16_t place = 0; place < joint->came_count; place++)
        within += came_within(&joint->came[place], most);
    double rate = within / told_share(joint) * most->wire_bits / (double)most->took_ns;
    *estimate = estimate_of(rate, rate, ROUGH_SHARE);
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
    return part->rough ? !first->rough && ROUGH_TIMES * part->rate <= first->rate : !is_near(first, part);
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

/* Bit/ns at which a part of a sprint came: by indexes, or where much of it was lost by what came. */
static double came_rate(const struct train_record *record, uint32_t first, uint32_t last)
{
    const struct train_sample *from = &record->samples[first], *to = &record->samples[last];
    bool overrun = record->count < SPRINT_CAME * record->sent;
    uint32_t packets = overrun ? last - first : to->index - from->index;
    if (to->received_ns <= from->received_ns)
        return 0;
    return packets * record->shape.wire_bytes * 8.0 / (double)(to->received_ns - from->received_ns);
}

bool joint_sprint(const struct train_record *record, struct estimate *estimate)
{
    if (record->marks != 0 || record->count < SPRINT_LEAST)
        return false;
    uint32_t last = record->count - 1;
    const struct train_sample *samples = record->samples;
    double early = came_rate(record, 0, last / 2), late = came_rate(record, last / 2, last);
    double rate = came_rate(record, 0, last);
    double noise_ns = hypot((double)record->sender.noise_ns, (double)record->receiver.noise_ns);
    double took_ns = (double)elapsed_ns(samples[last].received_ns, samples[0].received_ns);
    double left_ns = (double)elapsed_ns(samples[last].sent_ns, samples[0].sent_ns);
    double allowed_ns = SPRINT_PACKETS * left_ns / last + 2 * noise_ns;
    if (early <= 0 || late <= 0 || took_ns <= 0 || took_ns < left_ns - allowed_ns)
        return false; /* nothing comes faster than it has left, but bunched */
    double share = fmax(fabs(early - late) / (early + late), 2 * noise_ns / took_ns);
    if (share > ROUGH_SHARE)
        return false;
    *estimate = estimate_of(rate, rate, fmax(share, SPRINT_SHARE));
    if (took_ns <= left_ns + allowed_ns)
        joint_at_least(estimate);
    return true;
}

void joint_judge_sprints(const struct joint *joint, struct estimate *sprints, uint16_t count)
{
    double most_bps = joint->count > 0 && !joint->parts[0].aside ? joint->parts[0].rate * 1e9 : 0;
    for (uint16_t receiver = 0; receiver < count; receiver++)
        if (sprints[receiver].kind != ESTIMATE_NONE)
            most_bps = fmax(most_bps, (double)sprints[receiver].avail_bps);
    for (uint16_t receiver = 0; receiver < count; receiver++)
        if ((double)sprints[receiver].avail_bps > (1 - AGREE_SHARE) * most_bps)
            joint_at_least(&sprints[receiver]);
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
