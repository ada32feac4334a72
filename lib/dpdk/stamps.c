/* Reading a device's clock is still among what DPDK 22.11 calls experimental. */
#define ALLOW_EXPERIMENTAL_API

#include "dpdk/stamps.h"

#include <time.h>

#define LOOK_TRIES 4 /* the tightest of them counts: a preemption in between would be taken for a step */

void stamps_ask(struct stamps *stamps, const struct rte_eth_dev_info *info, struct rte_eth_conf *conf,
                const struct tsc_clock *ours)
{
    *stamps = (struct stamps){.ours = ours};
    if (ours == NULL)
        return;
    stamps->departures = (info->tx_offload_capa & RTE_ETH_TX_OFFLOAD_SEND_ON_TIMESTAMP) != 0 &&
                         rte_mbuf_dyn_tx_timestamp_register(&stamps->place, &stamps->departs) == 0;
    stamps->arrivals = (info->rx_offload_capa & RTE_ETH_RX_OFFLOAD_TIMESTAMP) != 0 &&
                       rte_mbuf_dyn_rx_timestamp_register(&stamps->place, &stamps->arrived) == 0;
    if (stamps->departures)
        conf->txmode.offloads |= RTE_ETH_TX_OFFLOAD_SEND_ON_TIMESTAMP;
    if (stamps->arrivals)
        conf->rxmode.offloads |= RTE_ETH_RX_OFFLOAD_TIMESTAMP;
}

bool stamps_expect_kernel(struct stamps *stamps)
{
    stamps->kernel =
        stamps->ours != NULL && rte_mbuf_dyn_rx_timestamp_register(&stamps->place, &stamps->arrived) == 0;
    stamps->arrivals |= stamps->kernel;
    return stamps->kernel;
}

static bool read_clock(const struct stamps *stamps, uint16_t port_id, uint64_t *ticks)
{
    struct timespec time;
    if (!stamps->kernel)
        return rte_eth_read_clock(port_id, ticks) == 0;
    clock_gettime(CLOCK_REALTIME, &time);
    *ticks = (uint64_t)time.tv_sec * NS_PER_S + (uint64_t)time.tv_nsec;
    return true;
}

void stamps_look(struct stamps *stamps, uint16_t port_id)
{
    if (!stamps->departures && !stamps->arrivals)
        return;
    struct device_clock_look best = {0};
    uint64_t best_width = UINT64_MAX;
    for (int try = 0; try < LOOK_TRIES; try++) {
        uint64_t ticks, before = rte_rdtsc_precise();
        if (!read_clock(stamps, port_id, &ticks)) { /* what was known would be ever less true */
            stamps->clock = (struct device_clock){.jumps = stamps->clock.jumps};
            return;
        }
        uint64_t width = rte_rdtsc_precise() - before;
        if (width < best_width) {
            best_width = width;
            best =
                (struct device_clock_look){.ticks = ticks, .ns = tsc_to_ns(stamps->ours, before + width / 2)};
        }
    }
    device_clock_look(&stamps->clock, best.ticks, best.ns);
}

uint64_t stamps_watch(struct stamps *stamps, uint16_t port_id)
{
    uint64_t ticks, before_ns = tsc_now_ns(stamps->ours);
    if (!device_clock_known(&stamps->clock) || !read_clock(stamps, port_id, &ticks))
        return 0;
    uint64_t after_ns = tsc_now_ns(stamps->ours), ns = device_clock_ns(&stamps->clock, ticks);
    if (elapsed_ns(before_ns, ns) > DEVICE_CLOCK_JUMP_NS || elapsed_ns(ns, after_ns) > DEVICE_CLOCK_JUMP_NS)
        stamps_look(stamps, port_id);
    return ticks;
}
