#include "dpdk/memory.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "dpdk/compat.h"

#include <rte_lcore.h>
#include <rte_malloc.h>
#include <rte_mbuf.h>

#include "base/spsc.h"
#include "base/units.h"
#include "dpdk/cgroup.h"

#define MIB(bytes)        ((unsigned long long)(((bytes) + (1 << 20) - 1) >> 20))
#define POOL_OBJECT_BYTES 192 /* mempool header and trailer, padding between channels */
/* A cache for each lcore that DPDK could have, and the pool's own. */
#define POOL_OVERHEAD_BYTES ((256 << 10) + RTE_MAX_LCORE * sizeof(struct rte_mempool_cache))
#define ORDINARY_PAGE_BYTES 4096
#define HUGEPAGE_BYTES      (2ULL << 20)
#define HUGEPAGE_FOLDER     "/sys/kernel/mm/hugepages"

uint64_t memory_pool_bytes(uint32_t count, uint32_t buffer_bytes)
{
    uint64_t each = sizeof(struct rte_mbuf) + RTE_PKTMBUF_HEADROOM + buffer_bytes + POOL_OBJECT_BYTES +
                    sizeof(void *) * 2;
    /* The most it can be: on ordinary pages of the EAL a mempool object never crosses one, and 2.4 KiB take 4. Pools
     * with memory of their own (pool.h), and those on hugepages, take less. */
    return count * ((each + ORDINARY_PAGE_BYTES - 1) / ORDINARY_PAGE_BYTES * ORDINARY_PAGE_BYTES) +
           POOL_OVERHEAD_BYTES;
}

uint64_t memory_need_total(const struct memory_need *need)
{
    return need->packet_bytes + need->node_bytes + need->overhead_bytes;
}

static uint64_t hugepage_free_bytes(void)
{
    DIR *folder = opendir(HUGEPAGE_FOLDER);
    if (folder == NULL)
        return 0;
    uint64_t total = 0;
    for (struct dirent *entry = readdir(folder); entry != NULL; entry = readdir(folder)) {
        unsigned long long page_kb, count = 0;
        char path[sizeof(HUGEPAGE_FOLDER) + sizeof(entry->d_name) + 32];
        if (sscanf(entry->d_name, "hugepages-%llukB", &page_kb) != 1)
            continue;
        snprintf(path, sizeof(path), HUGEPAGE_FOLDER "/%s/free_hugepages", entry->d_name);
        FILE *file = fopen(path, "r");
        if (file == NULL)
            continue;
        if (fscanf(file, "%llu", &count) == 1)
            total += page_kb * 1024 * count;
        fclose(file);
    }
    closedir(folder);
    return total;
}

static uint64_t available_bytes(void)
{
    unsigned long long kb = 0;
    char line[128];
    FILE *file = fopen("/proc/meminfo", "r");
    if (file == NULL)
        return UINT64_MAX;
    while (fgets(line, sizeof(line), file) != NULL && sscanf(line, "MemAvailable: %llu kB", &kb) != 1)
        continue;
    fclose(file);
    return kb * 1024;
}

void memory_host_read(struct memory_host *host)
{
    host->hugepage_free_bytes = hugepage_free_bytes();
    host->available_bytes = MIN(available_bytes(), cgroup_memory_bytes(""));
}

bool memory_choose(const struct memory_need *need, const struct memory_host *host, bool wanted,
                   bool *hugepages, struct err *err)
{
    uint64_t total = memory_need_total(need);
    *hugepages = wanted && host->hugepage_free_bytes >= total;
    if (*hugepages || host->available_bytes >= total)
        return true;
    return err_set(
        err, "%llu MiB of memory needed, but only %llu MiB are available and %llu MiB free in hugepages",
        MIB(total), MIB(host->available_bytes), MIB(host->hugepage_free_bytes));
}

/* Whether the kernel gives them to who asks by madvise. */
static bool gives_transparent_hugepages(void)
{
    char line[64] = "";
    FILE *file = fopen("/sys/kernel/mm/transparent_hugepage/enabled", "r");
    if (file == NULL)
        return false;
    bool got = fgets(line, sizeof(line), file) != NULL;
    fclose(file);
    return got && strstr(line, "[never]") == NULL;
}

static const char *pages_name(bool hugepages)
{
    if (hugepages)
        return "hugepages";
    return gives_transparent_hugepages() ? "transparent hugepages" : "ordinary pages";
}

void memory_print(const struct memory_need *need, const struct memory_host *host, bool hugepages, char *text,
                  size_t room)
{
    snprintf(text, room,
             "%llu MiB needed (packets %llu, node %llu, overhead %llu), from %s "
             "(hugepages free: %llu MiB, available: %llu MiB)",
             MIB(memory_need_total(need)), MIB(need->packet_bytes), MIB(need->node_bytes),
             MIB(need->overhead_bytes), pages_name(hugepages), MIB(host->hugepage_free_bytes),
             MIB(host->available_bytes));
}

void memory_populate(void *first, uint64_t bytes)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), begin = (uintptr_t)first / page * page;
    uintptr_t end = (uintptr_t)first + bytes;
    if (madvise((void *)begin, end - begin, MADV_POPULATE_WRITE) == 0)
        return;
    /* Kernels before 5.14: a byte of each page, none of what lies before the range. */
    for (uintptr_t at = (uintptr_t)first; at < end; at = (at / page + 1) * page)
        *(volatile uint8_t *)at = *(volatile uint8_t *)at;
}

/* Begins where a transparent hugepage may, when it is large enough for one. NULL: there is none. */
static void *map_aligned(uint64_t bytes)
{
    uint64_t align = bytes >= HUGEPAGE_BYTES ? HUGEPAGE_BYTES : 0;
    uint8_t *memory =
        mmap(NULL, bytes + align, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
        return NULL;
    uint64_t before = align == 0 ? 0 : (align - (uintptr_t)memory % align) % align;
    if (before > 0)
        munmap(memory, before);
    if (align > before)
        munmap(memory + before +
                   (bytes + ORDINARY_PAGE_BYTES - 1) / ORDINARY_PAGE_BYTES * ORDINARY_PAGE_BYTES,
               (align - before) / ORDINARY_PAGE_BYTES * ORDINARY_PAGE_BYTES);
    return memory + before;
}

uint64_t memory_thread_faults(void)
{
    struct rusage usage;
    getrusage(RUSAGE_THREAD, &usage);
    return (uint64_t)usage.ru_minflt + (uint64_t)usage.ru_majflt;
}

void *memory_take(uint64_t bytes, bool hugepages)
{
    if (hugepages) {
        void *memory = rte_malloc_socket("arena", bytes, SPSC_LINE, (int)rte_socket_id());
        if (memory != NULL)
            memset(memory, 0, bytes);
        return memory;
    }
    uint8_t *memory = map_aligned(bytes);
    if (memory == NULL)
        return NULL;
    madvise(memory, bytes, MADV_HUGEPAGE);
    memory_populate(memory, bytes);
    return memory;
}
