#include "app/bench/seen.h"

#include <string.h>

#include "base/units.h"

static const struct estimator_kind *inner_kind;
static struct estimator_kind kind;
static struct seen *watcher;

/* ---- what goes by ---- */

static void look_at_departures(struct seen *seen, const struct train_record *record)
{
    struct train_schedule schedule;
    train_begin(&schedule, &record->shape, record->start_ns);
    for (uint32_t place = 0; place < record->count; place++) {
        const struct train_sample *sample = &record->samples[place];
        while (schedule.index < sample->index && schedule.next_ns != TIME_NEVER)
            train_step(&schedule);
        uint64_t late_ns = elapsed_ns(sample->sent_ns, schedule.next_ns);
        uint64_t early_ns = elapsed_ns(schedule.next_ns, sample->sent_ns);
        histogram_add(&seen->departure_ns, MAX(late_ns, early_ns));
        seen->packets++;
        seen->stamped_alike += place > 0 && sample->received_ns == sample[-1].received_ns;
    }
}

void seen_train(struct seen *seen, const struct train_record *record)
{
    seen->under_way -= seen->under_way > 0;
    if (record == NULL) {
        seen->lost++;
        return;
    }
    seen->trains++;
    seen->spoiled += record->marks != 0;
    for (int mark = 0; mark < SEEN_MARKS; mark++)
        seen->marked[mark] += record->marks >> mark & 1;
    seen->batch_max = MAX(seen->batch_max, (uint64_t)record->receiver.batch);
    seen->gap_ns_max = MAX(seen->gap_ns_max, record->receiver.gap_ns);
    look_at_departures(seen, record);
}

void seen_next(struct seen *seen)
{
    seen->under_way = 0;
    seen->asked_all = seen->ended = false;
    seen->estimate = (struct estimate){0};
}

/* ---- the estimator ---- */

static void start(void *state, const struct estimator_goal *goal, uint64_t now_ns)
{
    inner_kind->start(state, goal, now_ns);
}

static enum estimator_step next(void *state, uint64_t now_ns, struct train_shape *shape, uint64_t *at_ns)
{
    enum estimator_step step = inner_kind->next(state, now_ns, shape, at_ns);
    watcher->under_way += step == ESTIMATOR_TRAIN;
    watcher->asked_all |= step == ESTIMATOR_DONE;
    return step;
}

static void take(void *state, const struct train_record *record, uint64_t now_ns)
{
    seen_train(watcher, record);
    inner_kind->take(state, record, now_ns);
}

static void result(const void *state, uint64_t now_ns, struct estimate *estimate)
{
    inner_kind->result(state, now_ns, estimate);
    watcher->estimate = *estimate;
    watcher->ended = watcher->asked_all && watcher->under_way == 0;
}

const struct estimator_kind *seen_around(const struct estimator_kind *inner, struct seen *seen)
{
    memset(seen, 0, sizeof(*seen));
    inner_kind = inner;
    watcher = seen;
    kind = (struct estimator_kind){inner->name, inner->bytes, inner->floors, start, next, take, result};
    return &kind;
}

/* ---- figures ---- */

void seen_report(const struct seen *seen, struct report *report)
{
    static const char *const marks[SEEN_MARKS] = {"reanchored", "merged", "cut", "stood_still"};
    report_object(report, "departure_ns");
    report_u64(report, "p50", histogram_percentile(&seen->departure_ns, 500000));
    report_u64(report, "p99", histogram_percentile(&seen->departure_ns, 990000));
    report_u64(report, "largest", seen->departure_ns.largest);
    report_object_end(report);
    report_u64(report, "trains", seen->trains);
    report_u64(report, "trains_lost", seen->lost);
    report_u64(report, "trains_spoiled", seen->spoiled);
    report_fixed(report, "spoiled_share", seen->spoiled * 1000 / MAX(seen->trains, (uint64_t)1), 3);
    report_object(report, "spoiled_by");
    for (int mark = 0; mark < SEEN_MARKS; mark++)
        report_u64(report, marks[mark], seen->marked[mark]);
    report_object_end(report);
    report_u64(report, "packets", seen->packets);
    report_u64(report, "stamped_alike", seen->stamped_alike);
    report_u64(report, "batch_max", seen->batch_max);
    report_u64(report, "receiver_gap_us_max", seen->gap_ns_max / NS_PER_US);
}
