#include "probe/self_test.h"

#include <math.h>

#include "base/units.h"

#define SPARSE_NS (40 * NS_PER_US) /* between packets of the last part; of the second one at most */
/* Samples, of the first and of the second part, from which something can be said. */
#define FAST_LEAST   16u
#define SPACED_LEAST 32u
/* A median of absolute differences, as a standard deviation of normal draws. */
#define DEVIATION_OF_MEDIAN 1.4826
/* Noise that exceeds so much of a spacing makes at least that share of stamps fall below the one before. */
#define FALLING_NOISE 0.6
#define FALLS_SHARE   0.03
/* Stamps of one batch differ by less than so many deviations, while its packets left over a time longer than that. */
#define BATCH_DEVIATIONS 8
#define BATCH_SPAN       1.5
#define BATCHED_SHARE    3 /* such a part of all packets comes in batches, or there are none */
/* Stamps that are equal by chance, where they are noisy. */
#define CHANCE_BATCH 4u
/* Between packets that are compared for that, in deviations of noise over the spacing of a queue. */
#define LAG_DEVIATIONS 1.5
#define STEP_NS_MAX    ((int64_t)(1000 * NS_PER_S))
#define VALUES_MAX     (SELF_TEST_FAST + SELF_TEST_SPACED + SELF_TEST_SPARSE)

/* Of samples in order: index, and place in the order of arrival, one behind the other. */
struct steps {
    unsigned count;
    int64_t value_ns[VALUES_MAX];
};

void self_test_shape(struct train_shape *shape, uint64_t port_bps, uint64_t top_bps, uint32_t wire_bytes)
{
    uint64_t bits_ns = SELF_TEST_BYTES * 8 * NS_PER_S;
    uint64_t most_bps = MIN(top_bps, port_bps);
    uint64_t spaced_ns = MIN(transmit_ns(wire_bytes, MAX(most_bps, 1ULL)), SPARSE_NS);
    *shape = (struct train_shape){.wire_bytes = SELF_TEST_BYTES};
    train_add(shape, SELF_TEST_FAST, port_bps);
    train_add(shape, SELF_TEST_SPACED, MIN(bits_ns / MAX(spaced_ns, 1ULL), port_bps));
    train_add(shape, SELF_TEST_SPARSE, MIN(bits_ns / SPARSE_NS, port_bps));
}

static bool is_spaced(const struct train_sample *sample)
{
    return sample->index >= SELF_TEST_FAST && sample->index < SELF_TEST_FAST + SELF_TEST_SPACED;
}

/* From one stamp to another, however far a report says they are apart. */
static int64_t step_ns(uint64_t before_ns, uint64_t at_ns)
{
    int64_t step_ns = (int64_t)(at_ns - before_ns);
    return MAX(MIN(step_ns, STEP_NS_MAX), -STEP_NS_MAX);
}

static void sort(int64_t *values, unsigned count)
{
    for (unsigned i = 1; i < count; i++) {
        int64_t value = values[i];
        unsigned place = i;
        for (; place > 0 && values[place - 1] > value; place--)
            values[place] = values[place - 1];
        values[place] = value;
    }
}

static int64_t median(struct steps *steps)
{
    sort(steps->value_ns, steps->count);
    return steps->value_ns[steps->count / 2];
}

/* Standard deviation of one stamp, by what steps from stamp to stamp differ. */
static double noise_of(const struct steps *steps, int64_t *middle_ns)
{
    struct steps sorted = *steps;
    *middle_ns = 0;
    if (sorted.count < FAST_LEAST)
        return 0;
    *middle_ns = median(&sorted);
    for (unsigned i = 0; i < sorted.count; i++)
        sorted.value_ns[i] = llabs(sorted.value_ns[i] - *middle_ns);
    return DEVIATION_OF_MEDIAN * (double)median(&sorted) / sqrt(2);
}

static bool neighbours(const struct train_sample *before, const struct train_sample *sample)
{
    return sample->index == before->index + 1 && sample->arrival == before->arrival + 1;
}

