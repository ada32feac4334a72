/* A device of DPDK as workers see it. */
#include "dpdk/port.h"

#include <stdio.h>

#include <rte_mbuf.h>

static bool add_peer(void *port, uint16_t peer, const struct net_address *address, struct err *err)
{
    return port_add_peer(port, peer, address, err);
}

static void take_bodies(void *port, const void *memory, uint64_t bytes)
{
    port_take_bodies(port, memory, bytes);
}

static bool start(void *port, uint64_t now_ns)
{
    return port_start(port, now_ns);
}

static uint16_t receive(void *port, struct rx_packet *packets, uint16_t room, uint16_t *frames,
                        uint64_t now_ns)
{
    return port_receive(port, packets, room, frames, now_ns);
}

static void receive_done(void *port)
{
    port_receive_done(port);
}

static uint16_t receive_keep(void *port, void **buffers)
{
    return port_receive_keep(port, (struct rte_mbuf **)buffers);
}

static void release(void *port, void **buffers, uint16_t count)
{
    (void)port;
    rte_pktmbuf_free_bulk((struct rte_mbuf **)buffers, count);
}

static uint16_t send_room(const void *port)
{
    return port_send_room(port);
}

static void send_packets(void *port, const struct tx_packet *packets, uint16_t count, uint64_t now_ns)
{
    port_send(port, packets, count, now_ns);
}

static uint16_t flush(void *port, uint64_t now_ns)
{
    return port_flush(port, now_ns);
}

static uint16_t reports(void *port, struct tx_report *reports, uint16_t room)
{
    return port_reports(port, reports, room);
}

static uint64_t next_ns(const void *port)
{
    return port_next_ns(port);
}

static uint32_t waiting(const void *port)
{
    return lane_count(&((const struct port *)port)->lane);
}

static bool service(void *port, bool exact, uint64_t now_ns)
{
    (void)exact; /* each frame has its time */
    return port_service(port, now_ns);
}

static int descriptor(const void *port)
{
    return port_descriptor(port);
}

static bool word(void *self, char *text, size_t room, uint64_t now_ns)
{
    struct port *port = self;
    char from[ADDRESS_TEXT_BYTES];
    if (!__atomic_load_n(&port->unsummed, __ATOMIC_ACQUIRE))
        return false;
    bool say = gaps_say(&port->unsummed_said, now_ns);
    address_format(&port->unsummed_from, from);
    if (say)
        snprintf(
            text, room,
            "%s: datagrams of %s have no checksums and are dropped, as a veth passes them on: where they are "
            "sent, ethtool -K INTERFACE tx off",
            port->device.name, from);
    __atomic_store_n(&port->unsummed, false, __ATOMIC_RELEASE);
    return say;
}

static void report(const void *port, struct report *into)
{
    port_report(port, into);
}

static void close_port(void *port)
{
    port_close(port);
}

struct datagram_port port_datagrams(struct port *port)
{
    static const struct datagram_calls calls = {
        .add_peer = add_peer,
        .take_bodies = take_bodies,
        .start = start,
        .receive = receive,
        .receive_done = receive_done,
        .receive_keep = receive_keep,
        .release = release,
        .send_room = send_room,
        .send = send_packets,
        .flush = flush,
        .reports = reports,
        .next_ns = next_ns,
        .waiting = waiting,
        .service = service,
        .descriptor = descriptor,
        .word = word,
        .report = report,
        .close = close_port,
    };
    return (struct datagram_port){.calls = &calls,
                                  .self = port,
                                  .name = port->device.name,
                                  .counters = &port->counters,
                                  .link_up = &port->link_up,
                                  .device = port,
                                  .burst = PORT_BURST};
}
