#include "dpdk/chain.h"

#include "base/check.h"
#include "base/prefetch.h"

#define ASKED_AHEAD 4 /* records: their line was written last by who freed the frames */
#define ROUND_SHIFT 16

_Static_assert(CHAIN_PLACES <= 1 << ROUND_SHIFT, "a record's number fits below the round");

/* What an entry of this ticket's round has above the record's number. Never 0 in the first one. */
static uint32_t round_of(uint32_t ticket)
{
    return (ticket / CHAIN_PLACES + 1) << ROUND_SHIFT;
}

static void chain_on_free(void *address, void *opaque)
{
    (void)address;
    struct chain_shared *shared = opaque;
    struct chain_pool *pool = shared->pool;
    uint32_t ticket = __atomic_fetch_add(&pool->released_tail, 1, __ATOMIC_RELAXED);
    uint32_t record = (uint32_t)(shared - pool->shared);
    __atomic_store_n(&pool->released[ticket % CHAIN_PLACES], round_of(ticket) | record, __ATOMIC_RELEASE);
}

void chain_init(struct chain_pool *pool)
{
    pool->released_head = pool->released_tail = 0;
    pool->free_count = CHAIN_PLACES;
    for (uint32_t record = 0; record < CHAIN_PLACES; record++) {
        pool->free[record] = (uint16_t)(CHAIN_PLACES - 1 - record);
        pool->released[record] = 0;
        pool->shared[record] = (struct chain_shared){
            .info = {.free_cb = chain_on_free, .fcb_opaque = &pool->shared[record]}, .pool = pool};
    }
}

uint32_t chain_open(struct chain_pool *pool, const uint8_t *body, uint16_t body_bytes, uint64_t address,
                    uint64_t cookie)
{
    if (pool->free_count == 0)
        return CHAIN_NONE;
    if (pool->free_count > ASKED_AHEAD)
        prefetch_write(&pool->shared[pool->free[pool->free_count - 1 - ASKED_AHEAD]]);
    uint32_t record = pool->free[--pool->free_count];
    pool->bodies[record] =
        (struct chain_body){.body = body, .address = address, .cookie = cookie, .body_bytes = body_bytes};
    return record;
}

void chain_attach(struct chain_pool *pool, uint32_t record, struct rte_mbuf *mbuf)
{
    struct chain_body *of = &pool->bodies[record];
    struct rte_mbuf_ext_shared_info *info = &pool->shared[record].info;
    rte_mbuf_ext_refcnt_set(info, ++of->frames);
    /* The mbuf only reads; its address type is not const. */
    void *address = (void *)(uintptr_t)of->body;
    rte_pktmbuf_attach_extbuf(mbuf, address, of->address, of->body_bytes, info);
    mbuf->data_off = 0;
    mbuf->data_len = of->body_bytes;
    mbuf->pkt_len = of->body_bytes;
}

bool chain_released(struct chain_pool *pool, uint64_t *cookie, uint16_t *frames)
{
    uint32_t head = pool->released_head;
    uint32_t entry = __atomic_load_n(&pool->released[head % CHAIN_PLACES], __ATOMIC_ACQUIRE);
    if ((entry ^ round_of(head)) >> ROUND_SHIFT != 0)
        return false;
    uint32_t record = entry & ((1U << ROUND_SHIFT) - 1);
    CHECK(record < CHAIN_PLACES && pool->free_count < CHAIN_PLACES);
    pool->released_head = head + 1;
    *cookie = pool->bodies[record].cookie;
    *frames = pool->bodies[record].frames;
    pool->free[pool->free_count++] = (uint16_t)record;
    return true;
}
