/* Packets in order behind one another: a ring that grows. A list would do, but what lies far ahead in it
 * could not be fetched into the cache before it is needed; a long path holds more packets than any cache. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "sim/pool.h"

struct packet_queue {
    struct sim_packet **places; /* NULL until the first packet */
    uint32_t mask;
    uint32_t head, tail; /* free-running */
};

void queue_grow(struct packet_queue *queue);
void queue_free(struct packet_queue *queue);

/* NULL: it is empty. */
static inline struct sim_packet *queue_first(const struct packet_queue *queue)
{
    return queue->head == queue->tail ? NULL : queue->places[queue->head & queue->mask];
}

static inline struct sim_packet *queue_last(const struct packet_queue *queue)
{
    return queue->head == queue->tail ? NULL : queue->places[(queue->tail - 1) & queue->mask];
}

/* True: it was empty. */
static inline bool queue_join(struct packet_queue *queue, struct sim_packet *packet)
{
    bool first = queue->head == queue->tail;
    if (queue->places == NULL || queue->tail - queue->head > queue->mask)
        queue_grow(queue);
    queue->places[queue->tail++ & queue->mask] = packet;
    return first;
}

/* The first one, which there must be. */
static inline struct sim_packet *queue_leave(struct packet_queue *queue)
{
    return queue->places[queue->head++ & queue->mask];
}

/* The packet that many places behind the first; NULL: there are not so many. */
static inline const struct sim_packet *queue_ahead(const struct packet_queue *queue, uint32_t places)
{
    return queue->tail - queue->head > places ? queue->places[(queue->head + places) & queue->mask] : NULL;
}
