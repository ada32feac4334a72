/* Frames that the ring of a packet socket lost: they came, and nobody took them in time. Lost at this host, not on the
 * path. DPDK's af_packet never asks for them, so this asks the driver's socket (PACKET_STATISTICS, packet(7)). What a NIC
 * lost its driver tells (imissed); asking it may take a driver milliseconds, so that is left to `show ports`.
 *
 * One port, one thread. */
#pragma once

#include <stdint.h>

struct missed {
    int socket;      /* the driver's, which stays its own; -1: none */
    uint64_t frames; /* lost so far */
};

/* After the device was configured. interface: that of af_packet; NULL: another kind of device, which loses none here. */
void missed_open(struct missed *missed, const char *interface);
/* The driver is about to close its socket. */
void missed_close(struct missed *missed);
/* Frames lost since missed_open: one system call. */
uint64_t missed_frames(struct missed *missed);
