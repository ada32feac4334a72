/* Three kinds of memory: the EAL's own, which it has mapped for devices; memory of this process that is registered with
 * it, possible where devices use the process's own addresses; and ordinary pages where they use physical ones, which no
 * device can be pointed at, as the kernel may move them. */
/* Mapping for a device is still among what DPDK 22.11 calls experimental. */
#define ALLOW_EXPERIMENTAL_API

#include "dpdk/reach.h"

#include <errno.h>
#include <unistd.h>

#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_memory.h>

void reach_all(struct reach *reach)
{
    *reach = (struct reach){.end = UINTPTR_MAX};
}

void reach_close(struct reach *reach)
{
    free(reach->pages);
    *reach = (struct reach){0};
}

bool reach_resolve(struct reach *reach, const void *first, uint64_t bytes,
                   rte_iova_t (*address_of)(const void *address))
{
    uintptr_t begin = (uintptr_t)first, page = begin / REACH_PAGE_BYTES;
    uint64_t count = (begin + bytes - 1) / REACH_PAGE_BYTES - page + 1;
    *reach = (struct reach){.pages = calloc(count, sizeof(reach->pages[0]))};
    bool good = reach->pages != NULL;
    for (uint64_t index = 0; good && index < count; index++) {
        uintptr_t start = MAX(begin, (page + index) * REACH_PAGE_BYTES);
        rte_iova_t address = address_of((const void *)start);
        good = address != RTE_BAD_IOVA;
        reach->pages[index] = address - start % REACH_PAGE_BYTES;
    }
    if (!good) {
        reach_close(reach);
        return false;
    }
    reach->first = begin;
    reach->end = begin + bytes;
    return true;
}

/* The list that holds the whole range; NULL: the EAL does not know it. */
static const struct rte_memseg_list *list_of(const void *first, uint64_t bytes)
{
    const struct rte_memseg_list *list = rte_mem_virt2memseg_list(first);
    return list != NULL && rte_mem_virt2memseg_list((const uint8_t *)first + bytes - 1) == list ? list : NULL;
}

/* Makes a range of this process's memory known to the EAL, in its whole pages of the given size. */
static bool range_register(void *first, uint64_t bytes, uint64_t page_bytes)
{
    uint64_t count = bytes / page_bytes;
    rte_iova_t *addresses = calloc(count, sizeof(addresses[0]));
    if (addresses == NULL)
        return false;
    for (uint64_t index = 0; index < count; index++)
        addresses[index] = (uintptr_t)first + index * page_bytes;
    bool good = rte_extmem_register(first, bytes, addresses, (unsigned)count, page_bytes) == 0;
    free(addresses);
    return good;
}

/* Its whole pages are registered once, and mapped for each device: these are in reach. */
static bool range_map(struct reach *reach, const void *first, uint64_t bytes, struct rte_device *device)
{
    bool aligned = (uintptr_t)first % REACH_PAGE_BYTES == 0 && bytes >= REACH_PAGE_BYTES;
    uint64_t page_bytes = aligned ? REACH_PAGE_BYTES : (uint64_t)getpagesize();
    uintptr_t begin = ((uintptr_t)first + page_bytes - 1) / page_bytes * page_bytes;
    uintptr_t end = ((uintptr_t)first + bytes) / page_bytes * page_bytes;
    void *start = (void *)begin;
    if (begin >= end ||
        (list_of(start, end - begin) == NULL && !range_register(start, end - begin, page_bytes)))
        return false;
    if (device == NULL || (rte_dev_dma_map(device, start, begin, end - begin) != 0 && rte_errno != EEXIST))
        return false;
    *reach = (struct reach){.first = begin, .end = end};
    return true;
}

bool reach_open(struct reach *reach, const void *first, uint64_t bytes, enum device_reach how,
                struct rte_device *device, const char **why)
{
    *reach = (struct reach){0};
    const struct rte_memseg_list *list = list_of(first, bytes);
    bool own = list != NULL && !list->external;
    switch (how) {
    case DEVICE_READS_ALL:
        reach_all(reach);
        return true;
    case DEVICE_READS_EAL:
        *why = "copied: not in the memory that is shared with the other end, which takes hugepages";
        if (!own)
            return false;
        break;
    case DEVICE_READS_MAPPED:
        if (own)
            break;
        *why = "copied: devices use physical addresses, which takes hugepages";
        if (rte_eal_iova_mode() != RTE_IOVA_VA)
            return false;
        *why = "copied: cannot be mapped for this device";
        return range_map(reach, first, bytes, device);
    }
    *why = "copied: their physical addresses are not known";
    if (rte_eal_iova_mode() != RTE_IOVA_VA)
        return list->page_sz >= REACH_PAGE_BYTES && reach_resolve(reach, first, bytes, rte_mem_virt2iova);
    *reach = (struct reach){.first = (uintptr_t)first, .end = (uintptr_t)first + bytes};
    return true;
}
