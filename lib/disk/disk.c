#include "disk/disk.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bitmap.h"
#include "base/check.h"
#include "base/count.h"
#include "base/digest.h"
#include "base/units.h"
#include "disk/clock.h"
#include "disk/lanes.h"
#include "disk/stream_thread.h"
#include "disk/thread.h"

#define THREADS_MAX DISK_VIEWS_MAX
_Static_assert(THREADS_MAX == DISK_THREADS_MAX * (LANES_MAX + 1) + DISK_SLOW_THREADS, "all of every lane");

/* One handle, as its owner sees it. */
struct handle {
    uint32_t lane;           /* of its blocks */
    uint64_t directory;      /* what its requests that may take long have in common with others */
    uint32_t slow_under_way; /* these stay in order by staying with one thread … */
    uint32_t slow_thread;    /* … while there are some */
};

struct disk {
    struct disk_config config;
    uint32_t started;
    uint32_t block_threads;                   /* the first ones: config.threads of each lane */
    uint32_t collect_next;                    /* the thread whose replies are collected first */
    uint64_t busy[BITMAP_WORDS(THREADS_MAX)]; /* threads with something under way: no others are looked at */
    struct stream_threads *streams;
    struct lanes lanes;
    struct handle handles[DISK_HANDLES_MAX];
    uint64_t directories[DISK_SLOW_THREADS]; /* that these threads serve now */
    struct file_common common;
    struct file files[DISK_HANDLES_MAX];
    struct disk_thread threads[THREADS_MAX];
};

/* ---- start and end ---- */

static void name_thread(const struct disk *disk, uint32_t number, char name[THREAD_NAME_BYTES])
{
    uint32_t lane = number / disk->config.threads, at = number % disk->config.threads;
    if (number >= disk->block_threads)
        snprintf(name, THREAD_NAME_BYTES, "disk-slow-%u", (number - disk->block_threads) % 100);
    else if (lane == LANE_OF_NONE)
        snprintf(name, THREAD_NAME_BYTES, "disk-hash-%u", at % 100);
    else
        snprintf(name, THREAD_NAME_BYTES, "disk-%u-%u", lane % 100, at % 100);
}

/* False: err names the CPU that is none of those permitted to this thread. */
static bool choose_cpus(const struct disk_config *config, cpu_set_t *cpus, struct err *err)
{
    cpu_set_t permitted;
    CPU_ZERO(cpus);
    CPU_ZERO(&permitted);
    (void)sched_getaffinity(0, sizeof(permitted), &permitted); /* none is permitted, then */
    for (uint16_t at = 0; at < config->cpu_count; at++) {
        if (config->cpus[at] >= CPU_SETSIZE || !CPU_ISSET(config->cpus[at], &permitted))
            return err_set(err, "disk.cpus: CPU %u does not exist or is not permitted to this process",
                           config->cpus[at]);
        CPU_SET(config->cpus[at], cpus);
    }
    return true;
}

static bool start_threads(struct disk *disk, struct err *err)
{
    cpu_set_t cpus;
    const cpu_set_t *where = disk->config.cpu_count > 0 ? &cpus : NULL;
    if (!choose_cpus(&disk->config, &cpus, err))
        return false;
    while (disk->started < disk->block_threads + DISK_SLOW_THREADS) {
        struct disk_thread *thread = &disk->threads[disk->started];
        thread->files = disk->files;
        thread->waiter = disk->config.waiter;
        thread->sealed.primitives = disk->config.primitives;
        thread->nice = disk->config.nice;
        thread->queue_most = disk->started < disk->block_threads ? DISK_QUEUE_MAX : DISK_SLOW_QUEUE;
        name_thread(disk, disk->started, thread->name);
        if (!thread_start(thread, where, err))
            return false;
        disk->started++;
    }
    disk->streams = stream_threads_start(&disk->config, where, err);
    return disk->streams != NULL;
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
    disk->block_threads = config->threads * (LANES_MAX + 1);
    disk->common.sparse = config->sparse;
    disk->common.index_memory.limit_bytes =
        config->index_bytes_max != 0 ? config->index_bytes_max : DISK_INDEX_BYTES;
    for (int handle = 0; handle < DISK_HANDLES_MAX; handle++) {
        disk->files[handle].common = &disk->common;
        disk->handles[handle].lane = LANE_OF_NONE;
    }
    if (start_threads(disk, err))
        return disk;
    disk_stop(disk);
    return NULL;
}

void disk_stop(struct disk *disk)
{
    if (disk->streams != NULL)
        stream_threads_stop(disk->streams);
    for (uint32_t number = 0; number < disk->started; number++)
        thread_ask_to_end(&disk->threads[number]);
    for (uint32_t number = 0; number < disk->started; number++)
        thread_join(&disk->threads[number]);
    for (int handle = 0; handle < DISK_HANDLES_MAX; handle++)
        file_close(&disk->files[handle]);
    free(disk);
}

/* ---- whose thread ---- */

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
        if (thread_under_way(&disk->threads[number]) < thread_under_way(&disk->threads[best]))
            best = number;
    return best;
}

static uint32_t block_thread(const struct disk *disk, const struct disk_request *request)
{
    uint32_t lane = request->op == DISK_DIGEST ? LANE_OF_NONE : disk->handles[request->handle].lane;
    return least_busy(disk, lane * disk->config.threads, (lane + 1) * disk->config.threads);
}

