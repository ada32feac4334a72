/* Frames that came and that nobody took in time: lost at this host, in the ring of the device or of the kernel, not on the
 * path. Drivers tell theirs (imissed, rx_nombuf); af_packet's of DPDK 22.11 never asks the kernel what its ring lost, so
 * this asks the driver's socket (PACKET_STATISTICS, packet(7)).
 *
 * One port, one thread. Counts are frames since missed_open. */
#pragma once

#include <stdint.h>

struct missed {
    int socket;      /* the driver's, which stays its own; -1: none */
    uint64_t kernel; /* of its ring so far */
    uint64_t device; /* what the driver has told at the start */
    uint16_t id;     /* ethdev's */
};

/* After the device was configured. interface: that of af_packet; NULL: another kind of device. */
void missed_open(struct missed *missed, uint16_t id, const char *interface);
/* Frames lost so far. Some hundred ns, of NICs more: not each turn. */
uint64_t missed_frames(struct missed *missed);
