/* Positions of a queue from one thread to one other; the places themselves are arrays of whoever owns it.
 *
 * Guarantee: what the producer wrote to a place before spsc_push the consumer sees after spsc_count, and
 * what the consumer did with it before spsc_pop is over when the producer finds the place free. By loads
 * that acquire and stores that release alone, without an instruction that locks a line. Each side hands
 * over as many places at once as it likes, writes one line that is its own, and looks at the other's only
 * when what it saw there last does not do.
 *
 * Positions run freely in 32 bits; the number of places is a power of two below 2^31, so their difference
 * is right across the wrap. Places come in runs without a break: at the end of the array a run is shorter
 * than asked for. */
#pragma once

#include <stdint.h>

#include "base/check.h"

#define SPSC_LINE 128 /* two lines: processors fetch them in pairs */

struct spsc {
    _Alignas(SPSC_LINE) uint32_t tail; /* atomic; the producer's: places filled so far */
    uint32_t head_seen;                /* the producer's: head when it last looked */
    _Alignas(SPSC_LINE) uint32_t head; /* atomic; the consumer's: places given back so far */
    uint32_t tail_seen;                /* the consumer's: tail when it last looked */
    _Alignas(SPSC_LINE) uint32_t mask; /* places - 1; not written after spsc_init */
};

/* Before either thread runs. */
static inline void spsc_init(struct spsc *ring, uint32_t places)
{
    CHECK(places > 0 && places < 1u << 31 && (places & (places - 1)) == 0);
    *ring = (struct spsc){.mask = places - 1};
}

/* ---- producer ---- */

/* Index of the first free place, if there is one. */
static inline uint32_t spsc_back(const struct spsc *ring)
{
    return ring->tail & ring->mask;
}

/* How many places, at most `wanted`, are free from spsc_back on. */
static inline uint32_t spsc_room(struct spsc *ring, uint32_t wanted)
{
    uint32_t until_end = ring->mask + 1 - spsc_back(ring);
    uint32_t most = wanted < until_end ? wanted : until_end;
    uint32_t room = ring->mask + 1 - (ring->tail - ring->head_seen);
    if (room < most) {
        ring->head_seen = __atomic_load_n(&ring->head, __ATOMIC_ACQUIRE);
        room = ring->mask + 1 - (ring->tail - ring->head_seen);
    }
    return room < most ? room : most;
}

/* The next `count` places are filled. */
static inline void spsc_push(struct spsc *ring, uint32_t count)
{
    CHECK(count <= ring->mask + 1 - (ring->tail - ring->head_seen));
    __atomic_store_n(&ring->tail, ring->tail + count, __ATOMIC_RELEASE);
}

/* Places given back so far, free-running: for who keeps something beside each place. */
static inline uint32_t spsc_returned(struct spsc *ring)
{
    return ring->head_seen = __atomic_load_n(&ring->head, __ATOMIC_ACQUIRE);
}

/* ---- consumer ---- */

/* Index of the oldest filled place, if there is one. */
static inline uint32_t spsc_front(const struct spsc *ring)
{
    return ring->head & ring->mask;
}

/* How many places, at most `wanted`, are filled from spsc_front on. */
static inline uint32_t spsc_count(struct spsc *ring, uint32_t wanted)
{
    uint32_t until_end = ring->mask + 1 - spsc_front(ring);
    uint32_t most = wanted < until_end ? wanted : until_end;
    uint32_t count = ring->tail_seen - ring->head;
    if (count < most) {
        ring->tail_seen = __atomic_load_n(&ring->tail, __ATOMIC_ACQUIRE);
        count = ring->tail_seen - ring->head;
    }
    return count < most ? count : most;
}

/* The oldest `count` places are free again. */
static inline void spsc_pop(struct spsc *ring, uint32_t count)
{
    CHECK(count <= ring->tail_seen - ring->head);
    __atomic_store_n(&ring->head, ring->head + count, __ATOMIC_RELEASE);
}

/* ---- any thread ---- */

/* Filled places, at some moment lately. */
static inline uint32_t spsc_waiting(const struct spsc *ring)
{
    uint32_t head = __atomic_load_n(&ring->head, __ATOMIC_ACQUIRE);
    return __atomic_load_n(&ring->tail, __ATOMIC_ACQUIRE) - head;
}
