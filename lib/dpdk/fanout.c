#include "dpdk/fanout.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <stdint.h>
#include <sys/socket.h>
#include <unistd.h>

/* What the driver of DPDK 22.11 asks for. */
#define DRIVER_MODE (PACKET_FANOUT_HASH | PACKET_FANOUT_FLAG_DEFRAG | PACKET_FANOUT_FLAG_ROLLOVER)

/* 0, or the error number. */
static int join(int socket, uint32_t mode, uint32_t id)
{
    uint32_t group = mode << 16 | (id & 0xffff);
    return setsockopt(socket, SOL_PACKET, PACKET_FANOUT, &group, sizeof(group)) == 0 ? 0 : errno;
}

bool fanout_is_taken(const char *interface)
{
    unsigned index = if_nametoindex(interface);
    struct sockaddr_ll address = {
        .sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL), .sll_ifindex = (int)index};
    int fd = index == 0 ? -1 : socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, htons(ETH_P_ALL));
    if (fd < 0)
        return false;
    bool taken = bind(fd, (const struct sockaddr *)&address, sizeof(address)) == 0 &&
                 join(fd, DRIVER_MODE, (uint32_t)getpid() ^ index) == EINVAL &&
                 join(fd, DRIVER_MODE | PACKET_FANOUT_FLAG_UNIQUEID, 0) == 0;
    close(fd);
    return taken;
}
