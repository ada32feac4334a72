#include "edge/bql/doubt.h"

#include "base/units.h"

#define LEAST_NS      (NS_PER_MS / 2)
#define WAIT_NS       NS_PER_S
#define WAIT_RTTS     20
#define UNFOUNDED_MAX 4

static bool doubts(const struct bql_doubt *doubt, const struct bql_path *path, uint64_t target_ns)
{
    uint64_t least_ns = MAX(LEAST_NS, target_ns / 4) + path_delay_jitter_ns(&path->delay) / 2;
    least_ns += bql_path_waiting_ns(path);
    return path->doubt_ns > doubt->settled_ns + least_ns;
}

bool bql_doubt_due(struct bql_doubt *doubt, const struct bql_path *path, const struct bql_view *view)
{
    uint64_t wait_ns = MAX(WAIT_NS, WAIT_RTTS * view->rtt_ns) << doubt->unfounded;
    doubt->settled_ns = MIN(doubt->settled_ns, path->doubt_ns);
    if (doubt->asked_ns == 0)
        doubt->asked_ns = view->now_ns;
    return doubts(doubt, path, view->target_ns) && elapsed_ns(view->now_ns, doubt->asked_ns) >= wait_ns;
}

void bql_doubt_begin(struct bql_doubt *doubt, const struct bql_path *path, const struct bql_view *view)
{
    doubt->asks = doubts(doubt, path, view->target_ns);
    doubt->asked_ns = path->now_ns;
    doubt->before_ns = path->doubt_ns;
    doubt->began_base_ns = path->delay.base_ns;
    doubt->base_ns = path->delay.base_ns;
    doubt->fell_ns = 0;
}

uint64_t bql_doubt_most_ns(const struct bql_doubt *doubt, const struct bql_path *path,
                           const struct bql_view *view)
{
    uint64_t shows_ns = MAX(view->queue_ns, view->predicted_ns) + path_delay_jitter_ns(&path->delay);
    return shows_ns + elapsed_ns(doubt->before_ns, doubt->settled_ns);
}

static bool founded(const struct bql_doubt *doubt, const struct bql_path *path)
{
    return path->doubt_ns < doubt->settled_ns + (doubt->before_ns - doubt->settled_ns) / 2;
}

bool bql_doubt_settles(const struct bql_doubt *doubt, const struct bql_path *path)
{
    bool seen = path->delay.base_seen_ns > doubt->asked_ns + path->rtt_ns;
    bool fell = path->delay.base_ns < doubt->began_base_ns - (int64_t)LEAST_NS / 2;
    return seen && (!fell || founded(doubt, path));
}

bool bql_doubt_allows_end(struct bql_doubt *doubt, const struct bql_path *path)
{
    if (path->delay.base_ns < doubt->base_ns || doubt->fell_ns == 0)
        doubt->fell_ns = path->now_ns;
    doubt->base_ns = MIN(doubt->base_ns, path->delay.base_ns);
    return !doubt->asks || elapsed_ns(path->now_ns, doubt->fell_ns) > path->rtt_ns;
}

void bql_doubt_end(struct bql_doubt *doubt, const struct bql_path *path)
{
    doubt->asked_ns = path->now_ns;
    if (!doubt->asks)
        return;
    doubt->unfounded = founded(doubt, path) ? 0 : MIN(doubt->unfounded + 1, (uint32_t)UNFOUNDED_MAX);
    doubt->settled_ns = path->doubt_ns;
    doubt->asks = false;
}
