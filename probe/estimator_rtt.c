/* rtt: what planners had before there were measurements of bandwidth. Ten single packets over the duration, one
 * a second where it goes on; it says no rate.
 * Its result is its cost and the window: NONE, however long it lasts. The least time to a report is the path's (the
 * node's own RTT is measured without trains, by rtt_probe). */
#include "base/units.h"
#include "probe/estimators.h"
#include "probe/search.h"

#define PACKETS 10

static void start(void *state, const struct estimator_goal *goal, uint64_t now_ns)
{
    search_start(state, goal, now_ns);
}

static enum estimator_step next(void *state, uint64_t now_ns, struct train_shape *shape, uint64_t *at_ns)
{
    struct search *search = state;
    *shape = (struct train_shape){.wire_bytes = search->goal.wire_bytes};
    train_add(shape, 1, search->goal.port_bps);
    search->over = !search->goal.continuous && search->trains + search->discarded >= PACKETS;
    return search_next(search, shape, 1, now_ns, at_ns);
}

static void take(void *state, const struct train_record *record, uint64_t now_ns)
{
    struct search *search = state;
    search_take(search, record, 1);
    search->due_ns = now_ns + (search->goal.continuous ? NS_PER_S : search->goal.duration_ns / PACKETS);
}

static void result(const void *state, uint64_t now_ns, struct estimate *estimate)
{
    const struct search *search = state;
    (void)now_ns;
    search_result(search, estimate);
    if (search->answers > 0) {
        estimate->kind = ESTIMATE_NONE;
        estimate->reason = ESTIMATE_SURE;
    }
}

const struct estimator_kind estimator_rtt = {.name = "rtt",
                                             .bytes = sizeof(struct search),
                                             .start = start,
                                             .next = next,
                                             .take = take,
                                             .result = result};
