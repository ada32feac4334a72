#include "sim/pool.h"

#include <stdlib.h>
#include <sys/mman.h>

#include "base/check.h"

#define CHUNK_BYTES (2u << 20) /* a huge page: those under way on a long path are too many for the TLB */

/* A header alone (data of zeros, short acks), with several gaps, small messages, 1500- and 9000-byte
 * packets. */
static const uint32_t class_bytes[POOL_CLASSES] = {128, 256, 576, 1600, 10240};
_Static_assert(10240 - sizeof(struct sim_packet) >= POOL_DATA_MAX, "the largest class holds a jumbo packet");

struct chunk {
    _Alignas(128) struct chunk *next; /* a packet begins with a pair of cache lines */
};

void pool_init(struct packet_pool *pool)
{
    *pool = (struct packet_pool){0};
}

void pool_free_all(struct packet_pool *pool)
{
    struct chunk *chunk = pool->chunks;
    while (chunk != NULL) {
        struct chunk *next = chunk->next;
        free(chunk);
        chunk = next;
    }
    pool_init(pool);
}

static void refill(struct packet_pool *pool, uint32_t size_class)
{
    struct chunk *chunk = aligned_alloc(CHUNK_BYTES, CHUNK_BYTES);
    CHECK(chunk != NULL);
    madvise(chunk, CHUNK_BYTES, MADV_HUGEPAGE);
    chunk->next = pool->chunks;
    pool->chunks = chunk;
    pool->allocated_bytes += CHUNK_BYTES;
    uint32_t size = class_bytes[size_class];
    for (size_t at = sizeof(*chunk); at + size <= CHUNK_BYTES; at += size) {
        struct sim_packet *packet = (struct sim_packet *)((char *)chunk + at);
        packet->next = pool->free[size_class];
        pool->free[size_class] = packet;
    }
}

struct sim_packet *pool_take(struct packet_pool *pool, uint32_t stored)
{
    CHECK(stored <= POOL_DATA_MAX);
    uint32_t size_class = 0;
    while (class_bytes[size_class] - sizeof(struct sim_packet) < stored)
        size_class++;
    if (pool->free[size_class] == NULL)
        refill(pool, size_class);
    struct sim_packet *packet = pool->free[size_class];
    pool->free[size_class] = packet->next;
    packet->size_class = (uint8_t)size_class;
    packet->stored = (uint16_t)stored;
    pool->stream++;
    return packet;
}

void pool_give(struct packet_pool *pool, struct sim_packet *packet)
{
    CHECK(pool->stream > 0);
    packet->next = pool->free[packet->size_class];
    pool->free[packet->size_class] = packet;
    pool->stream--;
}
