/* A port: one DPDK device with one receive and one transmit queue, driven by one thread.
 *
 * Two levels. Raw: port_rx_burst and port_tx_burst move whole frames (mbufs), for the WAN emulator. Datagram:
 * port_receive parses frames into views for the node and answers ARP, ND and echo itself; port_send builds
 * frames from what the node hands out and gives them to the departure lane, port_flush lets those go whose
 * time has come, port_reports says what became of them. Do not mix both ways of sending on one port.
 *
 * Guarantee: no frame longer than frame_bytes_max is ever given to the device, or handed up; each dropped
 * packet increments exactly one row of port_counters.def. DEVICES.md has the quirks of devices that this
 * hides. Ownership: mbufs given to port_tx_burst belong to the port as far as its return value says. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/count.h"
#include "base/gaps.h"
#include "dpdk/compat.h"

#include <rte_mbuf.h>
#include <rte_ring.h>

#include "base/report.h"
#include "dpdk/answer_budget.h"
#include "dpdk/arrivals.h"
#include "dpdk/chain.h"
#include "dpdk/datagrams.h"
#include "dpdk/device.h"
#include "dpdk/lane.h"
#include "dpdk/missed.h"
#include "dpdk/neighbour.h"
#include "dpdk/port_counters.h"
#include "dpdk/reach.h"
#include "dpdk/responder.h"
#include "dpdk/stamps.h"
#include "dpdk/stock.h"
#include "node/node_config.h"
#include "node/packet.h"

#define PORT_REPORTS      8192 /* a power of two > LANE_PLACES + CHAIN_PLACES */
#define PORT_LINK_POLL_NS 100000000ULL
#define PORT_REDIAL_NS    1000000000ULL
#define PORT_STUCK_NS     1000000000ULL
#define PORT_PROBES       3 /* for another holder of the address; as many and as far apart as RFC 5227 has them */
#define PORT_PROBE_NS     1000000000ULL

struct port_config {
    const char *device;       /* as operators write it (device.h) */
    uint16_t index;           /* what rx_packet.port says */
    uint32_t frame_bytes_max; /* Ethernet header and VLAN tag included */
    uint64_t rate_bps;        /* sizes memif's ring */
    uint32_t extra_mbufs;     /* that the owner may hold on to (the emulator's queues) */
    struct rte_mempool *pool; /* NULL: the port makes its own */
    bool promiscuous;
    bool no_chains;
    /* That times are given by. NULL: no stamps of device or kernel, and departures are not timed. */
    const struct tsc_clock *clock;
    /* Datagram level; address.family 0: raw only. */
    struct net_address address;
    uint8_t prefix_length;
    struct net_address gateway;
    uint16_t vlan;
    bool static_mac; /* gateway_mac is for everything sent */
    uint8_t gateway_mac[MAC_BYTES];
};

struct port_peer {
    struct net_address address;
    struct frame_header header;
    uint16_t neighbour;
    uint32_t version; /* of the neighbour table when `header` was made; 0: never */
    bool resolved;
};

/* Frames taken from the device and not yet handed up. */
struct backlog {
    uint16_t at, count;
    bool waited;       /* the device had more than was taken before them */
    uint64_t rx_ns;    /* when they were taken */
    uint64_t wait_ns;  /* they may have come so long before … */
    uint64_t empty_ns; /* … because it was then that nothing was left at the device; 0: never yet */
    struct rte_mbuf *frames[PORT_RECEIVE_MAX];
};

struct port {
    struct port_config config;
    struct device device;
    uint16_t id; /* ethdev's */
    uint8_t mac[MAC_BYTES];
    struct rte_mempool *pool;
    struct rte_device *hardware;
    bool takes_chains;       /* the device does */
    bool chains;             /* and reaches the bodies */
    bool checksums;          /* the device computes UDP's when it sends */
    const char *bodies_text; /* how they leave, in words */
    struct reach reach;
    struct stamps stamps;
    struct missed missed;
    struct arrivals arrivals;
    bool sends_at_once;      /* device_sends_at_once, and there is a clock */
    struct memif_gate *gate; /* of a memif server; NULL: it is none */
    bool started;
    bool link_up; /* read by other threads: atomic */
    uint64_t link_since_ns, link_poll_ns, redial_ns;
    struct gaps redials_said; /* by the driver, that nobody is there */
    uint64_t stuck_since_ns;  /* the device takes nothing; 0: it does */
    struct answer_budget answers;
    struct port_counters counters;
    struct responder responder;
    uint8_t
        probes_left;   /* questions whether another host has our address; each time that the link comes up */
    uint64_t probe_ns; /* when the next one is due */
    uint64_t holder;   /* the newest one that says so: its MAC as a number; 0: none. Read as counters are */
    bool unsummed;     /* atomic: datagrams without a checksum came, and that is not said yet */
    struct net_address unsummed_from;
    struct gaps unsummed_said;
    struct neighbour_table neighbours;
    uint16_t peer_count;
    struct port_peer peers[NODE_PEERS_MAX];
    uint16_t held_count;
    struct backlog backlog;
    struct rte_mbuf *held[PORT_RECEIVE_MAX]; /* one behind each view that port_receive gave out */
    struct stock heads,
        bodies; /* of frames to be sent: what a frame begins with, and what points to a chained body */
    struct lane lane;
    struct chain_pool chain;
    uint32_t report_head, report_tail;
    struct tx_report reports[PORT_REPORTS];
};

