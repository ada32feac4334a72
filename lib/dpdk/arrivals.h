/* When the frames of an af_packet ring arrived: the kernel writes that in front of each (TPACKET_V2, packet(7)),
 * and DPDK 22.11's driver does not pass it on.
 *
 * The driver empties the places of its ring in order, one frame each: whoever counts frames knows the next place.
 * The ring is mapped once more, to be read. Once the driver has taken a frame the kernel may fill its place anew,
 * so times are noted before each burst. Where a noted length is not the frame's the count is wrong: no times from
 * then on.
 *
 * Times are those of CLOCK_REALTIME, ns. One port, one thread. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "dpdk/compat.h"

#include <rte_mbuf.h>

#include "dpdk/device.h"

#define ARRIVALS_MAX 128 /* of a burst */

struct arrivals {
    uint8_t *ring;       /* NULL: there is none, or it can't be read */
    uint64_t ring_bytes; /* of both rings: that for sending lies behind */
    uint32_t frame_bytes, frames;
    uint32_t next; /* place of the frame that the driver takes next */
    uint16_t noted;
    struct {
        uint64_t ns;
        uint32_t bytes; /* of the frame */
    } notes[ARRIVALS_MAX];
};

/* After its queues are set up, before it takes anything. socket: the driver's; -1: none. */
void arrivals_open(struct arrivals *arrivals, const struct device *device, int socket);
/* Before the driver closes its socket. */
void arrivals_close(struct arrivals *arrivals);
/* Before the driver takes up to `room` frames, at most ARRIVALS_MAX: what is there by now. */
void arrivals_note(struct arrivals *arrivals, uint16_t room);
/* The driver took these. Their times into times_ns; 0: that frame came after arrivals_note. False: the count was
 * wrong, and nothing is known of any frame from now on. */
bool arrivals_took(struct arrivals *arrivals, struct rte_mbuf *const *mbufs, uint16_t count,
                   uint64_t *times_ns);
