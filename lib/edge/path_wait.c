#include "edge/path_wait.h"

#include "base/units.h"
#include "edge/path_delay.h"
#include "edge/roots.h"

#define SPREAD_PER_MOST 4
#define GROWN_PERCENT   150 /* peaks of late differ by less */
#define SQUARE_NS_MAX   (NS_PER_S * NS_PER_S)

static uint64_t spread_ns(const struct path_wait *wait)
{
    return MAX(wait->spread_ns, wait->spread_before_ns);
}

void path_wait_on_jump(struct path_wait *wait, uint64_t jump_ns, uint64_t gap_ns, uint64_t now_ns)
{
    if (elapsed_ns(now_ns, wait->start_ns) >= PATH_DELAY_JITTER_HOLD_NS) {
        wait->spread_before_ns = wait->spread_ns;
        wait->spread_ns = 0;
        wait->start_ns = now_ns;
    }
    uint64_t jumped_ns = muldiv64(jump_ns, jump_ns, MAX(gap_ns, 1ULL));
    wait->spread_ns = MAX(wait->spread_ns, jumped_ns);
}

uint64_t path_wait_jump_ns(const struct path_wait *wait, uint64_t gap_ns)
{
    uint64_t bounded_ns = SQUARE_NS_MAX / MAX(gap_ns, 1ULL);
    return square_root(MIN(spread_ns(wait), bounded_ns) * gap_ns);
}

uint64_t path_wait_longer_ns(const struct path_wait *wait, uint64_t seen_gap_ns, uint64_t gap_ns,
                             uint64_t jitter_ns)
{
    return elapsed_ns(MIN(path_wait_jump_ns(wait, seen_gap_ns), jitter_ns), path_wait_jump_ns(wait, gap_ns));
}

uint64_t path_wait_most_ns(const struct path_wait *wait)
{
    return spread_ns(wait) / SPREAD_PER_MOST;
}

void path_wait_on_look(struct path_wait *wait)
{
    wait->look_spread_ns = spread_ns(wait);
}

uint64_t path_wait_grown_ns(const struct path_wait *wait)
{
    if (spread_ns(wait) < wait->look_spread_ns / 100 * GROWN_PERCENT)
        return 0;
    return (spread_ns(wait) - wait->look_spread_ns) / SPREAD_PER_MOST;
}
