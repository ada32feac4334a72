#include "dpdk/missed.h"

#include <linux/if_packet.h>
#include <net/if.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "dpdk/compat.h"

#include <rte_ethdev.h>

#include "base/units.h"

#define SOCKETS_MAX 4096 /* descriptors looked at: the EAL opens its own at the start */

static bool has_ring(int fd, unsigned interface)
{
    struct sockaddr_ll address = {.sll_family = 0};
    socklen_t length = sizeof(address);
    int version = -1;
    socklen_t version_length = sizeof(version);
    /* Others may look at the interface, too: the driver's speaks version 2, which nobody has by default. */
    return getsockname(fd, (struct sockaddr *)&address, &length) == 0 && address.sll_family == AF_PACKET &&
           (unsigned)address.sll_ifindex == interface &&
           getsockopt(fd, SOL_PACKET, PACKET_VERSION, &version, &version_length) == 0 &&
           version == TPACKET_V2;
}

static int find_socket(const char *interface)
{
    unsigned index = if_nametoindex(interface);
    struct rlimit limit = {.rlim_cur = SOCKETS_MAX};
    getrlimit(RLIMIT_NOFILE, &limit);
    int end = (int)MIN(limit.rlim_cur, (rlim_t)SOCKETS_MAX);
    for (int fd = 0; index != 0 && fd < end; fd++)
        if (has_ring(fd, index))
            return fd;
    return -1;
}

void missed_open(struct missed *missed, const char *interface)
{
    *missed = (struct missed){.socket = interface != NULL ? find_socket(interface) : -1};
}

void missed_close(struct missed *missed)
{
    missed->socket = -1;
}

bool missed_late(struct missed *missed, uint64_t wait_ns, uint64_t now_ns)
{
    if (wait_ns < MISSED_LATE_NS || elapsed_ns(now_ns, missed->late_ns) < MISSED_LATE_NS)
        return false;
    missed->late_ns = now_ns;
    return true;
}

uint64_t missed_frames_all(struct missed *missed, uint16_t id)
{
    struct rte_eth_stats stats;
    if (missed->late_ns != 0 && rte_eth_stats_get(id, &stats) == 0)
        missed->device_frames = stats.imissed + stats.rx_nombuf;
    missed->late_ns = 0;
    return missed_frames(missed);
}

uint64_t missed_frames(struct missed *missed)
{
    struct tpacket_stats stats;
    socklen_t length = sizeof(stats);
    /* Each reading sets the kernel's count to zero. */
    if (missed->socket >= 0 &&
        getsockopt(missed->socket, SOL_PACKET, PACKET_STATISTICS, &stats, &length) == 0)
        missed->frames += stats.tp_drops;
    return missed->frames + missed->device_frames;
}
