#include "probe/points.h"

#include <math.h>
#include <string.h>

#include "base/units.h"

/* Stamps of one batch differ by their noise alone: no two of them by more than so many of its deviations. */
#define BATCH_DEVIATIONS 8
/* One packet overtook another when it came earlier by more than so many deviations of their stamps. */
#define LATE_DEVIATIONS 6
#define NOISE_MOST_NS   NS_PER_S
#define FALLS_SHARE     0.03
/* A train and its report take less. */
#define SPAN_NS   ((int64_t)(1000 * NS_PER_S))
#define NO_SAMPLE UINT16_MAX
/* Packets that came closer than such a part of what any so many in a row took each were held somewhere, and let go
 * as one: an interrupt that waits for more, a host that slept. */
#define CLUMP_PART   3
#define CLUMP_WINDOW 16u
#define CLOSE_SHARE  3 /* more than such a part of a train has to come so */
/* Spacings whose mean is taken for theirs; how sure it is to be that they vary against each other. */
#define WOBBLE_WINDOW     16u
#define WOBBLE_DEVIATIONS 2
#define UNIFORM           3.464 /* deviations that are the width of a uniform distribution */

static int64_t received(const struct train_record *record, uint32_t sample)
{
    return (int64_t)(record->samples[sample].received_ns - record->samples[0].received_ns);
}

/* Packets before it that went to other receivers: of those nobody here knows whether they came. */
static uint32_t elsewhere(const struct train_record *record, uint32_t index)
{
    return index - index / record_turns(record);
}

static struct probe_point point_of(const struct train_record *record, uint32_t sample, uint32_t rank)
{
    const struct train_sample *this = &record->samples[sample];
    return (struct probe_point){.sent_ns = (int64_t)(this->sent_ns - record->samples[0].sent_ns),
                                .received_ns = received(record, sample),
                                .index = this->index,
                                .rank = rank + elsewhere(record, this->index)};
}

/* Whether a report can mean that: times within reach of each other, packets that were sent. Others did not come. */
static bool plausible(const struct train_record *record, uint32_t sample)
{
    const struct train_sample *this = &record->samples[sample];
    int64_t sent_ns = (int64_t)(this->sent_ns - record->samples[0].sent_ns);
    int64_t received_ns = received(record, sample);
    return this->arrival < TRAIN_PACKETS_MAX && this->index / record_turns(record) < record->sent &&
           sent_ns >= -SPAN_NS && sent_ns <= SPAN_NS && received_ns >= -SPAN_NS && received_ns <= SPAN_NS &&
           (sample == 0 || this->index > record->samples[sample - 1].index);
}

static void sort_by_arrival(struct probe_points *points, const struct train_record *record)
{
    memset(points->order, 0xff, sizeof(points->order));
    for (uint32_t i = 0; i < record->count; i++)
        if (plausible(record, i))
            points->order[record->samples[i].arrival] = (uint16_t)i;
    points->order_count = 0;
    for (uint32_t i = 0; i < TRAIN_PACKETS_MAX; i++)
        if (points->order[i] != NO_SAMPLE)
            points->order[points->order_count++] = points->order[i];
}

/* Neighbours in a clump are so far apart at most. 0: there are too few packets to tell. */
static int64_t clump_ns(const struct probe_points *points, const struct train_record *record)
{
    uint32_t window = MAX(points->order_count / 4, CLUMP_WINDOW);
    int64_t least_ns = INT64_MAX;
    for (uint32_t i = window; i < points->order_count; i++)
        least_ns =
            MIN(least_ns, received(record, points->order[i]) - received(record, points->order[i - window]));
    return least_ns == INT64_MAX ? 0 : MAX(least_ns, 0) / (window * CLUMP_PART);
}

/* End of the batch that begins at place `first` of the order of arrival: stamps that are one but for their noise,
 * or a clump. */
