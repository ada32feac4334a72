#include "disk/stream_thread.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/check.h"
#include "base/units.h"
#include "disk/clock.h"
#include "disk/hash.h"
#include "disk/spawn.h"
#include "disk/stream_serve.h"
#include "disk/ring.h"

#define QUEUE_MAX 256 /* a power of two; each handle has at most three requests under way */

struct stream_thread {
    struct ring requests, replies;
    int wake_fd; /* eventfd */
    struct disk_waiter waiter;
    int nice;
    uint32_t under_way; /* of the submitting thread, as is the next one */
    bool of_stream[DISK_HANDLES_MAX];
    pthread_t thread;
    _Alignas(64) _Atomic uint32_t sleeping;
    atomic_bool stop;
    struct stream_file files[DISK_HANDLES_MAX];
};

/* ---- the thread ---- */

static void answer(struct stream_thread *thread, const struct disk_reply *reply)
{
    CHECK(ring_push(&thread->replies, reply));
    if (thread->waiter.replied != NULL)
        thread->waiter.replied(thread->waiter.context);
}

static void take_requests(struct stream_thread *thread)
{
    struct disk_request request;
    struct disk_reply reply;
    while (ring_pop(&thread->requests, &request)) {
        struct stream_file *file = &thread->files[request.handle];
        if (request.op == DISK_ABORT && file->waiting) {
            stream_file_interrupt(file, &reply);
            answer(thread, &reply);
        }
        if (stream_serve(file, &request, clock_ns(CLOCK_MONOTONIC), &reply))
            answer(thread, &reply);
    }
}

static struct timespec time_left(uint64_t due_ns)
{
    uint64_t now_ns = clock_ns(CLOCK_MONOTONIC);
    uint64_t left_ns = due_ns > now_ns ? MIN(due_ns - now_ns, NS_PER_S) : 0;
    return (struct timespec){.tv_sec = (time_t)(left_ns / NS_PER_S), .tv_nsec = (long)(left_ns % NS_PER_S)};
}

/* Sleeps until there is a request or something that waits can go on; wanted[1 + handle] tells which. */
static void sleep_until_work(struct stream_thread *thread, struct pollfd wanted[1 + DISK_HANDLES_MAX])
{
    uint64_t count;
    uint64_t next_ns = UINT64_MAX;
    wanted[0] = (struct pollfd){.fd = thread->wake_fd, .events = POLLIN};
    for (int handle = 0; handle < DISK_HANDLES_MAX; handle++) {
        uint64_t due_ns;
        stream_file_wants(&thread->files[handle], &wanted[1 + handle], &due_ns);
        next_ns = MIN(next_ns, due_ns);
    }
    atomic_store(&thread->sleeping, 1);
    if (ring_empty(&thread->requests) && !atomic_load(&thread->stop)) {
        struct timespec limit = time_left(next_ns);
        ppoll(wanted, 1 + DISK_HANDLES_MAX, &limit, NULL);
    }
    atomic_store(&thread->sleeping, 0);
    if ((wanted[0].revents & POLLIN) != 0)
        (void)!read(thread->wake_fd, &count, sizeof(count)); /* only empties it */
}

static void go_on(struct stream_thread *thread, const struct pollfd wanted[1 + DISK_HANDLES_MAX])
{
    struct disk_reply reply;
    for (int handle = 0; handle < DISK_HANDLES_MAX; handle++) {
        struct stream_file *file = &thread->files[handle];
        struct pollfd now_wanted;
        uint64_t due_ns;
        stream_file_wants(file, &now_wanted, &due_ns);
        uint64_t now_ns = due_ns == UINT64_MAX ? 0 : clock_ns(CLOCK_MONOTONIC);
        if (!file->waiting || (wanted[1 + handle].revents == 0 && due_ns > now_ns))
            continue;
        if (stream_try(file, clock_ns(CLOCK_MONOTONIC), &reply))
            answer(thread, &reply);
    }
}

