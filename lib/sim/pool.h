/* Packets under way in the simulated network. A packet owns a copy of its datagram; a body of zeros is not
 * stored, so that a sparse object of many gigabytes can fill a long path. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sim_packet {
    struct sim_packet *next; /* in the free list */
    uint64_t time_ns;        /* when it leaves the queue of its link or port */
    uint64_t sequence;       /* its event's */
    uint64_t queued_ns;      /* waited for shapers so far */
    uint32_t wire_bytes;
    uint32_t ip_bytes;
    uint16_t from, to; /* hosts */
    uint16_t length;   /* of the datagram */
    uint16_t stored;   /* the first bytes of it, in data; the rest is zero */
    uint8_t ecn;
    uint8_t size_class;
    bool corrupted;
    uint8_t hop;   /* shared links that it has come to so far */
    uint16_t flow; /* 0: a node's; else it belongs to cross traffic: number of the flow + 1 */
    uint8_t data[];
};

#define POOL_CLASSES 5

struct packet_pool {
    struct sim_packet *free[POOL_CLASSES];
    void *chunks; /* list of what was allocated */
    uint64_t allocated_bytes;
    uint64_t stream;
};

/* Longest datagram that is stored in full. */
#define POOL_DATA_MAX 9984

void pool_init(struct packet_pool *pool);
void pool_free_all(struct packet_pool *pool);
/* A packet with room for `stored` bytes; only size_class and stored are set. */
struct sim_packet *pool_take(struct packet_pool *pool, uint32_t stored);
void pool_give(struct packet_pool *pool, struct sim_packet *packet);
