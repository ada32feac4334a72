#include "node/core/disk_queue.h"

#include "base/check.h"

/* Of one job, whatever others have there: slow disks still have something to do while they answer. */
#define WRITES_LEAST 2

static uint32_t queued(const struct disk_queue *queue)
{
    return queue->tail - queue->head;
}

static struct disk_request *place(struct disk_queue *queue, uint32_t at)
{
    return &queue->requests[at & (DISK_QUEUE - 1)];
}

void disk_queue_push(struct disk_queue *queue, const struct disk_request *request)
{
    CHECK(queued(queue) < DISK_QUEUE);
    *place(queue, queue->tail++) = *request;
    queue->waits = false;
}

static bool may_go(const struct disk_queue *queue, const struct disk_request *request)
{
    if (request->op != DISK_WRITE)
        return true;
    uint32_t own = queue->writes[request->handle];
    return own < WRITES_LEAST || (own < queue->slots / 2 && queue->writes_all < queue->slots / 4 * 3);
}

/* What is passed over, the first `count`, moves up to where the rest begins. */
static void close_gap(struct disk_queue *queue, uint32_t count, uint32_t rest)
{
    for (uint32_t left = count; left > 0; left--)
        *place(queue, rest - count + left - 1) = *place(queue, queue->head + left - 1);
    queue->head = rest - count;
}

uint16_t disk_queue_pop(struct disk_queue *queue, struct disk_request *requests, uint16_t room)
{
    uint16_t count = 0;
    uint32_t passed = 0, at = queue->head;
    if (!disk_queue_ready(queue))
        return 0;
    for (; count < room && at != queue->tail; at++) {
        struct disk_request *request = place(queue, at);
        if (!may_go(queue, request)) {
            *place(queue, queue->head + passed++) = *request;
            continue;
        }
        requests[count++] = *request;
        queue->writes[request->handle] += request->op == DISK_WRITE;
        queue->writes_all += request->op == DISK_WRITE;
    }
    close_gap(queue, passed, at);
    queue->waits = at == queue->tail && passed > 0;
    return count;
}

void disk_queue_done(struct disk_queue *queue, const struct disk_reply *reply)
{
    if (reply->op != DISK_WRITE)
        return;
    CHECK(queue->writes[reply->handle] > 0);
    queue->writes[reply->handle]--;
    queue->writes_all--;
    queue->waits = false;
}

bool disk_queue_withdraw(struct disk_queue *queue, uint8_t handle, struct disk_request *request)
{
    uint32_t at = queue->head;
    while (at != queue->tail && (place(queue, at)->op != DISK_WRITE || place(queue, at)->handle != handle))
        at++;
    if (at == queue->tail)
        return false;
    *request = *place(queue, at);
    close_gap(queue, at - queue->head, at + 1);
    return true;
}

bool disk_queue_takes_write(const struct disk_queue *queue)
{
    return queued(queue) < DISK_QUEUE - DISK_QUEUE_OTHERS;
}
