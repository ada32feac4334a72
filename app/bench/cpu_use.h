/* CPU time of the threads of one end of a transfer: its worker and its disk's. Plain data, so that it goes
 * through a pipe. */
#pragma once

#include <stdint.h>

#include "base/report.h"
#include "disk/disk.h"

#define CPU_USE_THREADS_MAX 16

struct cpu_use {
    uint64_t worker_ns;
    uint64_t hashed_bytes, hash_ns; /* of all its threads */
    uint32_t count;
    struct {
        char name[16];
        uint64_t cpu_ns;
        uint64_t hashed_bytes;
    } threads[CPU_USE_THREADS_MAX]; /* of the disk: those that served something */
};

/* CPU time of the calling thread. */
uint64_t cpu_use_now_ns(void);
/* `disk` NULL: none is there. `worker_ns`: what the worker used. */
void cpu_use_look(struct cpu_use *use, const struct disk *disk, uint64_t worker_ns);
/* Rows of a table: end, thread, cpu_ns, hashed_bytes. */
void cpu_use_report(const struct cpu_use *use, const char *end, struct report *report);
/* What one thread hashes in a second of its CPU, over both ends; 0: nothing was hashed. */
uint64_t cpu_use_hash_bps(const struct cpu_use *one, const struct cpu_use *other);
