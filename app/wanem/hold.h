/* A time-ordered hold queue: what is put in comes out in order of its time, and in order of arrival where
 * times are equal. A 4-ary heap: flat, no limit on how far ahead a time may lie, about log4(n) cache lines an
 * operation. Capacity is fixed at start; hold_put into a full one is a bug of the caller, who asks
 * hold_room. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct hold_item {
    uint64_t time_ns;
    uint64_t order; /* set by hold_put */
    void *packet;
    uint32_t bytes : 24;    /* on the wire */
    uint32_t hop : 7;       /* where it comes to at time_ns: the caller's */
    uint32_t congested : 1; /* at a link before: the caller's */
    uint16_t ip_bytes;
    uint8_t from, to;
};

struct hold {
    struct hold_item *items; /* capacity of them, the caller's memory */
    uint32_t count, capacity;
    uint64_t order;
};

void hold_init(struct hold *hold, struct hold_item *items, uint32_t capacity);
void hold_put(struct hold *hold, const struct hold_item *item);
/* The earliest item when its time is not after now_ns; false: none. */
bool hold_take(struct hold *hold, uint64_t now_ns, struct hold_item *item);
/* Time of the earliest; TIME_NEVER when empty. */
uint64_t hold_next_ns(const struct hold *hold);

static inline uint32_t hold_room(const struct hold *hold)
{
    return hold->capacity - hold->count;
}
