#include "queue_lab.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/units.h"

const struct estimator_goal first_look = {.port_bps = 40000000000,
                                          .receiver_bps = 10000000000,
                                          .wire_bytes = FULL_PACKET_WIRE_BYTES,
                                          .width_ppm = 5000,
                                          .bytes_max = 1500000};

#define CROSS_BITS (FULL_PACKET_WIRE_BYTES * 8.0)
#define LATE_NS    50000.0
#define UNDER_WAY  16
#define PARETO     1.5

static double uniform(struct rng *rng)
{
    return ((double)(rng_next(rng) >> 11) + 0.5) / (double)(1ULL << 53);
}

static double gaussian(struct rng *rng)
{
    return sqrt(-2 * log(uniform(rng))) * cos(2 * M_PI * uniform(rng));
}

static double pareto(struct rng *rng, double mean)
{
    return mean * (PARETO - 1) / PARETO * pow(uniform(rng), -1 / PARETO);
}

static double next_of_source(struct lab *lab, struct lab_queue *queue, struct lab_source *source)
{
    const struct lab_hop *hop = queue->hop;
    source->next_ns += CROSS_BITS / hop->peak;
    while (source->next_ns >= source->ends_ns) {
        source->next_ns = source->ends_ns + pareto(&lab->rng, hop->off_ns);
        source->ends_ns = source->next_ns + pareto(&lab->rng, hop->on_ns);
    }
    return source->next_ns;
}

static void draw_next(struct lab *lab, struct lab_queue *queue)
{
    const struct lab_hop *hop = queue->hop;
    switch (hop->kind) {
    case LAB_CBR:
        queue->next_ns += CROSS_BITS / hop->cross;
        return;
    case LAB_POISSON:
        queue->next_ns -= log(uniform(&lab->rng)) * CROSS_BITS / hop->cross;
        return;
    case LAB_ON_OFF:
        for (unsigned i = 0; i < hop->sources; i++)
            if (queue->sources[i].next_ns <= queue->next_ns)
                next_of_source(lab, queue, &queue->sources[i]);
        queue->next_ns = INFINITY;
        for (unsigned i = 0; i < hop->sources; i++)
            queue->next_ns = fmin(queue->next_ns, queue->sources[i].next_ns);
        return;
    }
}

/* Work that is done, and tokens that come, until then. */
static void work(struct lab_queue *queue, double at_ns)
{
    double span_ns = at_ns - queue->now_ns;
    queue->cap_bits += queue->rate * span_ns;
    const struct lab_hop *hop = queue->hop;
    if (hop->depth_bits <= 0) {
        queue->work_bits = fmax(queue->work_bits - queue->rate * span_ns, 0);
    } else {
        /* At the line's rate while there are tokens, then at theirs. */
        double fast_ns = queue->work_bits / queue->rate;
        double empty_ns = queue->tokens_bits / (queue->rate - hop->tokens);
        double first_ns = fmin(span_ns, fmin(fast_ns, empty_ns));
        queue->work_bits -= queue->rate * first_ns;
        queue->tokens_bits -= (queue->rate - hop->tokens) * first_ns;
        double slow_ns = fmin(span_ns - first_ns, queue->work_bits / hop->tokens);
        queue->work_bits -= hop->tokens * slow_ns;
        double rest_ns = span_ns - first_ns - slow_ns;
        queue->tokens_bits = fmin(queue->tokens_bits + hop->tokens * rest_ns, hop->depth_bits);
    }
    queue->now_ns = at_ns;
}

static void catch_up(struct lab *lab, struct lab_queue *queue, double at_ns)
{
    const struct lab_path *path = &lab->path;
    if (path->step.rate > 0 && queue == &lab->queues[0] && queue->now_ns < path->step.at_ns &&
        at_ns >= path->step.at_ns) {
        catch_up(lab, queue, path->step.at_ns - 1);
        work(queue, path->step.at_ns);
        queue->rate = path->step.rate;
    }
    while (queue->hop->cross > 0 && queue->next_ns <= at_ns) {
        work(queue, queue->next_ns);
        queue->cross_bits += CROSS_BITS;
        queue->work_bits += CROSS_BITS;
        draw_next(lab, queue);
    }
    work(queue, at_ns);
}

