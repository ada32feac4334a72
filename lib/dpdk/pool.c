#include "dpdk/pool.h"

#include <sys/mman.h>

#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_lcore.h>

#include "base/check.h"
#include "dpdk/memory.h"

#define POOL_CACHE        256
#define POOL_MARGIN_BYTES (64 << 10) /* heads of the heap's pieces, alignment */

static void memory_give(struct rte_mempool_memhdr *memory, void *bytes)
{
    munmap(memory->addr, (uintptr_t)bytes);
}

/* One piece of memory for all buffers. False: there is none, rte_errno says why. */
static bool populate(struct rte_mempool *pool)
{
    size_t least, align;
    ssize_t bytes = rte_mempool_op_calc_mem_size_default(pool, pool->size, 0, &least, &align);
    if (bytes <= 0)
        return false;
    void *memory = memory_take((uint64_t)bytes, false);
    if (memory == NULL) {
        rte_errno = ENOMEM;
        return false;
    }
    void *length = (void *)(uintptr_t)bytes;
    /* Without hugepages the EAL knows no physical addresses: devices get virtual ones, or none. */
    rte_iova_t iova = rte_eal_iova_mode() == RTE_IOVA_VA ? (rte_iova_t)(uintptr_t)memory : RTE_BAD_IOVA;
    int placed = rte_mempool_populate_iova(pool, memory, iova, (size_t)bytes, memory_give, length);
    CHECK(placed < 0 || (uint32_t)placed == pool->size);
    if (placed < 0)
        munmap(memory, (size_t)bytes);
    return placed > 0;
}

/* The flag says that buffers may cross pages, as virtual addresses do not break there: else each takes whole ones. */
static struct rte_mempool *create_own(const char *name, uint32_t count, uint16_t data_room)
{
    struct rte_pktmbuf_pool_private room = {.mbuf_data_room_size = data_room};
    struct rte_mempool *pool =
        rte_mempool_create_empty(name, count, (unsigned)sizeof(struct rte_mbuf) + data_room, POOL_CACHE,
                                 sizeof(room), (int)rte_socket_id(), RTE_MEMPOOL_F_NO_IOVA_CONTIG);
    if (pool == NULL)
        return NULL;
    if (rte_mempool_set_ops_byname(pool, "stack", NULL) != 0)
        rte_mempool_set_ops_byname(pool, "ring_mp_mc", NULL);
    rte_pktmbuf_pool_init(pool, &room);
    if (!populate(pool)) {
        rte_mempool_free(pool);
        return NULL;
    }
    rte_mempool_obj_iter(pool, rte_pktmbuf_init, NULL);
    return pool;
}

static void touch(struct rte_mempool *pool, void *unused, struct rte_mempool_memhdr *memory, unsigned index)
{
    (void)pool;
    (void)unused;
    (void)index;
    memory_populate(memory->addr, memory->len);
}

static struct rte_mempool *create_of_eal(const char *name, uint32_t count, uint16_t data_room)
{
    int socket = (int)rte_socket_id();
    struct rte_mempool *pool =
        rte_pktmbuf_pool_create_by_ops(name, count, POOL_CACHE, 0, data_room, socket, "stack");
    if (pool == NULL)
        pool = rte_pktmbuf_pool_create(name, count, POOL_CACHE, 0, data_room, socket);
    if (pool != NULL)
        rte_mempool_mem_iter(pool, touch, NULL);
    return pool;
}

uint64_t pool_eal_bytes(uint32_t count, uint32_t buffer_bytes, bool for_device, bool hugepages)
{
    if (for_device || hugepages)
        return memory_pool_bytes(count, buffer_bytes);
    return sizeof(struct rte_mempool) + RTE_MAX_LCORE * sizeof(struct rte_mempool_cache) +
           (uint64_t)count * sizeof(void *) * 2 + POOL_MARGIN_BYTES;
}

struct rte_mempool *pool_create(const char *name, uint32_t count, uint32_t buffer_bytes, bool for_device,
                                struct err *err)
{
    uint16_t data_room = (uint16_t)(RTE_PKTMBUF_HEADROOM + buffer_bytes);
    struct rte_mempool *pool = for_device || rte_eal_has_hugepages() ? create_of_eal(name, count, data_room)
                                                                     : create_own(name, count, data_room);
    if (pool == NULL)
        err_set(err, "no memory for %u packet buffers of %u bytes (%s)", count, data_room,
                rte_strerror(rte_errno));
    return pool;
}
