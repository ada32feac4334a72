/* Stands between the public socket of a memif server and the socket that its driver listens on.
 *
 * The driver (22.11 to 24.11) closes a connection whose first message can't be sent, and leaves it among what the EAL
 * watches: a client that connects and goes away at once ends the process (PANIC in eal_intr_thread_main). Abstract
 * sockets have no permissions besides, so any local user could be that client, or take the link.
 *
 * Guarantee: the driver's socket has no name that others could use, and each of its connections stays open until the
 * driver's first message has been read. Clients reach it through a connection of the gate's own, which passes messages
 * and their descriptors on. Who may: on a path whoever the file's permissions let in, on an abstract name this user and
 * root. A connection that may not, is one too many, or breaks off is dropped alone, and counted. Packets don't come
 * this way: both ends map the same memory, so whoever is let in is trusted with this process.
 *
 * Runs in the EAL's interrupt thread, as the driver's own handlers do. Ports that name the same socket share a gate. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "dpdk/device.h"

struct memif_gate;

/* Before the device is made. `args` (of `room` bytes) gets the arguments to make it with; *gate: NULL where `device` is
 * not a server's. False: no private place for the driver's socket, or the arguments don't fit. */
bool memif_gate_open(struct memif_gate **gate, const struct device *device, char *args, size_t room,
                     struct err *err);
/* After the device was made: takes the name from the driver's socket and opens the public one. False: that can't be
 * bound. */
bool memif_gate_listen(struct memif_gate *gate, struct err *err);
/* No new connections, and the public socket goes; before the device is closed. NULL: nothing to do. */
void memif_gate_stop(struct memif_gate *gate);
/* After the device was closed: its last messages are dropped. */
void memif_gate_close(struct memif_gate *gate);
/* Connections refused so far; from any thread. */
uint64_t memif_gate_refused(const struct memif_gate *gate);