static uint64_t receiver_noise(const struct train_record *record, unsigned *samples)
{
    struct steps steps = {0};
    unsigned falls = 0;
    *samples = 0;
    for (uint32_t i = 1; i < record->count && record->samples[i].index < SELF_TEST_FAST; i++) {
        const struct train_sample *before = &record->samples[i - 1], *sample = &record->samples[i];
        ++*samples;
        if (!neighbours(before, sample))
            continue;
        int64_t came_ns = step_ns(before->received_ns, sample->received_ns);
        falls += came_ns < 0;
        steps.value_ns[steps.count++] = came_ns;
    }
    int64_t middle_ns;
    double noise_ns = noise_of(&steps, &middle_ns);
    bool delay = noise_ns > FALLING_NOISE * (double)middle_ns && falls < FALLS_SHARE * steps.count;
    return delay ? 0 : (uint64_t)noise_ns;
}

/* What one packet of the first part takes, by the median; 0: too few came, or at once. */
static uint64_t spacing_ns(const struct train_record *record)
{
    struct steps steps = {0};
    for (uint32_t i = 1; i < record->count && record->samples[i].index < SELF_TEST_FAST; i++) {
        const struct train_sample *before = &record->samples[i - 1], *sample = &record->samples[i];
        if (neighbours(before, sample))
            steps.value_ns[steps.count++] = step_ns(before->received_ns, sample->received_ns);
    }
    return steps.count < FAST_LEAST ? 0 : (uint64_t)MAX(median(&steps), (int64_t)0);
}

/* By departures against their schedule, of the second part: in the first one they may not leave as close as
 * they should. */
static uint64_t sender_noise(const struct train_record *record, uint64_t *late_ns)
{
    struct train_schedule schedule;
    struct steps steps = {0};
    int64_t before_ns = 0, off_ns;
    uint32_t i = 0, before = UINT32_MAX;
    *late_ns = 0;
    train_begin(&schedule, &record->shape, record->start_ns);
    for (; schedule.next_ns != TIME_NEVER && i < record->count; train_step(&schedule)) {
        const struct train_sample *sample = &record->samples[i];
        if (sample->index != schedule.index)
            continue;
        off_ns = step_ns(schedule.next_ns, sample->sent_ns);
        if (off_ns > 0)
            *late_ns = MAX(*late_ns, (uint64_t)off_ns);
        if (is_spaced(sample) && before + 1 == sample->index)
            steps.value_ns[steps.count++] = off_ns - before_ns;
        before = sample->index;
        before_ns = off_ns;
        i++;
    }
    return (uint64_t)noise_of(&steps, &off_ns);
}

/* The greatest number of which all stamps of the receiver are multiples, but for an offset; 0: of a nanosecond. */
static uint64_t granularity(const struct train_record *record)
{
    uint64_t common_ns = 0;
    unsigned distinct = 0;
    for (uint32_t i = 1; i < record->count; i++) {
        int64_t came_ns = step_ns(record->samples[i - 1].received_ns, record->samples[i].received_ns);
        distinct += came_ns != 0;
        for (uint64_t rest_ns = (uint64_t)llabs(came_ns); rest_ns != 0;) {
            uint64_t left_ns = common_ns % rest_ns;
            common_ns = rest_ns;
            rest_ns = left_ns;
        }
    }
    return distinct >= FAST_LEAST / 2 && common_ns > 1 ? common_ns : 0;
}

/* Whether packets of a queue, which cannot come closer than a hop sends them, were stamped closer: packets
 * that stand so far apart in the first part that noise does not hide it, by the median of all such pairs. */
static bool shows_batches(const struct train_record *record, double noise_ns, uint64_t top_bps)
{
    double packet_ns = (double)transmit_ns(SELF_TEST_BYTES, top_bps);
    unsigned apart = (unsigned)fmin(1 + ceil(LAG_DEVIATIONS * noise_ns / packet_ns), SELF_TEST_FAST);
    struct steps steps = {0};
    for (uint32_t i = apart; i < record->count && record->samples[i].index < SELF_TEST_FAST; i++)
        if (record->samples[i].index == record->samples[i - apart].index + apart)
            steps.value_ns[steps.count++] =
                step_ns(record->samples[i - apart].received_ns, record->samples[i].received_ns);
    return steps.count >= FAST_LEAST && (double)median(&steps) < apart * packet_ns / 2;
}

/* All that came, in the order in which it did. */
struct arrivals {
    unsigned count;
    const struct train_sample *sample[VALUES_MAX];
};

