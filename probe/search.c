#include "probe/search.h"

#include <math.h>

#include "base/units.h"

/* Nothing came back of so many trains: nobody answers. */
#define SILENT_MAX 5

void search_start(struct search *search, const struct estimator_goal *goal, uint64_t now_ns)
{
    *search = (struct search){.goal = *goal, .begin_ns = now_ns, .due_ns = now_ns};
}

uint64_t search_rate_max(const struct estimator_goal *goal)
{
    return goal->receiver_bps != 0 ? MIN(goal->receiver_bps, goal->port_bps) : goal->port_bps;
}

/* When so many bytes will be allowed. */
static uint64_t allowed_ns(const struct search *search, uint64_t bytes)
{
    const struct estimator_goal *goal = &search->goal;
    if (goal->load_ppm == 0)
        return search->begin_ns;
    uint64_t half_bps = muldiv64(search_rate_max(goal), goal->load_ppm, 2000000);
    uint64_t depth = bytes_within(half_bps, 10 * NS_PER_S);
    return bytes > depth ? search->begin_ns + transmit_ns(bytes - depth, half_bps > 0 ? half_bps : 1)
                         : search->begin_ns;
}

enum estimator_step search_next(struct search *search, const struct train_shape *shape, uint32_t together,
                                uint64_t now_ns, uint64_t *at_ns)
{
    uint64_t bytes = search->bytes + train_bytes(shape);
    *at_ns = TIME_NEVER;
    if (search->silent >= SILENT_MAX && search->answers == 0)
        search->over = true;
    if (search->goal.bytes_max != 0 && bytes > search->goal.bytes_max)
        search->spent = true;
    if (search->over || (search->spent && search->under_way == 0))
        return ESTIMATOR_DONE;
    if (search->under_way >= together || search->spent)
        return ESTIMATOR_WAIT;
    uint64_t due_ns = MAX(search->due_ns, allowed_ns(search, bytes));
    *at_ns = MAX(now_ns, due_ns);
    search->bytes = bytes;
    search->under_way++;
    return ESTIMATOR_TRAIN;
}

bool search_take(struct search *search, const struct train_record *record, uint32_t least)
{
    search->under_way--;
    if (record == NULL) {
        search->silent++;
        search->discarded++;
        return false;
    }
    search->answers++;
    if (record->marks != 0 || record->count < least) {
        search->discarded++;
        return false;
    }
    uint64_t first_ns = record->samples[0].sent_ns, last_ns = record->samples[record->count - 1].sent_ns;
    search->from_ns = search->trains == 0 ? first_ns : MIN(search->from_ns, first_ns);
    search->until_ns = MAX(search->until_ns, last_ns);
    search->trains++;
    return true;
}

bool search_time_is_up(const struct search *search, uint64_t now_ns)
{
    return !search->goal.continuous && now_ns >= search->begin_ns + search->goal.duration_ns;
}

void search_result(const struct search *search, struct estimate *estimate)
{
    *estimate =
        (struct estimate){.kind = search->over || search->spent ? ESTIMATE_REFUSED : ESTIMATE_NONE,
                          .reason = ESTIMATE_NO_END,
                          .stamp_kind = MIN(search->goal.sender.stamp_kind, search->goal.receiver.stamp_kind),
                          .from_ns = search->from_ns,
                          .until_ns = search->until_ns,
                          .bytes = search->bytes,
                          .trains = search->trains,
                          .discarded = search->discarded};
    if (search->spent)
        estimate->reason = ESTIMATE_BUDGET;
    if (search->answers == 0)
        estimate->reason = ESTIMATE_NO_ANSWER;
}

static uint64_t rate_of(double bps)
{
    return bps > 0 ? (uint64_t)(bps + 0.5) : 0;
}

void search_value(const struct search *search, struct estimate *estimate, double low_bps, double avail_bps,
                  double high_bps)
{
    search_result(search, estimate);
    estimate->kind = ESTIMATE_VALUE;
    estimate->reason = ESTIMATE_SURE;
    estimate->low_bps = rate_of(low_bps);
    estimate->avail_bps = rate_of(avail_bps);
    estimate->high_bps = rate_of(high_bps);
}

bool search_gaps(const struct train_record *record, double *sent_ns, double *received_ns)
{
    if (record->count < 2)
        return false;
    const struct train_sample *first = &record->samples[0], *last = &record->samples[record->count - 1];
    double gaps = last->index - first->index;
    *sent_ns = (double)(last->sent_ns - first->sent_ns) / gaps;
    *received_ns = (double)(int64_t)(last->received_ns - first->received_ns) / gaps;
    return *sent_ns > 0 && *received_ns > 0;
}
