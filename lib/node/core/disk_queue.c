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

static bool is_block(uint8_t op)
{
    return op == DISK_WRITE || op == DISK_READ;
}

/* The handle waits for all that the disk has of others. */
static void wait_behind(struct disk_queue *queue, uint8_t handle)
{
    queue->before[handle] = queue->blocks_all - queue->blocks[handle];
}

static void give(struct disk_queue *queue, const struct disk_request *request)
{
    if (!is_block(request->op))
        return;
    if (queue->blocks[request->handle] == 0)
        wait_behind(queue, request->handle);
    queue->blocks_all++;
    queue->blocks[request->handle]++;
    queue->writes[request->handle] += request->op == DISK_WRITE;
    queue->writes_all += request->op == DISK_WRITE;
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
        give(queue, request);
    }
    close_gap(queue, passed, at);
    queue->waits = at == queue->tail && passed > 0;
    return count;
}

uint16_t disk_queue_done(struct disk_queue *queue, const struct disk_reply *reply)
{
    uint16_t moved = 0;
    if (!is_block(reply->op))
        return 0;
    CHECK(queue->blocks_all > 0 && queue->blocks[reply->handle] > 0);
    queue->blocks_all--;
    queue->blocks[reply->handle]--;
    if (reply->op == DISK_WRITE) {
        CHECK(queue->writes[reply->handle] > 0);
        queue->writes[reply->handle]--;
        queue->writes_all--;
        queue->waits = false;
    }
    wait_behind(queue, reply->handle);
    for (uint32_t handle = 0; handle < NODE_JOBS_MAX; handle++) {
        if (handle == reply->handle || queue->blocks[handle] == 0 || queue->before[handle] == 0)
            continue;
        queue->before[handle]--;
        moved |= (uint16_t)(1u << handle);
    }
    return moved;
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
