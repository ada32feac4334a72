/* What a worker does when there is nothing to do. idle_next is pure: it only says what; idle_do does it.
 *
 * poll:  spins for ever.
 * yield: gives the CPU away between empty turns.
 * sleep: rests for gather_ns after each turn that found something, while things come that close, so that
 *        what comes and what is due meanwhile is dealt with at once; else waits until something comes, at
 *        the ports or from another thread, or is due. Where ports have to be looked at (memif) it does so
 *        every 100 us, growing to 1 ms.
 *
 * Where nothing may wait (gather_ns below IDLE_GATHER_NS_MIN: a train, small buffers) sleep is as yield
 * until IDLE_PATIENCE_NS after the last work, and while something is due within IDLE_HORIZON_NS.
 *
 * No yield is made within IDLE_SPIN_NS of work done or work due: on a contended CPU a yield costs
 * milliseconds. Where yields have cost so much of late, none is made either when work is due sooner than
 * that, up to IDLE_HORIZON_NS: a sender of a packet each 60 us would get to it as often as the other
 * processes let it, for a few packets each time. What is overdue by more than that could not be done (a
 * full device), so it is waited for by yielding, or by looking as at ports: the CPU may be what the other
 * end needs. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "dpdk/waiter.h"

#define IDLE_PATIENCE_NS   100000
#define IDLE_HORIZON_NS    200000
#define IDLE_SPIN_NS       3000
#define IDLE_GATHER_NS_MIN 50000 /* a wake takes most of that */
#define IDLE_LOOK_NS_MIN   100000
#define IDLE_LOOK_NS_MAX   1000000
#define IDLE_WAIT_NS_MAX   100000000 /* links are looked at so often */

enum idle_mode { IDLE_MODE_SLEEP = 0, IDLE_MODE_YIELD, IDLE_MODE_POLL }; /* as enum app_idle */
enum idle_action {
    IDLE_SPIN,
    IDLE_YIELD,
    IDLE_REST,     /* for rest_ns, whatever comes */
    IDLE_ANNOUNCE, /* the next turn is the last look before … */
    IDLE_WAIT      /* … waiting for rest_ns at most */
};

/* How a turn ended. */
struct idle_turn {
    bool worked; /* it did something: there may be more */
    uint64_t begin_ns, now_ns;
    uint64_t next_ns;   /* the earliest thing due; TIME_NEVER: none */
    uint64_t gather_ns; /* so long that and what comes may wait */
};

struct idle {
    uint8_t mode;            /* enum idle_mode */
    bool looks;              /* some port has to be looked at */
    bool announced;          /* the turn before was the last but one */
    bool worked;             /* something was found since the last rest … */
    bool dense;              /* … and no longer ago than twice what it may wait since the time before */
    bool waits;              /* the last rest was a wait … */
    bool futile;             /* … and ended before its time, for nothing */
    uint64_t rest_from_ns;   /* the last rest began … */
    uint64_t woken_ns;       /* … and ended */
    uint64_t since_ns;       /* last turn with work */
    uint64_t look_ns;        /* the next look is after so long */
    uint64_t rest_ns;        /* of the next or current rest */
    uint64_t yielded_ns;     /* when the CPU was given away, if it was just now; 0: it was not */
    uint64_t yield_costs_ns; /* how long it is away then, at its worst of late */
    uint64_t sleeps, yields;
};

/* looks: there are ports at which nothing can be waited for. */
void idle_init(struct idle *idle, uint8_t mode, bool looks, uint64_t now_ns);
/* After each turn. IDLE_REST and IDLE_WAIT: for idle->rest_ns. */
enum idle_action idle_next(struct idle *idle, const struct idle_turn *turn);
/* Does it; IDLE_SPIN: returns at once. */
void idle_do(const struct idle *idle, enum idle_action action, struct waiter *waiter);
/* The turn is one that a rest or a wait came before. */
static inline bool idle_rests(enum idle_action action)
{
    return action == IDLE_REST || action == IDLE_WAIT;
}
