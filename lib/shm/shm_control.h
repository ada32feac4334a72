/* The node's side of the control ring as a stream of messages for node_ctl, and sending for both sides.
 *
 * Guarantee: every attach of a planner appears as one CTL_PLANNER_HELLO (correlation = its generation) before
 * any record the planner pushes after the next poll; a planner whose heartbeat stands still for more than
 * SHM_SILENCE_NS appears as one CTL_PLANNER_GONE, and as another HELLO should it come to life again. HELLOs
 * are at least SHM_HELLO_GAP_NS apart, whatever the other side writes. Only plans, refusals and what
 * the planner tells of an edge's history are let through. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/units.h"
#include "ctl/ctl.h"
#include "shm/ring.h"

#define SHM_SILENCE_NS   (2 * NS_PER_S)
#define SHM_HELLO_GAP_NS (100 * NS_PER_MS)

struct shm_control {
    struct shm_ring *ring;
    bool present;        /* a planner is attached and lives */
    uint32_t generation; /* of the last HELLO */
    uint64_t beats;
    uint64_t beats_changed_ns;
    uint64_t hello_ns;
    uint64_t refused; /* intact records that a planner may not send or that don't decode */
};

/* `ring` stays the caller's. */
void shm_control_init(struct shm_control *control, struct shm_ring *ring, uint64_t now_ns);
/* The next message; false: none now. Also beats the node's heart. Call it a few times per turn at most: a
 * planner may push as fast as it is called. */
bool shm_control_poll(struct shm_control *control, struct ctl_msg *msg, uint64_t now_ns);

/* Either side. False: the ring is full, try later (requests are repeated at the next HELLO anyway). */
bool shm_control_send(struct shm_ring *ring, const struct ctl_msg *msg);

enum shm_received { SHM_NOTHING = 0, SHM_MESSAGE, SHM_REFUSED };
/* Either side: the next record, decoded. REFUSED: intact but not understood; err says why. */
enum shm_received shm_control_receive(struct shm_ring *ring, struct ctl_msg *msg, struct err *err);