/* Of the port's own pool: for the memory need, before the EAL starts. */
uint32_t port_mbufs(const struct port_config *config);
/* What they take of the EAL's memory. */
uint64_t port_eal_bytes(const struct port_config *config, bool hugepages);
/* Data room of each of them; config->pool has that much at least. */
uint32_t port_buffer_bytes(const struct port_config *config);

/* After the EAL started. Opens and configures; port_start lets packets flow. */
bool port_open(struct port *port, const struct port_config *config, struct err *err);
/* One end of a link inside this process, config->device being its name ("net_ring_left"): what one port
 * sends into a ring the other receives from it. Rings: single producer, single consumer, rte_ring_create. */
bool port_open_rings(struct port *port, const struct port_config *config, struct rte_ring *rx,
                     struct rte_ring *tx, struct err *err);
/* Bodies with a cookie lie in this memory (or are copied): has the device made to see it. Before the first port_send.
 * Not needed where this process itself reads what is sent. */
void port_take_bodies(struct port *port, const void *memory, uint64_t bytes);
/* False: not now; port_service tries again (a memif client whose server is not there yet). */
bool port_start(struct port *port, uint64_t now_ns);
void port_stop(struct port *port);
void port_close(struct port *port);
/* Readable while there are frames at the device: to be watched, not touched. -1: it has none, and is to be
 * looked at. */
int port_descriptor(const struct port *port);
/* Link state, redialling, questions for neighbours. Cheap when called early: call it every turn. True: did
 * something. */
bool port_service(struct port *port, uint64_t now_ns);
static inline bool port_link_up(const struct port *port)
{
    return __atomic_load_n(&port->link_up, __ATOMIC_RELAXED);
}

/* ---- frames ---- */

/* At most `room`, in one piece each, with mbuf->port set to config.index. The caller owns them. */
uint16_t port_rx_burst(struct port *port, struct rte_mbuf **mbufs, uint16_t room);
/* Returns how many, from the first on, the port has dealt with: sent, or dropped and counted (too long, link
 * down). The others stay the caller's: the device is full, try again later. */
uint16_t port_tx_burst(struct port *port, struct rte_mbuf **mbufs, uint16_t count);

/* ---- datagrams ---- */

/* `peer` as in tx_packet.peer. False: not on this link and there is no gateway. */
bool port_add_peer(struct port *port, uint16_t peer, const struct net_address *address, struct err *err);

/* At most min(room, PORT_RECEIVE_MAX) views, valid until port_receive_done. *frames: frames dealt with, answered or
 * dropped ones included; when they are `room`, more may be there, taken from the device already: their receive time is
 * that of the call which took them. */
uint16_t port_receive(struct port *port, struct rx_packet *packets, uint16_t room, uint16_t *frames,
                      uint64_t now_ns);
void port_receive_done(struct port *port);
/* Instead of it: the buffers behind the views, one each, in their order, are the caller's from now on. */
uint16_t port_receive_keep(struct port *port, struct rte_mbuf **mbufs);

/* How many packets port_send takes now. */
uint16_t port_send_room(const struct port *port);
void port_send(struct port *port, const struct tx_packet *packets, uint16_t count, uint64_t now_ns);
/* Lets go what is due. Returns packets that left the lane. */
uint16_t port_flush(struct port *port, uint64_t now_ns);
uint16_t port_reports(struct port *port, struct tx_report *reports, uint16_t room);
/* When port_flush has something to do; TIME_NEVER: nothing waits. */
static inline uint64_t port_next_ns(const struct port *port)
{
    return lane_next_ns(&port->lane);
}

/* The port as workers see it, after port_open; valid as long as the port. */
struct datagram_port port_datagrams(struct port *port);

/* ---- looking in ---- */

/* Of another host that says to have this port's address: its MAC as text; "": there was none. */
#define PORT_MAC_TEXT_BYTES 18
void port_holder(const struct port *port, char text[PORT_MAC_TEXT_BYTES]);
/* It has not said so for long. Any thread: should it say so just now, that is lost until it does again. */
void port_holder_forget(struct port *port);

/* The values of one port inside a report's object or row. Counters that are 0 are left out of text. */
void port_report(const struct port *port, struct report *report);
