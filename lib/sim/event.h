/* Event heap of the virtual clock. Events come out in order of time, and of their sequence number among
 * equals: the order never depends on addresses or on the heap's inner state. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum event_kind {
    EVENT_FAULT,     /* index: fault of the scenario */
    EVENT_JOB,       /* index: job to start */
    EVENT_LINK,      /* index: pair whose first packet reaches its receiver's downlink */
    EVENT_SHARED,    /* index: host, behind them shared link, whose first packet comes to a shared link */
    EVENT_STRAY,     /* object: a packet that overtakes or was overtaken does the same */
    EVENT_PORT,      /* index: host whose first packet leaves its downlink */
    EVENT_DISK,      /* index: host whose disk's first request is done */
    EVENT_WAKE,      /* index: host whose node wanted to be called */
    EVENT_CROSS,     /* index: flow of cross traffic that wanted to be called */
    EVENT_PLANNER,   /* index: host whose planner acts */
    EVENT_WATCH,     /* look whether all jobs have ended */
    EVENT_PROBE,     /* index: ask of the scenario */
    EVENT_PROBE_ALL, /* index: enum ctl_all */
    EVENT_TRACE,     /* a step of the trace is over */
};

struct event {
    uint64_t time_ns;
    uint64_t sequence;
    uint32_t kind; /* enum event_kind */
    uint32_t index;
    void *object;
};

struct event_heap {
    struct event *items;
    uint32_t count;
    uint32_t room;
    uint64_t next_sequence;
};

void event_heap_init(struct event_heap *heap);
void event_heap_free(struct event_heap *heap);

/* Sequence number for an event that is pushed later: a queue in front of the heap (the packets of one link)
 * takes it when the packet joins, so that only its first packet need be in the heap. */
static inline uint64_t event_ticket(struct event_heap *heap)
{
    return heap->next_sequence++;
}

void event_push(struct event_heap *heap, const struct event *event);
/* False: none left. */
bool event_pop(struct event_heap *heap, struct event *event);

/* Nothing in the heap comes before such an event. */
static inline bool event_is_first(const struct event_heap *heap, uint64_t time_ns, uint64_t sequence)
{
    const struct event *top = heap->items;
    return heap->count == 0 || time_ns < top->time_ns ||
           (time_ns == top->time_ns && sequence < top->sequence);
}

/* Pushes with a fresh ticket. */
static inline void event_add(struct event_heap *heap, uint64_t time_ns, enum event_kind kind, uint32_t index,
                             void *object)
{
    event_push(heap, &(struct event){time_ns, event_ticket(heap), kind, index, object});
}
