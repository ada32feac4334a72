/* The thread of all streams of a node: their requests may wait for hours, for somebody who writes or reads,
 * and so must not hold a thread that serves files. It sleeps in poll.
 *
 * stream_thread_submit and stream_thread_collect belong to one thread; neither waits. */
#pragma once

#include <sched.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "disk/disk.h"

struct stream_thread;

/* NULL and err when there is no memory, descriptor or thread for it. `cpus`: where it may run; NULL: where
 * the caller may. */
struct stream_thread *stream_thread_start(const struct disk_config *config, const cpu_set_t *cpus,
                                          struct err *err);
/* True: the request is of a stream, and is to be submitted here. Follows the OPEN_* and CLOSE of each
 * handle. */
bool stream_thread_wants(struct stream_thread *thread, const struct disk_request *request);
bool stream_thread_submit(struct stream_thread *thread, const struct disk_request *request); /* false: full */
uint16_t stream_thread_collect(struct stream_thread *thread, struct disk_reply *replies, uint16_t room);
/* Answers what waits as interrupted, ends the thread, closes all. */
void stream_thread_stop(struct stream_thread *thread);
