/* A bounded queue from one thread to one other, without locks. Indexes run freely, the mask is applied on
 * use; tail is written by the producer only, head by the consumer only. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ring {
    _Alignas(64) _Atomic uint32_t tail;
    _Alignas(64) _Atomic uint32_t head;
    _Alignas(64) uint8_t *items;
    size_t item_bytes;
    uint32_t mask;
};

/* `count` is a power of two. False: no memory. */
bool ring_init(struct ring *ring, uint32_t count, size_t item_bytes);
void ring_free(struct ring *ring);
bool ring_push(struct ring *ring, const void *item); /* false: full */
bool ring_pop(struct ring *ring, void *item);        /* false: empty */
bool ring_empty(const struct ring *ring);
