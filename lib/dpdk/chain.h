/* Bodies that leave without a copy: a second mbuf points into the symbol buffer. Frames of one burst that carry the same
 * body, to several children, share one record of references, taken from this pool; the callback that DPDK makes when
 * the last of them is gone puts it on a list of released ones. The count is written before any of the frames leaves,
 * so that the worker never contends for it; and a record serves one burst, as a common one of all frames in flight
 * would be a cache line that bounces.
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
    const uint8_t *body;
    uint16_t body_bytes;
    uint16_t frames;
    uint64_t cookie; /* of the first of them */
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
/* A record for `body`, without frames as yet: chain_attach follows. NULL: none is free. */
struct chain_slot *chain_open(struct chain_pool *pool, const uint8_t *body, uint16_t body_bytes,
                              uint64_t cookie);
/* Makes `mbuf` (fresh from a pool) point at the record's body. Before any frame of it was given to a device. */
void chain_attach(struct chain_slot *slot, struct rte_mbuf *mbuf);
/* A released body: the cookie that its record was opened with, and how many frames had it. False: none now. */
bool chain_released(struct chain_pool *pool, uint64_t *cookie, uint16_t *frames);
