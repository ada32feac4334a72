/* All that differs between DPDK 22.11, 23.11 and 24.11 for this program. Rules that keep this file short:
 * threads are plain pthreads (rte_ctrl_thread_create went away in 23.11), packet headers are our own byte
 * layouts (rte_ipv6_hdr changed in 24.11), counters are our own (rte_eth_stats.q_* go away), no kvargs, no
 * telemetry, no markers inside rte_mbuf. */
#pragma once

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <rte_config.h>
#include <rte_cycles.h>
#include <rte_version.h>

/* rte_cycles.h has an NS_PER_S too, and its is a double. Whoever includes rte_* includes this first. */
#undef NS_PER_S
#define NS_PER_S 1000000000ULL

#if RTE_VERSION < RTE_VERSION_NUM(22, 11, 0, 0)
#error "DPDK 22.11 or newer is needed"
#endif

/* net_tap takes jumbo frames from 23.03 on. */
#define COMPAT_TAP_FRAME_BYTES_MAX (RTE_VERSION >= RTE_VERSION_NUM(23, 3, 0, 0) ? 65535u : 1522u)

/* The release this was compiled for and the one that was loaded must agree in year and month: structs in
 * inline functions differ otherwise. */
static inline bool compat_version_matches(void)
{
    const char *loaded = rte_version(); /* "DPDK 22.11.11" */
    const char *digits = strpbrk(loaded, "0123456789");
    if (digits == NULL)
        return false;
    char *end;
    unsigned long year = strtoul(digits, &end, 10);
    unsigned long month = *end == '.' ? strtoul(end + 1, NULL, 10) : 0;
    return year == RTE_VER_YEAR && month == RTE_VER_MONTH;
}
