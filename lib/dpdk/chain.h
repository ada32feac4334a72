/* Bodies that leave without a copy: a second mbuf points into the symbol buffer. Frames of one burst that
 * carry the same body, to several children, share one record of references, taken from this pool; the
 * callback that DPDK makes when the last of them is gone puts it on a list of released ones. The count is
 * written before any of the frames leaves, so that the worker never contends for it; and a record serves
 * one burst, as a common one of all frames in flight would be a cache line that bounces.
 *
 * The callback may run on any thread (over net_ring the receiver frees): it takes a ticket, and writes the
 * record's number to that place of a ring which never overflows, each record being in it once at most. The
 * owner reads the places in order. So there is no lock, and the lines that other threads write are apart
 * from what the worker keeps of a body. All else: the worker alone. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "dpdk/compat.h"

#include <rte_mbuf.h>

#define CHAIN_PLACES    4096 /* a power of two <= 65536 */
#define CHAIN_BYTES_MIN 512  /* below, a copy is cheaper than a second mbuf */
#define CHAIN_NONE      UINT32_MAX

/* What threads that free frames touch: a cache line each. */
struct chain_shared {
    struct rte_mbuf_ext_shared_info info;
    struct chain_pool *pool;
} __rte_cache_aligned;

/* What the worker keeps. */
struct chain_body {
    const uint8_t *body;
    uint64_t address; /* of the body, for the device */
    uint64_t cookie;  /* of the first frame */
    uint16_t body_bytes;
    uint16_t frames;
};

struct chain_pool {
    uint32_t free_count;
    uint32_t released_head; /* free-running, as is its tail */
    uint16_t free[CHAIN_PLACES];
    struct chain_body bodies[CHAIN_PLACES];
    uint32_t released_tail __rte_cache_aligned; /* atomic: tickets */
    /* Atomic: the record's number, and above it the ring's round, from 1: an old entry is none of this round. */
    uint32_t released[CHAIN_PLACES] __rte_cache_aligned;
    struct chain_shared shared[CHAIN_PLACES];
};

void chain_init(struct chain_pool *pool);
/* A record for `body`, which the device knows by `address`, without frames as yet: chain_attach follows.
 * CHAIN_NONE: none is free. */
uint32_t chain_open(struct chain_pool *pool, const uint8_t *body, uint16_t body_bytes, uint64_t address,
                    uint64_t cookie);
/* Makes `mbuf` (fresh from a pool) point at the record's body. Before any frame of it was given to a device. */
void chain_attach(struct chain_pool *pool, uint32_t record, struct rte_mbuf *mbuf);
/* A released body: the cookie that its record was opened with, and how many frames had it. False: none now. */
bool chain_released(struct chain_pool *pool, uint64_t *cookie, uint16_t *frames);

/* Records opened and not yet told of as released. */
static inline uint32_t chain_in_use(const struct chain_pool *pool)
{
    return CHAIN_PLACES - pool->free_count;
}
