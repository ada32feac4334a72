/* What a device can read of memory outside packet buffers: the symbol buffer, whose symbols are to leave
 * without a copy, and by which address.
 *
 * Guarantee: an address is only given for a body that the device can read whole, in one piece. Resolved
 * once, when the memory is taken, for each 2 MiB of it: physical addresses have no order beyond a huge
 * page, and asking the EAL for each body would cost a walk. Where devices use the process's own addresses
 * (IOVA mode VA) there is no table. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "dpdk/compat.h"

#include <rte_dev.h>

#include "base/units.h"
#include "dpdk/device.h"

#define REACH_PAGE_BYTES ((uint64_t)2 << 20)
#define REACH_TEXT_BYTES 64

struct reach {
    uintptr_t first, end; /* bodies outside are copied */
    /* Address for the device of each 2 MiB from the one of `first` on; NULL: the process's own. */
    uint64_t *pages;
};

/* Everything, by the process's own addresses. */
void reach_all(struct reach *reach);
/* [first, first + bytes) for `device`, which has to be made to see it. False: it cannot be, and *why, a constant, says
 * why; `reach` is empty then. At the start: allocates, and pages may be pinned. */
bool reach_open(struct reach *reach, const void *first, uint64_t bytes, enum device_reach how,
                struct rte_device *device, const char **why);
void reach_close(struct reach *reach);

/* The table's part of it: `address_of` is asked once for each page, and says RTE_BAD_IOVA when it doesn't know. */
bool reach_resolve(struct reach *reach, const void *first, uint64_t bytes,
                   rte_iova_t (*address_of)(const void *address));

/* False: out of reach, or in two pieces for the device. */
static inline bool reach_body(const struct reach *reach, const uint8_t *body, uint32_t bytes,
                              rte_iova_t *address)
{
    uintptr_t at = (uintptr_t)body;
    if (at < reach->first || at + bytes > reach->end)
        return false;
    *address = at;
    if (reach->pages == NULL)
        return true;
    uint64_t page = at / REACH_PAGE_BYTES - reach->first / REACH_PAGE_BYTES;
    *address = reach->pages[page] + at % REACH_PAGE_BYTES;
    bool whole = at % REACH_PAGE_BYTES + bytes <= REACH_PAGE_BYTES;
    return whole || reach->pages[page + 1] == reach->pages[page] + REACH_PAGE_BYTES;
}
