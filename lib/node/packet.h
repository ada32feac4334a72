/* Packets as they cross the seam between a node and its ports. A packet here is one datagram (UDP payload);
 * Ethernet, IP and UDP are the port's affair. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/stamp.h"
#include "wire/address.h"
#include "wire/data.h"

/* A view: valid during node_rx only. */
struct rx_packet {
    const uint8_t *data;
    uint32_t length;
    uint16_t port;
    uint16_t data_sum;  /* checksum_of the datagram; 0: not known */
    uint8_t ecn;        /* the two bits of the IP header: 3 is Congestion Experienced */
    uint8_t stamp_kind; /* enum stamp_kind */
    uint16_t noise_ns;  /* standard deviation of rx_ns, as far as the port knows of any */
    bool waited; /* it may have come with those before it: more stood there than could be taken at once */
    uint64_t rx_ns;
    /* It may have come so long before rx_ns: then the port was last known to be empty. 0: that is when it came. */
    uint64_t wait_ns;
    struct net_address from; /* source IP and UDP port */
};

#define TX_HEAD_BYTES_MAX 256
_Static_assert(WIRE_DATA_HEADER_MAX <= TX_HEAD_BYTES_MAX, "a data header fits the head");
#define TX_COOKIE_NONE UINT64_MAX
/* Cookies from here on, but for TX_COOKIE_NONE, are of packets whose departures are asked for, each one's: their bodies
 * stay valid for ever; devices copy them all the same. */
#define TX_COOKIE_TIMED (0xffffffULL << 40)

/* The datagram is head followed by body. With cookie TX_COOKIE_NONE the body is only valid until the next
 * call into the node: the port copies it. With another cookie it lies in the symbol buffer and is held until
 * tx_report.released. */
struct tx_packet {
    uint16_t port;
    uint16_t peer; /* index of the peer in the configuration: key for prebuilt frame headers */
    uint16_t head_bytes;
    uint16_t body_bytes;
    uint16_t body_sum; /* checksum_of the body; 0: not known */
    const uint8_t *body;
    uint64_t depart_ns; /* when it is to leave; may lie behind now */
    uint64_t cookie;
    uint8_t traffic_class; /* DSCP << 2 | ECN */
    struct net_address to;
    uint8_t head[TX_HEAD_BYTES_MAX];
};

enum tx_status {
    TX_SENT = 0,
    TX_REFUSED = 1 /* never left */,
    TX_RELEASED = 2 /* chained: the body is free now */
};

/* Each packet whose cookie is not TX_COOKIE_NONE is reported as SENT or REFUSED exactly once if its body was copied; it
 * is released with that. If it was chained it is reported when it is REFUSED, and released in any case by a RELEASED,
 * once for all packets that were sent together with the same body: `cookie` is that of one of them. */
struct tx_report {
    uint64_t cookie;
    uint64_t sent_ns;
    uint8_t stamp_kind; /* enum stamp_kind */
    uint8_t status;     /* enum tx_status */
    uint16_t released;  /* so many bodies are not referenced any more */
};
