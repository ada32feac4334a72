/* When the frames of an af_packet ring arrived: the kernel writes that in front of each (TPACKET_V2, packet(7)),
 * and DPDK 22.11's driver does not pass it on.
 *
 * The driver takes frames in the order of its ring, from the first place on, each one once: so whoever counts them
 * knows the place of each. Its ring is mapped once more, to be read. A frame whose place tells another length than
 * it has shows that the count is not the driver's: no times from then on.
 *
 * Times are those of CLOCK_REALTIME, ns. One port, one thread. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "dpdk/compat.h"

#include <rte_mbuf.h>

#include "dpdk/device.h"

struct arrivals {
    uint8_t *ring;       /* NULL: there is none, or it can't be read */
    uint64_t ring_bytes; /* of this, and of the sender's behind it */
    uint32_t frame_bytes, frames;
    uint32_t next; /* place of the frame that the driver takes next */
};

/* After its queues are set up, before it takes anything. socket: the driver's; -1: none. */
void arrivals_open(struct arrivals *arrivals, const struct device *device, int socket);
/* Before the driver closes its socket. */
void arrivals_close(struct arrivals *arrivals);
/* When the frame, the next one that the driver took, arrived; 0: that is not known. Soon after it did: a ring's
 * length later its place has another one. */
uint64_t arrivals_next(struct arrivals *arrivals, const struct rte_mbuf *mbuf);
