/* What a node knows of one of its ports. */
#pragma once

#include <stdint.h>

#include "base/units.h"
#include "edge/pacer.h"
#include "node/core/fair_queue.h"

struct node_port {
    struct pacer pacer;           /* the uplink: keeps the sum of all edges under the port's rate */
    struct fair_clock share;      /* … which they share by their rates */
    uint64_t received_bytes;      /* wire bytes of data, duplicates excluded */
    uint64_t rate_bytes, rate_ns; /* that count, and when it was looked at last */
    uint64_t in_rate_bps;         /* between the last two looks */
    uint64_t control_mask;        /* bit per peer with something to say now */
    uint64_t edges_mask;          /* bit per peer that is a child of some job; written by the flow */
    uint16_t turn;                /* the edge that is asked first */
};

/* What pads a packet. */
extern const uint8_t port_zeros[MTU_MAX];

/* What came in by all edges of the port over the last whole interval of 100 ms, in kbit/s, rounded up. */
uint32_t port_in_rate_kbps(struct node_port *port, uint64_t now_ns);
