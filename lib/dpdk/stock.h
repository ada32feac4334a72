/* Packet buffers at hand for sending: taken from their pool in bulk, and their cache lines asked for some
 * packets before each is used, because whoever freed them, another core or a device, had them last.
 *
 * Guarantee: stock_take never waits for a line but the first after a pause; buffers come out as
 * rte_pktmbuf_alloc gives them. Thread: one. What lies here is the stock's until it is taken; the pool must
 * hold STOCK_PLACES more. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "dpdk/compat.h"

#include <rte_mbuf.h>

#include "base/check.h"
#include "base/prefetch.h"

#define STOCK_PLACES 64
#define STOCK_AHEAD  12 /* buffers: some 0.5 us of building frames */

struct stock {
    uint16_t count;
    bool data; /* the first lines of the data will be written too */
    struct rte_mbuf *mbufs[STOCK_PLACES];
};

static inline void stock_ask(const struct stock *stock, uint16_t from_top)
{
    if (from_top >= stock->count)
        return;
    const uint8_t *at = (const uint8_t *)stock->mbufs[stock->count - 1 - from_top];
    prefetch_write(at);
    prefetch_write(at + RTE_CACHE_LINE_SIZE);
    if (stock->data) {
        prefetch_write(at + sizeof(struct rte_mbuf) + RTE_PKTMBUF_HEADROOM);
        prefetch_write(at + sizeof(struct rte_mbuf) + RTE_PKTMBUF_HEADROOM + RTE_CACHE_LINE_SIZE);
    }
}

/* At least `count` <= STOCK_PLACES are there. False: the pool has not so many. */
static inline bool stock_fill(struct stock *stock, struct rte_mempool *pool, uint16_t count)
{
    CHECK(count <= STOCK_PLACES);
    if (stock->count >= count)
        return true;
    uint16_t missing = (uint16_t)(count - stock->count);
    if (rte_mempool_get_bulk(pool, (void **)stock->mbufs + stock->count, missing) != 0)
        return false;
    stock->count = count;
    for (uint16_t index = 0; index < STOCK_AHEAD; index++)
        stock_ask(stock, index);
    return true;
}

/* CHECKs that there is one. */
static inline struct rte_mbuf *stock_take(struct stock *stock)
{
    CHECK(stock->count > 0);
    stock_ask(stock, STOCK_AHEAD);
    struct rte_mbuf *mbuf = stock->mbufs[--stock->count];
    rte_pktmbuf_reset(mbuf);
    return mbuf;
}

/* All go back to their pool. */
static inline void stock_drain(struct stock *stock)
{
    rte_pktmbuf_free_bulk(stock->mbufs, stock->count);
    stock->count = 0;
}
