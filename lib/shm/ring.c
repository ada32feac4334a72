/* Push and pop. One thread per side; the two sides meet only in acquire/release accesses to positions. */
#include "shm/ring.h"

#include <string.h>

#include "base/check.h"
#include "ctl/ctl.h"
#include "shm/handle.h"

static uint64_t padded(uint64_t length)
{
    return (length + SHM_ALIGN_BYTES - 1) & ~(uint64_t)(SHM_ALIGN_BYTES - 1);
}

static uint32_t sequence_at(uint64_t position)
{
    return (uint32_t)(position / SHM_ALIGN_BYTES);
}

static size_t until_wrap(uint64_t position, size_t length)
{
    size_t left = SHM_RING_BYTES - (position & (SHM_RING_BYTES - 1));
    return length < left ? length : left;
}

static void copy_in(struct shm_ring *ring, const uint8_t *record, size_t length)
{
    size_t first = until_wrap(ring->produced, length);
    memcpy(ring->own->data + (ring->produced & (SHM_RING_BYTES - 1)), record, first);
    memcpy(ring->own->data, record + first, length - first);
}

static void copy_out(const struct shm_ring *ring, uint8_t *record, size_t length)
{
    size_t first = until_wrap(ring->consumed, length);
    memcpy(record, ring->peer->data + (ring->consumed & (SHM_RING_BYTES - 1)), first);
    memcpy(record + first, ring->peer->data, length - first);
}

uint32_t shm_ring_sequence(const struct shm_ring *ring)
{
    return sequence_at(ring->produced);
}

bool shm_ring_push(struct shm_ring *ring, const uint8_t *record, size_t length)
{
    if (length > CTL_RECORD_BYTES_MAX)
        return false;
    CHECK(ctl_record_valid(record, length, shm_ring_sequence(ring)));
    if (handle_cut(ring)) {
        ring->counters.full++;
        return false;
    }
    /* A peer that claims to be ahead of this side, or further behind than the ring is long, has spoilt its
     * own position: nothing fits until it is right again. */
    uint64_t used = ring->produced - __atomic_load_n(&ring->peer->consumed, __ATOMIC_ACQUIRE);
    if (used > SHM_RING_BYTES || padded(length) > SHM_RING_BYTES - used) {
        ring->counters.full++;
        return false;
    }
    copy_in(ring, record, length);
    ring->produced += padded(length);
    __atomic_store_n(&ring->own->produced, ring->produced, __ATOMIC_RELEASE);
    ring->counters.pushed++;
    return true;
}

static void consumed_until(struct shm_ring *ring, uint64_t position)
{
    ring->consumed = position;
    __atomic_store_n(&ring->own->consumed, position, __ATOMIC_RELEASE);
}

static size_t resynchronise(struct shm_ring *ring, uint64_t produced)
{
    ring->counters.bad++;
    consumed_until(ring, produced & ~(uint64_t)(SHM_ALIGN_BYTES - 1));
    return 0;
}

size_t shm_ring_pop(struct shm_ring *ring, uint8_t *record, size_t room)
{
    CHECK(room >= CTL_RECORD_BYTES_MAX);
    if (handle_cut(ring))
        return 0;
    uint64_t produced = __atomic_load_n(&ring->peer->produced, __ATOMIC_ACQUIRE);
    uint64_t available = produced - ring->consumed;
    if (available == 0)
        return 0;
    if (available > SHM_RING_BYTES || available < CTL_RECORD_HEADER_BYTES)
        return resynchronise(ring, produced);
    uint32_t length;
    copy_out(ring, (uint8_t *)&length, sizeof(length));
    if (length < CTL_RECORD_HEADER_BYTES || length > CTL_RECORD_BYTES_MAX || padded(length) > available)
        return resynchronise(ring, produced);
    copy_out(ring, record, length);
    /* From here on only the copy counts: a length that changed in between fails with the checksum. */
    if (!ctl_record_valid(record, length, sequence_at(ring->consumed)))
        return resynchronise(ring, produced);
    consumed_until(ring, ring->consumed + padded(length));
    ring->counters.popped++;
    return length;
}

void shm_ring_beat(struct shm_ring *ring)
{
    if (!handle_cut(ring))
        __atomic_store_n(&ring->own->beats, ring->own->beats + 1, __ATOMIC_RELAXED);
}

uint64_t shm_ring_peer_beats(const struct shm_ring *ring)
{
    return handle_cut(ring) ? 0 : __atomic_load_n(&ring->peer->beats, __ATOMIC_RELAXED);
}

uint32_t shm_ring_generation(const struct shm_ring *ring)
{
    const struct shm_file *up = ring->node ? ring->peer : ring->own;
    return handle_cut(ring) ? 0 : __atomic_load_n(&up->generation, __ATOMIC_ACQUIRE);
}

bool shm_ring_cut(const struct shm_ring *ring)
{
    return handle_cut(ring);
}

struct shm_ring_counters shm_ring_counters(const struct shm_ring *ring)
{
    return ring->counters;
}
