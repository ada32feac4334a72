/* Between the node's thread and a port that another worker drives: what comes in, what is to leave, and
 * what became of it, each in a queue of its own (base/spsc.h): neither side waits for the other, or locks
 * anything.
 *
 * Ownership. Views that came in, and the packet buffers behind them, are the node's from crossing_received
 * to crossing_received_done; the buffers go back to their pool on the port's side: the node never touches a
 * pool. A body in the symbol buffer is held by the node until the report that releases it has come through
 * here: the port's worker only reads it, and the chain's record of it (chain.h) is that worker's. Any other
 * body is copied.
 *
 * Guarantee: nothing is lost here and the order is kept. Who is slow holds up the other by a full queue:
 * frames then stay in the device (`node_behind` counts the turns), the node is not asked for more than
 * there is room for, and reports wait in the port. Times are those of one clock (tsc_shared); no packet
 * lies in the node's future. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/spsc.h"
#include "dpdk/datagrams.h"
#include "dpdk/tsc.h"
#include "dpdk/waiter.h"
#include "wire/ethernet.h"

#define CROSSING_BURST         32 /* of packets, handed over at once */
#define CROSSING_SEND_BURSTS   4  /* of a turn, as a packet that came in may leave several times */
#define CROSSING_REPORT_BURSTS 16
#define CROSSING_RECEIVED      256 /* places; so many packet buffers more than the port has else */
#define CROSSING_SENDING       128 /* more than TX_HORIZON at 10 Gbit/s */
#define CROSSING_REPORTED      512

struct crossing {
    struct spsc received; /* port → node */
    struct spsc sending;  /* node → port */
    struct spsc reported; /* port → node */
    /* The node's: when it will next have something to send; the port's worker does not sleep over that. */
    _Alignas(SPSC_LINE) uint64_t announced_ns; /* atomic */
    uint64_t gather_ns;                        /* atomic; how long that may wait */
    /* The port's worker's alone. */
    _Alignas(SPSC_LINE) uint32_t freed; /* of the packets handed over: their buffers are back in the pool */
    uint64_t node_behind;          /* turns without receiving, as the node had not taken what came before */
    bool blocked;                  /* the last turn was one of them */
    void *held[CROSSING_RECEIVED]; /* behind the views */
    _Alignas(SPSC_LINE) struct rx_packet received_packets[CROSSING_RECEIVED];
    _Alignas(SPSC_LINE) struct tx_packet sending_packets[CROSSING_SENDING];
    _Alignas(SPSC_LINE) struct tx_report reports[CROSSING_REPORTED];
    /* Of packets whose body is the node's own: few, small, control. */
    uint8_t bodies[CROSSING_SENDING][MTU_MAX];
    struct waiter *node_waiter, *port_waiter; /* NULL: does not wait */
};

/* Before either thread runs. `crossing`: zeroed, 128-byte aligned, every page of it there (memory_take). */
void crossing_init(struct crossing *crossing);
/* Where each side waits when it has nothing to do; without, nobody does. Before either thread runs, too. */
void crossing_set_waiters(struct crossing *crossing, struct waiter *node, struct waiter *port);

/* ---- the node's thread ---- */

/* At most CROSSING_BURST views, for node_rx; then crossing_received_done with the same count. */
struct rx_packet *crossing_received(struct crossing *crossing, uint16_t *count, uint64_t now_ns);
void crossing_received_done(struct crossing *crossing, uint16_t count);
/* Places for node_tx to fill, at most CROSSING_BURST; *room 0: none now. Then crossing_send with how many
 * it filled, before any other call into the node. */
struct tx_packet *crossing_sending(struct crossing *crossing, uint16_t *room);
void crossing_send(struct crossing *crossing, uint16_t count);
/* Reports for node_tx_done; then crossing_reports_done with the same count. */
const struct tx_report *crossing_reports(struct crossing *crossing, uint16_t *count);
void crossing_reports_done(struct crossing *crossing, uint16_t count);
/* Every turn: node_next_ns, node_gather_ns. */
static inline void crossing_announce(struct crossing *crossing, uint64_t next_ns, uint64_t gather_ns)
{
    if (crossing->gather_ns != gather_ns)
        __atomic_store_n(&crossing->gather_ns, gather_ns, __ATOMIC_RELAXED);
    if (crossing->announced_ns != next_ns)
        __atomic_store_n(&crossing->announced_ns, next_ns, __ATOMIC_RELAXED);
}

/* ---- the port's worker ---- */

/* One turn of the port, between device and queues: receive, send, let go what is due, report, look after
 * the link. True: did something. */
bool crossing_turn(struct crossing *crossing, const struct datagram_port *port,
                   const struct tsc_clock *clock);
/* When to come again at the latest, as far as is known here, and how long that may wait. */
uint64_t crossing_next_ns(const struct crossing *crossing, const struct datagram_port *port);
static inline uint64_t crossing_gather_ns(const struct crossing *crossing)
{
    return crossing->blocked ? 0 : __atomic_load_n(&crossing->gather_ns, __ATOMIC_RELAXED);
}
/* Nothing that the node handed over waits for its departure. */
bool crossing_sent_all(const struct crossing *crossing, const struct datagram_port *port);
/* After the node's last call, before the port is closed: buffers of what it did not take go back. */
void crossing_close(struct crossing *crossing, const struct datagram_port *port);
