#include "node/core/disk_queue.h"

#include "base/check.h"

static uint32_t queued(const struct disk_queue *queue)
{
    return queue->tail - queue->head;
}

void disk_queue_push(struct disk_queue *queue, const struct disk_request *request)
{
    CHECK(queued(queue) < DISK_QUEUE);
    queue->requests[queue->tail++ & (DISK_QUEUE - 1)] = *request;
}

uint16_t disk_queue_pop(struct disk_queue *queue, struct disk_request *requests, uint16_t room)
{
    uint16_t count = 0;
    while (count < room && !disk_queue_empty(queue))
        requests[count++] = queue->requests[queue->head++ & (DISK_QUEUE - 1)];
    return count;
}

bool disk_queue_takes_write(const struct disk_queue *queue)
{
    return queued(queue) < DISK_QUEUE - DISK_QUEUE_OTHERS;
}
