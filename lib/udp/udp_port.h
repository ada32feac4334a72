/* A port on a UDP socket of the kernel, for hosts without a NIC to give away: the datagram level of dpdk/port.h, in the
 * calls of dpdk/datagrams.h. Needs no right, no DPDK device and no address but one that the host has.
 *
 * Sending. What is due waits in a departure lane (dpdk/lane.h) and leaves by runs (run.h): datagrams to one peer, cut
 * from one piece of up to 64 KB by the kernel (UDP_SEGMENT, udp(7)), which costs a fraction of as many calls. A run holds
 * what is due at that moment: the port holds nothing back for it, the node's worker does (worker_hold). Packets whose
 * departure is asked for (TX_COOKIE_TIMED, trains) leave one by one.
 * Receiving. Merged datagrams (UDP_GRO) are cut up again; not while a train is announced, as they share one time.
 * Times are the kernel's (SO_TIMESTAMPING): true however long this process stood still. They go as
 * STAMP_HARDWARE with a noise.
 *
 * Guarantee: each packet that is dropped here counts in one row of port_counters.def; what an ICMP message says is
 * counted and said, and changes nothing. A kernel, or a filter of system calls, that refuses an option is done without.
 * Thread: one, but for `report` and `word`. Owner of all memory: who opens it. */
#pragma once

#include <net/if.h>

#include "base/gaps.h"
#include "dpdk/datagrams.h"
#include "dpdk/lane.h"
#include "dpdk/tsc.h"
#include "node/node_config.h"
#include "udp/kernel_clock.h"
#include "udp/run.h"

#define UDP_BUFFER_BYTES 65536
#define UDP_MESSAGES     16   /* taken from the socket at once, merged or not */
#define UDP_BUFFERS      352  /* at most: those of a crossing (CROSSING_RECEIVED), and a turn's beside them */
#define UDP_REPORTS      2048 /* a power of two > 2 * LANE_PLACES */
#define UDP_STAMPS       64   /* departures that the kernel still owes */
#define UDP_SERVICE_NS   100000000ULL

struct udp_port_config {
    uint16_t index; /* what rx_packet.port says */
    uint32_t mtu;
    uint64_t rate_bps;
    bool rate_given; /* by the operator: what does not suffice for it is said */
    bool keeps;      /* receive_keep will be used */
    bool gathers;    /* data is handed over when it is due (node_config.gathers): at once what gathered */
    struct net_address address;    /* to bind to */
    char interface[IFNAMSIZ];      /* of a link-local address; "": none */
    const struct tsc_clock *clock; /* NULL: no times of the kernel */
};

/* What an operator is to hear of. */
enum udp_word {
    UDP_WORD_FILTERED = 0, /* a filter of this host refuses what is sent */
    UDP_WORD_UNREACHABLE,  /* a host on the way, or the peer's, says that nobody takes it */
    UDP_WORD_SMALL,        /* the socket's buffer is too small for the given rate */
    UDP_WORD_LOST,         /* … and lost packets */
    UDP_WORD_PLAIN,        /* without segments, merging or stamps */
    UDP_WORD_COUNT
};

/* A packet in the lane. */
struct udp_packet {
    struct net_address to;
    uint16_t peer, head_bytes, body_bytes;
    uint8_t traffic_class;
    bool timed; /* leaves alone, and its time is asked for */
    bool done;  /* reported: waits for those before it to leave the lane */
    const uint8_t *body;
    uint64_t cookie;
    uint8_t head[TX_HEAD_BYTES_MAX];
};

/* What waits for one peer. */
struct udp_queue {
    uint64_t retry_ns; /* not sent before: a queue of this host was full … */
    uint64_t full_ns;  /* … and has been since; 0: it is not */
    uint16_t waiting;  /* packets in the lane that are not done */
};

struct udp_buffer {
    uint8_t *data;
    uint32_t references; /* views that are out, and one while it is the backlog's */
};

/* A message of the backlog: one datagram, or several of piece_bytes, the last one shorter. */
struct udp_message {
    struct udp_buffer *buffer;
    uint32_t bytes, at, piece_bytes;
    struct net_address from;
    uint64_t rx_ns;
    uint8_t stamp_kind, ecn;
};

struct udp_backlog {
    uint16_t at, count;
    uint64_t wait_ns, empty_ns; /* as struct backlog of port.h */
    bool waited;
    struct udp_message messages[UDP_MESSAGES];
};

/* A departure of which the kernel will tell the time. */
struct udp_stamp {
    uint64_t cookie, from_ns, until_ns; /* of the call */
    uint32_t id;
};

struct udp_port {
    struct udp_port_config config;
    int socket;
    char name[ADDRESS_TEXT_BYTES + IFNAMSIZ];
    struct kernel_clock clock;
    bool segments, merges, arrivals, departures; /* what the kernel does for us */
    bool merging;                                /* now */
    bool link_up;                                /* read by other threads: atomic */
    uint32_t scope;                              /* of link-local addresses */
    uint32_t receive_bytes;                      /* of the socket's buffer */
    uint64_t service_ns, drops;
    uint32_t pieces_16ths; /* datagrams in a message, on average of late */
    struct port_counters counters;
    /* Peers by number: all of this port, and who can't be reached from this host. */
    uint64_t known, unroutable;
    struct udp_queue queues[NODE_PEERS_MAX];
    uint64_t retry_ns, stuck_ns; /* the socket is not asked before; it took nothing since, or 0 */
    uint16_t peer_count;
    struct net_address peers[NODE_PEERS_MAX];
    struct udp_backlog backlog;
    uint32_t buffer_count, free_count;
    struct udp_buffer buffers[UDP_BUFFERS];
    struct udp_buffer *free[UDP_BUFFERS];
    uint16_t held_count;
    struct udp_buffer *held[PORT_RECEIVE_MAX];
    struct lane lane;
    struct udp_packet packets[LANE_PLACES];
    uint8_t *bodies; /* those that were only lent: one place of the MTU for each packet */
    uint32_t stamp_id, stamp_head, stamp_tail;
    struct udp_stamp stamps[UDP_STAMPS];
    uint32_t report_head, report_tail;
    struct tx_report reports[UDP_REPORTS];
    /* What is to be said: this side writes while `words` is false, whoever logs reads while it is true (atomic). */
    struct gaps said[UDP_WORD_COUNT];
    bool words[UDP_WORD_COUNT];
    struct net_address word_of[UDP_WORD_COUNT];
    int word_error[UDP_WORD_COUNT];
};

/* Bytes that udp_port_open wants behind the port. */
uint64_t udp_port_bytes(const struct udp_port_config *config);
/* Whether a socket with that address can be had on this machine now, whatever its UDP port. False: err says why not. */
bool udp_port_check(const struct udp_port_config *config, struct err *err);
/* `memory`: zeroed, 64-byte aligned, of udp_port_bytes, for as long as the port. False: err names the address and the
 * command that helps. */
bool udp_port_open(struct udp_port *port, const struct udp_port_config *config, void *memory,
                   struct err *err);
/* The port as workers see it; valid as long as the port. */
struct datagram_port udp_port_datagrams(struct udp_port *port);
