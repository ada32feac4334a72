#include "dpdk/idle.h"

#include <sched.h>
#include <time.h>

#include "base/count.h"
#include "base/units.h"

void idle_init(struct idle *idle, uint8_t mode, bool looks, uint64_t now_ns)
{
    *idle = (struct idle){.mode = mode, .looks = looks, .woken_ns = now_ns, .since_ns = now_ns};
    idle->look_ns = IDLE_LOOK_NS_MIN;
}

static enum idle_action yield(struct idle *idle, uint64_t now_ns)
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

static void note_work(struct idle *idle, const struct idle_turn *turn)
{
    if (!idle->worked)
        idle->dense = elapsed_ns(turn->now_ns, idle->since_ns) <= 2 * turn->gather_ns;
    idle->worked = true;
    idle->announced = false;
    idle->since_ns = turn->now_ns;
    idle->look_ns = IDLE_LOOK_NS_MIN;
}

/* A wait that ended early for nothing would do so again: a descriptor that is ready though there is nothing. */
static void note_rest(struct idle *idle, const struct idle_turn *turn)
{
    idle->futile = false;
    if (idle->rest_ns == 0)
        return;
    bool early = elapsed_ns(turn->begin_ns, idle->rest_from_ns) < idle->rest_ns;
    idle->futile = idle->waits && early && !turn->worked;
    idle->woken_ns = turn->begin_ns;
    idle->rest_ns = 0;
}

static enum idle_action rest(struct idle *idle, enum idle_action action, const struct idle_turn *turn,
                             uint64_t for_ns)
{
    idle->waits = action == IDLE_WAIT;
    idle->rest_from_ns = turn->now_ns;
    idle->rest_ns = for_ns;
    idle->worked = false;
    idle->announced = false;
    count_add(&idle->sleeps, 1);
    return action;
}

/* The next look is twice as far away as this one. */
static uint64_t look(struct idle *idle)
{
    uint64_t for_ns = idle->look_ns;
    idle->look_ns = MIN(idle->look_ns * 2, (uint64_t)IDLE_LOOK_NS_MAX);
    return for_ns;
}

/* Until something comes; what is overdue could not be done. */
static enum idle_action wait(struct idle *idle, const struct idle_turn *turn)
{
    if (idle->futile)
        return rest(idle, IDLE_REST, turn, look(idle));
    if (!idle->announced) {
        idle->announced = true;
        return IDLE_ANNOUNCE;
    }
    uint64_t for_ns = IDLE_WAIT_NS_MAX;
    bool overdue = turn->next_ns <= turn->now_ns;
    if (idle->looks || overdue)
        for_ns = look(idle);
    if (!overdue)
        for_ns = MIN(for_ns, elapsed_ns(turn->next_ns, turn->now_ns));
    return rest(idle, IDLE_WAIT, turn, for_ns);
}

/* Spins, or gives the CPU away, for what may not wait. */
static enum idle_action stay(struct idle *idle, const struct idle_turn *turn)
{
    uint64_t until_due_ns = elapsed_ns(turn->next_ns, turn->now_ns);
    /* What is due before the CPU would be back is waited for. */
    uint64_t soon_ns = MAX(MIN(idle->yield_costs_ns, (uint64_t)IDLE_HORIZON_NS), (uint64_t)IDLE_SPIN_NS);
    bool now_or_soon = until_due_ns <= soon_ns && elapsed_ns(turn->now_ns, turn->next_ns) <= IDLE_SPIN_NS;
    bool just_worked = elapsed_ns(turn->now_ns, idle->since_ns) <= IDLE_SPIN_NS;
    return now_or_soon || just_worked ? IDLE_SPIN : yield(idle, turn->now_ns);
}

static bool must_stay(const struct idle *idle, const struct idle_turn *turn)
{
    if (turn->gather_ns >= IDLE_GATHER_NS_MIN)
        return false;
    return elapsed_ns(turn->now_ns, idle->since_ns) < IDLE_PATIENCE_NS ||
           elapsed_ns(turn->next_ns, turn->now_ns) <= IDLE_HORIZON_NS;
}

enum idle_action idle_next(struct idle *idle, const struct idle_turn *turn)
{
    note_yield(idle, turn->now_ns);
    note_rest(idle, turn);
    if (turn->worked) {
        note_work(idle, turn);
        return IDLE_SPIN;
    }
    if (idle->mode == IDLE_MODE_POLL)
        return IDLE_SPIN;
    if (idle->mode == IDLE_MODE_YIELD || must_stay(idle, turn))
        return stay(idle, turn);
    if (!idle->worked || !idle->dense)
        return wait(idle, turn);
    uint64_t left_ns = elapsed_ns(idle->woken_ns + turn->gather_ns, turn->now_ns);
    return rest(idle, IDLE_REST, turn, MAX(left_ns, (uint64_t)IDLE_GATHER_NS_MIN));
}

void idle_do(const struct idle *idle, enum idle_action action, struct waiter *waiter)
{
    switch (action) {
    case IDLE_SPIN:
        break;
    case IDLE_YIELD:
        sched_yield();
        break;
    case IDLE_REST:
        nanosleep(&(struct timespec){.tv_nsec = (long)idle->rest_ns}, NULL);
        break;
    case IDLE_ANNOUNCE:
        waiter_announce(waiter);
        break;
    case IDLE_WAIT:
        waiter_wait(waiter, idle->rest_ns);
        break;
    }
}
