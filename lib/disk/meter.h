/* What one thread of the disk did: written by that thread alone, read by any, each word for itself (a reader
 * may see one older than its neighbour, never a torn one). Free-running; readers diff. Times in ns. */
#pragma once

#include <stdatomic.h>
#include <stdint.h>

#include "base/units.h"
#include "disk/hash.h"
#include "store/disk.h"

#define METER_SLOW_NS NS_PER_S /* a request that takes longer is counted as slow */

struct meter {
    _Atomic uint64_t requests, read_bytes, written_bytes, hashed_bytes;
    _Atomic uint64_t hash_ns;    /* CPU time of hashing */
    _Atomic uint64_t slowest_ns; /* the longest request, from its beginning to its end */
    _Atomic uint64_t slow;
    _Atomic uint64_t begun_ns; /* of the request that is being served; 0: none is */
    _Atomic uint32_t cpu;      /* where the last request began */
};

static inline uint64_t meter_get(const _Atomic uint64_t *value)
{
    return atomic_load_explicit(value, memory_order_relaxed);
}

static inline void meter_set(_Atomic uint64_t *value, uint64_t to)
{
    atomic_store_explicit(value, to, memory_order_relaxed);
}

static inline void meter_add(_Atomic uint64_t *value, uint64_t more)
{
    meter_set(value, meter_get(value) + more);
}

static inline void meter_begin(struct meter *meter, uint32_t cpu, uint64_t now_ns)
{
    atomic_store_explicit(&meter->cpu, cpu, memory_order_relaxed);
    meter_set(&meter->begun_ns, now_ns);
}

/* `work`: all that the thread has hashed so far. */
static inline void meter_end(struct meter *meter, const struct disk_request *request, struct hash_work work,
                             uint64_t now_ns)
{
    uint64_t took_ns = elapsed_ns(now_ns, meter_get(&meter->begun_ns));
    meter_add(&meter->requests, 1);
    if (request->op == DISK_READ)
        meter_add(&meter->read_bytes, request->length);
    if (request->op == DISK_WRITE)
        meter_add(&meter->written_bytes, request->length);
    meter_set(&meter->hashed_bytes, work.bytes);
    meter_set(&meter->hash_ns, work.cpu_ns);
    meter_set(&meter->slowest_ns, MAX(meter_get(&meter->slowest_ns), took_ns));
    meter_add(&meter->slow, took_ns > METER_SLOW_NS);
    meter_set(&meter->begun_ns, 0);
}
