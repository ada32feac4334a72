/* What jobs tell of paths while they run: once a second, of each edge that carries data, the rate at which it was delivered
 * and the share of the time in which congestion held it go to the prober (train/prober.h), which then sends no trains where
 * that says enough. Only where paths are measured in the background, which tells what of such a rate is the path's: without,
 * what a job's own trees left of a port passed for a path, and the next plan reached 18 of 85 Mbit/s (history-halved). */
#pragma once

#include "node/flow/flow.h"
#include "probe/in_band.h"

#define DATA_RATE_LOOK_NS NS_PER_S

/* Of one edge, as it was at the last look. */
struct data_rate {
    struct in_band in_band;
    uint64_t looked_ns;                    /* 0: not yet */
    uint64_t delivered_bytes, received_ns; /* by the receiver's count and clock */
    uint64_t congested_ns;
    uint64_t sent_packets, lost_packets;
};

size_t data_rate_bytes(const struct node_config *config); /* of arena */
void data_rate_init(struct node *node, struct arena *arena);
/* While jobs run, as often as one likes. */
void data_rate_look(struct node *node, uint64_t now_ns);
