#include "disk/ring.h"

#include <stdlib.h>
#include <string.h>

#define RING_ALIGN_BYTES 64

bool ring_init(struct ring *ring, uint32_t count, size_t item_bytes)
{
    atomic_init(&ring->head, 0);
    atomic_init(&ring->tail, 0);
    size_t bytes = (count * item_bytes + RING_ALIGN_BYTES - 1) / RING_ALIGN_BYTES * RING_ALIGN_BYTES;
    ring->items = aligned_alloc(RING_ALIGN_BYTES, bytes);
    ring->item_bytes = item_bytes;
    ring->mask = count - 1;
    if (ring->items == NULL)
        return false;
    memset(ring->items, 0, bytes); /* not calloc: whoever pushes first would meet the page faults */
    return true;
}

void ring_free(struct ring *ring)
{
    free(ring->items);
}

/* The store to tail is sequentially consistent because the producer looks next at whether the consumer
 * sleeps, while the consumer announces its sleep and then looks at tail: one of them must see the other. */
bool ring_push(struct ring *ring, const void *item)
{
    uint32_t tail = atomic_load_explicit(&ring->tail, memory_order_relaxed);
    if (tail - atomic_load_explicit(&ring->head, memory_order_acquire) > ring->mask)
        return false;
    memcpy(ring->items + (tail & ring->mask) * ring->item_bytes, item, ring->item_bytes);
    atomic_store(&ring->tail, tail + 1);
    return true;
}

bool ring_pop(struct ring *ring, void *item)
{
    uint32_t head = atomic_load_explicit(&ring->head, memory_order_relaxed);
    if (head == atomic_load_explicit(&ring->tail, memory_order_acquire))
        return false;
    memcpy(item, ring->items + (head & ring->mask) * ring->item_bytes, ring->item_bytes);
    atomic_store_explicit(&ring->head, head + 1, memory_order_release);
    return true;
}

bool ring_empty(const struct ring *ring)
{
    return atomic_load(&ring->head) == atomic_load(&ring->tail);
}