static void sort_by_arrival(struct arrivals *arrivals, const struct train_record *record)
{
    arrivals->count = 0;
    for (uint32_t i = 0; i < record->count && i < VALUES_MAX; i++) {
        unsigned place = arrivals->count++;
        for (; place > 0 && arrivals->sample[place - 1]->arrival > record->samples[i].arrival; place--)
            arrivals->sample[place] = arrivals->sample[place - 1];
        arrivals->sample[place] = &record->samples[i];
    }
}

/* Packets from place `first` on that came with one stamp though they left apart; 1: it came by itself. */
static uint32_t batch_from(const struct arrivals *arrivals, uint32_t first, double room_ns)
{
    uint64_t begin_ns = arrivals->sample[first]->received_ns;
    uint64_t earliest_ns = arrivals->sample[first]->sent_ns, latest_ns = earliest_ns;
    uint32_t end = first;
    for (; end < arrivals->count; end++) {
        const struct train_sample *sample = arrivals->sample[end];
        if ((double)llabs(step_ns(begin_ns, sample->received_ns)) > room_ns ||
            sample->index >= SELF_TEST_FAST + SELF_TEST_SPACED)
            break;
        earliest_ns = MIN(earliest_ns, sample->sent_ns);
        latest_ns = MAX(latest_ns, sample->sent_ns);
    }
    return (double)(latest_ns - earliest_ns) > BATCH_SPAN * room_ns ? end - first : 1;
}

static uint32_t batch_size(const struct train_record *record, const struct train_floor *floor,
                           unsigned *samples)
{
    double room_ns = (double)(BATCH_DEVIATIONS * floor->noise_ns + floor->granularity_ns);
    uint32_t longest = 1, batched = 0, size;
    struct arrivals arrivals;
    sort_by_arrival(&arrivals, record);
    *samples = 0;
    for (uint32_t i = 0; i < arrivals.count; i += size) {
        size = 1;
        if (!is_spaced(arrivals.sample[i]))
            continue;
        size = batch_from(&arrivals, i, room_ns);
        *samples += size;
        batched += size > 1 ? size : 0;
        longest = MAX(longest, size);
    }
    return batched * BATCHED_SHARE >= *samples ? longest : 1;
}

bool self_test_read(struct self_test *test, const struct train_record *record, uint64_t top_bps)
{
    unsigned fast, spaced;
    *test = (struct self_test){
        .sender = {.stamp_kind = record->sender.stamp_kind},
        .receiver = {.gap_ns = record->receiver.gap_ns, .stamp_kind = record->receiver.stamp_kind}};
    uint64_t noise_ns = receiver_noise(record, &fast);
    if (test->receiver.stamp_kind != STAMP_VIRTUAL) {
        uint64_t coarse_ns = MAX(granularity(record), record->receiver.granularity_ns);
        uint64_t rounding_ns = (uint64_t)((double)coarse_ns / sqrt(12));
        test->receiver.granularity_ns = coarse_ns;
        noise_ns = MAX(noise_ns, rounding_ns);
        test->receiver.noise_ns = MAX(noise_ns, record->receiver.noise_ns);
    }
    noise_ns = sender_noise(record, &test->sender.gap_ns);
    if (test->sender.stamp_kind != STAMP_VIRTUAL)
        test->sender.noise_ns = noise_ns;
    uint32_t batch = batch_size(record, &test->receiver, &spaced);
    test->receiver.batch =
        shows_batches(record, (double)test->receiver.noise_ns, MAX(top_bps, 1ULL)) ? batch : 1;
    uint64_t apart_ns = spacing_ns(record);
    test->path_bps = apart_ns == 0 ? 0 : SELF_TEST_BYTES * 8 * NS_PER_S / apart_ns;
    test->swallowed = test->receiver.batch > SELF_TEST_SPACED / 2;
    return fast >= FAST_LEAST && spaced >= SPACED_LEAST;
}

void self_test_apply(const struct self_test *test, struct train_record *record)
{
    struct train_floor *receiver = &record->receiver;
    record->sender.noise_ns = MAX(record->sender.noise_ns, test->sender.noise_ns);
    receiver->noise_ns = MAX(receiver->noise_ns, test->receiver.noise_ns);
    receiver->granularity_ns = MAX(receiver->granularity_ns, test->receiver.granularity_ns);
    if (test->receiver.noise_ns > 0 && receiver->batch <= CHANCE_BATCH) /* a batch's stamps are not equal */
        receiver->batch = test->receiver.batch;
}
