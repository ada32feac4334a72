/* Memory for the data plane: what is needed is computed, printed and checked before anything starts, so that
 * a shortage is one clear line instead of a failure somewhere inside the EAL. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct memory_need {
    uint64_t packet_bytes;   /* mbuf pools */
    uint64_t node_bytes;     /* the protocol's arena, symbol buffer included */
    uint64_t overhead_bytes; /* EAL, rings, device queues */
};

#define MEMORY_OVERHEAD_BYTES (24ULL << 20)

/* A pool of `count` mbufs with buffer_bytes for data each. */
uint64_t memory_pool_bytes(uint32_t count, uint32_t buffer_bytes);
uint64_t memory_need_total(const struct memory_need *need);

struct memory_host {
    uint64_t hugepage_free_bytes;
    uint64_t
        available_bytes; /* hugepages not counted: MemAvailable, or what its control group leaves (cgroup.h) */
};
void memory_host_read(struct memory_host *host);

/* Decides where the memory comes from. `wanted`: hugepages may be used. False: neither suffices. */
bool memory_choose(const struct memory_need *need, const struct memory_host *host, bool wanted,
                   bool *hugepages, struct err *err);
/* "212 MiB needed (packets 18, node 170, overhead 24), from hugepages (…" */
void memory_print(const struct memory_need *need, const struct memory_host *host, bool hugepages, char *text,
                  size_t room);

/* Zeroed, 128-byte aligned, for the life of the process, every page of it there: no worker is the first to touch one.
 * After the EAL started. NULL: there is none left. */
void *memory_take(uint64_t bytes, bool hugepages);
/* Makes every page of the range be there, its content kept. */
void memory_populate(void *first, uint64_t bytes);
/* Page faults of the calling thread so far. A system call. */
uint64_t memory_thread_faults(void);
