/* Times that a device puts on frames, where it can: when one is to depart (RTE_ETH_TX_OFFLOAD_SEND_ON_TIMESTAMP),
 * when one arrived (RTE_ETH_RX_OFFLOAD_TIMESTAMP; of af_packet the kernel's, arrivals.h). Only in use while its
 * clock can be read and is known (device_clock.h); software does both else. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "dpdk/compat.h"

#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <rte_mbuf_dyn.h>

#include "base/units.h"
#include "dpdk/device_clock.h"
#include "dpdk/tsc.h"
#include "node/packet.h"

#define STAMPS_AGE_NS_MAX 100000000ULL /* an arrival longer ago than that is not believed */

struct stamps {
    const struct tsc_clock *ours; /* NULL: none in use */
    struct device_clock clock;
    bool departures, arrivals; /* in use, once the clock is known */
    bool kernel;               /* arrivals are the kernel's, by CLOCK_REALTIME */
    int place;                 /* of the time in an mbuf */
    uint64_t departs, arrived; /* flags that say that it is there */
};

/* Asks for what the device has, in `conf`. `ours` lives as long as the port; NULL: for nothing. */
void stamps_ask(struct stamps *stamps, const struct rte_eth_dev_info *info, struct rte_eth_conf *conf,
                const struct tsc_clock *ours);
/* Arrivals will be told by stamps_mark, in ns of CLOCK_REALTIME. False: none are in use. */
bool stamps_expect_kernel(struct stamps *stamps);
/* After each burst with the kernel's times: notices that its clock was set, and looks anew. Returns what the clock
 * shows now; 0: it is not known. */
uint64_t stamps_watch(struct stamps *stamps, uint16_t port_id);
/* Looks at the device's clock: at the start, and every 0.1 s or so. */
void stamps_look(struct stamps *stamps, uint16_t port_id);

static inline bool stamps_depart(const struct stamps *stamps)
{
    return stamps->departures && device_clock_known(&stamps->clock);
}

static inline bool stamps_arrive(const struct stamps *stamps)
{
    return stamps->arrivals && device_clock_known(&stamps->clock);
}

/* Before each try to give the frame to the device: it is to hold it until then. One that is due goes without a
 * time. */
static inline void stamps_put(const struct stamps *stamps, struct rte_mbuf *mbuf, uint64_t depart_ns,
                              uint64_t now_ns)
{
    mbuf->ol_flags &= ~stamps->departs;
    if (depart_ns <= now_ns)
        return;
    mbuf->ol_flags |= stamps->departs;
    *RTE_MBUF_DYNFIELD(mbuf, stamps->place, rte_mbuf_timestamp_t *) =
        device_clock_ticks(&stamps->clock, depart_ns);
}

/* The frame arrived then, by the device's clock; 0: that is not known. */
static inline void stamps_mark(const struct stamps *stamps, struct rte_mbuf *mbuf, uint64_t ticks)
{
    if (ticks == 0)
        return;
    mbuf->ol_flags |= stamps->arrived;
    *RTE_MBUF_DYNFIELD(mbuf, stamps->place, rte_mbuf_timestamp_t *) = ticks;
}

/* When the frame, taken from the device at taken_ns, arrived; never later. *kind: who says so. */
static inline uint64_t stamps_get(const struct stamps *stamps, const struct rte_mbuf *mbuf, uint64_t taken_ns,
                                  uint8_t *kind)
{
    *kind = STAMP_SOFTWARE;
    if (!stamps_arrive(stamps) || (mbuf->ol_flags & stamps->arrived) == 0)
        return taken_ns;
    uint64_t ticks = *RTE_MBUF_DYNFIELD(mbuf, stamps->place, const rte_mbuf_timestamp_t *);
    uint64_t ns = device_clock_ns(&stamps->clock, ticks);
    uint64_t age_ns_max = stamps->kernel ? STAMP_KERNEL_AGE_NS_MAX : STAMPS_AGE_NS_MAX;
    if (elapsed_ns(taken_ns, ns) > age_ns_max || elapsed_ns(ns, taken_ns) > STAMPS_AGE_NS_MAX)
        return taken_ns;
    *kind = STAMP_HARDWARE;
    return MIN(ns, taken_ns);
}