/* When what is in the queue will have been served. */
static double end_ns(const struct lab_queue *queue)
{
    const struct lab_hop *hop = queue->hop;
    double fast_ns = queue->work_bits / queue->rate;
    if (hop->depth_bits <= 0)
        return queue->now_ns + fast_ns;
    double empty_ns = queue->tokens_bits / (queue->rate - hop->tokens);
    if (fast_ns <= empty_ns)
        return queue->now_ns + fast_ns;
    return queue->now_ns + empty_ns + (queue->work_bits - queue->rate * empty_ns) / hop->tokens;
}

/* A packet comes; when it leaves, or INFINITY. */
static double pass(struct lab *lab, struct lab_queue *queue, double bits, double at_ns)
{
    catch_up(lab, queue, at_ns);
    bool waits = queue->work_bits > 0;
    if (queue->hop->queue_bits > 0 && queue->work_bits + bits > queue->hop->queue_bits)
        return INFINITY;
    queue->work_bits += bits;
    queue->worst_bits = fmax(queue->worst_bits, queue->work_bits);
    double leaves_ns = end_ns(queue);
    double between = queue->cross_bits - queue->last_cross_bits;
    if (queue->running && waits && leaves_ns <= queue->last_end_ns + (between + bits) / queue->rate + 1) {
        queue->busy_ns += at_ns - queue->last_ns;
        queue->busy_cross_bits += between;
        queue->busy_cap_bits += queue->cap_bits - queue->last_cap_bits;
    }
    queue->running = true;
    queue->last_ns = at_ns;
    queue->last_end_ns = leaves_ns;
    queue->last_cross_bits = queue->cross_bits;
    queue->last_cap_bits = queue->cap_bits;
    return leaves_ns;
}

static void begin_queue(struct lab *lab, struct lab_queue *queue, const struct lab_hop *hop)
{
    *queue = (struct lab_queue){.hop = hop, .rate = hop->rate, .tokens_bits = hop->depth_bits};
    for (unsigned i = 0; i < hop->sources && hop->kind == LAB_ON_OFF; i++) {
        bool on = uniform(&lab->rng) < hop->on_ns / (hop->on_ns + hop->off_ns);
        struct lab_source *source = &queue->sources[i];
        source->next_ns = on ? uniform(&lab->rng) * CROSS_BITS / hop->peak : pareto(&lab->rng, hop->off_ns);
        source->ends_ns = source->next_ns + pareto(&lab->rng, hop->on_ns);
    }
    queue->next_ns = hop->kind == LAB_ON_OFF ? 0 : uniform(&lab->rng) * CROSS_BITS / fmax(hop->cross, 1e-9);
    if (hop->kind == LAB_ON_OFF) {
        queue->next_ns = INFINITY;
        for (unsigned i = 0; i < hop->sources; i++)
            queue->next_ns = fmin(queue->next_ns, queue->sources[i].next_ns);
    }
}

void lab_begin(struct lab *lab, const struct lab_path *path, uint64_t seed)
{
    *lab = (struct lab){.path = *path, .now_ns = 2e7};
    rng_init(&lab->rng, seed * 1000003);
    for (unsigned i = 0; i < path->hop_count; i++) {
        begin_queue(lab, &lab->queues[i], &lab->path.hops[i]);
        catch_up(lab, &lab->queues[i], lab->now_ns * 0.999);
    }
}

void lab_end(struct lab *lab)
{
    free(lab->marks);
}

struct passing {
    double sent_ns, at_ns;
    uint32_t index;
};

static int by_time(const void *a, const void *b)
{
    double first = ((const struct passing *)a)->at_ns, second = ((const struct passing *)b)->at_ns;
    return (first > second) - (first < second);
}

static uint32_t mishaps(struct lab *lab, struct passing *packets, uint32_t count)
{
    uint32_t left = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (lab->path.loss > 0 && uniform(&lab->rng) < lab->path.loss)
            continue;
        if (lab->path.late > 0 && uniform(&lab->rng) < lab->path.late)
            packets[i].at_ns += LATE_NS;
        if (lab->path.jitter_ns > 0)
            packets[i].at_ns += lab->path.jitter_ns * uniform(&lab->rng);
        packets[left++] = packets[i];
    }
    qsort(packets, left, sizeof(packets[0]), by_time);
    return left;
}

