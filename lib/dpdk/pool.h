/* Pools of packet buffers for the worker of a port: last in, first out, so that the buffers in use stay few and near,
 * whoever frees them (a ring, what DPDK takes by itself, goes through all of them in turn, beyond any cache); and with
 * every page there before the first packet. From hugepages when the EAL has some; else from memory of one's own, in
 * transparent hugepages where the kernel gives them, as the EAL's would be ordinary ones; but a device that does not
 * leave reading and writing to this process knows the EAL's alone. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "dpdk/compat.h"

#include <rte_mbuf.h>

#include "base/err.h"

/* `count` buffers with buffer_bytes for data behind the usual headroom; for_device: of the EAL's memory. NULL: no
 * memory, *err says so. The caller frees it by rte_mempool_free. */
struct rte_mempool *pool_create(const char *name, uint32_t count, uint32_t buffer_bytes, bool for_device,
                                struct err *err);
/* What such a pool takes of the EAL's memory, before that starts with or without hugepages: all of it, or
 * the bookkeeping of a pool with memory of its own. */
uint64_t pool_eal_bytes(uint32_t count, uint32_t buffer_bytes, bool for_device, bool hugepages);
