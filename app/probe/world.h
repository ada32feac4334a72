/* The path that is measured, in virtual time: sender's port → approach (delay, loss, jitter, late packets) → hops →
 * receiver, who reports after the way back. Trains go through it one after the other; each comes back as the record that
 * its sender would make, and the truth of the hops stays here.
 *
 * The sender's clock is the world's; the receiver has one of its own. Departures are those of the schedule: what a port
 * adds to them is measured elsewhere (scripts/bench pacer). */
#pragma once

#include "app/probe/hop.h"
#include "app/probe/stamps.h"
#include "probe/record.h"

#define WORLD_HOPS_MAX 4

struct world_config {
    struct netem_config approach; /* without a rate: its delay is half of the round trip */
    bool approach_last;           /* it stands behind the hops instead */
    struct hop_config hops[WORLD_HOPS_MAX];
    unsigned hop_count;
    struct stamps_config sender, receiver;
    uint64_t back_ns; /* the report's way, beside the time that a receiver waits for what is missing */
    bool harm;        /* what the trains do to the cross traffic is found out as well: twice the time */
};

struct passing {
    uint64_t departed_ns, at_ns;
    uint32_t index;
};

struct world {
    const struct world_config *config;
    uint64_t begin_ns;
    struct netem_link approach;
    struct hop hops[WORLD_HOPS_MAX];
    struct rng noise;                          /* of stamps */
    struct passing packets[TRAIN_PACKETS_MAX]; /* of the train that is under way, in order of time */
    uint32_t packet_count;
    uint64_t seen_ns[TRAIN_PACKETS_MAX];
};

/* Starts zeroed; may be begun again and again. What crosses the hops does so from cross_ns on. */
void world_begin(struct world *world, const struct world_config *config, uint64_t seed, uint64_t begin_ns,
                 uint64_t cross_ns);
void world_end(struct world *world);
/* Sends a valid train at start_ns, behind the end of the one before. Returns when its report is with the sender. */
uint64_t world_send(struct world *world, const struct train_shape *shape, uint64_t start_ns,
                    struct train_record *record);
/* The same in two halves, for what stands in front of the path and is shared with others: between them at_ns of packets may be
 * put off, their order kept. */
void world_depart(struct world *world, const struct train_shape *shape, uint64_t start_ns);
uint64_t world_arrive(struct world *world, const struct train_shape *shape, uint64_t start_ns,
                      struct train_record *record);
/* The hop that has least left, by what was configured, at the begin. */
unsigned world_tight(const struct world_config *config);
/* The least that was left of any hop between those departures. */
uint64_t world_available_bps(const struct world *world, uint64_t from_ns, uint64_t until_ns);
