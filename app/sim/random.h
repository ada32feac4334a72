/* Random neighbours: two nodes, one link drawn at random, one job. Draw K of a seed is the same on every run,
 * whichever other draws are made; it is a scenario file, which can be printed and kept. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "sim/result.h"

#define RANDOM_YAML_BYTES 2048

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
    uint64_t payload_bps; /* rate * (1 - loss) * 1400 / 1538 */
    uint64_t limit_ns;
};

/* Rate 5 Mbit/s to 10 Gbit/s and RTT 0.2 ms to 1.2 s log-uniform; buffer log-uniform 0.05 to 4 BDP; loss 0 in
 * half, else log-uniform 0.01 to 35 %; jitter 0 in half, else uniform to RTT / 2, with reordering in half of
 * those. */
struct random_draw random_draw_make(uint64_t seed, uint32_t index);
void random_draw_yaml(const struct random_draw *draw, char text[RANDOM_YAML_BYTES]);
/* One line of JSON: what was drawn and what came of it. steady_share is steady_bps / payload_bps. */
bool random_draw_print(const struct random_draw *draw, const struct sim_result *result, FILE *out);
