/* Bodies that leave without a copy: a second mbuf points into the symbol buffer. Each has its own shared-info
 * record (a common one has a 16-bit count and a cache line that bounces), taken from this pool; the callback
 * that DPDK makes when the last reference is gone puts it on a list of released ones.
 *
 * The callback may run on any thread (over net_ring the receiver frees): released records are pushed with one
 * compare-and-swap and taken by the owner as a whole, so there is neither a lock nor an ABA problem. All
 * else: the worker alone. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "dpdk/compat.h"

#include <rte_mbuf.h>

#define CHAIN_PLACES    4096
#define CHAIN_BYTES_MIN 512 /* below, a copy is cheaper than a second mbuf */

struct chain_slot {
    struct rte_mbuf_ext_shared_info shared;
    struct chain_pool *pool;
    uint64_t cookie;
    struct chain_slot *next;
};

struct chain_pool {
    struct chain_slot *free;
    struct chain_slot *released; /* atomic: pushed by any thread */
    struct chain_slot *taken;    /* released ones that the owner has taken and not yet told about */
    uint32_t in_use;
    struct chain_slot slots[CHAIN_PLACES];
};

void chain_init(struct chain_pool *pool);
/* Makes `mbuf` (fresh from a pool) point at `body`. False: no record is free. */
bool chain_attach(struct chain_pool *pool, struct rte_mbuf *mbuf, const uint8_t *body, uint16_t body_bytes,
                  uint64_t cookie);
/* The cookie of one released body. False: none now. */
bool chain_released(struct chain_pool *pool, uint64_t *cookie);
