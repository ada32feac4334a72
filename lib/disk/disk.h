/* Serves the node's disk requests (store/disk.h) with files, on threads of its own.
 *
 * READs and WRITEs of one handle run side by side and in any order; the other requests of a handle run in
 * the order in which they were submitted. The owner has no READ or WRITE of a handle outstanding when it
 * submits FINISH, ABORT or CLOSE, and nothing at all when it submits OPEN_*. Every request gets exactly one
 * reply. READ, WRITE and DIGEST never wait behind a request that may take long (OPEN_*, FINISH, ABORT,
 * CLOSE, MANIFEST), and those of one handle wait for another's only where DISK_SLOW_SHARE of the same
 * directory, or more than DISK_SLOW_THREADS in all, are under way.
 *
 * A filesystem that hangs holds no blocks but its own (lanes.h), and of the requests that may take long no
 * more than DISK_SLOW_SHARE threads for each directory; what it holds is counted, and told by
 * disk_thread_view.
 *
 * Threads: disk_submit and disk_collect belong to one thread; neither waits. Submitting makes a system call
 * only when the chosen disk thread sleeps. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "store/disk.h"

#define DISK_THREADS_MAX  16   /* for the blocks of each lane */
#define DISK_SLOW_THREADS 8    /* for what may take long; as good as always asleep */
#define DISK_SLOW_SHARE   3    /* of these, held at most by the requests of one directory */
#define DISK_QUEUE_MAX    4096 /* blocks under way in one thread */
#define DISK_SLOW_QUEUE   256  /* the same of what may take long */
#define DISK_CPUS_MAX     16
#define DISK_VIEWS_MAX    88             /* threads in all */
#define DISK_INDEX_BYTES  (256ULL << 20) /* some 3.5 million files */

struct disk_config {
    uint32_t threads; /* for the blocks of each filesystem: 1 … DISK_THREADS_MAX */
    int nice;         /* of the threads; 19 leaves the cores to whoever polls */
    /* Where all of the disk's threads may run; none: where the caller of disk_start may. */
    uint16_t cpu_count;
    uint16_t cpus[DISK_CPUS_MAX];
    /* Targets get their length only, no space is reserved: for filesystems where that is dear. */
    bool sparse;
    /* What blocks that lie sealed in memory are opened and sealed with; NULL: there are none. */
    const struct primitives *primitives;
    /* For the indexes of all directories that arrive at once; 0: DISK_INDEX_BYTES. A job whose index does not
     * fit what the others leave of it is refused. */
    uint64_t index_bytes_max;
    /* Told by a disk thread after each reply, when disk_collect finds it; NULL: nobody waits. */
    struct disk_waiter {
        void (*replied)(void *context);
        void *context;
    } waiter;
};

/* What one of the threads did since the start, and does now. Times in ns. */
struct disk_thread_view {
    const char *name;
    bool blocks;     /* READ, WRITE, DIGEST; else what may take long */
    uint64_t device; /* st_dev of the filesystem whose blocks it serves; 0: none */
    uint32_t cpu;    /* where its last request began */
    uint64_t cpu_ns; /* that it has used */
    uint64_t requests, read_bytes, written_bytes, hashed_bytes;
    uint64_t hash_ns; /* CPU time of hashing */
    uint32_t queue, queue_most;
    uint64_t slowest_ns;
    uint64_t slow;         /* requests that took longer than METER_SLOW_NS */
    uint64_t under_way_ns; /* of the request that it serves now; 0: none */
};

struct disk;

/* NULL and err when the threads can't be had. */
struct disk *disk_start(const struct disk_config *config, struct err *err);
/* Copies the request; request->data and request->open must stay until the reply. False: try again later. */
bool disk_submit(struct disk *disk, const struct disk_request *request);
/* Up to `room` replies that are there, in any order; returns how many. */
uint16_t disk_collect(struct disk *disk, struct disk_reply *replies, uint16_t room);
/* From any thread between start and stop. False: there are no more than `index`. */
bool disk_thread_view(const struct disk *disk, uint32_t index, struct disk_thread_view *view);
/* Handles that found no threads for their filesystem alone, since the start. */
uint64_t disk_lanes_shared(const struct disk *disk);
/* Serves what was submitted, ends the threads, closes all files; a NAME.part not finished stays. */
void disk_stop(struct disk *disk);
