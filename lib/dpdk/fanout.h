/* The fanout groups of the kernel's packet sockets, which DPDK's af_packet asks for.
 *
 * The driver makes a group's id of the process id and the interface's index, 16 bits. Ids count per network
 * namespace: two processes in one namespace, or one and any other user of such groups, may arrive at the same
 * id, and the kernel then refuses the later one with "Invalid argument". */
#pragma once

#include <stdbool.h>

/* What to tell an operator; whoever starts appliances may look for this text and start again. */
#define FANOUT_TAKEN                                                                                         \
    "the kernel refused its fanout group: another process in this network namespace has the same id; start " \
    "again, a new process id gives another"

/* True: the group that the driver would ask for on this interface, in this process, is refused now, and a
 * group with another id is not. */
bool fanout_is_taken(const char *interface);
