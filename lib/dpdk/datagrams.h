/* What a worker knows of a port that carries datagrams, be it a device of DPDK (port.h) or a socket of the kernel
 * (udp/udp_port.h): a table of calls, and what may be looked at without one.
 *
 * The calls of a port are those of port.h's datagram level, which has their words; where this says more, that holds for
 * both. One thread, but for `report`, `word` (one thread, another one maybe) and what stands below the calls, which any
 * may read. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/report.h"
#include "dpdk/port_counters.h"
#include "node/packet.h"

#define PORT_BURST       32
#define PORT_BURST_MAX   128
#define PORT_RECEIVE_MAX 64 /* packets of a turn */
#define PORT_ARMED_BURST 4  /* received between two looks at an armed lane: about 0.5 us */

struct datagram_calls {
    bool (*add_peer)(void *port, uint16_t peer, const struct net_address *address, struct err *err);
    /* Bodies with a cookie lie in this memory, which outlives the port. */
    void (*take_bodies)(void *port, const void *memory, uint64_t bytes);
    bool (*start)(void *port, uint64_t now_ns);
    uint16_t (*receive)(void *port, struct rx_packet *packets, uint16_t room, uint16_t *frames,
                        uint64_t now_ns);
    void (*receive_done)(void *port);
    /* Instead of receive_done: what stands behind each view is the caller's, until release in the same order. */
    uint16_t (*receive_keep)(void *port, void **buffers);
    void (*release)(void *port, void **buffers, uint16_t count);
    uint16_t (*send_room)(const void *port);
    void (*send)(void *port, const struct tx_packet *packets, uint16_t count, uint64_t now_ns);
    uint16_t (*flush)(void *port, uint64_t now_ns);
    uint16_t (*reports)(void *port, struct tx_report *reports, uint16_t room);
    uint64_t (*next_ns)(const void *port);
    /* So many packets wait for their departure. */
    uint32_t (*waiting)(const void *port);
    /* Every turn. exact: a train leaves or arrives, so each arrival is to have its own time. */
    bool (*service)(void *port, bool exact, uint64_t now_ns);
    int (*descriptor)(const void *port);
    /* The next line for the log; false: there is none now. NULL: there never is. */
    bool (*word)(void *port, char *text, size_t room, uint64_t now_ns);
    void (*report)(const void *port, struct report *report);
    void (*close)(void *port);
};

struct datagram_port {
    const struct datagram_calls *calls;
    void *self;
    const char *name; /* of the device, or of the address: as the log says it */
    const struct port_counters *counters;
    const bool *link_up;
    struct port *device; /* of DPDK; NULL: it is a socket */
    uint16_t burst;      /* how many packets it is best handed at once, at most PORT_BURST_MAX */
};

static inline bool datagram_link_up(const struct datagram_port *port)
{
    return __atomic_load_n(port->link_up, __ATOMIC_RELAXED);
}
