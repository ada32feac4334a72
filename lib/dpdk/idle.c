#include "dpdk/idle.h"

#include <sched.h>
#include <time.h>

#include "base/count.h"
#include "base/units.h"

void idle_init(struct idle *idle, uint8_t mode, uint64_t now_ns)
{
    idle->mode = mode;
    idle->since_ns = now_ns;
    idle->sleep_ns = 0;
    idle->yielded_ns = 0;
    idle->yield_costs_ns = 0;
    count_set(&idle->sleeps, 0);
    count_set(&idle->yields, 0);
}

static enum idle_action idle_yield(struct idle *idle, uint64_t now_ns)
{
    count_add(&idle->yields, 1);
    idle->yielded_ns = now_ns;
    return IDLE_YIELD;
}

/* How long the CPU was away when it was given away last: the longest of late. */
static void note_yield(struct idle *idle, uint64_t now_ns)
{
    if (idle->yielded_ns == 0)
        return;
    uint64_t cost_ns = elapsed_ns(now_ns, idle->yielded_ns);
    idle->yield_costs_ns = MAX(idle->yield_costs_ns - idle->yield_costs_ns / 64, cost_ns);
    idle->yielded_ns = 0;
}

enum idle_action idle_next(struct idle *idle, bool worked, uint64_t now_ns, uint64_t next_ns)
{
    note_yield(idle, now_ns);
    if (worked) {
        idle->since_ns = now_ns;
        idle->sleep_ns = 0;
        return IDLE_SPIN;
    }
    uint64_t until_due_ns = elapsed_ns(next_ns, now_ns);
    /* What is due before the CPU would be back is waited for. */
    uint64_t soon_ns = MAX(MIN(idle->yield_costs_ns, (uint64_t)IDLE_HORIZON_NS), (uint64_t)IDLE_SPIN_NS);
    bool now_or_soon = until_due_ns <= soon_ns && elapsed_ns(now_ns, next_ns) <= IDLE_SPIN_NS;
    bool just_worked = elapsed_ns(now_ns, idle->since_ns) <= IDLE_SPIN_NS;
    if (idle->mode == IDLE_MODE_POLL || now_or_soon || just_worked)
        return IDLE_SPIN;
    bool patient = elapsed_ns(now_ns, idle->since_ns) < IDLE_PATIENCE_NS;
    if (idle->mode == IDLE_MODE_YIELD || patient || until_due_ns <= IDLE_HORIZON_NS)
        return idle_yield(idle, now_ns);
    idle->sleep_ns = MIN(MAX(idle->sleep_ns * 2, (uint64_t)IDLE_SLEEP_NS_MIN), (uint64_t)IDLE_SLEEP_NS_MAX);
    count_add(&idle->sleeps, 1);
    return IDLE_SLEEP;
}

void idle_do(const struct idle *idle, enum idle_action action)
{
    if (action == IDLE_YIELD)
        sched_yield();
    else if (action == IDLE_SLEEP)
        nanosleep(&(struct timespec){.tv_nsec = (long)idle->sleep_ns}, NULL);
}
