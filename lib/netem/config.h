/* What a link is: plain values, filled from scenario files. link.h says what they do. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "netem/burst.h"

enum netem_queue_unit {
    NETEM_QUEUE_NONE = 0 /* unlimited */,
    NETEM_QUEUE_NS,
    NETEM_QUEUE_BYTES,
    NETEM_QUEUE_PACKETS
};

struct netem_config {
    uint64_t rate_bps;  /* wire rate; 0: infinite */
    uint8_t queue_unit; /* enum netem_queue_unit */
    uint64_t queue_limit;
    uint32_t queue_min_packets; /* a limit in ns or bytes is never less than so many packets */
    uint64_t ecn_ns;            /* who waits longer is marked; 0: nobody */
    uint64_t policer_bps;       /* token bucket in front of the queue; 0: none */
    uint64_t policer_depth_bytes;
    uint64_t delay_ns;
    uint64_t jitter_ns;
    bool reorder;
    uint64_t loss_ppb;        /* independent loss, parts per 10^9 */
    struct netem_burst burst; /* loss in bursts, besides that */
    uint64_t duplicate_ppb;
    uint64_t corrupt_ppb;    /* one random bit */
    uint64_t delay_some_ppb; /* this share of the packets … */
    uint64_t delay_some_ns;  /* … is delayed by this much more (may be overtaken) */
    uint32_t mtu;            /* largest IP packet; 0: no limit */
    uint64_t background_bps; /* cross traffic that takes part in the queue, see background.h; 0: none */
};

/* What a change may name: bits of a mask. */
enum netem_change {
    NETEM_CHANGE_RATE = 1,
    NETEM_CHANGE_DELAY = 2,
    NETEM_CHANGE_JITTER = 4,
    NETEM_CHANGE_LOSS = 8,
    NETEM_CHANGE_QUEUE = 16,
    NETEM_CHANGE_QUEUE_MIN = 32,
    NETEM_CHANGE_ECN = 64,
    NETEM_CHANGE_POLICER = 128,
    NETEM_CHANGE_BURST = 256
};

/* Takes the values that the mask names from *set. */
void netem_config_change(struct netem_config *config, const struct netem_config *set, uint32_t mask);
/* How long a packet can wait for the shaper when packets have packet_bytes on the wire. UINT64_MAX: there is
 * no limit. Without a rate nothing waits. */
uint64_t netem_config_wait_ns(const struct netem_config *config, uint32_t packet_bytes);
