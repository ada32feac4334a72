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

struct disk {
    struct disk_config config;
    uint32_t started;
    uint32_t collect_next; /* the thread whose replies are collected first */
    struct stream_thread *stream;
    struct file files[DISK_HANDLES_MAX];
    struct worker workers[DISK_THREADS_MAX];
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
    char name[16];
    snprintf(name, sizeof(name), "disk-%u", worker->number % DISK_THREADS_MAX);
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
    for (int handle = 0; handle < DISK_HANDLES_MAX; handle++)
        disk->files[handle].sparse = config->sparse;
    while (disk->started < config->threads) {
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

static struct worker *choose(struct disk *disk, const struct disk_request *request)
{
    if (request->op != DISK_READ && request->op != DISK_WRITE)
        return &disk->workers[request->handle % disk->started];
    struct worker *best = &disk->workers[0];
    for (uint32_t number = 1; number < disk->started; number++)
        if (disk->workers[number].under_way < best->under_way)
            best = &disk->workers[number];
    return best;
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
    wake(worker);
    return true;
}

uint16_t disk_collect(struct disk *disk, struct disk_reply *replies, uint16_t room)
{
    uint16_t count = stream_thread_collect(disk->stream, replies, room);
    for (uint32_t at = 0; at < disk->started; at++) {
        struct worker *worker = &disk->workers[(disk->collect_next + at) % disk->started];
        while (count < room && ring_pop(&worker->replies, &replies[count])) {
            worker->under_way--;
            count++;
        }
    }
    disk->collect_next++;
    return count;
}
