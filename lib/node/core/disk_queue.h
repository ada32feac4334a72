/* Disk requests on their way out of the node, in order. Bounded: what is not a write is bounded by its jobs
 * (DISK_QUEUE_OTHERS over all of them), and writes wait in memory while the queue has no room for them. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "node/node_config.h"
#include "store/disk.h"

#define DISK_QUEUE        1024 /* power of two */
#define READ_AHEAD_BLOCKS 24u  /* of one job */
/* Reads of all jobs, and two more requests of each. */
#define DISK_QUEUE_OTHERS (NODE_JOBS_MAX * (READ_AHEAD_BLOCKS + 2))

struct disk_queue {
    struct disk_request requests[DISK_QUEUE];
    uint32_t head, tail; /* free-running; tail - head are queued */
};

/* CHECKs that there is room. */
void disk_queue_push(struct disk_queue *queue, const struct disk_request *request);
/* The oldest up to `room`; returns how many. */
uint16_t disk_queue_pop(struct disk_queue *queue, struct disk_request *requests, uint16_t room);
/* Room for a write beside all that may still come and is none. */
bool disk_queue_takes_write(const struct disk_queue *queue);

static inline bool disk_queue_empty(const struct disk_queue *queue)
{
    return queue->head == queue->tail;
}