static void *run(void *argument)
{
    struct stream_thread *thread = argument;
    struct pollfd wanted[1 + DISK_HANDLES_MAX];
    struct disk_reply reply;
    pthread_setname_np(pthread_self(), "disk-stream");
    (void)setpriority(PRIO_PROCESS, (id_t)gettid(), thread->nice); /* works on as it is else */
    while (!atomic_load(&thread->stop) || !ring_empty(&thread->requests)) {
        memset(wanted, 0, sizeof(wanted));
        take_requests(thread);
        sleep_until_work(thread, wanted);
        go_on(thread, wanted);
    }
    for (int handle = 0; handle < DISK_HANDLES_MAX; handle++) {
        if (!thread->files[handle].waiting)
            continue;
        stream_file_interrupt(&thread->files[handle], &reply);
        answer(thread, &reply);
    }
    hash_thread_end();
    return NULL;
}

static void release(struct stream_thread *thread)
{
    ring_free(&thread->requests);
    ring_free(&thread->replies);
    if (thread->wake_fd >= 0)
        close(thread->wake_fd);
    free(thread);
}

struct stream_thread *stream_thread_start(const struct disk_config *config, const cpu_set_t *cpus,
                                          struct err *err)
{
    struct stream_thread *thread = aligned_alloc(64, (sizeof(*thread) + 63) / 64 * 64);
    if (thread == NULL) {
        err_set(err, "thread of streams: out of memory");
        return NULL;
    }
    memset(thread, 0, sizeof(*thread));
    thread->nice = config->nice;
    thread->waiter = config->waiter;
    bool memory = ring_init(&thread->requests, QUEUE_MAX, sizeof(struct disk_request));
    memory = ring_init(&thread->replies, QUEUE_MAX, sizeof(struct disk_reply)) && memory;
    thread->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    int result = !memory ? ENOMEM : thread->wake_fd < 0 ? errno : spawn(&thread->thread, run, thread, cpus);
    if (result == 0)
        return thread;
    err_set(err, "thread of streams: %s", strerrordesc_np(result));
    release(thread);
    return NULL;
}

/* ---- the owner ---- */

static void wake(struct stream_thread *thread)
{
    const uint64_t one = 1;
    if (atomic_load(&thread->sleeping) == 0)
        return;
    atomic_store(&thread->sleeping, 0);
    (void)!write(thread->wake_fd, &one, sizeof(one)); /* full: it wakes anyway */
}

bool stream_thread_wants(struct stream_thread *thread, const struct disk_request *request)
{
    bool *of_stream = &thread->of_stream[request->handle];
    switch ((enum disk_op)request->op) {
    case DISK_OPEN_SOURCE:
    case DISK_OPEN_TARGET:
        return *of_stream = request->open->object == PART_OBJECT_STREAM;
    case DISK_FEED:
    case DISK_DRAIN:
    case DISK_FINISH:
    case DISK_ABORT:
    case DISK_CLOSE:
        return *of_stream;
    case DISK_READ:
    case DISK_WRITE:
    case DISK_DIGEST:
    case DISK_MANIFEST:
        return false;
    }
    CHECK(false);
    return false;
}

bool stream_thread_submit(struct stream_thread *thread, const struct disk_request *request)
{
    if (thread->under_way == QUEUE_MAX || !ring_push(&thread->requests, request))
        return false;
    thread->under_way++;
    wake(thread);
    return true;
}

uint16_t stream_thread_collect(struct stream_thread *thread, struct disk_reply *replies, uint16_t room)
{
    uint16_t count = 0;
    while (count < room && thread->under_way > count && ring_pop(&thread->replies, &replies[count]))
        count++;
    thread->under_way -= count;
    return count;
}

void stream_thread_stop(struct stream_thread *thread)
{
    struct disk_reply ignored;
    atomic_store(&thread->stop, true);
    wake(thread);
    pthread_join(thread->thread, NULL);
    while (ring_pop(&thread->replies, &ignored))
        thread->under_way--;
    CHECK(thread->under_way == 0);
    for (int handle = 0; handle < DISK_HANDLES_MAX; handle++)
        stream_file_close(&thread->files[handle]);
    release(thread);
}
