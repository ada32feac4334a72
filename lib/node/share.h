/* Fair sharing of a port by the edges that send through it: start-time fair queueing (Goyal, Vin, Cheng
 * 1996).
 *
 * Guarantee: while two edges both have something to send, and their own pacers allow it, the bytes that they
 * sent through the port in any interval, each divided by its weight, differ by at most one packet of each. An
 * edge that has nothing to send saves nothing up; what it leaves goes to the others by the same rule. Weights
 * are rates (bit/s), so that a tag is the time at which the edge's bytes would have left at its own rate. */
#pragma once

#include <stdint.h>

#include "base/units.h"

#define SHARE_WEIGHT_MIN 1000u /* keeps a tag from wrapping within 10^9 packets */

struct share_port {
    uint64_t virtual_ns; /* tag of the packet sent last */
};

struct share_edge {
    uint64_t finish_ns; /* where its next packet starts if it has not been idle */
};

/* The edge with the smallest tag is next. */
static inline uint64_t share_tag(const struct share_port *port, const struct share_edge *edge)
{
    return MAX(port->virtual_ns, edge->finish_ns);
}

static inline void share_on_sent(struct share_port *port, struct share_edge *edge, uint32_t wire_bytes,
                                 uint64_t weight_bps)
{
    uint64_t weight = MAX(weight_bps, (uint64_t)SHARE_WEIGHT_MIN);
    port->virtual_ns = share_tag(port, edge);
    edge->finish_ns = port->virtual_ns + (wire_bytes * 8 * NS_PER_S + weight - 1) / weight;
}
