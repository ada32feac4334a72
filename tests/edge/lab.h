/* A bottleneck shared by edges, in virtual time: real senders and receivers, the link model of lib/netem,
 * sources without content, greedy unless limited or held. The harness of the congestion strategies: fast (about a million packets a
 * second), and with everything that has a say in a strategy's verdicts.
 *
 * A packet, ECN-capable, passes the bottleneck (rate, queue, policer, marks), then its edge's own way (delay, jitter,
 * loss). Acks take the edge's way back (delay, jitter, loss) and no queue. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "edge/congestion.h"
#include "netem/link.h"

#define LAB_EDGES_MAX    64
#define LAB_STEPS_MAX    8
#define LAB_SERIES_MAX   100000
#define LAB_PACKET_BYTES 1538

struct lab_edge {
    const struct congestion_type *type;
    uint64_t rtt_ns; /* configured base */
    uint64_t jitter_ns;
    bool reorder;
    uint64_t loss_ppb, loss_back_ppb;
    uint64_t delay_some_ppb, delay_some_ns;
    uint64_t start_ns, stop_ns; /* stop 0: never */
    uint64_t initial_bps;
    bool known;
    uint64_t cap_bps;                     /* 0: none */
    uint64_t limit_bytes;                 /* of new data; 0: greedy to the end */
    uint64_t hold_packets, hold_until_ns; /* until then there are only so many; 0: no hold */
    uint64_t trickle_ns;                  /* … and one more each, from time 0 on; 0: none */
    uint32_t packet_bytes;                /* on the wire; 0: LAB_PACKET_BYTES */
    int64_t skew_ppm;                     /* the receiver's clock is so much faster than the sender's … */
    uint64_t ahead_at_ns;                 /* … and jumps ahead at this time … */
    int64_t ahead_ns;                     /* … by so much; below 0: back */
    uint64_t longer_at_ns;                /* the way back becomes longer (or shorter) at this time … */
    int64_t longer_ns;                    /* … by so much */
};

/* The bottleneck changes at a time: rate, and whether anything passes. */
struct lab_step {
    uint64_t at_ns;
    uint64_t rate_bps; /* 0: unchanged */
    bool down;         /* drops everything until the next step */
};

struct lab_config {
    struct netem_config bottleneck;
    uint32_t edge_count;
    struct lab_edge edges[LAB_EDGES_MAX];
    uint32_t step_count;
    struct lab_step steps[LAB_STEPS_MAX];
    uint64_t end_ns;
    uint64_t measure_from_ns, measure_to_ns; /* of queue, shares and loss */
    uint64_t series_ns;                      /* grain of the series; 0: none */
    uint64_t seed;
    /* Prints the series as it goes, and the state of that edge's strategy, counted from 1; 0: nothing. */
    uint32_t trace;
};

struct lab_edge_result {
    uint64_t new_packets; /* received for the first time, in the measured time */
    uint64_t sent, repairs, spurious, tail_probes;
    uint64_t data_bytes, feedback_bytes;
    uint64_t in_flight_max_packets;
    uint64_t complete_ns;            /* limited objects: everything acked */
    uint32_t series[LAB_SERIES_MAX]; /* packets received for the first time per grain */
};

struct lab_result {
    struct lab_edge_result edges[LAB_EDGES_MAX];
    /* In the measured time, at the bottleneck (lost: anywhere); and in all the time. */
    uint64_t offered, lost, queue_drops, policer_drops;
    uint64_t offered_all, queue_drops_all;
    uint64_t queue_p50_ns, queue_p99_ns, queue_max_ns; /* sampled every 100 us of the measured time */
    uint32_t queue_series_us[LAB_SERIES_MAX];          /* at the end of each grain */
    /* Offered to the bottleneck per grain, and refused by its queue. */
    uint32_t offered_series[LAB_SERIES_MAX], queue_drops_series[LAB_SERIES_MAX];
    uint64_t events;
};

/* `result` is large: not on the stack. */
void lab_run(const struct lab_config *config, struct lab_result *result);
/* Jain's index of what the first `edges` edges got, in per mille: 1000 is all alike. */
uint64_t lab_jain_permille(const struct lab_result *result, uint32_t edges);
