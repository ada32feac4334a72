/* Disk requests on their way out of the node, in order. Bounded: what is not a write is bounded by its jobs
 * (DISK_QUEUE_OTHERS over all of them), and writes wait in memory while the queue has no room for them.
 *
 * Guarantee: the disk has writes of at most half of the symbol buffer's slots for one job, and of three
 * quarters in all but two a job: the slots of what it has are lost for as long as it hangs. Other writes
 * wait here, where they can be withdrawn. */
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
    uint32_t head, tail;                        /* free-running; tail - head are queued */
    uint32_t slots;                             /* of the symbol buffer */
    uint32_t writes[NODE_JOBS_MAX], writes_all; /* that the disk has, by handle */
    uint32_t blocks_all;                        /* … and reads besides */
    uint32_t blocks[NODE_JOBS_MAX];             /* … of the handle */
    uint32_t before[NODE_JOBS_MAX]; /* of all these, at most so many that it had before the handle's own */
    bool waits;                     /* what is queued are writes, and all of them have to wait */
};

/* CHECKs that there is room. */
void disk_queue_push(struct disk_queue *queue, const struct disk_request *request);
/* The oldest up to `room` that may go; returns how many. */
uint16_t disk_queue_pop(struct disk_queue *queue, struct disk_request *requests, uint16_t room);
/* Room for a write beside all that may still come and is none. */
bool disk_queue_takes_write(const struct disk_queue *queue);

/* The disk has answered. Returns the handles, one bit each, whose blocks may be waiting behind this one: the disk is at
 * work on what it had before theirs. */
uint16_t disk_queue_done(struct disk_queue *queue, const struct disk_reply *reply);
/* Takes the oldest write of the handle out again; false: none is queued. */
bool disk_queue_withdraw(struct disk_queue *queue, uint8_t handle, struct disk_request *request);
/* Something may go. */
static inline bool disk_queue_ready(const struct disk_queue *queue)
{
    return queue->head != queue->tail && !queue->waits;
}

static inline bool disk_queue_empty(const struct disk_queue *queue)
{
    return queue->head == queue->tail;
}
