#include "disk/thread.h"

#include <errno.h>
#include <linux/futex.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/units.h"
#include "disk/clock.h"
#include "disk/hash.h"
#include "disk/spawn.h"

/* A wake-up is never missed; this only bounds what a bug would cost. */
#define SLEEP_NS_MAX   (500 * NS_PER_MS)
#define ANSWER_WAIT_US 100

/* ---- the thread ---- */

static void sleep_until_work(struct disk_thread *thread)
{
    const struct timespec limit = {.tv_nsec = SLEEP_NS_MAX};
    atomic_store(&thread->sleeping, 1);
    if (ring_empty(&thread->requests) && !atomic_load(&thread->stop))
        syscall(SYS_futex, &thread->sleeping, FUTEX_WAIT_PRIVATE, 1, &limit, NULL, 0);
    atomic_store(&thread->sleeping, 0);
}

static void wake(struct disk_thread *thread)
{
    if (atomic_load(&thread->sleeping) == 0)
        return;
    atomic_store(&thread->sleeping, 0);
    syscall(SYS_futex, &thread->sleeping, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

/* At its end nobody collects any more. */
static void answer(struct disk_thread *thread, const struct disk_reply *reply)
{
    while (!ring_push(&thread->replies, reply) && !atomic_load(&thread->stop))
        usleep(ANSWER_WAIT_US);
    if (thread->waiter.replied != NULL)
        thread->waiter.replied(thread->waiter.context);
}

static void serve(struct disk_thread *thread, const struct disk_request *request)
{
    struct disk_reply reply;
    unsigned cpu = 0;
    (void)getcpu(&cpu, NULL);
    meter_begin(&thread->meter, cpu, clock_ns(CLOCK_MONOTONIC));
    sealed_serve(&thread->sealed, &thread->files[request->handle], request, &reply);
    meter_end(&thread->meter, request, hash_thread_work(), clock_ns(CLOCK_MONOTONIC));
    answer(thread, &reply);
}

static void *run(void *argument)
{
    struct disk_thread *thread = argument;
    struct disk_request request;
    pthread_setname_np(pthread_self(), thread->name);
    (void)setpriority(PRIO_PROCESS, (id_t)gettid(), thread->nice); /* works on as it is else */
    for (;;) {
        while (ring_pop(&thread->requests, &request))
            serve(thread, &request);
        if (atomic_load(&thread->stop) && ring_empty(&thread->requests))
            break;
        sleep_until_work(thread);
    }
    sealed_end(&thread->sealed);
    hash_thread_end();
    return NULL;
}

bool thread_start(struct disk_thread *thread, const cpu_set_t *cpus, struct err *err)
{
    bool memory = ring_init(&thread->requests, thread->queue_most, sizeof(struct disk_request));
    memory = ring_init(&thread->replies, THREAD_REPLIES, sizeof(struct disk_reply)) && memory;
    int result = memory ? spawn(&thread->thread, run, thread, cpus) : ENOMEM;
    if (result == 0)
        return true;
    ring_free(&thread->requests);
    ring_free(&thread->replies);
    return err_set(err, "thread %s: %s", thread->name, strerrordesc_np(result));
}

/* ---- the owner ---- */

uint32_t thread_under_way(const struct disk_thread *thread)
{
    return atomic_load_explicit(&thread->under_way, memory_order_relaxed);
}

static void set_under_way(struct disk_thread *thread, uint32_t count)
{
    atomic_store_explicit(&thread->under_way, count, memory_order_relaxed);
    if (count > atomic_load_explicit(&thread->under_most, memory_order_relaxed))
        atomic_store_explicit(&thread->under_most, count, memory_order_relaxed);
}

bool thread_submit(struct disk_thread *thread, const struct disk_request *request)
{
    if (thread_under_way(thread) == thread->queue_most || !ring_push(&thread->requests, request))
        return false;
    set_under_way(thread, thread_under_way(thread) + 1);
    wake(thread);
    return true;
}

bool thread_collect(struct disk_thread *thread, struct disk_reply *reply)
{
    if (!ring_pop(&thread->replies, reply))
        return false;
    set_under_way(thread, thread_under_way(thread) - 1);
    return true;
}

void thread_ask_to_end(struct disk_thread *thread)
{
    atomic_store(&thread->stop, true);
    wake(thread);
}

void thread_join(struct disk_thread *thread)
{
    pthread_join(thread->thread, NULL);
    ring_free(&thread->requests);
    ring_free(&thread->replies);
}
