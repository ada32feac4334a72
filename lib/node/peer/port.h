/* What a node knows of one of its ports. */
#pragma once

#include <stdint.h>

#include "base/units.h"
#include "edge/pacer.h"
#include "node/core/fair_queue.h"

#define PORT_LATE_NS_MAX NS_PER_MS

struct node_port {
    struct pacer pacer;           /* the uplink: keeps the sum of all edges under the port's rate */
    struct fair_clock share;      /* … which they share by their rates */
    uint64_t received_bytes;      /* wire bytes of data, duplicates excluded */
    uint64_t rate_bytes, rate_ns; /* that count, and when it was looked at last */
    uint64_t in_rate_bps;         /* between the last two looks */
    uint64_t missed_frames;       /* came, and the port's ring lost them: as told by the caller */
    uint64_t control_mask;        /* bit per peer with something to say now */
    uint64_t edges_mask;          /* bit per peer that is a child of some job; written by the flow */
    uint16_t turn;                /* the edge that is asked first */
    uint64_t late_ns; /* by how much the first packet of a call leaves after its time, on average of late … */
    uint64_t late_at_ns; /* … and the call that was counted last */
};

/* What pads a packet. */
extern const uint8_t port_zeros[MTU_MAX];

/* A packet of this call leaves lag_ns after its time. A host that always comes late, since its turns are long, may make
 * up for what that takes, which is up to twice the average. One that stands still now and then, for longer than
 * PORT_LATE_NS_MAX, may not: no short buffer holds what it would send at once. */
void port_note_lag(struct node_port *port, uint64_t lag_ns, uint64_t now_ns);
/* What the pacers of this port and of its edges may make up for at once. */
static inline uint64_t port_catch_up_ns(const struct node_port *port)
{
    return 2 * port->late_ns;
}

/* What came in by all edges of the port over the last whole interval of 100 ms, in kbit/s, rounded up. */
uint32_t port_in_rate_kbps(struct node_port *port, uint64_t now_ns);
