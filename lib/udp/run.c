#include "udp/run.h"

#include <string.h>

#include "base/check.h"
#include "base/units.h"

#define NONE UINT16_MAX

void runs_begin(struct runs *runs)
{
    runs->count = runs->next_first = 0;
    memset(runs->last_of, 0xff, sizeof(runs->last_of));
}

void runs_add(struct runs *runs, const struct run_packet *packet)
{
    CHECK(runs->count < RUN_WAITING_MAX && packet->peer < RUN_PEERS_MAX);
    uint16_t index = runs->count++, last = runs->last_of[packet->peer];
    runs->packets[index] = *packet;
    runs->following[index] = NONE;
    runs->taken[index] = false;
    if (last != NONE)
        runs->following[last] = index;
    runs->last_of[packet->peer] = index;
}

uint16_t runs_next(struct runs *runs, uint16_t places[RUN_PACKETS_MAX], uint16_t packets_max)
{
    while (runs->next_first < runs->count && runs->taken[runs->next_first])
        runs->next_first++;
    if (runs->next_first == runs->count)
        return 0;
    const struct run_packet *first = &runs->packets[runs->next_first], *packet = first;
    uint16_t count = 0, index = runs->next_first;
    uint32_t bytes = 0;
    do {
        runs->taken[index] = true;
        bytes += packet->bytes;
        places[count++] = packet->place;
        if (packet->bytes < first->bytes || packet->alone) /* nothing may follow it */
            break;
        index = runs->following[index];
        packet = &runs->packets[index == NONE ? 0 : index];
    } while (index != NONE && count < MIN(packets_max, (uint16_t)RUN_PACKETS_MAX) && !packet->alone &&
             packet->class == first->class && packet->bytes <= first->bytes &&
             bytes + packet->bytes <= RUN_BYTES_MAX);
    return count;
}
