#include "dpdk/chain.h"

#include "base/check.h"

static void chain_on_free(void *address, void *opaque)
{
    (void)address;
    struct chain_slot *slot = opaque;
    struct chain_pool *pool = slot->pool;
    slot->next = __atomic_load_n(&pool->released, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(&pool->released, &slot->next, slot, true, __ATOMIC_RELEASE,
                                        __ATOMIC_RELAXED))
        continue;
}

void chain_init(struct chain_pool *pool)
{
    pool->free = NULL;
    pool->released = NULL;
    pool->taken = NULL;
    pool->in_use = 0;
    for (uint32_t index = CHAIN_PLACES; index-- > 0;) {
        struct chain_slot *slot = &pool->slots[index];
        slot->pool = pool;
        slot->next = pool->free;
        pool->free = slot;
    }
}

bool chain_attach(struct chain_pool *pool, struct rte_mbuf *mbuf, const uint8_t *body, uint16_t body_bytes,
                  uint64_t cookie)
{
    struct chain_slot *slot = pool->free;
    if (slot == NULL)
        return false;
    pool->free = slot->next;
    pool->in_use++;
    slot->cookie = cookie;
    slot->shared.free_cb = chain_on_free;
    slot->shared.fcb_opaque = slot;
    rte_mbuf_ext_refcnt_set(&slot->shared, 1);
    /* The mbuf only reads; its address type is not const. */
    void *address = (void *)(uintptr_t)body;
    rte_pktmbuf_attach_extbuf(mbuf, address, (rte_iova_t)(uintptr_t)body, body_bytes, &slot->shared);
    mbuf->data_off = 0;
    mbuf->data_len = body_bytes;
    mbuf->pkt_len = body_bytes;
    return true;
}

bool chain_released(struct chain_pool *pool, uint64_t *cookie)
{
    if (pool->taken == NULL && __atomic_load_n(&pool->released, __ATOMIC_RELAXED) != NULL)
        pool->taken = __atomic_exchange_n(&pool->released, NULL, __ATOMIC_ACQUIRE);
    struct chain_slot *slot = pool->taken;
    if (slot == NULL)
        return false;
    pool->taken = slot->next;
    *cookie = slot->cookie;
    slot->next = pool->free;
    pool->free = slot;
    CHECK(pool->in_use > 0);
    pool->in_use--;
    return true;
}
