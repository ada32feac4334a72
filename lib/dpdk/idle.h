/* What a worker does when there is nothing to do. idle_next is pure: it only says what; idle_do does it.
 *
 * poll:  spins for ever.
 * yield: gives the CPU away between empty turns.
 * sleep: yields for the first IDLE_PATIENCE_NS, then sleeps 20 us, doubling to 100 us (the kernel's default
 *        timer slack adds 50-60 us). Never sleeps while something is due within IDLE_HORIZON_NS.
 *
 * No mode yields within IDLE_SPIN_NS of work done or work due: on a contended CPU a yield costs milliseconds. Where yields
 * have cost so much of late, none is made either when work is due sooner than that, up to IDLE_HORIZON_NS: a sender of a
 * packet each 60 us would get to it as often as the other processes let it, for a few packets each time.
 * What is overdue by more than that could not be done (a full device), so it is waited for by yielding: the
 * CPU may be what the other end needs. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define IDLE_PATIENCE_NS  100000
#define IDLE_HORIZON_NS   200000
#define IDLE_SPIN_NS      3000
#define IDLE_SLEEP_NS_MIN 20000
#define IDLE_SLEEP_NS_MAX 100000

enum idle_mode { IDLE_MODE_SLEEP = 0, IDLE_MODE_YIELD, IDLE_MODE_POLL }; /* as enum app_idle */
enum idle_action { IDLE_SPIN, IDLE_YIELD, IDLE_SLEEP };

struct idle {
    uint8_t mode;            /* enum idle_mode */
    uint64_t since_ns;       /* last turn with work */
    uint64_t sleep_ns;       /* of the next or current sleep */
    uint64_t yielded_ns;     /* when the CPU was given away, if it was just now; 0: it was not */
    uint64_t yield_costs_ns; /* how long it is away then, at its worst of late */
    uint64_t sleeps, yields;
};

void idle_init(struct idle *idle, uint8_t mode, uint64_t now_ns);
/* After each turn; IDLE_SLEEP: sleep for idle->sleep_ns. `next_ns`: the earliest thing due; TIME_NEVER:
 * none. */
enum idle_action idle_next(struct idle *idle, bool worked, uint64_t now_ns, uint64_t next_ns);
/* Gives the CPU away, or sleeps; IDLE_SPIN: returns at once. */
void idle_do(const struct idle *idle, enum idle_action action);
