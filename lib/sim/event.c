#include "sim/event.h"

#include <stdlib.h>

#include "base/check.h"

#define HEAP_ROOM_FIRST 1024

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
        uint32_t parent = (place - 1) / 2;
        if (!before(event, &heap->items[parent]))
            break;
        heap->items[place] = heap->items[parent];
        place = parent;
    }
    heap->items[place] = *event;
}

bool event_pop(struct event_heap *heap, struct event *event)
{
    if (heap->count == 0)
        return false;
    *event = heap->items[0];
    const struct event *last = &heap->items[--heap->count];
    uint32_t place = 0;
    for (;;) {
        uint32_t child = 2 * place + 1;
        if (child >= heap->count)
            break;
        if (child + 1 < heap->count && before(&heap->items[child + 1], &heap->items[child]))
            child++;
        if (!before(&heap->items[child], last))
            break;
        heap->items[place] = heap->items[child];
        place = child;
    }
    heap->items[place] = *last;
    return true;
}
