#include "dpdk/lane.h"

#include "base/count.h"
#include "base/units.h"

void lane_init(struct lane *lane, uint64_t slack_ns)
{
    *lane = (struct lane){.slack_ns = slack_ns, .catch_up = LANE_CATCH_UP};
}

void lane_push(struct lane *lane, const struct lane_item *item)
{
    CHECK(lane_room(lane) > 0);
    uint64_t asked_ns = item->asked_ns;
    uint64_t distance_ns = elapsed_ns(asked_ns, lane->last_asked_ns);
    /* The first packet asked for after a stall follows its predecessor by the stall's length: then the
     * distance before tells the rate. */
    uint64_t gap_ns = MIN(distance_ns, lane->last_distance_ns);
    uint64_t earliest_ns = lane->last_depart_ns + (gap_ns - gap_ns / 8);
    lane->last_distance_ns = distance_ns;
    lane->last_asked_ns = MAX(lane->last_asked_ns, asked_ns);
    lane->last_depart_ns = MAX(asked_ns, earliest_ns);
    struct lane_item *place = &lane->items[lane->tail++ % LANE_PLACES];
    *place = *item;
    place->unshifted_ns = lane->last_depart_ns - lane->shift_ns;
}

/* Moves all items from `first` on by so much that `first` leaves its own distance after now. It is those before, a few,
 * that are touched. */
static void lane_reanchor(struct lane *lane, uint32_t first, uint64_t now_ns)
{
    uint64_t shift_ns = now_ns - lane_depart_ns(lane, first - 1);
    CHECK(lane_depart_ns(lane, first) >= lane_depart_ns(lane, first - 1));
    for (uint32_t index = 0; index < first; index++)
        lane->items[(lane->head + index) % LANE_PLACES].unshifted_ns -= shift_ns;
    lane->shift_ns += shift_ns;
    lane->last_depart_ns += shift_ns;
    count_add(&lane->reanchored, 1);
}

uint32_t lane_due(struct lane *lane, uint64_t now_ns, uint32_t room)
{
    uint32_t count = lane_count(lane);
    if (count == 0)
        return 0;
    uint64_t limit_ns = now_ns + lane->slack_ns;
    if (elapsed_ns(now_ns, lane_depart_ns(lane, 0)) > LANE_STALL_NS && count > lane->catch_up &&
        lane_depart_ns(lane, lane->catch_up) <= limit_ns)
        lane_reanchor(lane, lane->catch_up, now_ns);
    uint32_t due = 0;
    limit_ns = now_ns + MAX(lane->slack_ns, lane->lead_ns);
    while (due < MIN(count, room) && lane_depart_ns(lane, due) <= limit_ns)
        due++;
    return due;
}

void lane_pop(struct lane *lane, uint32_t count, uint64_t sent_ns)
{
    CHECK(count <= lane_count(lane));
    for (uint32_t index = 0; index < count; index++)
        histogram_add(&lane->error_ns, elapsed_ns(sent_ns, lane_item(lane, index)->asked_ns));
    lane->head += count;
}

uint64_t lane_next_ns(const struct lane *lane)
{
    return lane_count(lane) == 0 ? TIME_NEVER : elapsed_ns(lane_depart_ns(lane, 0), lane->lead_ns);
}

void lane_report(const struct lane *lane, struct report *report)
{
    const struct histogram *error = &lane->error_ns;
    report_u64(report, "late_ns_p50", histogram_percentile(error, 500000));
    report_u64(report, "late_ns_p99", histogram_percentile(error, 990000));
    report_u64(report, "late_ns_p999", histogram_percentile(error, 999000));
    report_u64(report, "late_ns_max", count_get(&error->largest));
    report_u64(report, "late_bursts_avoided", count_get(&lane->reanchored));
}
