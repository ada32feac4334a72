#include "channel.h"

#include <string.h>
#include <unistd.h>

#define WAIT_US_MIN 100
#define WAIT_US_MAX 2000

void channel_init(struct channel *channel, struct waiter *worker)
{
    memset(channel, 0, sizeof(*channel));
    channel->worker = worker;
    pthread_mutex_init(&channel->producers, NULL);
}

static bool channel_push(struct channel *channel, struct channel_call *call)
{
    pthread_mutex_lock(&channel->producers);
    uint32_t head = __atomic_load_n(&channel->head, __ATOMIC_ACQUIRE);
    bool fits = !channel->closed && channel->tail - head < CHANNEL_PLACES;
    if (fits) {
        channel->calls[channel->tail % CHANNEL_PLACES] = call;
        __atomic_store_n(&channel->tail, channel->tail + 1, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&channel->producers);
    return fits;
}

bool channel_call(struct channel *channel, struct channel_call *call)
{
    __atomic_store_n(&call->done, false, __ATOMIC_RELAXED);
    call->reply.ok = false;
    if (!channel_push(channel, call))
        return err_set(&call->reply.err, "the appliance is stopping or overloaded");
    waiter_wake(channel->worker);
    for (unsigned wait_us = WAIT_US_MIN; !__atomic_load_n(&call->done, __ATOMIC_ACQUIRE);) {
        usleep(wait_us);
        wait_us = wait_us * 2 < WAIT_US_MAX ? wait_us * 2 : WAIT_US_MAX;
    }
    return call->reply.ok;
}

struct channel_call *channel_take(struct channel *channel)
{
    if (channel->head == __atomic_load_n(&channel->tail, __ATOMIC_ACQUIRE))
        return NULL;
    struct channel_call *call = channel->calls[channel->head % CHANNEL_PLACES];
    __atomic_store_n(&channel->head, channel->head + 1, __ATOMIC_RELEASE);
    return call;
}

void channel_answer(struct channel_call *call)
{
    __atomic_store_n(&call->done, true, __ATOMIC_RELEASE);
}

void channel_close(struct channel *channel)
{
    pthread_mutex_lock(&channel->producers);
    channel->closed = true;
    pthread_mutex_unlock(&channel->producers);
    for (struct channel_call *call = channel_take(channel); call != NULL; call = channel_take(channel)) {
        call->reply.ok = err_set(&call->reply.err, "the appliance is stopping");
        channel_answer(call);
    }
}

void outbox_init(struct outbox *outbox, struct waiter *carrier)
{
    memset(outbox, 0, sizeof(*outbox));
    outbox->carrier = carrier;
}

struct ctl_msg *outbox_place(struct outbox *outbox)
{
    bool full = outbox->tail - __atomic_load_n(&outbox->head, __ATOMIC_ACQUIRE) == OUTBOX_PLACES;
    return full ? NULL : &outbox->messages[outbox->tail % OUTBOX_PLACES];
}

void outbox_commit(struct outbox *outbox)
{
    __atomic_store_n(&outbox->tail, outbox->tail + 1, __ATOMIC_RELEASE);
    waiter_wake(outbox->carrier);
}

const struct ctl_msg *outbox_front(const struct outbox *outbox)
{
    bool empty = outbox->head == __atomic_load_n(&outbox->tail, __ATOMIC_ACQUIRE);
    return empty ? NULL : &outbox->messages[outbox->head % OUTBOX_PLACES];
}

void outbox_release(struct outbox *outbox)
{
    __atomic_store_n(&outbox->head, outbox->head + 1, __ATOMIC_RELEASE);
}
