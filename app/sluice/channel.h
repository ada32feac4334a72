/* Records between control threads and the worker. Calls: a control thread hands the worker a message and
 * waits for its reply; the worker takes a few per turn, never waits, and makes no system call. Outbox: what
 * the node says to its planner.
 *
 * Both are single-producer single-consumer rings with acquire/release positions; calls have several
 * producers, which take turns by a mutex that the worker only ever takes when its loop is over. */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "ctl/ctl.h"
#include "dpdk/waiter.h"

#define CHANNEL_PLACES 16
#define OUTBOX_PLACES  4

struct channel_call {
    struct ctl_msg msg;
    struct ctl_reply reply;
    bool done; /* atomic: the reply is there */
};

struct channel {
    pthread_mutex_t producers;
    bool closed;           /* by the worker, under the mutex */
    struct waiter *worker; /* where the worker waits */
    uint32_t head, tail;
    struct channel_call *calls[CHANNEL_PLACES];
};

/* worker: where the one waits that takes the calls. */
void channel_init(struct channel *channel, struct waiter *worker);
/* Control threads: returns reply.ok; with the worker gone, false and an error. */
bool channel_call(struct channel *channel, struct channel_call *call);
/* Worker: the next call, NULL: none. channel_answer gives it back. */
struct channel_call *channel_take(struct channel *channel);
void channel_answer(struct channel_call *call);
/* Worker, after its loop: all waiting and all later calls fail. */
void channel_close(struct channel *channel);

struct outbox {
    uint32_t head, tail;
    struct waiter *carrier; /* where the background thread waits */
    struct ctl_msg messages[OUTBOX_PLACES];
};

void outbox_init(struct outbox *outbox, struct waiter *carrier);

/* Worker: a place to write to, NULL when full; then commit. */
struct ctl_msg *outbox_place(struct outbox *outbox);
void outbox_commit(struct outbox *outbox);
/* Background thread: the oldest message, NULL: none; then release. */
const struct ctl_msg *outbox_front(const struct outbox *outbox);
void outbox_release(struct outbox *outbox);
