#include "sim/queue.h"

#include <stdlib.h>

#include "base/check.h"

#define PLACES_FIRST 64

void queue_grow(struct packet_queue *queue)
{
    uint32_t room = queue->places == NULL ? PLACES_FIRST : 2 * (queue->mask + 1);
    struct sim_packet **places = malloc(room * sizeof(struct sim_packet *));
    CHECK(places != NULL);
    for (uint32_t number = queue->head; number != queue->tail; number++)
        places[number & (room - 1)] = queue->places[number & queue->mask];
    free(queue->places);
    queue->places = places;
    queue->mask = room - 1;
}

void queue_free(struct packet_queue *queue)
{
    free(queue->places);
    *queue = (struct packet_queue){0};
}
