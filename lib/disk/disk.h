/* Serves the node's disk requests (store/disk.h) with files, on threads of its own.
 *
 * READs and WRITEs of one handle run side by side and in any order; the other requests of a handle run in the
 * order in which they were submitted. The owner has no READ or WRITE of a handle outstanding when it submits
 * FINISH, ABORT or CLOSE, and nothing at all when it submits OPEN_*. Every request gets exactly one reply.
 * READ, WRITE and DIGEST never wait behind a request that may take long (OPEN_*, FINISH, ABORT, CLOSE,
 * MANIFEST), and those of one handle wait for another's only where more than DISK_SLOW_THREADS are under way.
 *
 * Threads: disk_submit and disk_collect belong to one thread; neither waits. Submitting makes a system call
 * only when the chosen disk thread sleeps. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "store/disk.h"

#define DISK_THREADS_MAX  16             /* for blocks */
#define DISK_SLOW_THREADS 8              /* for what may take long; as good as always asleep */
#define DISK_QUEUE_MAX    256            /* requests under way in one thread */
#define DISK_INDEX_BYTES  (256ULL << 20) /* some 3.5 million files */

struct disk_config {
    uint32_t threads; /* for blocks: 1 … DISK_THREADS_MAX */
    int nice;         /* of the threads; 19 leaves the cores to whoever polls */
    /* Targets get their length only, no space is reserved: for filesystems where that is dear. */
    bool sparse;
    /* For the indexes of all directories that arrive at once; 0: DISK_INDEX_BYTES. A job whose index does not
     * fit what the others leave of it is refused. */
    uint64_t index_bytes_max;
};

struct disk;

/* NULL and err when the threads can't be had. */
struct disk *disk_start(const struct disk_config *config, struct err *err);
/* Copies the request; request->data and request->open must stay until the reply. False: try again later. */
bool disk_submit(struct disk *disk, const struct disk_request *request);
/* Up to `room` replies that are there, in any order; returns how many. */
uint16_t disk_collect(struct disk *disk, struct disk_reply *replies, uint16_t room);
/* Serves what was submitted, ends the threads, closes all files; a NAME.part not finished stays. */
void disk_stop(struct disk *disk);
