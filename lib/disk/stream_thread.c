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

#define QUEUE_MAX 4 /* a power of two; a handle has at most three requests under way */

/* What a thread sleeps for. */
enum { WANTED_WAKE, WANTED_FILE, WANTED_COUNT };

struct stream_thread {
    struct ring requests, replies;
    int wake_fd; /* eventfd */
    struct disk_waiter waiter;
    int nice;
    uint32_t under_way; /* of the submitting thread, as is the next one */
    bool of_stream;     /* what the handle has open is a stream */
    pthread_t thread;
    _Alignas(64) _Atomic uint32_t sleeping;
    atomic_bool stop;
    struct stream_file file;
};

struct stream_threads {
    struct stream_thread *of_handle[DISK_STREAMS_MAX];
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
        struct stream_file *file = &thread->file;
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

/* Sleeps until there is a request or what waits can go on; wanted[WANTED_FILE] tells. */
static void sleep_until_work(struct stream_thread *thread, struct pollfd wanted[WANTED_COUNT])
{
    uint64_t count, next_ns;
    wanted[WANTED_WAKE] = (struct pollfd){.fd = thread->wake_fd, .events = POLLIN};
    stream_file_wants(&thread->file, &wanted[WANTED_FILE], &next_ns);
    atomic_store(&thread->sleeping, 1);
    if (ring_empty(&thread->requests) && !atomic_load(&thread->stop)) {
        struct timespec limit = time_left(next_ns);
        ppoll(wanted, WANTED_COUNT, &limit, NULL);
    }
    atomic_store(&thread->sleeping, 0);
    if ((wanted[WANTED_WAKE].revents & POLLIN) != 0)
        (void)!read(thread->wake_fd, &count, sizeof(count)); /* only empties it */
}

static void go_on(struct stream_thread *thread, const struct pollfd *wanted)
{
    struct disk_reply reply;
    struct pollfd now_wanted;
    uint64_t due_ns;
    stream_file_wants(&thread->file, &now_wanted, &due_ns);
    uint64_t now_ns = clock_ns(CLOCK_MONOTONIC);
    if (!thread->file.waiting || (wanted->revents == 0 && due_ns > now_ns))
        return;
    if (stream_try(&thread->file, now_ns, &reply))
        answer(thread, &reply);
}

static void *run(void *argument)
{
    struct stream_thread *thread = argument;
    struct pollfd wanted[WANTED_COUNT];
    struct disk_reply reply;
    pthread_setname_np(pthread_self(), "disk-stream");
    (void)setpriority(PRIO_PROCESS, (id_t)gettid(), thread->nice); /* works on as it is else */
    while (!atomic_load(&thread->stop) || !ring_empty(&thread->requests)) {
        memset(wanted, 0, sizeof(wanted));
        take_requests(thread);
        sleep_until_work(thread, wanted);
        go_on(thread, &wanted[WANTED_FILE]);
    }
    if (thread->file.waiting) {
        stream_file_interrupt(&thread->file, &reply);
        answer(thread, &reply);
    }
    sealed_end(&thread->file.sealed);
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

static struct stream_thread *start(const struct disk_config *config, const cpu_set_t *cpus, struct err *err)
{
    struct stream_thread *thread = aligned_alloc(64, (sizeof(*thread) + 63) / 64 * 64);
    if (thread == NULL) {
        err_set(err, "thread of streams: out of memory");
        return NULL;
    }
    memset(thread, 0, sizeof(*thread));
    thread->nice = config->nice;
    thread->waiter = config->waiter;
    thread->file.sealed.primitives = config->primitives;
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

struct stream_threads *stream_threads_start(const struct disk_config *config, const cpu_set_t *cpus,
                                            struct err *err)
{
    struct stream_threads *threads = calloc(1, sizeof(*threads));
    if (threads == NULL) {
        err_set(err, "threads of streams: out of memory");
        return NULL;
    }
    for (int handle = 0; handle < DISK_STREAMS_MAX; handle++) {
        threads->of_handle[handle] = start(config, cpus, err);
        if (threads->of_handle[handle] == NULL) {
            stream_threads_stop(threads);
            return NULL;
        }
    }
    return threads;
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

bool stream_threads_want(struct stream_threads *threads, const struct disk_request *request)
{
    if (request->handle >= DISK_STREAMS_MAX)
        return false;
    bool *of_stream = &threads->of_handle[request->handle]->of_stream;
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

bool stream_threads_submit(struct stream_threads *threads, const struct disk_request *request)
{
    struct stream_thread *thread = threads->of_handle[request->handle];
    if (thread->under_way == QUEUE_MAX || !ring_push(&thread->requests, request))
        return false;
    thread->under_way++;
    wake(thread);
    return true;
}

uint16_t stream_threads_collect(struct stream_threads *threads, struct disk_reply *replies, uint16_t room)
{
    uint16_t count = 0;
    for (int handle = 0; handle < DISK_STREAMS_MAX; handle++) {
        struct stream_thread *thread = threads->of_handle[handle];
        while (count < room && thread->under_way > 0 && ring_pop(&thread->replies, &replies[count])) {
            thread->under_way--;
            count++;
        }
    }
    return count;
}

static void end(struct stream_thread *thread)
{
    struct disk_reply ignored;
    pthread_join(thread->thread, NULL);
    while (ring_pop(&thread->replies, &ignored))
        thread->under_way--;
    CHECK(thread->under_way == 0);
    stream_file_close(&thread->file);
    release(thread);
}

void stream_threads_stop(struct stream_threads *threads)
{
    for (int handle = 0; handle < DISK_STREAMS_MAX && threads->of_handle[handle] != NULL; handle++) {
        atomic_store(&threads->of_handle[handle]->stop, true);
        wake(threads->of_handle[handle]);
    }
    for (int handle = 0; handle < DISK_STREAMS_MAX && threads->of_handle[handle] != NULL; handle++)
        end(threads->of_handle[handle]);
    free(threads);
}