static uint32_t through_hop(struct lab *lab, unsigned hop, struct passing *packets, uint32_t count,
                            double bits)
{
    struct lab_queue *queue = &lab->queues[hop];
    uint32_t left = 0;
    queue->running = false;
    for (uint32_t i = 0; i < count; i++) {
        double at_ns = fmax(packets[i].at_ns, queue->now_ns);
        if (hop == 0) {
            catch_up(lab, queue, at_ns);
            if (lab->mark_count == lab->mark_room) {
                lab->mark_room = MAX(2 * lab->mark_room, 4096u);
                lab->marks = realloc(lab->marks, lab->mark_room * sizeof(lab->marks[0]));
                CHECK(lab->marks != NULL);
            }
            lab->marks[lab->mark_count++] = (struct lab_mark){at_ns, queue->cross_bits, queue->cap_bits};
        }
        double leaves_ns = pass(lab, queue, bits, at_ns);
        if (leaves_ns == INFINITY)
            continue;
        packets[left] = packets[i];
        packets[left++].at_ns = leaves_ns;
    }
    return left;
}

static void batch_up(const struct lab_path *path, struct passing *packets, uint32_t count)
{
    if (path->batch <= 1)
        return;
    for (uint32_t first = 0, end; first < count; first = end) {
        double latest_ns = packets[first].at_ns + path->batch_ns;
        for (end = first; end < count && end - first < path->batch && packets[end].at_ns <= latest_ns;)
            end++;
        double seen_ns = end - first == path->batch ? packets[end - 1].at_ns : latest_ns;
        for (uint32_t i = first; i < end; i++)
            packets[i].at_ns = seen_ns;
    }
}

static int by_index(const void *a, const void *b)
{
    return (int)((const struct train_sample *)a)->index - (int)((const struct train_sample *)b)->index;
}

static uint64_t stamp(struct lab *lab, double at_ns, double skew)
{
    double noise_ns = lab->path.noise_ns > 0 ? lab->path.noise_ns * gaussian(&lab->rng) : 0;
    return (uint64_t)(at_ns + skew * at_ns + noise_ns + 1e6);
}

double lab_send(struct lab *lab, const struct train_shape *shape, uint64_t start_ns,
                struct train_record *record)
{
    static struct passing packets[TRAIN_PACKETS_MAX];
    const struct lab_path *path = &lab->path;
    double bits = shape->wire_bytes * 8.0;
    uint32_t sent = 0;
    CHECK(train_shape_valid(shape));
    struct train_schedule schedule;
    for (train_begin(&schedule, shape, start_ns); schedule.next_ns != TIME_NEVER; train_step(&schedule))
        packets[sent++] =
            (struct passing){(double)schedule.next_ns, (double)schedule.next_ns, schedule.index};
    double last_ns = packets[sent - 1].sent_ns;
    uint32_t count = sent;
    if (!path->after)
        count = mishaps(lab, packets, count);
    for (unsigned hop = 0; hop < path->hop_count; hop++)
        count = through_hop(lab, hop, packets, count, bits);
    if (path->after)
        count = mishaps(lab, packets, count);
    batch_up(path, packets, count);
    *record = (struct train_record){.shape = *shape, .start_ns = start_ns, .sent = sent, .count = count};
    if (path->floor_told) {
        record->receiver.noise_ns = record->sender.noise_ns = (uint64_t)path->noise_ns;
        record->receiver.batch = path->batch;
    }
    for (uint32_t i = 0; i < count; i++) {
        record->samples[i] =
            (struct train_sample){.sent_ns = stamp(lab, packets[i].sent_ns, 0),
                                  .received_ns = stamp(lab, packets[i].at_ns + path->rtt_ns / 2, path->skew),
                                  .index = packets[i].index,
                                  .arrival = i};
        last_ns = fmax(last_ns, packets[i].at_ns);
    }
    qsort(record->samples, count, sizeof(record->samples[0]), by_index);
    return last_ns + path->rtt_ns + (count < sent ? 5e6 : 0);
}

double lab_period(const struct lab *lab, double from_ns, double until_ns)
{
    const struct lab_mark *first = NULL, *last = NULL;
    for (uint32_t i = 0; i < lab->mark_count; i++) {
        const struct lab_mark *mark = &lab->marks[i];
        if (mark->at_ns < from_ns - 1 || mark->at_ns > until_ns + 1)
            continue;
        first = first == NULL ? mark : first;
        last = mark;
    }
    if (first == NULL || last->at_ns <= first->at_ns)
        return NAN;
    return (last->cap_bits - first->cap_bits - last->cross_bits + first->cross_bits) /
           (last->at_ns - first->at_ns);
}

