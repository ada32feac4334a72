/* The threads of a node's streams: their requests may wait for hours, for somebody who writes or reads, and so must not hold
 * a thread that serves files. A thread sleeps in poll. Each handle has one of its own: what a filesystem makes one stream wait
 * for (an fsync, a close, a write) holds no other.
 *
 * All of these functions belong to one thread; none but the last waits. */
#pragma once

#include <sched.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "disk/disk.h"

struct stream_threads;

/* NULL and err when there is no memory, descriptor or thread for them. `cpus`: where they may run; NULL: where
 * the caller may. */
struct stream_threads *stream_threads_start(const struct disk_config *config, const cpu_set_t *cpus,
                                            struct err *err);
/* True: the request is of a stream, and is to be submitted here. Follows the OPEN_* and CLOSE of each
 * handle. */
bool stream_threads_want(struct stream_threads *threads, const struct disk_request *request);
bool stream_threads_submit(struct stream_threads *threads,
                           const struct disk_request *request); /* false: full */
uint16_t stream_threads_collect(struct stream_threads *threads, struct disk_reply *replies, uint16_t room);
/* Answers what waits as interrupted, ends the threads, closes all. */
void stream_threads_stop(struct stream_threads *threads);
