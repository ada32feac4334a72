#include "disk/disk.h"

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/check.h"
#include "base/units.h"
#include "disk/file.h"
#include "disk/hash.h"
#include "disk/stream_thread.h"
#include "disk/ring.h"

/* A wake-up is never missed; this only bounds what a bug would cost. */
#define SLEEP_NS_MAX (500 * NS_PER_MS)

struct worker {
    struct ring requests, replies;
    struct disk *disk;
    uint32_t number;
    uint32_t under_way; /* submitted and not yet collected; of the submitting thread */
    pthread_t thread;
    _Alignas(64) _Atomic uint32_t sleeping; /* futex: 1 while the thread sleeps or is about to */
    atomic_bool stop;
};

/* The requests of one handle that may take long: they stay in order by staying with one thread. */
struct order {
    uint32_t under_way;
    uint32_t worker; /* while there are some */
};

struct disk {
    struct disk_config config;
    uint32_t started;
    uint32_t collect_next; /* the thread whose replies are collected first */
    struct stream_thread *stream;
    struct file_common common;
    struct file files[DISK_HANDLES_MAX];
    struct order orders[DISK_HANDLES_MAX]; /* of the submitting thread */
    /* First config.threads of them for blocks, then DISK_SLOW_THREADS for what may take long. */
    struct worker workers[DISK_THREADS_MAX + DISK_SLOW_THREADS];
};

/* ---- the threads ---- */

static void sleep_until_work(struct worker *worker)
{
    const struct timespec limit = {.tv_nsec = SLEEP_NS_MAX};
    atomic_store(&worker->sleeping, 1);
    if (ring_empty(&worker->requests) && !atomic_load(&worker->stop))
        syscall(SYS_futex, &worker->sleeping, FUTEX_WAIT_PRIVATE, 1, &limit, NULL, 0);
    atomic_store(&worker->sleeping, 0);
}