struct report {
    bool waiting;
    double due_ns;
    struct train_record record;
};

static struct report *earliest(struct report *reports)
{
    struct report *first = NULL;
    for (unsigned i = 0; i < UNDER_WAY; i++)
        if (reports[i].waiting && (first == NULL || reports[i].due_ns < first->due_ns))
            first = &reports[i];
    return first;
}

static void judge(struct lab *lab, struct lab_result *result)
{
    double left = INFINITY;
    for (unsigned i = 0; i < lab->path.hop_count; i++) {
        const struct lab_queue *queue = &lab->queues[i];
        double queue_left = queue->hop->rate - queue->hop->cross;
        result->queue_bytes = fmax(result->queue_bytes, queue->worst_bits / 8);
        if (queue_left < left && queue->busy_ns > 0)
            result->window = (queue->busy_cap_bits - queue->busy_cross_bits) / queue->busy_ns;
        left = fmin(left, queue_left);
    }
    result->period = lab_period(lab, (double)result->estimate.from_ns, (double)result->estimate.until_ns);
}

struct spending {
    double at_ns[4096], bytes[4096];
    unsigned count, begin;
    double within;
};

static void spend(struct spending *spending, double at_ns, double bytes, double *most)
{
    CHECK(spending->count < 4096);
    spending->at_ns[spending->count] = at_ns;
    spending->bytes[spending->count++] = bytes;
    spending->within += bytes;
    while (spending->at_ns[spending->begin] < at_ns - 1e10)
        spending->within -= spending->bytes[spending->begin++];
    *most = fmax(*most, spending->within);
}

void lab_measure(struct lab *lab, const struct estimator_kind *kind, const struct estimator_goal *goal,
                 double limit_ns, const struct lab_watch *watch, struct lab_result *result)
{
    static struct report reports[UNDER_WAY];
    static struct spending spending;
    void *state = malloc(kind->bytes);
    CHECK(state != NULL);
    double begin_ns = lab->now_ns, now_ns = begin_ns, free_ns = 0, look_ns = begin_ns;
    memset(reports, 0, sizeof(reports));
    spending.count = spending.begin = 0;
    spending.within = 0;
    *result = (struct lab_result){0};
    kind->start(state, goal, (uint64_t)now_ns);
    while (now_ns - begin_ns < limit_ns) {
        struct train_shape shape;
        uint64_t at_ns;
        enum estimator_step step = kind->next(state, (uint64_t)now_ns, &shape, &at_ns);
        struct report *due = earliest(reports);
        if (step == ESTIMATOR_DONE)
            break;
        if (step == ESTIMATOR_TRAIN) {
            struct report *free_report = reports;
            while (free_report->waiting)
                CHECK(++free_report < reports + UNDER_WAY);
            double start_ns = fmax((double)at_ns, free_ns);
            free_report->due_ns = lab_send(lab, &shape, (uint64_t)start_ns, &free_report->record);
            free_report->waiting = true;
            free_ns = start_ns + (double)train_duration_ns(&shape);
            spend(&spending, start_ns, (double)train_bytes(&shape), &result->bytes_10s);
            result->trains++;
            result->bytes += (double)train_bytes(&shape);
            continue;
        }
        double next_ns = at_ns == TIME_NEVER ? INFINITY : fmax((double)at_ns, now_ns);
        if (watch != NULL && look_ns <= fmin(next_ns, due != NULL ? due->due_ns : INFINITY)) {
            now_ns = fmax(now_ns, look_ns);
            look_ns += watch->look_ns;
            kind->result(state, (uint64_t)now_ns, &result->estimate);
            watch->look(watch->user, lab, &result->estimate, now_ns - begin_ns);
            continue;
        }
        if (due != NULL && due->due_ns <= next_ns) {
            now_ns = fmax(due->due_ns, now_ns);
            due->waiting = false;
            kind->take(state, due->record.count > 0 ? &due->record : NULL, (uint64_t)now_ns);
            continue;
        }
        CHECK(next_ns != INFINITY);
        now_ns = fmax(next_ns, now_ns + 1);
    }
    result->took_ns = now_ns - begin_ns;
    kind->result(state, (uint64_t)now_ns, &result->estimate);
    judge(lab, result);
    lab->now_ns = fmax(now_ns, free_ns) + 1e6;
    free(state);
}