static uint32_t batch_end(const struct probe_points *points, const struct train_record *record,
                          uint32_t first)
{
    int64_t room_ns = (int64_t)(BATCH_DEVIATIONS * MIN(record->receiver.noise_ns, NOISE_MOST_NS));
    int64_t begin_ns = received(record, points->order[first]), last_ns = begin_ns;
    uint32_t end = first + 1;
    for (; end < points->order_count && end - first < points->batch; end++) {
        int64_t next_ns = received(record, points->order[end]);
        if (llabs(next_ns - begin_ns) > room_ns && next_ns - last_ns > points->clump_ns)
            break;
        last_ns = next_ns;
    }
    return end;
}

/* What the receiver says, or what its stamps show: many that are close. */
static uint32_t batch_size(struct probe_points *points, const struct train_record *record)
{
    points->clump_ns = 0;
    if (record->receiver.batch > 1)
        return record->receiver.batch;
    /* Kernel stamps may come in clumps; with exact ones close packets are others' bursts in the queue. */
    bool kernel = record->receiver.stamp_kind == STAMP_HARDWARE && record->receiver.noise_ns > 0;
    int64_t most_ns = kernel ? clump_ns(points, record) : 0;
    uint32_t close = 0, run = 1, longest = 1;
    for (uint32_t i = 1; i < points->order_count; i++) {
        int64_t step_ns = received(record, points->order[i]) - received(record, points->order[i - 1]);
        bool same = step_ns >= 0 && step_ns <= most_ns;
        close += same;
        run = same ? run + 1 : 1;
        longest = MAX(longest, run);
    }
    if (close <= points->order_count / CLOSE_SHARE)
        return 1;
    points->clump_ns = most_ns;
    return longest;
}

static void take_batches(struct probe_points *points, const struct train_record *record)
{
    int64_t furthest = -1, ended_ns = 0;
    for (uint32_t first = 0, end; first < points->order_count; first = end) {
        end = batch_end(points, record, first);
        int64_t before = furthest, sum_ns = 0;
        for (uint32_t i = first; i < end; i++) {
            uint32_t index = record->samples[points->order[i]].index;
            furthest = MAX(furthest, (int64_t)index);
            sum_ns += received(record, points->order[i]);
        }
        struct probe_point last = point_of(record, points->order[end - 1], end - 1);
        points->candidates++;
        points->late += last.index != furthest;
        int64_t size = end - first, seen_ns = sum_ns / size, spacing_ns = (seen_ns - ended_ns) / size;
        ended_ns = seen_ns;
        bool full = size == points->batch, in_order = last.index == furthest && furthest != before;
        if (!in_order || (!full && (first == 0 || end == points->order_count)))
            continue;
        /* One that was closed before it was full: anywhere between the last packet's arrival and the next one's. */
        last.received_ns = full ? seen_ns : seen_ns - spacing_ns / 2;
        last.closing_ns =
            full ? 0 : (uint32_t)fmin((double)MIN(MAX(spacing_ns, 0), SPAN_NS) / UNIFORM, UINT32_MAX);
        points->point[points->count++] = last;
    }
}

static void take_each(struct probe_points *points, const struct train_record *record)
{
    for (uint32_t i = 0; i < record->count; i++)
        points->point[i].rank = UINT32_MAX;
    for (uint32_t rank = 0; rank < points->order_count; rank++)
        points->point[points->order[rank]] = point_of(record, points->order[rank], rank);
    for (uint32_t i = 0; i < record->count; i++)
        if (points->point[i].rank != UINT32_MAX)
            points->point[points->count++] = points->point[i];
    points->candidates = points->count;
}

/* Those that a later one overtook go; then those behind the last of whom the same could not have been seen. */
static void leave_out_late(struct probe_points *points)
{
    int64_t room_ns = (int64_t)(LATE_DEVIATIONS * points->noise_ns);
    int64_t earliest_ns = INT64_MAX, lateness_ns = 0;
    uint32_t kept = points->count;
    for (uint32_t i = points->count; i-- > 0;) {
        struct probe_point point = points->point[i];
        bool overtaken = earliest_ns != INT64_MAX && point.received_ns > earliest_ns + room_ns;
        if (overtaken) {
            points->late++;
            lateness_ns = MAX(lateness_ns, point.received_ns - earliest_ns);
            continue;
        }
        earliest_ns = MIN(earliest_ns, point.received_ns);
        points->point[--kept] = point;
    }
    memmove(points->point, &points->point[kept], (points->count - kept) * sizeof(points->point[0]));
    points->count -= kept;
    if (points->count == 0 || lateness_ns == 0 || points->batch > 1)
        return;
    int64_t end_ns = points->point[points->count - 1].received_ns - lateness_ns;
    while (points->count > 2 && points->point[points->count - 1].received_ns > end_ns)
        points->count--;
}

