/* One thread that serves disk requests, one after the other in the order in which they came. It sleeps on a
 * futex while there are none.
 *
 * thread_submit and thread_collect belong to one thread, the owner; neither waits. Submitting makes a system
 * call only when this thread sleeps. What is done and not collected waits: with THREAD_REPLIES of them the
 * thread stands still. */
#pragma once

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "base/err.h"
#include "disk/disk.h"
#include "disk/file.h"
#include "disk/meter.h"
#include "disk/ring.h"
#include "disk/sealed.h"

#define THREAD_REPLIES    256
#define THREAD_NAME_BYTES 16 /* the kernel keeps no more */

struct disk_thread {
    struct ring requests, replies;
    char name[THREAD_NAME_BYTES];
    struct file *files; /* by handle */
    struct disk_waiter waiter;
    struct sealed_room sealed; /* the thread's own, but for its primitives */
    int nice;
    uint32_t queue_most;         /* requests under way at once */
    _Atomic uint32_t under_way;  /* submitted and not yet collected; the owner's, as is the next one */
    _Atomic uint32_t under_most; /* the largest that was */
    pthread_t thread;
    _Alignas(64) _Atomic uint32_t sleeping; /* futex: 1 while the thread sleeps or is about to */
    atomic_bool stop;
    _Alignas(64) struct meter meter; /* the thread's own */
};

/* name, files, waiter, nice, sealed.primitives and queue_most (a power of two) are set, all else is zero. `cpus`: where it may run;
 * NULL: where the caller may. */
bool thread_start(struct disk_thread *thread, const cpu_set_t *cpus, struct err *err);
/* False: queue_most are under way. */
bool thread_submit(struct disk_thread *thread, const struct disk_request *request);
bool thread_collect(struct disk_thread *thread, struct disk_reply *reply); /* false: none is there */
uint32_t thread_under_way(const struct disk_thread *thread);
/* Serves what was submitted, then ends; answers are lost from now on. */
void thread_ask_to_end(struct disk_thread *thread);
void thread_join(struct disk_thread *thread);
