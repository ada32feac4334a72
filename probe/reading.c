#include "probe/reading.h"

#include <math.h>

#include "base/units.h"
#include "probe/clock_step.h"

#define SAMPLES_LEAST  8
#define CAME_LEAST     0.5  /* of the packets that left */
#define LATE_MOST      0.35 /* of those that came */
#define BUSY_LEAST     0.2  /* of a train's time, where no queue shows */
#define STEPS_LEAST    2
#define QUEUED_PACKETS 1.5
#define STANDING_SHARE 0.15 /* of the range of delays, above the least */
/* Where neither spacings nor slopes show a capacity better than this, it is not known. */
#define CAPACITY_ERROR_MAX 0.05
/* Bit/ns: what links there are. */
#define CAPACITY_LEAST   1e-6
#define CAPACITY_MOST    1e4
#define AGREE_DEVIATIONS 4
/* Of a train that came by so few, and less than such a share of it: one that lost more is not told by its indexes,
 * which made 85 of a line of 50. */
#define OVERRUN_LEAST 4u
#define OVERRUN_SHARE 0.65

/* From the greatest delay on, the last point before delays come near the least: a queue stands from the
 * train's begin until then, more or less. For the first look at a path, where the exact rule has nothing to
 * go by. */
static uint32_t standing_until(const struct probe_points *points)
{
    int64_t least_ns = INT64_MAX;
    uint32_t most = 0;
    for (uint32_t i = 0; i < points->count; i++) {
        least_ns = MIN(least_ns, points_delay_ns(points, i));
        most = points_delay_ns(points, i) > points_delay_ns(points, most) ? i : most;
    }
    double range_ns = (double)(points_delay_ns(points, most) - least_ns);
    double floor_ns = (double)least_ns + fmax(6 * points->noise_ns, STANDING_SHARE * range_ns);
    while (most + 1 < points->count && (double)points_delay_ns(points, most + 1) > floor_ns)
        most++;
    return most;
}

static bool plausible(const struct fingerprint *print)
{
    return print->capacity >= CAPACITY_LEAST && print->capacity <= CAPACITY_MOST;
}

/* Spacings are too wide where cross traffic got between all packets, never too close: more than what was known counts,
 * less does not, and of what agrees the better one. */
static void sharpen(struct reading_path *path, const struct fingerprint *print)
{
    if (!plausible(print) || print->error > CAPACITY_ERROR_MAX * print->capacity)
        return;
    double apart = print->capacity - path->capacity;
    double allowed = AGREE_DEVIATIONS * (print->error + path->capacity_error);
    if (path->capacity > 0 &&
        (apart < -allowed || (apart <= allowed && print->error >= path->capacity_error)))
        return;
    path->capacity = print->capacity;
    path->capacity_error = print->error;
}

/* Whether batches that time closed may move a train's slow part against its fast one, the same way all
 * along, by more of the queue that it made than what is already known of the capacity allows. */
static bool closing_hides(const struct probe_points *points, uint32_t last, const struct reading_path *path)
{
    int64_t least_ns = INT64_MAX, most_ns = INT64_MIN;
    double closing_ns = 0;
    for (uint32_t i = 0; i <= last; i++) {
        least_ns = MIN(least_ns, points_delay_ns(points, i));
        most_ns = MAX(most_ns, points_delay_ns(points, i));
        closing_ns = fmax(closing_ns, points->point[i].closing_ns);
    }
    return path->capacity > 0 &&
           closing_ns * path->capacity > path->capacity_error * (double)(most_ns - least_ns);
}

static void learn_capacity(struct reading *reading, const struct probe_points *points,
                           struct reading_path *path)
{
    fingerprint_spacing(&reading->spacing, points);
    sharpen(path, &reading->spacing);
    if (reading->spacing.capacity > 0)
        return;
    struct slopes own = {0};
    uint32_t last = standing_until(points);
    if (closing_hides(points, last, path))
        return;
    slopes_add(&own, points, 0, last);
    slopes_add(&path->slopes, points, 0, last);
    slopes_solve(&own, &reading->slope);
    struct fingerprint all;
    slopes_solve(&path->slopes, &all);
    if (!plausible(&all))
        return;
    path->capacity = all.capacity;
    path->capacity_error = all.error;
    if (path->cross <= 0)
        path->cross = fmax(all.cross, 0);
}

double reading_overrun(const struct train_record *record)
{
    uint64_t first_ns = UINT64_MAX, last_ns = 0;
    if (record->marks != 0 || record->count < OVERRUN_LEAST || record->count >= OVERRUN_SHARE * record->sent)
        return 0;
    for (uint32_t i = 0; i < record->count; i++) {
        first_ns = MIN(first_ns, record->samples[i].received_ns);
        last_ns = MAX(last_ns, record->samples[i].received_ns);
    }
    double bits = (record->count - 1) * record_turns(record) * record->shape.wire_bytes * 8.0;
    return last_ns > first_ns ? bits / (double)(last_ns - first_ns) : 0;
}

enum reading_verdict reading_take(struct reading *reading, struct probe_points *points,
                                  struct reading_path *path, const struct train_record *record)
{
    *reading = (struct reading){0};
    points->count = 0;
    if (record->marks != 0 || record->count < SAMPLES_LEAST)
        return READING_SPOILED;
    points_take(points, record);
    if (record->count < CAME_LEAST * record->sent)
        return READING_SPOILED;
    if (clock_step_shows(points, record)) {
        points->count = 0;
        return READING_STEPPED;
    }
    if (points->late > LATE_MOST * points->candidates)
        return READING_JITTER;
    if (points->count < 4 || points->point[points->count - 1].sent_ns <= points->point[0].sent_ns)
        return READING_SPOILED;
    learn_capacity(reading, points, path);
    reading->rise_ns = fingerprint_rise_ns(points, 0, points->count - 1);
    double rate = points_rate(points, 0, points->count - 1);
    double packet_ns = points->packet_bits / fmax(path->capacity, rate);
    double allowed_ns = QUEUED_PACKETS * packet_ns + 2 * points->noise_ns;
    double span_ns = (double)(points->point[points->count - 1].sent_ns - points->point[0].sent_ns);
    if (reading->rise_ns < allowed_ns)
        reading->passed = rate * fmax(1 - allowed_ns / span_ns, 0); /* so much may have queued unseen */
    if (path->capacity <= 0)
        return READING_IDLE;
    struct conserve_path known = {path->capacity, path->cross, points->packet_bits};
    conserve_fit(&reading->fit, points, &known);
    reading->queued = reading->fit.wait_ns > QUEUED_PACKETS * packet_ns + 8 * points->noise_ns;
    if (reading->fit.steps < STEPS_LEAST ||
        (!reading->queued && reading->fit.all.sent_ns < BUSY_LEAST * span_ns))
        return READING_IDLE;
    path->cross =
        fmax(conserve_cross_bits(&reading->fit.all, path->capacity, false) / reading->fit.all.sent_ns, 0);
    return READING_GOOD;
}
