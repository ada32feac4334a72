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

/* Cross traffic that joins at the queue. cbr: evenly spaced; poisson: exponential gaps; onoff: `sources`
 * independent ones, each evenly spaced at rate_bps while on, see onoff.h. */
enum netem_load_kind { NETEM_LOAD_CBR = 0, NETEM_LOAD_POISSON, NETEM_LOAD_ONOFF };

#define NETEM_LOADS_MAX      2 /* of one link */
#define NETEM_LOAD_SIZES_MAX 3

/* The trimodal mix: sizes, and packets of each in twelve. */
#define NETEM_TRIMODAL_WEIGHT 12
struct netem_size {
    uint32_t ip_bytes, weight;
};
extern const struct netem_size netem_trimodal[NETEM_LOAD_SIZES_MAX];

struct netem_load {
    uint8_t kind;     /* enum netem_load_kind */
    bool trimodal;    /* IP packets of 64, 576 and 1500 bytes, 7 : 4 : 1 in number; else all of wire_bytes */
    uint16_t sources; /* onoff; at most NETEM_SOURCES_MAX */
    uint32_t wire_bytes;    /* of a packet */
    uint64_t rate_bps;      /* > 0; onoff: of one source while on */
    uint64_t on_ns, off_ns; /* onoff: means of the times */
    uint32_t alpha_milli;   /* onoff: exponent of their distribution in 1/1000; > 1000 */
    uint64_t seed;          /* besides the link's */
};

/* What becomes of the ECN field of every ECN-capable packet: nothing but marks of the queue; or what broken
 * middleboxes make of it, Not-ECT or CE. */
enum netem_ecn_field { NETEM_ECN_KEPT = 0, NETEM_ECN_CLEARED, NETEM_ECN_MARKED };

struct netem_config {
    uint64_t rate_bps;  /* wire rate; 0: infinite */
    uint8_t queue_unit; /* enum netem_queue_unit */
    uint64_t queue_limit;
    uint32_t queue_min_packets; /* a limit in ns or bytes is never less than so many packets */
    uint64_t ecn_ns;            /* who waits longer is marked; 0: nobody */
    uint64_t ecn_ramp_ns;       /* … by chance: none at ecn_ns, all when it is so much more; 0: all */
    uint8_t ecn_field;          /* enum netem_ecn_field */
    uint64_t policer_bps;       /* token bucket in front of the queue; 0: none */
    uint64_t policer_depth_bytes;
    uint64_t shaper_bps; /* token bucket behind the queue, see shaper.h; 0: none */
    uint64_t shaper_depth_bytes;
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
    uint64_t background_bps; /* evenly spaced cross traffic that takes part in the queue; 0: none */
    uint16_t load_count;     /* … and what there is besides (netem_join) */
    struct netem_load loads[NETEM_LOADS_MAX];
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
    NETEM_CHANGE_BURST = 256,
    NETEM_CHANGE_SHAPER = 512,
    NETEM_CHANGE_MTU = 1024
};

/* A packet's size on the wire, on average, rounded down. */
uint32_t netem_load_packet_bytes(const struct netem_load *load);
/* What cross traffic of the load, or of all that the link has, brings on average. */
uint64_t netem_load_bps(const struct netem_load *load);
uint64_t netem_config_cross_bps(const struct netem_config *config);
/* Takes the values that the mask names from *set. */
void netem_config_change(struct netem_config *config, const struct netem_config *set, uint32_t mask);
/* The rate at which a full queue drains: that of the line or of the shaper's tokens. 0: infinite. */
uint64_t netem_config_drain_bps(const struct netem_config *config);
/* How long a packet can wait for the shaper when packets have packet_bytes on the wire. UINT64_MAX: there is
 * no limit. Without a rate nothing waits. */
uint64_t netem_config_wait_ns(const struct netem_config *config, uint32_t packet_bytes);
