#include "sim/event.h"

#include <stdlib.h>

#include "base/check.h"
#include "base/units.h"

#define HEAP_ROOM_FIRST 1024
#define CHILDREN        4 /* of an item: half as deep as with two, and they share two cache lines */

void event_heap_init(struct event_heap *heap)
{
    *heap = (struct event_heap){.room = HEAP_ROOM_FIRST};
    heap->items = malloc(heap->room * sizeof(*heap->items));
    CHECK(heap->items != NULL);
}

void event_heap_free(struct event_heap *heap)
{
    free(heap->items);
    *heap = (struct event_heap){0};
}

static inline bool before(const struct event *a, const struct event *b)
{
    return a->time_ns != b->time_ns ? a->time_ns < b->time_ns : a->sequence < b->sequence;
}

void event_push(struct event_heap *heap, const struct event *event)
{
    if (heap->count == heap->room) {
        heap->room *= 2;
        heap->items = realloc(heap->items, heap->room * sizeof(*heap->items));
        CHECK(heap->items != NULL);
    }
    uint32_t place = heap->count++;
    while (place > 0) {
        uint32_t parent = (place - 1) / CHILDREN;
        if (!before(event, &heap->items[parent]))
            break;
        heap->items[place] = heap->items[parent];
        place = parent;
    }
    heap->items[place] = *event;
}

/* The earliest of the children of a place; count: it has none. */
static inline uint32_t earliest_child(const struct event_heap *heap, uint32_t place)
{
    uint32_t first = CHILDREN * place + 1;
    if (first >= heap->count)
        return heap->count;
    uint32_t end = MIN(first + CHILDREN, heap->count), earliest = first;
    for (uint32_t child = first + 1; child < end; child++)
        if (before(&heap->items[child], &heap->items[earliest]))
            earliest = child;
    return earliest;
}

bool event_pop(struct event_heap *heap, struct event *event)
{
    if (heap->count == 0)
        return false;
    *event = heap->items[0];
    const struct event *last = &heap->items[--heap->count];
    uint32_t place = 0, child;
    while ((child = earliest_child(heap, place)) < heap->count && before(&heap->items[child], last)) {
        heap->items[place] = heap->items[child];
        place = child;
    }
    heap->items[place] = *last;
    return true;
}
