/* One hop of the path that is measured: a link of the model, what crosses it, and the truth about both.
 *
 * Every packet of a train leaves a mark: when it departed at the sender, when it came here, and how many cross bits the
 * queue had taken in by then. So the truth over any window that begins and ends with a departure is exact to a cross
 * packet, and so is the part of it in which the trains kept the hop busy: by the conservation law of a FIFO nothing was
 * idle between two packets when the second begins its service just as late as the first one's end and the cross bits
 * between them say. Parts of fewer than HOP_PART_LEAST packets are left out: such a part is there because of what came in it,
 * and says more of that than of the path. What trains have done to the queue and to the cross traffic (harm) the link's own
 * record of truth tells. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "netem/link.h"
#include "netem/truth.h"

#define HOP_STEPS_MAX    16
#define HOP_PART_LEAST   16
#define HOP_TRUTH_BLOCKS 2

/* A change of capacity. */
struct hop_step {
    uint64_t at_ns; /* since the measurement's begin */
    uint64_t rate_bps;
};

struct hop_config {
    struct netem_config link; /* rate_bps > 0 */
    uint64_t cross_bps;       /* on average: of link.background_bps and link.loads */
    unsigned step_count;
    struct hop_step steps[HOP_STEPS_MAX]; /* in order of time */
};

struct hop_mark {
    uint64_t departed_ns; /* at the sender */
    uint64_t came_ns;
    uint64_t cross_bits; /* that the queue took in by then */
};

/* Time in which trains keep the hop busy. */
struct hop_part {
    uint32_t packets;
    uint64_t ns, cross_bits, capacity_bits;
};

struct hop {
    const struct hop_config *config;
    struct netem_link link;
    struct netem_background loads[NETEM_LOADS_MAX];
    struct netem_onoff onoffs[NETEM_LOADS_MAX];
    bool harm; /* truth watches */
    struct netem_truth truth;
    struct netem_truth_block blocks[HOP_TRUTH_BLOCKS]; /* none of its windows is asked for */
    uint64_t begin_ns;
    unsigned steps_done;
    struct hop_mark *marks; /* in order of departure and of arrival */
    size_t mark_count, mark_room;
    /* of the last packet that came */
    bool running; /* there was one, of the same train */
    uint64_t came_ns, left_ns, cross_bits;
    struct hop_part part, busy; /* the one it is in; sums over the busy parts of all trains */
    uint64_t queue_bytes_max;   /* that a packet of a train met, itself included */
};

/* Times of steps count from begin_ns; what crosses it does so from cross_ns on. */
void hop_begin(struct hop *hop, const struct hop_config *config, uint64_t seed, uint64_t begin_ns,
               uint64_t cross_ns, bool harm);
void hop_end(struct hop *hop);
/* A train begins, or the last one is over: no packet continues another. */
void hop_train(struct hop *hop);
/* A packet of a train comes; calls in order of time. */
struct netem_decision hop_send(struct hop *hop, uint32_t wire_bytes, uint64_t departed_ns, uint64_t came_ns);
/* What was left of the hop over the time between the arrivals of the packets that departed then; of the marks that there
 * are the nearest ones inside count. 0: there are no two. */
uint64_t hop_available_bps(const struct hop *hop, uint64_t from_ns, uint64_t until_ns);
/* Mean over the parts in which the trains kept it busy; 0: there are none. */
uint64_t hop_busy_available_bps(const struct hop *hop);
/* The line's rate, or that of a token bucket behind or in front of the queue. */
uint64_t hop_capacity_bps(const struct hop *hop, uint64_t now_ns);
/* Bits that it can serve in that time. */
uint64_t hop_capacity_bits(const struct hop *hop, uint64_t from_ns, uint64_t until_ns);
/* Bytes in the queue, at most, that would not have been there without the trains, since the last call; cross packets that
 * it refused only because of them. With harm; else 0. */
uint64_t hop_added_bytes(struct hop *hop);
uint64_t hop_added_drops(const struct hop *hop);
uint64_t hop_cross_packets(const struct hop *hop);
