/* Where a worker waits for whatever comes first: frames at a port that has a descriptor, a word of another
 * thread, or a time.
 *
 * No word is lost: a worker that is about to wait announces it, looks at everything once more, and then
 * waits; whoever has put something where the worker looks calls waiter_wake, which costs a fence while the
 * worker is awake and a system call when it is not. One waiter for one worker; waiter_wake from any thread,
 * also from a signal's handler. */
#pragma once

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

#define WAITER_PORTS_MAX 64

struct waiter {
    struct pollfd watched[1 + WAITER_PORTS_MAX]; /* the first is for words of other threads */
    uint16_t count;
    bool announced; /* atomic: the worker may be waiting */
};

/* Before any thread has it. False: err says why. */
bool waiter_open(struct waiter *waiter, struct err *err);
void waiter_close(struct waiter *waiter);
/* The descriptor, which stays its owner's, is readable while there is something at the port. */
void waiter_watch(struct waiter *waiter, int descriptor);

/* ---- the worker ---- */

/* Timers of this thread are as exact as the kernel can. */
void waiter_exact_timers(void);
/* From now on waiter_wake ends the next wait: look at everything once more before that. */
void waiter_announce(struct waiter *waiter);
/* Until there is something, or for_ns have passed. */
void waiter_wait(struct waiter *waiter, uint64_t for_ns);

/* ---- any thread ---- */

void waiter_wake_announced(struct waiter *waiter);
/* After something was put where the worker looks. */
static inline void waiter_wake(struct waiter *waiter)
{
    /* What was put there is seen by the worker, or the announcement here: each writes its own before it looks. */
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    if (__atomic_load_n(&waiter->announced, __ATOMIC_RELAXED))
        waiter_wake_announced(waiter);
}