/* In order of arrival stamps cannot fall, nor departures in order of index: by how much they do tells their
 * noise, where an end does not know its own. */
static double falls_ns(const struct probe_points *points, const struct train_record *record, bool sent)
{
    double squares = 0;
    uint32_t falls = 0;
    for (uint32_t i = 1; i < points->order_count; i++) {
        uint32_t later = points->order[i], before = points->order[i - 1];
        if (sent && later <= before)
            continue;
        double step_ns =
            sent ? (double)(int64_t)(record->samples[later].sent_ns - record->samples[before].sent_ns)
                 : (double)(received(record, later) - received(record, before));
        falls += step_ns < 0;
        squares += step_ns < 0 ? step_ns * step_ns : 0;
    }
    return falls > FALLS_SHARE * points->order_count ? sqrt(squares / falls) : 0;
}

/* Noise that the receiver does not tell: a late stamp makes one spacing longer and the next one shorter, so that
 * neighbours vary against each other, by its variance. Cross traffic does not do that. */
static double wobble_ns(const struct probe_points *points, const struct train_record *record)
{
    double together = 0, squares = 0;
    uint32_t pairs = 0;
    for (uint32_t from = 0; from + WOBBLE_WINDOW < points->order_count; from += WOBBLE_WINDOW) {
        double begin = (double)received(record, points->order[from]), before = 0;
        double mean = ((double)received(record, points->order[from + WOBBLE_WINDOW]) - begin) / WOBBLE_WINDOW;
        for (uint32_t i = 1; i <= WOBBLE_WINDOW; i++) {
            double now = (double)received(record, points->order[from + i]);
            double apart = now - begin - mean;
            together += i > 1 ? apart * before : 0;
            squares += apart * apart;
            before = apart;
            begin = now;
        }
        pairs += WOBBLE_WINDOW - 1;
    }
    if (pairs == 0)
        return 0;
    double variance = squares / pairs;
    double noise2 = -(together / pairs + variance / WOBBLE_WINDOW);
    return noise2 > WOBBLE_DEVIATIONS * variance / sqrt(pairs) ? sqrt(noise2) : 0;
}

static double noise_of(const struct probe_points *points, const struct train_record *record)
{
    double told_ns = hypot((double)record->sender.noise_ns, (double)record->receiver.noise_ns);
    double seen_ns = hypot(falls_ns(points, record, true), falls_ns(points, record, false));
    return fmin(fmax(told_ns, seen_ns), NOISE_MOST_NS);
}

void points_take(struct probe_points *points, const struct train_record *record)
{
    points->count = points->candidates = points->late = 0;
    points->lost = record->sent > record->count ? record->sent - record->count : 0;
    points->turns = record_turns(record);
    points->packet_bits = (double)record->shape.wire_bytes * 8;
    points->sent_at_ns = record->count > 0 ? record->samples[0].sent_ns : record->start_ns;
    sort_by_arrival(points, record);
    points->noise_ns = noise_of(points, record);
    points->batch = batch_size(points, record);
    if (points->batch == 1 && record->receiver.stamp_kind == STAMP_HARDWARE)
        points->noise_ns = fmin(fmax(points->noise_ns, wobble_ns(points, record)), NOISE_MOST_NS);
    if (points->batch > 1)
        take_batches(points, record);
    else
        take_each(points, record);
    leave_out_late(points);
}

double points_rate(const struct probe_points *points, uint32_t a, uint32_t b)
{
    const struct probe_point *from = &points->point[a], *until = &points->point[b];
    return (until->index - from->index) * points->packet_bits / (double)(until->sent_ns - from->sent_ns);
}