/* By name: what lies there is known only when it is open, and opening is the first that hangs. */
static uint64_t directory_of(const struct disk_request *request)
{
    const struct disk_open *open = request->open;
    bool source = request->op == DISK_OPEN_SOURCE;
    const char *text = source ? open->file : open->directory;
    const char *end = source ? strrchr(text, '/') : NULL;
    struct digest digest;
    digest_init(&digest);
    for (; *text != '\0' && text != end; text++)
        digest_add(&digest, (uint8_t)*text);
    return digest.value;
}

/* One that sleeps, unless those of the same directory hold their share already: then the least busy of
 * these. */
static uint32_t slow_thread(struct disk *disk, uint64_t directory)
{
    uint32_t first = disk->block_threads, held = 0, best_held = first;
    for (uint32_t number = first; number < disk->started; number++) {
        uint32_t under_way = thread_under_way(&disk->threads[number]);
        if (under_way == 0 || disk->directories[number - first] != directory)
            continue;
        if (held++ == 0 || under_way < thread_under_way(&disk->threads[best_held]))
            best_held = number;
    }
    uint32_t number = held < DISK_SLOW_SHARE ? least_busy(disk, first, disk->started) : best_held;
    if (thread_under_way(&disk->threads[number]) == 0)
        disk->directories[number - first] = directory;
    return number;
}

static uint32_t choose(struct disk *disk, const struct disk_request *request)
{
    struct handle *handle = &disk->handles[request->handle];
    if (!may_take_long(request->op))
        return block_thread(disk, request);
    if (request->op == DISK_OPEN_SOURCE || request->op == DISK_OPEN_TARGET)
        handle->directory = directory_of(request);
    if (handle->slow_under_way == 0)
        handle->slow_thread =
            slow_thread(disk, request->op == DISK_MANIFEST ? directory_of(request) : handle->directory);
    return handle->slow_thread;
}

/* ---- the owner ---- */

static void on_reply(struct disk *disk, const struct disk_reply *reply)
{
    struct handle *handle = &disk->handles[reply->handle];
    if (!may_take_long(reply->op))
        return;
    handle->slow_under_way--;
    bool opens = reply->op == DISK_OPEN_SOURCE || reply->op == DISK_OPEN_TARGET;
    if (opens && (reply->status == DISK_OK || reply->status == DISK_ALREADY_THERE))
        handle->lane = lanes_join(&disk->lanes, disk->files[reply->handle].device);
    if (reply->op != DISK_CLOSE)
        return;
    lanes_leave(&disk->lanes, handle->lane);
    handle->lane = LANE_OF_NONE;
}

bool disk_submit(struct disk *disk, const struct disk_request *request)
{
    CHECK(request->handle < DISK_HANDLES_MAX);
    if (stream_threads_want(disk->streams, request))
        return stream_threads_submit(disk->streams, request);
    uint32_t number = choose(disk, request);
    if (!thread_submit(&disk->threads[number], request))
        return false;
    bitmap_set(disk->busy, number);
    disk->handles[request->handle].slow_under_way += may_take_long(request->op);
    return true;
}

static uint16_t collect_from(struct disk *disk, uint32_t number, struct disk_reply *replies, uint16_t room)
{
    uint16_t count = 0;
    while (count < room && thread_collect(&disk->threads[number], &replies[count]))
        on_reply(disk, &replies[count++]);
    if (thread_under_way(&disk->threads[number]) == 0)
        bitmap_clear(disk->busy, number);
    return count;
}

uint16_t disk_collect(struct disk *disk, struct disk_reply *replies, uint16_t room)
{
    uint16_t count = stream_threads_collect(disk->streams, replies, room);
    uint32_t first = disk->collect_next++ % disk->started;
    for (uint32_t at = bitmap_next_set(disk->busy, disk->started, first); at < disk->started;
         at = bitmap_next_set(disk->busy, disk->started, at + 1))
        count += collect_from(disk, at, replies + count, room - count);
    for (uint32_t at = bitmap_next_set(disk->busy, first, 0); at < first;
         at = bitmap_next_set(disk->busy, first, at + 1))
        count += collect_from(disk, at, replies + count, room - count);
    return count;
}

/* ---- for who looks ---- */

bool disk_thread_view(const struct disk *disk, uint32_t index, struct disk_thread_view *view)
{
    if (index >= disk->started)
        return false;
    const struct disk_thread *thread = &disk->threads[index];
    const struct meter *meter = &thread->meter;
    uint32_t lane = index / disk->config.threads;
    uint64_t begun_ns = meter_get(&meter->begun_ns);
    clockid_t clock;
    *view = (struct disk_thread_view){
        .name = thread->name,
        .blocks = index < disk->block_threads,
        .device = lane < LANES_MAX ? count_get(&disk->lanes.devices[lane]) : 0,
        .cpu = atomic_load_explicit(&meter->cpu, memory_order_relaxed),
        .requests = meter_get(&meter->requests),
        .read_bytes = meter_get(&meter->read_bytes),
        .written_bytes = meter_get(&meter->written_bytes),
        .hashed_bytes = meter_get(&meter->hashed_bytes),
        .hash_ns = meter_get(&meter->hash_ns),
        .queue = thread_under_way(thread),
        .queue_most = atomic_load_explicit(&thread->under_most, memory_order_relaxed),
        .slowest_ns = meter_get(&meter->slowest_ns),
        .slow = meter_get(&meter->slow),
        .under_way_ns = begun_ns == 0 ? 0 : elapsed_ns(clock_ns(CLOCK_MONOTONIC), begun_ns),
    };
    if (pthread_getcpuclockid(thread->thread, &clock) == 0)
        view->cpu_ns = clock_ns(clock);
    return true;
}

uint64_t disk_lanes_shared(const struct disk *disk)
{
    return count_get(&disk->lanes.shared);
}
