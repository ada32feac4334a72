/* Frames that a device's ring lost: they came, and nobody took them in time. Lost at this host, not on the
 * path.
 *
 * DPDK's af_packet never asks what its ring lost, so this asks the driver's socket (PACKET_STATISTICS,
 * packet(7)): every 100 ms, and at once when frames are taken that may have waited for MISSED_LATE_NS, so
 * that acks of what is left tell the loss as well. A NIC's driver tells what was lost for want of a place
 * or a buffer (imissed, rx_nombuf); as that may take it milliseconds it is asked only in the service after
 * such a turn.
 *
 * One port, one thread. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define MISSED_LATE_NS 2000000ULL /* no ring of a sound size is shorter */

struct missed {
    int socket;             /* the driver's, which stays its own; -1: none */
    uint64_t frames;        /* of the socket's ring, lost so far */
    uint64_t device_frames; /* of the device's, as its driver said */
    uint64_t late_ns;       /* when frames were taken late last; 0: not since the driver was asked */
};

/* After the device was configured. interface: that of af_packet; NULL: another kind of device, which loses
 * none here. */
void missed_open(struct missed *missed, const char *interface);
/* The driver is about to close its socket. */
void missed_close(struct missed *missed);
/* Frames are taken at now_ns that may have waited so long. True: what was lost is to be asked for now. */
bool missed_late(struct missed *missed, uint64_t wait_ns, uint64_t now_ns);
/* Frames lost since missed_open: one system call. */
uint64_t missed_frames(struct missed *missed);
/* The same; the driver of ethdev `id` is asked first, where frames were taken late. */
uint64_t missed_frames_all(struct missed *missed, uint16_t id);
