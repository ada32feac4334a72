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

struct chain_slot *chain_open(struct chain_pool *pool, const uint8_t *body, uint16_t body_bytes,
                              uint64_t cookie)
{
    struct chain_slot *slot = pool->free;
    if (slot == NULL)
        return NULL;
    pool->free = slot->next;
    pool->in_use++;
    slot->cookie = cookie;
    slot->body = body;
    slot->body_bytes = body_bytes;
    slot->frames = 0;
    slot->shared.free_cb = chain_on_free;
    slot->shared.fcb_opaque = slot;
    return slot;
}

void chain_attach(struct chain_slot *slot, struct rte_mbuf *mbuf)
{
    rte_mbuf_ext_refcnt_set(&slot->shared, ++slot->frames);
    /* The mbuf only reads; its address type is not const. */
    void *address = (void *)(uintptr_t)slot->body;
    rte_pktmbuf_attach_extbuf(mbuf, address, (rte_iova_t)(uintptr_t)address, slot->body_bytes, &slot->shared);
    mbuf->data_off = 0;
    mbuf->data_len = slot->body_bytes;
    mbuf->pkt_len = slot->body_bytes;
}

bool chain_released(struct chain_pool *pool, uint64_t *cookie, uint16_t *frames)
{
    if (pool->taken == NULL && __atomic_load_n(&pool->released, __ATOMIC_RELAXED) != NULL)
        pool->taken = __atomic_exchange_n(&pool->released, NULL, __ATOMIC_ACQUIRE);
    struct chain_slot *slot = pool->taken;
    if (slot == NULL)
        return false;
    pool->taken = slot->next;
    *cookie = slot->cookie;
    *frames = slot->frames;
    slot->next = pool->free;
    pool->free = slot;
    CHECK(pool->in_use > 0);
    pool->in_use--;
    return true;
}
