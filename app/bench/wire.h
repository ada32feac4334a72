/* The link model between two net_ring ports of one process: what one port has sent comes to the other when the model says
 * so, or at the first turn after.
 *
 * A wire does not stand still when this machine does: the thread that sends a frame writes on it when it did, and the
 * model goes by that, however late the wire's own thread gets round to it. So only arrivals are ever late, which a
 * receiver driven by the same thread sees by its own turns. Thread: one, besides the senders'. */
#pragma once

#include <stdint.h>

#include "dpdk/compat.h"

#include <rte_ring.h>

#include "dpdk/tsc.h"
#include "netem/link.h"
#include "netem/truth.h"

#define WIRE_ENDS 2

struct wire_config {
    uint64_t capacity_bps; /* of the link from end 0 to end 1; the way back is as fast and empty */
    uint64_t cross_bps;    /* evenly spaced, on that link */
    uint64_t port_bps;     /* of the nodes: what they give to the ring at once goes on at that rate */
    uint64_t delay_ns;     /* each way */
    uint64_t queue_ns;
    uint64_t truth_ns; /* so long a time back the cross traffic is known */
};

/* One direction. */
struct wire_way {
    struct rte_ring *from, *to;
    struct netem_link port, link;
    uint64_t entered_ns; /* of the newest frame */
    uint32_t head, tail; /* free-running: frames under way, in order */
    struct wire_frame {
        void *frame;
        uint64_t due_ns;
    } * frames;
    uint64_t refused; /* frames that the model dropped */
};

struct wire {
    struct wire_way ways[WIRE_ENDS]; /* from end 0, from end 1 */
    struct netem_truth truth;        /* of the first */
    const struct tsc_clock *clock;
    uint32_t places;
};

/* Frames that may be under way each way, a power of two. */
uint32_t wire_packets(const struct wire_config *config);
/* from[n]: what port n sends, port_ids[n] its ethdev, which has not begun to send; to[n]: what it receives. Times are of
 * `clock`, which outlives it and is left as it is. Aborts when there is no memory. */
void wire_start(struct wire *wire, const struct wire_config *config, struct rte_ring *const from[WIRE_ENDS],
                struct rte_ring *const to[WIRE_ENDS], const uint16_t port_ids[WIRE_ENDS],
                const struct tsc_clock *clock);
/* Takes and hands over what there is. */
void wire_turn(struct wire *wire, uint64_t now_ns);
/* What the link from end 0 had left in that time, bit/s. */
uint64_t wire_left_bps(struct wire *wire, uint64_t from_ns, uint64_t until_ns);
