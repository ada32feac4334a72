/* Random neighbours: two nodes, one link drawn at random, one job. Draw K of a seed is the same on every run,
 * whichever other draws are made; it is a scenario file, which can be printed and kept. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "sim/result.h"

#define RANDOM_YAML_BYTES  2048
#define RANDOM_SHARE_LEAST 900 /* of payload_bps, in 1/1000: what a draw must reach to be well */
#define RANDOM_WELL_LEAST  950 /* of the draws, in 1/1000: how many must be */

struct random_draw {
    uint64_t seed;
    uint32_t index;
    uint64_t rate_bps, rtt_ns;
    uint64_t queue_ns;  /* of each direction; at least ten packets besides */
    double queue_bdp;   /* the same, in bandwidth-delay products */
    uint64_t loss_ppb;  /* in each direction */
    uint64_t jitter_ns; /* of each direction */
    bool reorder;
    uint64_t size_bytes;  /* lasts 12 RTT and max(5 s, 25 RTT) at the link's payload rate */
    uint64_t payload_bps; /* what of rate * (1 - loss) is payload in full packets */
    uint64_t limit_ns;
};

/* Rate 5 Mbit/s to 10 Gbit/s and RTT 0.2 ms to 1.2 s log-uniform; buffer log-uniform 0.05 to 4 BDP; loss 0 in
 * half, else log-uniform 0.01 to 35 %; jitter 0 in half, else uniform to RTT / 2, with reordering in half of
 * those. */
struct random_draw random_draw_make(uint64_t seed, uint32_t index);
void random_draw_yaml(const struct random_draw *draw, char text[RANDOM_YAML_BYTES]);
/* The job ended within its limit and its steady rate is RANDOM_SHARE_LEAST of payload_bps at least. */
bool random_draw_well(const struct random_draw *draw, const struct sim_result *result);
/* One line: what was drawn and what came of it, as JSON (steady_share is steady_bps / payload_bps) or as
 * text. */
bool random_draw_print(const struct random_draw *draw, const struct sim_result *result, bool json, FILE *out);

/* All draws together. */
struct random_tally {
    uint32_t share_least, well_least; /* in 1/1000: of what a draw can reach, and of the draws */
    uint32_t draws, well;
    uint32_t unended; /* the limit was reached: none may */
    uint32_t stuck;   /* the edge stood still for a while (sim/alive.h): none may */
};

void random_tally_add(struct random_tally *tally, bool well, bool unended, bool stuck);
bool random_tally_well(const struct random_tally *tally);
bool random_tally_print(const struct random_tally *tally, bool json, FILE *out);