static void wake(struct worker *worker)
{
    if (atomic_load(&worker->sleeping) == 0)
        return;
    atomic_store(&worker->sleeping, 0);
    syscall(SYS_futex, &worker->sleeping, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static void *run(void *argument)
{
    struct worker *worker = argument;
    struct disk_request request;
    struct disk_reply reply;
    char name[32]; /* the kernel keeps 15 characters */
    bool slow = worker->number >= worker->disk->config.threads;
    snprintf(name, sizeof(name), "disk-%s%u", slow ? "slow-" : "",
             slow ? worker->number - worker->disk->config.threads : worker->number);
    pthread_setname_np(pthread_self(), name);
    (void)setpriority(PRIO_PROCESS, (id_t)gettid(), worker->disk->config.nice); /* works on as it is else */
    for (;;) {
        while (ring_pop(&worker->requests, &request)) {
            file_serve(&worker->disk->files[request.handle], &request, &reply);
            CHECK(ring_push(&worker->replies, &reply));
        }
        if (atomic_load(&worker->stop) && ring_empty(&worker->requests))
            break;
        sleep_until_work(worker);
    }
    hash_thread_end();
    return NULL;
}

/* Signals are the main thread's business; above all SIGXFSZ, whose default would end the process where an
 * error of the write is wanted. */
static int start_thread(struct worker *worker)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int result = pthread_create(&worker->thread, NULL, run, worker);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return result;
}

static bool start_worker(struct disk *disk, uint32_t number, struct err *err)
{
    struct worker *worker = &disk->workers[number];
    worker->disk = disk;
    worker->number = number;
    bool memory = ring_init(&worker->requests, DISK_QUEUE_MAX, sizeof(struct disk_request));
    memory = ring_init(&worker->replies, DISK_QUEUE_MAX, sizeof(struct disk_reply)) && memory;
    int result = memory ? start_thread(worker) : ENOMEM;
    if (result == 0)
        return true;
    ring_free(&worker->requests);
    ring_free(&worker->replies);
    return err_set(err, "disk thread %u: %s", number, strerrordesc_np(result));
}

struct disk *disk_start(const struct disk_config *config, struct err *err)
{
    if (config->threads == 0 || config->threads > DISK_THREADS_MAX) {
        err_set(err, "%u disk threads: expected 1 to %d", config->threads, DISK_THREADS_MAX);
        return NULL;
    }
    struct disk *disk = aligned_alloc(64, sizeof(*disk));
    if (disk == NULL) {
        err_set(err, "disk: out of memory");
        return NULL;
    }
    memset(disk, 0, sizeof(*disk));
    disk->config = *config;
    disk->common.sparse = config->sparse;
    disk->common.index_memory.limit_bytes =
        config->index_bytes_max != 0 ? config->index_bytes_max : DISK_INDEX_BYTES;
    for (int handle = 0; handle < DISK_HANDLES_MAX; handle++)
        disk->files[handle].common = &disk->common;
    while (disk->started < config->threads + DISK_SLOW_THREADS) {
        if (!start_worker(disk, disk->started, err)) {
            disk_stop(disk);
            return NULL;
        }
        disk->started++;
    }
    disk->stream = stream_thread_start(config->nice, err);
    if (disk->stream == NULL) {
        disk_stop(disk);
        return NULL;
    }
    return disk;
}

void disk_stop(struct disk *disk)
{
    if (disk->stream != NULL)
        stream_thread_stop(disk->stream);
    for (uint32_t number = 0; number < disk->started; number++) {
        atomic_store(&disk->workers[number].stop, true);
        wake(&disk->workers[number]);
    }
    struct disk_reply ignored;
    for (uint32_t number = 0; number < disk->started; number++) {
        struct worker *worker = &disk->workers[number];
        pthread_join(worker->thread, NULL);
        while (ring_pop(&worker->replies, &ignored))
            worker->under_way--;
        CHECK(worker->under_way == 0);
        ring_free(&worker->requests);
        ring_free(&worker->replies);
    }
    for (int handle = 0; handle < DISK_HANDLES_MAX; handle++)
        file_close(&disk->files[handle]);
    free(disk);
}

/* ---- the owner ---- */

/* An fsync, the walk of a tree, its removal: minutes are possible, and blocks of other jobs must not wait for
 * that. */
static bool may_take_long(uint8_t op)
{
    return op != DISK_READ && op != DISK_WRITE && op != DISK_DIGEST;
}

/* The thread with the fewest requests under way. */
static uint32_t least_busy(const struct disk *disk, uint32_t first, uint32_t end)
{
    uint32_t best = first;
    for (uint32_t number = first + 1; number < end; number++)
        if (disk->workers[number].under_way < disk->workers[best].under_way)
            best = number;
    return best;
}

static struct worker *choose(struct disk *disk, const struct disk_request *request)
{
    struct order *order = &disk->orders[request->handle];
    uint32_t threads = disk->config.threads;
    if (!may_take_long(request->op))
        return &disk->workers[least_busy(disk, 0, threads)];
    if (order->under_way == 0)
        order->worker = least_busy(disk, threads, disk->started);
    return &disk->workers[order->worker];
}

static void count_collected(struct disk *disk, struct worker *worker, const struct disk_reply *reply)
{
    worker->under_way--;
    if (may_take_long(reply->op))
        disk->orders[reply->handle].under_way--;
}

bool disk_submit(struct disk *disk, const struct disk_request *request)
{
    CHECK(request->handle < DISK_HANDLES_MAX);
    if (stream_thread_wants(disk->stream, request))
        return stream_thread_submit(disk->stream, request);
    struct worker *worker = choose(disk, request);
    /* Counting keeps the reply queue from overflowing as well. */
    if (worker->under_way == DISK_QUEUE_MAX || !ring_push(&worker->requests, request))
        return false;
    worker->under_way++;
    if (may_take_long(request->op))
        disk->orders[request->handle].under_way++;
    wake(worker);
    return true;
}

uint16_t disk_collect(struct disk *disk, struct disk_reply *replies, uint16_t room)
{
    uint16_t count = stream_thread_collect(disk->stream, replies, room);
    for (uint32_t at = 0; at < disk->started; at++) {
        struct worker *worker = &disk->workers[(disk->collect_next + at) % disk->started];
        while (count < room && ring_pop(&worker->replies, &replies[count])) {
            count_collected(disk, worker, &replies[count]);
            count++;
        }
    }
    disk->collect_next++;
    return count;
}
