#include "dpdk/waiter.h"

#include <errno.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/units.h"

bool waiter_open(struct waiter *waiter, struct err *err)
{
    int event = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    *waiter = (struct waiter){.watched[0] = {.fd = event, .events = POLLIN}, .count = 1};
    return event >= 0 || err_set(err, "no eventfd to wait at (%s)", strerror(errno));
}

void waiter_close(struct waiter *waiter)
{
    close(waiter->watched[0].fd);
    waiter->count = 0;
}

void waiter_watch(struct waiter *waiter, int descriptor)
{
    CHECK(waiter->count < 1 + WAITER_PORTS_MAX);
    waiter->watched[waiter->count++] = (struct pollfd){.fd = descriptor, .events = POLLIN};
}

void waiter_exact_timers(void)
{
    prctl(PR_SET_TIMERSLACK, 1UL);
}

void waiter_announce(struct waiter *waiter)
{
    __atomic_store_n(&waiter->announced, true, __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

void waiter_wait(struct waiter *waiter, uint64_t for_ns)
{
    struct timespec time = {.tv_sec = (time_t)(for_ns / NS_PER_S), .tv_nsec = (long)(for_ns % NS_PER_S)};
    uint64_t words;
    int error;
    socklen_t length = sizeof(error);
    int ready = ppoll(waiter->watched, waiter->count, &time, NULL);
    __atomic_store_n(&waiter->announced, false, __ATOMIC_RELAXED);
    for (uint16_t index = 1; ready > 0 && index < waiter->count; index++)
        if ((waiter->watched[index].revents & POLLERR) != 0) /* an interface that went down: told once */
            (void)getsockopt(waiter->watched[index].fd, SOL_SOCKET, SO_ERROR, &error, &length);
    /* Words of before the wait are there, too: whatever they tell of is looked at now. */
    if (ready > 0 && (waiter->watched[0].revents & POLLIN) != 0)
        (void)!read(waiter->watched[0].fd, &words, sizeof(words));
}

void waiter_wake_announced(struct waiter *waiter)
{
    static const uint64_t one = 1;
    int error = errno; /* of whatever a signal's handler interrupts */
    if (__atomic_exchange_n(&waiter->announced, false, __ATOMIC_ACQ_REL))
        (void)!write(waiter->watched[0].fd, &one, sizeof(one));
    errno = error;
}
